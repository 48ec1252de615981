//===- SharedLineCheck.cpp - vfriendly-numa-placement-shared-line ---------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/numa-placement/Checks.h"

#include "checkers/common/AtomicOps.h"
#include "checkers/common/Counting.h"
#include "checkers/common/FunctionBodies.h"
#include "checkers/common/Loops.h"
#include "checkers/common/SourceText.h"
#include "checkers/common/WaitNeutral.h"
#include "checkers/numa-placement/AlignFix.h"
#include "checkers/numa-placement/ThreadElement.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtOpenMP.h"
#include "clang/Basic/SourceManager.h"

using namespace clang;

namespace vfriendly::tidy {

/// Returns true if a member function assigns to a member of its object.
static bool writesMember(const FunctionDecl &Callee) {
  const FunctionDecl *Definition = nullptr;
  bool Writes = false;
  forEachStmt(
      Callee.isDefined(Definition) ? Definition->getBody() : nullptr,
      [&](const Stmt *S, ArrayRef<const Stmt *>) {
        const Expr *To = nullptr;
        if (auto *Binary = dyn_cast<BinaryOperator>(S))
          To = Binary->isAssignmentOp() ? Binary->getLHS() : nullptr;
        else if (auto *Unary = dyn_cast<UnaryOperator>(S))
          To = Unary->isIncrementDecrementOp() ? Unary->getSubExpr() : nullptr;
        auto *Member = dyn_cast_or_null<MemberExpr>(stripped(To));
        Writes |= Member && isa<CXXThisExpr>(stripped(Member->getBase()));
      });
  return Writes;
}

/// Returns the object that a call of a member function changes; null if it
/// changes none.
static const Expr *changedBy(const CXXMemberCallExpr &Call) {
  const CXXMethodDecl *Callee = Call.getMethodDecl();
  const Expr *Object = Call.getImplicitObjectArgument();
  if (!Callee || Object->getType()->isPointerType())
    return nullptr;
  bool Grows = isOfStd(*Callee) &&
               llvm::is_contained({"push_back", "emplace_back", "pop_back"},
                                  identifierOf(Callee));
  return Grows || (!isOfStd(*Callee) && writesMember(*Callee)) ? Object
                                                               : nullptr;
}

/// Returns the lvalue that S writes; null if it writes none.
static const Expr *writtenBy(const Stmt *S) {
  if (auto *Binary = dyn_cast<BinaryOperator>(S))
    return Binary->isAssignmentOp() ? Binary->getLHS() : nullptr;
  if (auto *Unary = dyn_cast<UnaryOperator>(S))
    return Unary->isIncrementDecrementOp() ? Unary->getSubExpr() : nullptr;
  auto *E = dyn_cast<Expr>(S);
  if (auto *Call = dyn_cast<CXXMemberCallExpr>(S))
    if (const Expr *Changed = changedBy(*Call))
      return Changed;
  auto Atomic = E ? matchAtomicOp(E) : std::nullopt;
  if (!Atomic || !Atomic->Object || Atomic->Kind == AtomicKind::Load ||
      Atomic->Kind == AtomicKind::Other)
    return nullptr;
  if (!Atomic->ObjectIsPointer)
    return Atomic->Object;
  auto *Address = dyn_cast<UnaryOperator>(stripped(Atomic->Object));
  return Address && Address->getOpcode() == UO_AddrOf ? Address->getSubExpr()
                                                      : nullptr;
}

/// Returns true if a call of Callee may take long, compared with the moving of
/// a cache line: it is neither short, nor a function of a library that only
/// computes.
static bool mayTakeLong(const CallExpr &Call, const FunctionDecl &Callee,
                        FunctionBodies &Bodies) {
  if (matchAtomicOp(&Call) || Callee.getBuiltinID() ||
      Callee.hasAttr<ConstAttr>() || Callee.hasAttr<PureAttr>() ||
      classifyCall(Call, Callee) == CallEffect::None)
    return false;
  // Elements, sizes and iterators of containers.
  auto *Method = dyn_cast<CXXMethodDecl>(&Callee);
  if (isOfStd(Callee) &&
      (!Method || Method->isConst() || Method->isOverloadedOperator() ||
       llvm::is_contained({"begin", "end", "at", "data"},
                          identifierOf(Method))))
    return false;
  const FunctionDecl *Definition = Callee.getDefinition();
  if (!Definition || !Definition->getBody())
    return !identifierOf(&Callee).starts_with("omp_get_");
  const FunctionBody &Body = Bodies.of(*Definition);
  return !Body.isSmall() || Body.HasLoop || !Body.Uses.empty();
}

/// Returns true if Loop takes one element of its data after the other: it has a
/// condition, which calls nothing, and its threads do not wait for each other
/// or for work in it, as in a loop of phases.
static bool isOverElements(const Stmt *Loop) {
  const Expr *Condition = loopCondition(Loop);
  if (!Condition && !isa<CXXForRangeStmt>(Loop))
    return false;
  bool Waits = false;
  forEachStmt(Condition, [&](const Stmt *S, ArrayRef<const Stmt *>) {
    auto *Call = dyn_cast<CallExpr>(S);
    const FunctionDecl *Callee = Call ? Call->getDirectCallee() : nullptr;
    Waits |= Call && !(Callee && isOfStd(*Callee));
  });
  forEachStmt(loopBody(Loop), [&](const Stmt *S, ArrayRef<const Stmt *>) {
    if (auto *Directive = dyn_cast<OMPExecutableDirective>(S)) {
      OpenMPDirectiveKind Kind = Directive->getDirectiveKind();
      Waits |= isa<OMPBarrierDirective>(S) ||
               isOpenMPWorksharingDirective(Kind) ||
               isOpenMPParallelDirective(Kind);
    }
    std::string Name = identifierOf(calleeOf(dyn_cast<CallExpr>(S))).lower();
    for (StringRef Word :
         {"barrier", "wait", "sleep", "lock", "join", "recv", "poll", "yield"})
      Waits |= StringRef(Name).contains(Word);
  });
  return !Waits;
}

/// Returns true if the thread writes again soon: once for each element of its
/// data, or in a loop that only does little.
static bool writesOften(const Stmt *Loop, FunctionBodies &Bodies,
                        const ASTContext &Context) {
  if (isOverElements(Loop))
    return true;
  bool Long = false;
  forEachStmt(Loop, [&](const Stmt *S, ArrayRef<const Stmt *>) {
    auto *Call = dyn_cast<CallExpr>(S);
    const FunctionDecl *Callee = Call ? Call->getDirectCallee() : nullptr;
    Long |= (isLoop(S) && S != Loop && !hasFewIterations(S, Context)) ||
            (Call && (!Callee || mayTakeLong(*Call, *Callee, Bodies)));
  });
  return !Long;
}

namespace {
/// How often a thread executes a statement.
enum class Repeats {
  No,
  Often,  ///< In a loop of the thread that writesOften.
  InCalls ///< In each call of a function or lambda that threads call.
};
} // namespace

/// Returns how often a thread executes the statement with these Parents.
static Repeats repeatsOf(ArrayRef<const Stmt *> Parents,
                         const UnitValues &Values, FunctionBodies &Bodies,
                         const ASTContext &Context) {
  const Stmt *Lambda = nullptr;
  for (const Stmt *S : llvm::reverse(Parents)) {
    if (isLoop(S) && !Lambda && !hasFewIterations(S, Context) &&
        writesOften(S, Bodies, Context))
      return Repeats::Often;
    auto *Directive = dyn_cast<OMPExecutableDirective>(S);
    if (Directive && isOpenMPParallelDirective(Directive->getDirectiveKind()))
      return Repeats::No;
    // Once for each thread.
    if (llvm::any_of(Values.threadStarts(),
                     [&](const Site &Start) { return Start.E == S; }))
      return Repeats::No;
    if (isa<LambdaExpr>(S))
      Lambda = S;
    auto *Call = dyn_cast<CallExpr>(S);
    if (Lambda && Call &&
        (isParallelAlgorithm(*Call) ||
         Values.callsInThreads(Call->getDirectCallee())))
      return Repeats::InCalls;
  }
  return Repeats::InCalls;
}

/// Returns true if S adds to what it writes, as a count or a sum of all
/// calls does.
static bool accumulates(const Stmt *S, const Expr &Written) {
  if (auto *Binary = dyn_cast<BinaryOperator>(S);
      Binary && Binary->getOpcode() == BO_Assign) {
    bool ReadsIt = false; // x[i] = max(x[i], y)
    forEachStmt(Binary->getRHS(),
                [&](const Stmt *Below, ArrayRef<const Stmt *>) {
                  auto *E = dyn_cast<Expr>(Below);
                  ReadsIt |= E && E->isGLValue() && rootOf(E) &&
                             rootOf(E) == rootOf(&Written);
                });
    return ReadsIt;
  }
  return true;
}

/// Returns true if Element's index is a call of omp_get_thread_num in F, which
/// no parallel region of the unit calls outside of a loop: threads call F again
/// and again, as a callback.
static bool isOfCallback(const ThreadElement &Element, const FunctionDecl &F,
                         const UnitValues &Values) {
  auto *Call = dyn_cast<CallExpr>(stripped(Element.Number));
  if (identifierOf(calleeOf(Call)) != "omp_get_thread_num" || F.isMain())
    return false;
  return llvm::none_of(Values.calls(), [&](const Site &Each) {
    auto *Caller = cast<CallExpr>(Each.E)->getDirectCallee();
    return Caller && Caller->getCanonicalDecl() == F.getCanonicalDecl() &&
           !innermostLoop(Each.Parents) &&
           llvm::any_of(Each.Parents, [](const Stmt *S) {
             auto *Directive = dyn_cast<OMPExecutableDirective>(S);
             return Directive &&
                    isOpenMPParallelDirective(Directive->getDirectiveKind());
           });
  });
}

/// Returns true if the write with these Parents happens only for a new maximum
/// or the like: a condition around it asks for an element of Array.
static bool isForNewExtreme(const ValueDecl &Array,
                            ArrayRef<const Stmt *> Parents) {
  return llvm::any_of(Parents, [&](const Stmt *S) {
    auto *If = dyn_cast<IfStmt>(S);
    bool Asks = false;
    forEachStmt(If ? If->getCond() : nullptr, [&](const Stmt *Below,
                                                  ArrayRef<const Stmt *>) {
      auto *E = dyn_cast<Expr>(Below);
      Asks |= E && isa<DeclRefExpr, MemberExpr>(E) && rootOf(E) == &Array;
    });
    return Asks;
  });
}

/// Returns true if each thread has its own copy of Array: Array is
/// thread-local, or is declared in the parallel region or in the lambda.
static bool isPrivate(const ValueDecl &Array, ArrayRef<const Stmt *> Parents,
                      const ASTContext &Context) {
  const SourceManager &SM = Context.getSourceManager();
  auto *Variable = dyn_cast<VarDecl>(&Array);
  if (Variable && Variable->getTLSKind() != VarDecl::TLS_None)
    return true;
  if (!Variable || !Variable->hasLocalStorage())
    return false;
  return llvm::any_of(Parents, [&](const Stmt *S) {
    const Stmt *Body = isa<LambdaExpr>(S) ? S : nullptr;
    if (auto *Directive = dyn_cast<OMPExecutableDirective>(S))
      Body = Directive->getRawStmt();
    return Body && SM.isPointWithin(SM.getExpansionLoc(Variable->getLocation()),
                                    SM.getExpansionLoc(Body->getBeginLoc()),
                                    SM.getExpansionLoc(Body->getEndLoc()));
  });
}

/// Returns the size of an element if two neighbouring elements may share a
/// cache line, else 0. A structure of the size of a cache line that is not
/// aligned to cache lines shares lines with its neighbours, unless its last
/// member is an array, which is assumed to be padding.
static CharUnits sharedSize(const ThreadElement &Found,
                            const ASTContext &Context) {
  QualType T = Found.Element;
  if (T->isIncompleteType() || T->isDependentType())
    return CharUnits::Zero();
  if (auto *Fixed = Context.getAsConstantArrayType(Found.Array->getType());
      Fixed && Fixed->getSize().ule(1))
    return CharUnits::Zero();
  CharUnits Size = Context.getTypeSizeInChars(T);
  if (Size.getQuantity() < CacheLine)
    return Size;
  const RecordDecl *Record = T->getAsRecordDecl();
  bool IsAligned = Context.getTypeAlignInChars(T).getQuantity() >= CacheLine ||
                   Context.getDeclAlign(Found.Array).getQuantity() >= CacheLine;
  if (Size.getQuantity() != CacheLine || !Record || IsAligned)
    return CharUnits::Zero();
  const FieldDecl *Last = nullptr;
  for (const FieldDecl *Field : Record->fields())
    Last = Field;
  return Last && !Last->getType()->isArrayType() ? Size : CharUnits::Zero();
}

void SharedLineCheck::inspect(const UnitValues &Values,
                              const ASTContext &Context) {
  if (!Context.getLangOpts().OpenMP && Values.threadStarts().empty())
    return;
  ThreadElements Elements(Values, Context);
  std::shared_ptr<FunctionBodies> Bodies = perUnit<FunctionBodies>();
  llvm::DenseSet<const ValueDecl *> Reported;
  for (const FunctionDecl *F : Values.functions())
    forEachStmtAndLambda(F->getBody(), [&](const Stmt *S,
                                           ArrayRef<const Stmt *> Parents) {
      const Expr *Written = writtenBy(S);
      Repeats Times =
          Written ? repeatsOf(Parents, Values, *Bodies, Context) : Repeats::No;
      if (Times == Repeats::No ||
          (Times == Repeats::InCalls && !accumulates(S, *Written)))
        return;
      auto Found = Elements.of({Written, F, {Parents.begin(), Parents.end()}});
      if (Found && Times == Repeats::InCalls &&
          !isOfCallback(*Found, *F, Values))
        return;
      SourceLocation Where =
          Context.getSourceManager().getExpansionLoc(Written->getBeginLoc());
      CharUnits Size = Found ? sharedSize(*Found, Context) : CharUnits::Zero();
      if (Size.isZero() || isPrivate(*Found->Array, Parents, Context) ||
          isForNewExtreme(*Found->Array, Parents) ||
          Reported.contains(Found->Array) || !claim(Where, F, Context))
        return;
      Reported.insert(Found->Array);
      AlignFix Fix = alignFix(*Found, Values, Context);
      report(
          Where, S->getSourceRange(), *F,
          "threads write neighbouring elements of '" + Found->Array->getName() +
              (Times == Repeats::Often ? "' in loops, " : "' in each call, ") +
              Twine(Size.getQuantity()) + " bytes each",
          "give each thread a line of its own",
          "each write moves the cache line")
          << Fix.Hints;
      if (Fix.Hints.empty())
        diag(Found->Array->getLocation(), "no fix: %0", DiagnosticIDs::Note)
            << Fix.Reason;
    });
}

} // namespace vfriendly::tidy
