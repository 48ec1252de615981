//===- IterationLocals.cpp - Locals allocated per iteration ---------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/heap-churn/IterationLocals.h"

#include "checkers/common/SourceText.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclTemplate.h"
#include "llvm/ADT/StringSwitch.h"

using namespace clang;

namespace vfriendly::tidy {

/// Maximum length of a string that libstdc++ (15) and libc++ (22) store in the
/// object itself.
static constexpr unsigned ShortString = 22;

StringRef stdKindOf(QualType Type) {
  auto *Record = Type.isNull()
                     ? nullptr
                     : Type.getNonReferenceType()->getAsCXXRecordDecl();
  return Record && Record->isInStdNamespace() ? identifierOf(Record) : "";
}

/// Returns true if Type is a vector of threads or futures: their creation costs
/// far more than the vector's memory, and thread-per-task reports it.
static bool holdsThreads(QualType Type) {
  auto *Class = dyn_cast_or_null<ClassTemplateSpecializationDecl>(
      Type->getAsCXXRecordDecl());
  if (!Class || Class->getTemplateArgs().size() == 0 ||
      Class->getTemplateArgs()[0].getKind() != TemplateArgument::Type)
    return false;
  StringRef Element = stdKindOf(Class->getTemplateArgs()[0].getAsType());
  return Element == "thread" || Element == "jthread" || Element == "future" ||
         Element == "shared_future";
}

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
  auto *Construct = dyn_cast<CXXConstructExpr>(Init);
  if (!Construct || Construct->getNumArgs() == 0)
    return nullptr;
  const Expr *First = Construct->getArg(0);
  if (Kind == "basic_string") {
    if (auto *Literal = dyn_cast<clang::StringLiteral>(strip(First)))
      return Literal->getLength() > ShortString ? Construct : nullptr;
    return First->getType()->isIntegerType() &&
                   isAtLeast(First, ShortString + 1, View.Context, false)
               ? Construct
               : nullptr;
  }
  if (First->getType()->isIntegerType())
    return isAtLeast(First, 1, View.Context, true) ? Construct : nullptr;
  if (auto *List = dyn_cast<CXXStdInitializerListExpr>(strip(First))) {
    auto *Elements = dyn_cast<InitListExpr>(strip(List->getSubExpr()));
    return Elements && Elements->getNumInits() > 0 ? Construct : nullptr;
  }
  return nullptr;
}

/// Returns true if every execution of the block that declares the variable runs
/// S, unless a loop around S has no iterations.
static bool isSure(const Stmt *S, const Stmt *Block, const FunctionView &View) {
  const Stmt *Child = S;
  for (const Stmt *P = View.parent(S); P; Child = P, P = View.parent(P)) {
    if (P == Block)
      return true;
    if (isa<IfStmt, SwitchStmt, AbstractConditionalOperator, CXXCatchStmt,
            LambdaExpr>(P))
      return false;
    if (auto *Logical = dyn_cast<BinaryOperator>(P);
        Logical && Logical->isLogicalOp() && Logical->getRHS() == Child)
      return false;
  }
  return false;
}

static bool fills(const CXXMemberCallExpr &Call, StringRef Kind,
                  const ASTContext &Context) {
  StringRef Name = identifierOf(Call.getMethodDecl());
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
enum class Use { Harmless, Fills, TakesAway };
} // namespace

/// Classifies the use of a local.
///
/// pre: Ref names a local whose kind is Kind.
static Use useOf(const DeclRefExpr &Ref, StringRef Kind,
                 const FunctionView &View, const Expr *&Site) {
  const Stmt *Child = &Ref, *P = View.parent(&Ref);
  bool Const = false;
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
    if (llvm::is_contained({"swap", "release"}, identifierOf(Method)))
      return Use::TakesAway;
    if (fills(*Call, Kind, View.Context)) {
      Site = Call;
      return Use::Fills;
    }
    return Use::Harmless;
  }
  if (auto *Operator = dyn_cast_or_null<CXXOperatorCallExpr>(P)) {
    // Accepts v[i], *p, p->f and a == b, and assignments to the local variable:
    // after an assignment, the variable keeps its memory or has freed it.
    return Operator->getNumArgs() > 0 && Operator->getArg(0) == Child &&
                   Operator->getCalleeDecl() &&
                   isa<CXXMethodDecl>(Operator->getCalleeDecl())
               ? Use::Harmless
           : Const ? Use::Harmless
                   : Use::TakesAway;
  }
  if (Const && Kind != "shared_ptr")
    return Use::Harmless; // Read, or copied.
  // The range of a range-for.
  if (auto *Declaration = dyn_cast_or_null<DeclStmt>(P))
    if (isa_and_nonnull<CXXForRangeStmt>(View.parent(Declaration)))
      return Use::Harmless;
  return Use::TakesAway;
}

std::optional<IterationLocal> findIterationLocal(const VarDecl &Variable,
                                                 FunctionView &View) {
  if (!Variable.hasLocalStorage() || Variable.getType()->isReferenceType() ||
      Variable.isImplicit())
    return std::nullopt;
  StringRef Kind = stdKindOf(Variable.getType());
  if (Kind != "vector" && Kind != "basic_string" && Kind != "unique_ptr" &&
      Kind != "shared_ptr")
    return std::nullopt;
  if (Kind == "vector" && holdsThreads(Variable.getType()))
    return std::nullopt;
  IterationLocal Found{&Variable, nullptr, Kind, nullptr};
  for (const Stmt *Loop : View.loops())
    if (auto *Block = dyn_cast<CompoundStmt>(loopBody(Loop)))
      for (const Stmt *Part : Block->body())
        if (auto *D = dyn_cast<DeclStmt>(Part);
            D && llvm::is_contained(D->decls(), &Variable))
          Found.Loop = Loop;
  if (!Found.Loop)
    return std::nullopt;
  Found.Allocates = allocatingInit(Variable, Kind, View);
  for (const DeclRefExpr *Ref : View.refs(Variable)) {
    const Expr *Site = nullptr;
    switch (useOf(*Ref, Kind, View, Site)) {
    case Use::TakesAway:
      return std::nullopt;
    case Use::Fills:
      if (!Found.Allocates && isSure(Site, loopBody(Found.Loop), View))
        Found.Allocates = Site;
      break;
    case Use::Harmless:
      break;
    }
  }
  if (!Found.Allocates || !View.isRepeated(Found.Allocates))
    return std::nullopt;
  return Found;
}

} // namespace vfriendly::tidy
