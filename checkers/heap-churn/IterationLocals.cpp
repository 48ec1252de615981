//===- IterationLocals.cpp - Locals allocated per iteration ---------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/heap-churn/IterationLocals.h"

#include "checkers/common/Counting.h"
#include "checkers/common/SourceText.h"
#include "checkers/common/WaitNeutral.h"

#include "clang/AST/ASTContext.h"

using namespace clang;

namespace vfriendly::tidy {

/// Maximum length of a string that libstdc++ (15) and libc++ (22) store in the
/// object itself.
static constexpr unsigned ShortString = 22;

static const Expr *strip(const Expr *E) {
  while (E) {
    E = E->IgnoreParenImpCasts();
    if (auto *Full = dyn_cast<FullExpr>(E))
      E = Full->getSubExpr();
    else if (auto *Temporary = dyn_cast<MaterializeTemporaryExpr>(E))
      E = Temporary->getSubExpr();
    else if (auto *Bind = dyn_cast<CXXBindTemporaryExpr>(E))
      E = Bind->getSubExpr();
    else if (auto *Cast = dyn_cast<CXXFunctionalCastExpr>(E))
      E = Cast->getSubExpr();
    else
      return E;
  }
  return E;
}

static bool isAtLeast(const Expr *E, unsigned Least, const ASTContext &Context,
                      bool IfUnknown) {
  if (E->isValueDependent())
    return false;
  Expr::EvalResult Value;
  if (!E->EvaluateAsInt(Value, Context))
    return IfUnknown;
  return Value.Val.getInt() >= static_cast<int64_t>(Least);
}

/// Returns the part of the initializer that allocates, null if none does.
static const Expr *allocatingInit(const VarDecl &Variable, StringRef Kind,
                                  FunctionView &View) {
  const Expr *Init = Variable.getInit() ? strip(Variable.getInit()) : nullptr;
  if (!Init)
    return nullptr;
  if (Kind == "unique_ptr" || Kind == "shared_ptr") {
    if (auto *Call = dyn_cast<CallExpr>(Init)) {
      const FunctionDecl *Callee = Call->getDirectCallee();
      if (llvm::is_contained({"make_unique", "make_shared"},
                             identifierOf(Callee)) &&
          Callee->isInStdNamespace())
        return Call;
      return nullptr;
    }
    auto *Construct = dyn_cast<CXXConstructExpr>(Init);
    if (!Construct || Construct->getNumArgs() != 1)
      return nullptr; // A custom deleter may do anything.
    const Expr *Given = strip(Construct->getArg(0));
    std::optional<HeapCall> New = View.Heap.match(Given);
    return New && New->Op == HeapOp::Allocate && isa<CXXNewExpr>(Given)
               ? Given
               : nullptr;
  }
  // A container that a function returns. A string may be short: numbers mostly
  // are.
  if (auto *Call = dyn_cast<CallExpr>(Init); Call && Call->isPRValue()) {
    const FunctionDecl *Callee = Call->getDirectCallee();
    return Kind == "vector" || isOfNodes(Kind) ||
                   (Kind == "basic_string" && Callee &&
                    !(isOfStd(*Callee) && identifierOf(Callee) == "to_string"))
               ? Call
               : nullptr;
  }
  auto *Construct = dyn_cast<CXXConstructExpr>(Init);
  // A stream allocates when it is first written to, and copies a locale.
  if (isStringStream(Kind))
    return Construct;
  if (allocatesEmpty(Kind))
    return Construct;
  if (!Construct || Construct->getNumArgs() == 0)
    return nullptr;
  if (Construct->getConstructor()->isCopyConstructor())
    return Construct;
  const Expr *First = Construct->getArg(0);
  if (Kind == "basic_string") {
    if (auto *Literal = dyn_cast<clang::StringLiteral>(strip(First)))
      return Literal->getLength() > ShortString ? Construct : nullptr;
    // Text whose length only the program's run tells.
    QualType From = First->getType();
    return From->isPointerType() || !kindOf(From).empty() ||
                   (From->isIntegerType() &&
                    isAtLeast(First, ShortString + 1, View.Context, false))
               ? Construct
               : nullptr;
  }
  if (First->getType()->isIntegerType())
    return isAtLeast(First, 1, View.Context, true) ? Construct : nullptr;
  // The elements between two iterators.
  if (Construct->getNumArgs() > 1 &&
      View.Context.hasSameUnqualifiedType(First->getType(),
                                          Construct->getArg(1)->getType()))
    return Construct;
  if (auto *List = dyn_cast<CXXStdInitializerListExpr>(strip(First))) {
    auto *Elements = dyn_cast<InitListExpr>(strip(List->getSubExpr()));
    return Elements && Elements->getNumInits() > 0 ? Construct : nullptr;
  }
  return nullptr;
}

/// Returns true if every execution of the block that declares the variable runs
/// S, or a loop in it that may run S in one of its iterations.
static bool isSure(const Stmt *S, const Stmt *Block, const FunctionView &View) {
  const Stmt *Child = S;
  bool Sure = true;
  for (const Stmt *P = View.parent(S); P; Child = P, P = View.parent(P)) {
    if (P == Block)
      return Sure;
    Sure |= isLoop(P);
    if (auto *If = dyn_cast<IfStmt>(P); If && If->getCond() == Child)
      continue;
    if (isa<IfStmt, SwitchStmt, AbstractConditionalOperator, CXXCatchStmt,
            LambdaExpr>(P))
      Sure = false;
    if (auto *Logical = dyn_cast<BinaryOperator>(P);
        Logical && Logical->isLogicalOp() && Logical->getRHS() == Child)
      Sure = false;
  }
  return false;
}

static bool fills(const CXXMemberCallExpr &Call, StringRef Kind,
                  const ASTContext &Context) {
  StringRef Name = identifierOf(Call.getMethodDecl());
  if (isOfNodes(Kind))
    return Name.starts_with("push") || Name.starts_with("emplace") ||
           Name.starts_with("insert") || Name == "try_emplace";
  if (Kind == "vector") {
    if (Name == "push_back" || Name == "emplace_back")
      return true;
    bool Sized = Name == "reserve" || Name == "resize" ||
                 (Name == "assign" && Call.getNumArgs() == 2 &&
                  Call.getArg(0)->getType()->isIntegerType());
    return Sized && Call.getNumArgs() > 0 &&
           isAtLeast(Call.getArg(0), 1, Context, true);
  }
  if (Kind == "basic_string")
    return (Name == "reserve" || Name == "resize") && Call.getNumArgs() > 0 &&
           isAtLeast(Call.getArg(0), ShortString + 1, Context, false);
  return false;
}

namespace {
enum class Use {
  Harmless,
  Fills,
  Lent, ///< To a function that may fill it, and whose body is not visible.
  TakesAway
};
} // namespace

static Use useOf(const DeclRefExpr &Ref, StringRef Kind,
                 const FunctionView &View, const Expr *&Site,
                 unsigned Depth = 0);

/// Maximum number of functions and lambdas through which a reference is
/// followed.
static constexpr unsigned MaxDepth = 3;

/// Joins the uses that another function makes of Variable.
static Use usesIn(const FunctionDecl &Function, const VarDecl &Variable,
                  StringRef Kind, const FunctionView &View, unsigned Depth) {
  if (Depth == MaxDepth)
    return Use::TakesAway;
  FunctionView Inner(Function, View.Heap);
  Use All = Use::Harmless;
  for (const DeclRefExpr *Ref : Inner.refs(Variable)) {
    const Expr *Site = nullptr;
    All = std::max(All, useOf(*Ref, Kind, Inner, Site, Depth + 1));
  }
  return All;
}

/// Classifies what Call does to its argument, a local that is passed by a
/// reference through which it may be changed.
static Use useOfArgument(const CallExpr &Call, const Stmt *Argument,
                         StringRef Kind, const FunctionView &View,
                         const Expr *&Site, unsigned Depth) {
  const FunctionDecl *Callee = Call.getDirectCallee();
  unsigned I = llvm::find(Call.arguments(), Argument) - Call.arg_begin();
  // The first argument of an operator that is a method is the object.
  if (auto *Operator = dyn_cast_or_null<CXXMethodDecl>(Callee);
      Operator && isa<CXXOperatorCallExpr>(Call) && !Operator->isStatic())
    --I; // The object itself is no parameter: more than there are.
  if (!Callee || I >= Callee->getNumParams() ||
      !Callee->getParamDecl(I)->getType()->isLValueReferenceType()) {
    // `encode(&text)`: a result by pointer.
    if (!Callee || I >= Callee->getNumParams() || isOfStd(*Callee) ||
        stdKindOf(Callee->getParamDecl(I)->getType()->getPointeeType()) != Kind)
      return Use::TakesAway;
    Site = &Call;
    return Use::Lent;
  }
  Site = &Call;
  if (isOfStd(*Callee))
    return identifierOf(Callee) == "getline" ? Use::Fills : Use::TakesAway;
  auto *Method = dyn_cast<CXXMethodDecl>(Callee);
  const FunctionDecl *Definition = Callee->getDefinition();
  if (!Definition || !Definition->getBody() || (Method && Method->isVirtual()))
    return Use::Lent;
  return usesIn(*Definition, *Definition->getParamDecl(I), Kind, View, Depth);
}

/// Returns the loop over the range that the statement S declares; null if it
/// declares something else.
static const CXXForRangeStmt *rangeLoopOf(const Stmt *S,
                                          const FunctionView &View) {
  auto *Loop = dyn_cast_or_null<CXXForRangeStmt>(S ? View.parent(S) : nullptr);
  return Loop && Loop->getRangeStmt() == S ? Loop : nullptr;
}

/// Classifies the use of a local, or of a parameter that refers to one.
///
/// pre: the kind of what Ref names is Kind.
static Use useOf(const DeclRefExpr &Ref, StringRef Kind,
                 const FunctionView &View, const Expr *&Site, unsigned Depth) {
  const Stmt *Child = &Ref, *P = View.parent(&Ref);
  bool Const = Ref.getType().isConstQualified();
  while (P && (isa<ParenExpr>(P) || isa<ImplicitCastExpr>(P))) {
    if (auto *Cast = dyn_cast<ImplicitCastExpr>(P))
      Const |= Cast->getType().isConstQualified();
    Child = P;
    P = View.parent(P);
  }
  if (isa_and_nonnull<MemberExpr>(P)) {
    auto *Call = dyn_cast_or_null<CXXMemberCallExpr>(View.parent(P));
    if (!Call)
      return Use::TakesAway;
    const CXXMethodDecl *Method = Call->getMethodDecl();
    if (!Method)
      return Use::TakesAway;
    if (llvm::is_contained({"swap", "release", "extract", "merge", "splice"},
                           identifierOf(Method)))
      return Use::TakesAway;
    if (fills(*Call, Kind, View.Context)) {
      Site = Call;
      return Use::Fills;
    }
    return Use::Harmless;
  }
  if (auto *Operator = dyn_cast_or_null<CXXOperatorCallExpr>(P)) {
    if (Operator->getOperator() == OO_Subscript && Kind.ends_with("map")) {
      Site = Operator;
      return Use::Fills;
    }
    // `stream << value` and `stream >> value`.
    if (isStringStream(Kind) && Operator->getNumArgs() == 2 &&
        Operator->getArg(0) == Child)
      return Use::Harmless;
    // Accepts v[i], *p, p->f and a == b, and assignments to the local variable:
    // after an assignment, the variable keeps its memory or has freed it.
    if (Const || (Operator->getNumArgs() > 0 && Operator->getArg(0) == Child &&
                  isa_and_nonnull<CXXMethodDecl>(Operator->getCalleeDecl())))
      return Use::Harmless;
    return useOfArgument(*Operator, Child, Kind, View, Site, Depth);
  }
  if (Const && Kind != "shared_ptr")
    return Use::Harmless; // Read, or copied.
  if (auto *Call = dyn_cast_or_null<CallExpr>(P)) {
    if (isStringStream(Kind) && Call->getDirectCallee() &&
        identifierOf(Call->getDirectCallee()) == "getline")
      return Use::Harmless;
    return useOfArgument(*Call, Child, Kind, View, Site, Depth);
  }
  auto *Address = dyn_cast_or_null<UnaryOperator>(P);
  if (Address && Address->getOpcode() == UO_AddrOf) {
    while (isa_and_nonnull<ParenExpr, ImplicitCastExpr>(View.parent(P)))
      P = View.parent(P);
    if (auto *Call = dyn_cast_or_null<CallExpr>(View.parent(P)))
      return useOfArgument(*Call, P, Kind, View, Site, Depth);
  }
  // A lambda that captures the local by reference is used as long as the local
  // exists.
  if (auto *Lambda = dyn_cast_or_null<LambdaExpr>(P))
    if (auto *Variable = dyn_cast<VarDecl>(Ref.getDecl())) {
      Use Inside =
          usesIn(*Lambda->getCallOperator(), *Variable, Kind, View, Depth);
      Site = Lambda;
      return Inside == Use::Lent ? Use::Harmless : Inside;
    }
  // The range of a range-for.
  if (rangeLoopOf(P, View))
    return Use::Harmless;
  return Use::TakesAway;
}

/// Returns the call that appends to the string Ref names, if it stands in a
/// loop of its own within Loop, so that the string grows beyond a short one.
static const Expr *appendsInLoop(const DeclRefExpr &Ref, const Stmt *Loop,
                                 const FunctionView &View) {
  auto *Operator = dyn_cast_or_null<CXXOperatorCallExpr>(View.parent(&Ref));
  auto *Member = dyn_cast_or_null<MemberExpr>(View.parent(&Ref));
  const Expr *Call = Operator;
  StringRef Name = Member ? identifierOf(Member->getMemberDecl()) : "";
  if (Member)
    Call = dyn_cast_or_null<CXXMemberCallExpr>(View.parent(Member));
  bool Appends = Operator ? Operator->getOperator() == OO_PlusEqual &&
                                Operator->getArg(0) == &Ref
                          : Name == "append" || Name == "push_back";
  const Stmt *Around = Call && Appends ? View.loopAround(*Call) : nullptr;
  return Around && Around != Loop && !hasFewIterations(Around, View.Context)
             ? Call
             : nullptr;
}

/// Returns the block in a loop, or in the function if it is wanted, that
/// declares Variable; null if none does.
static const CompoundStmt *blockOf(const VarDecl &Variable,
                                   const FunctionView &View, bool InFunction) {
  SmallVector<const Stmt *, 8> Bodies;
  for (const Stmt *Loop : View.loops())
    Bodies.push_back(loopBody(Loop));
  if (InFunction)
    Bodies.push_back(View.Function.getBody());
  for (const Stmt *Body : Bodies) {
    const CompoundStmt *Found = nullptr;
    forEachStmt(Body, [&](const Stmt *S, ArrayRef<const Stmt *>) {
      auto *Block = dyn_cast<CompoundStmt>(S);
      if (!Block || Found)
        return;
      for (const Stmt *Part : Block->body())
        if (auto *D = dyn_cast<DeclStmt>(Part);
            D && llvm::is_contained(D->decls(), &Variable))
          Found = Block;
    });
    if (Found)
      return Found;
  }
  return nullptr;
}

/// Returns true if Block, within Loop or, if that is null, the function, ends
/// the loop, or handles or throws an exception: it runs once, if at all.
static bool leavesAround(const CompoundStmt &Block, const Stmt *Loop,
                         const FunctionView &View) {
  if (&Block == (Loop ? loopBody(Loop) : View.Function.getBody()))
    return false;
  const Stmt *Last = Block.body_back();
  if (auto *E = dyn_cast<Expr>(Last))
    Last = E->IgnoreUnlessSpelledInSource();
  const FunctionDecl *Callee = calleeOf(Last);
  if (isa<CXXThrowExpr>(Last) || (Callee && Callee->isNoReturn()) ||
      (Loop && isa<ReturnStmt, BreakStmt, GotoStmt>(Last)))
    return true;
  for (const Stmt *P = &Block; P && P != Loop; P = View.parent(P))
    if (isa<CXXCatchStmt>(P))
      return true;
  return false;
}

/// Returns true if E, an element or the whole of a container, is read where it
/// stands. clang's ExprMutationAnalyzer knows more, but asks for the parents of
/// all statements of the unit, which takes an eighth of the time of parsing.
static bool onlyReads(const Expr &E, const FunctionView &View) {
  bool Const = E.getType().isConstQualified();
  const Stmt *Child = &E, *P = View.parent(&E);
  for (; isa_and_nonnull<ParenExpr, ImplicitCastExpr>(P); P = View.parent(P)) {
    if (auto *Cast = dyn_cast<ImplicitCastExpr>(P))
      Const |= Cast->getType().isConstQualified() ||
               Cast->getCastKind() == CK_LValueToRValue;
    Child = P;
  }
  if (Const)
    return true;
  if (auto *Member = dyn_cast_or_null<MemberExpr>(P)) {
    auto *Call = dyn_cast_or_null<CXXMemberCallExpr>(View.parent(Member));
    const CXXMethodDecl *Method = Call ? Call->getMethodDecl() : nullptr;
    return Method &&
           (Method->isConst() || (llvm::is_contained({"at", "front", "back"},
                                                     identifierOf(Method)) &&
                                  onlyReads(*Call, View)));
  }
  if (auto *Operator = dyn_cast_or_null<CXXOperatorCallExpr>(P)) {
    auto *Method = dyn_cast_or_null<CXXMethodDecl>(Operator->getCalleeDecl());
    return Method && Operator->getArg(0) == Child &&
           (Method->isConst() || (Operator->getOperator() == OO_Subscript &&
                                  onlyReads(*Operator, View)));
  }
  // The range of a loop that changes no element.
  const CXXForRangeStmt *Range = rangeLoopOf(P, View);
  if (!Range)
    return false;
  QualType Element = Range->getLoopVariable()->getType();
  // Writes to a copy of std::vector<bool>'s element change the vector.
  return Element->isReferenceType()
             ? Element->getPointeeType().isConstQualified()
             : !identifierOf(Element->getAsCXXRecordDecl())
                    .ends_with("it_reference");
}

std::optional<IterationLocal>
findIterationLocal(const VarDecl &Variable, FunctionView &View, bool OfCall) {
  if (!Variable.hasLocalStorage() || Variable.getType()->isReferenceType() ||
      Variable.isImplicit())
    return std::nullopt;
  StringRef Kind = kindOf(Variable.getType());
  if (Kind != "vector" && Kind != "basic_string" && Kind != "unique_ptr" &&
      Kind != "shared_ptr" && !isOfNodes(Kind) && !isStringStream(Kind))
    return std::nullopt;
  if (holdsThreads(Variable.getType()))
    return std::nullopt;
  IterationLocal Found{&Variable, nullptr, Kind, nullptr};
  const CompoundStmt *Body = blockOf(Variable, View, OfCall);
  Found.Loop = Body ? View.loopAround(*Body->body_front()) : nullptr;
  if (!Body || !Found.Loop != OfCall || leavesAround(*Body, Found.Loop, View))
    return std::nullopt;
  Found.Allocates = allocatingInit(Variable, Kind, View);
  const Expr *Lent = nullptr;
  bool IsRead = false;
  for (const DeclRefExpr *Ref : View.refs(Variable)) {
    const Expr *Site = nullptr;
    Use Is = useOf(*Ref, Kind, View, Site);
    if (Is == Use::TakesAway)
      return std::nullopt;
    if (Is == Use::Lent && !Lent && isSure(Site, Body, View))
      Lent = Site;
    IsRead |= Is == Use::Harmless;
    if (Is == Use::Harmless)
      Site = nullptr;
    if (!Site && Kind == "basic_string")
      Site = appendsInLoop(*Ref, Found.Loop, View);
    if (Site && Is != Use::Lent && !Found.Allocates && isSure(Site, Body, View))
      Found.Allocates = Site;
  }
  auto *Made = dyn_cast_or_null<CXXConstructExpr>(Variable.getInit());
  // An empty vector or string that is passed on and then read is a result.
  if (!Found.Allocates && IsRead &&
      (Kind == "vector" || Kind == "basic_string") && Made &&
      Made->getNumArgs() == 0)
    Found.Allocates = Lent;
  Found.IsReadOnlyCopy =
      Found.Allocates == Made && Made &&
      Made->getConstructor()->isCopyConstructor() &&
      llvm::all_of(View.refs(Variable), [&](const DeclRefExpr *Ref) {
        return onlyReads(*Ref, View);
      });
  Found.IsReturned = Found.Allocates && Variable.getInit() &&
                     Found.Allocates == strip(Variable.getInit()) &&
                     isa<CallExpr>(Found.Allocates) && Kind != "unique_ptr" &&
                     Kind != "shared_ptr";
  if (!Found.Allocates || (!OfCall && !View.isRepeated(Found.Allocates)))
    return std::nullopt;
  return Found;
}

} // namespace vfriendly::tidy
