//===- ParallelIteration.cpp ----------------------------------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/blocking-sync/ParallelIteration.h"

#include "checkers/common/Counting.h"
#include "checkers/common/Loops.h"
#include "checkers/common/SourceText.h"
#include "checkers/common/SyncModel.h"

#include "clang/AST/Attr.h"
#include "clang/AST/ExprCXX.h"
#include "clang/Basic/OpenMPKinds.h"
#include "clang/Basic/SourceManager.h"

using namespace clang;

namespace vfriendly::tidy {

namespace {

/// Returns true for a target construct, or the data region around one, for
/// whose end the thread that encounters it waits.
bool isAwaitedTarget(const OMPExecutableDirective &Directive) {
  OpenMPDirectiveKind Kind = Directive.getDirectiveKind();
  return (isOpenMPTargetExecutionDirective(Kind) ||
          Kind == llvm::omp::OMPD_target_data) &&
         Directive.getClausesOfKind<OMPNowaitClause>().empty();
}

/// Returns the region whose threads alone execute Directive, which has the
/// statements Parents around it. One thread executes a target region.
const OMPExecutableDirective *
onlyRegion(const OMPExecutableDirective &Directive,
           ArrayRef<const Stmt *> Parents) {
  SmallVector<const OMPExecutableDirective *, 2> Around;
  for (const Stmt *P : Parents)
    if (auto *Outer = dyn_cast<OMPExecutableDirective>(P);
        Outer && !isAwaitedTarget(*Outer))
      Around.push_back(Outer);
  switch (Directive.getDirectiveKind()) {
  case llvm::omp::OMPD_parallel:
  case llvm::omp::OMPD_parallel_for:
  case llvm::omp::OMPD_parallel_for_simd:
  case llvm::omp::OMPD_teams_distribute_parallel_for:
  case llvm::omp::OMPD_teams_distribute_parallel_for_simd:
    return Around.empty() ? &Directive : nullptr;
  // The leaders of all teams combine their results as the region ends.
  case llvm::omp::OMPD_target_parallel_for:
  case llvm::omp::OMPD_target_parallel_for_simd:
  case llvm::omp::OMPD_target_teams_distribute_parallel_for:
  case llvm::omp::OMPD_target_teams_distribute_parallel_for_simd:
    return Around.empty() && isAwaitedTarget(Directive) ? &Directive : nullptr;
  case llvm::omp::OMPD_for:
  case llvm::omp::OMPD_for_simd:
    return Around.size() == 1 &&
                   Around[0]->getDirectiveKind() == llvm::omp::OMPD_parallel
               ? Around[0]
               : nullptr;
  default:
    return nullptr;
  }
}

/// Returns true if a lambda gets a part of the range, not one item of it.
bool takesRange(const LambdaExpr &Lambda) {
  const CXXMethodDecl *Call = Lambda.getCallOperator();
  const CXXRecordDecl *Class = Call->getNumParams() ? Call->getParamDecl(0)
                                                          ->getType()
                                                          .getNonReferenceType()
                                                          ->getAsCXXRecordDecl()
                                                    : nullptr;
  return Class && Class->getName().starts_with("blocked_range");
}

/// Returns true if a clause gives each thread a copy of Variable.
bool isPrivateBy(const OMPExecutableDirective &Directive,
                 const ValueDecl *Variable) {
  for (const OMPClause *Clause : Directive.clauses())
    if (isa<OMPPrivateClause, OMPFirstprivateClause, OMPLastprivateClause,
            OMPReductionClause, OMPInReductionClause, OMPTaskReductionClause,
            OMPLinearClause>(Clause))
      for (const Stmt *Item : Clause->children())
        if (objectOf(dyn_cast_or_null<Expr>(Item)) == Variable)
          return true;
  auto *Loop = dyn_cast<OMPLoopDirective>(&Directive);
  return Loop && llvm::any_of(Loop->counters(), [&](const Expr *Counter) {
           return objectOf(Counter) == Variable;
         });
}

} // namespace

static const CallExpr *callAround(ArrayRef<const Stmt *> Parents) {
  for (const Stmt *P : llvm::reverse(Parents))
    if (auto *Call = dyn_cast<CallExpr>(P))
      return Call;
  return nullptr;
}

static bool isSequentialForEach(const CallExpr &Call) {
  const FunctionDecl *Callee = Call.getDirectCallee();
  return identifierOf(Callee) == "for_each" && Callee->isInStdNamespace() &&
         !hasParallelPolicy(Call);
}

bool isHeldForPart(ArrayRef<const Stmt *> Parents,
                   ArrayRef<const Stmt *> Protected) {
  for (size_t I = Parents.size(); I-- > 0;) {
    auto *Lambda = dyn_cast<LambdaExpr>(Parents[I]);
    if (!Lambda) {
      if (isLoop(Parents[I]))
        return false;
      continue;
    }
    const CallExpr *Call = callAround(Parents.take_front(I));
    if (!Call || !isParallelAlgorithm(*Call) || !takesRange(*Lambda))
      return false;
    const ParmVarDecl *Part = Lambda->getCallOperator()->getParamDecl(0);
    bool Iterates = false;
    for (const Stmt *P : Protected)
      forEachStmt(P, [&](const Stmt *S, ArrayRef<const Stmt *> Above) {
        auto *Ref = dyn_cast<DeclRefExpr>(S);
        Iterates |=
            Ref && Ref->getDecl() == Part && llvm::any_of(Above, isLoop);
      });
    return Iterates;
  }
  return false;
}

std::optional<ParallelLoop> parallelLoop(ArrayRef<const Stmt *> Parents,
                                         const ASTContext &Context) {
  bool Repeats = false;
  for (size_t I = Parents.size(); I-- > 0;) {
    const Stmt *S = Parents[I];
    Repeats |= isLoop(S) && !hasFewIterations(S, Context);
    if (auto *Lambda = dyn_cast<LambdaExpr>(S)) {
      const CallExpr *Call = callAround(Parents.take_front(I));
      // A sequential loop within the parallel one.
      if (Call && isSequentialForEach(*Call)) {
        Repeats = true;
        continue;
      }
      if (!Call || !isParallelAlgorithm(*Call) ||
          !(Repeats || !takesRange(*Lambda)))
        return std::nullopt;
      return ParallelLoop{nullptr, Lambda, nullptr};
    }
    auto *Directive = dyn_cast<OMPExecutableDirective>(S);
    if (!Directive || isa<OMPCriticalDirective, OMPAtomicDirective>(S))
      continue;
    OpenMPDirectiveKind Kind = Directive->getDirectiveKind();
    // The leaders of teams execute the loop of a `distribute` side by side.
    bool IsParallel = isOpenMPParallelDirective(Kind) ||
                      isOpenMPTaskLoopDirective(Kind) ||
                      isOpenMPDistributeDirective(Kind);
    if (IsParallel ||
        (isOpenMPWorksharingDirective(Kind) && isOpenMPLoopDirective(Kind))) {
      if (!Repeats)
        return std::nullopt;
      return ParallelLoop{Directive, Directive,
                          onlyRegion(*Directive, Parents.take_front(I))};
    }
    // One thread executes the body of `single`, `master`, `task` and others.
    if (!isOpenMPSimdDirective(Kind))
      return std::nullopt;
  }
  return std::nullopt;
}

bool ParallelIteration::isShared(const Expr *E) const {
  bool Shared = true;
  forEachStmt(E, [&](const Stmt *S, ArrayRef<const Stmt *>) {
    if (isa<CallExpr>(S) && !isa<CXXOperatorCallExpr>(S))
      Shared = false;
    auto *Ref = dyn_cast<DeclRefExpr>(S);
    auto *Variable = Ref ? dyn_cast<VarDecl>(Ref->getDecl()) : nullptr;
    if (Variable && isOfThread(*Variable))
      Shared = false;
  });
  return Shared;
}

/// Returns true if If executes E only after a call returned false that may
/// change what its arguments point to: after an operation that failed, not
/// after a question that was answered by no.
static bool isAfterFailure(const IfStmt &If, const Expr *E) {
  const Expr *Condition = If.getCond()->IgnoreParenImpCasts();
  auto *Not = dyn_cast<UnaryOperator>(Condition);
  bool IsNegated = Not && Not->getOpcode() == UO_LNot;
  if (IsNegated)
    Condition = Not->getSubExpr()->IgnoreParenImpCasts();
  auto *Call = dyn_cast<CallExpr>(Condition);
  const FunctionDecl *Callee = calleeOf(Call);
  const Stmt *Branch = IsNegated ? If.getThen() : If.getElse();
  if (!Callee || !Branch ||
      llvm::none_of(Callee->parameters(), [](const ParmVarDecl *Parameter) {
        QualType Pointee = Parameter->getType()->getPointeeType();
        return !Pointee.isNull() && !Pointee.isConstQualified();
      }))
    return false;
  bool IsIn = false;
  forEachStmtAndLambda(
      Branch, [&](const Stmt *S, ArrayRef<const Stmt *>) { IsIn |= S == E; });
  return IsIn;
}

/// Returns true if the branch of If that is in Parents ends the loop around it,
/// as after an error.
static bool endsLoop(const IfStmt &If, ArrayRef<const Stmt *> Parents) {
  for (const Stmt *Branch : {If.getThen(), If.getElse()}) {
    auto *Block = dyn_cast_or_null<CompoundStmt>(Branch);
    if (Block && !Block->body_empty() && llvm::is_contained(Parents, Block))
      return isa<BreakStmt, ReturnStmt, GotoStmt>(Block->body_back());
  }
  return false;
}

bool ParallelIteration::isRare(const Expr *Target) const {
  const ValueDecl *Object = Target ? objectOf(Target) : nullptr;
  for (const Stmt *S : llvm::reverse(Parents)) {
    if (S == Loop.Body)
      return false;
    auto *If = dyn_cast<IfStmt>(S);
    bool Rare = If && Target && isAfterFailure(*If, Target);
    if (If)
      forEachStmt(If->getCond(), [&](const Stmt *C, ArrayRef<const Stmt *>) {
        auto *E = dyn_cast<Expr>(C);
        auto *Call = dyn_cast<CallExpr>(C);
        auto *Binary = dyn_cast<BinaryOperator>(C);
        Rare |= E && Object && isa<DeclRefExpr, MemberExpr>(E) &&
                objectOf(E) == Object;
        Rare |= identifierOf(calleeOf(Call)) == "omp_get_thread_num";
        Expr::EvalResult Every;
        Rare |= Binary && Binary->getOpcode() == BO_Rem &&
                !Binary->getRHS()->isValueDependent() &&
                Binary->getRHS()->EvaluateAsInt(Every, Context) &&
                Every.Val.getInt() >= 64; // as in hasFewIterations
      });
    Rare |= If && endsLoop(*If, Parents);
    if (Rare)
      return true;
  }
  return false;
}

bool ParallelIteration::isRead(const Stmt *S) const {
  auto *Sets = dyn_cast<BinaryOperator>(S);
  return Sets && Sets->isAssignmentOp() && !isShared(Sets->getLHS());
}

bool ParallelIteration::isConditional() const {
  const IfStmt *Chain = nullptr;
  for (const Stmt *S : llvm::reverse(Parents)) {
    if (S == Loop.Body || isLoop(S))
      break;
    if (isa<SwitchStmt, ConditionalOperator>(S))
      return true;
    auto *If = dyn_cast<IfStmt>(S);
    if (If && Chain && If->getElse() != Chain)
      return true;
    Chain = If ? If : Chain;
  }
  return Chain && !entersInEachBranch(*Chain);
}

bool ParallelIteration::isMostlyCritical() const {
  unsigned Inside = 0, Outside = 0;
  bool Loops = false;
  forEachStmtAndLambda(
      iteration(), [&](const Stmt *S, ArrayRef<const Stmt *> Above) {
        Loops |= isLoop(S);
        auto *Call = dyn_cast<CallExpr>(S);
        if (!Call || isa<CXXOperatorCallExpr>(Call) ||
            isa_and_nonnull<CXXConversionDecl>(Call->getDirectCallee()))
          return;
        bool In = llvm::any_of(
            Above, [](const Stmt *P) { return isa<OMPCriticalDirective>(P); });
        ++(In ? Inside : Outside);
      });
  return !Loops && Inside != 0 && Inside >= Outside;
}

/// Returns true for a function of the system's headers, and for one of the
/// program without loops that calls only those.
static bool isCheap(const FunctionDecl *Callee, const SourceManager &SM,
                    bool IsInner = false) {
  if (!Callee)
    return false;
  if (Callee->getBuiltinID() || SM.isInSystemHeader(Callee->getLocation()))
    return true;
  const FunctionDecl *Definition = nullptr;
  const Stmt *Body = IsInner ? nullptr : Callee->getBody(Definition);
  if (!Body)
    return false;
  bool Cheap = true;
  forEachStmtAndLambda(Body, [&](const Stmt *S, ArrayRef<const Stmt *>) {
    auto *Call = dyn_cast<CallExpr>(S);
    Cheap &= !isLoop(S) && !isa<OMPExecutableDirective>(S) &&
             (!Call || isCheap(Call->getDirectCallee(), SM, /*IsInner=*/true));
  });
  return Cheap;
}

bool ParallelIteration::isLight() const {
  bool Light = true;
  unsigned Loops = 0;
  const SourceManager &SM = Context.getSourceManager();
  forEachStmtAndLambda(iteration(), [&](const Stmt *S, ArrayRef<const Stmt *>) {
    Loops += isLoop(S);
    auto *Call = dyn_cast<CallExpr>(S);
    const FunctionDecl *Callee = Call ? Call->getDirectCallee() : nullptr;
    if (Call && !isCheap(Callee, SM))
      Light = false;
  });
  return Light && Loops == 0;
}

bool ParallelIteration::entersInEachBranch(const IfStmt &Chain) {
  unsigned Branches = 0;
  bool All = true;
  const Stmt *Rest = &Chain;
  while (Rest) {
    auto *If = dyn_cast<IfStmt>(Rest);
    const Stmt *Branch = If ? If->getThen() : Rest;
    bool Enters = false;
    forEachStmt(Branch, [&](const Stmt *S, ArrayRef<const Stmt *>) {
      Enters |= isa<OMPCriticalDirective>(S);
    });
    All &= Enters;
    ++Branches;
    Rest = If ? If->getElse() : nullptr;
  }
  return All && Branches > 1;
}

const Stmt *ParallelIteration::iteration() const {
  for (const Stmt *S : llvm::reverse(Parents)) {
    if (isLoop(S))
      return loopBody(S);
    if (auto *Lambda = dyn_cast<LambdaExpr>(S))
      return Lambda->getBody();
  }
  return Loop.Body;
}

bool ParallelIteration::isOfThread(const VarDecl &Variable) const {
  const SourceManager &SM = Context.getSourceManager();
  if (Variable.getTLSKind() != VarDecl::TLS_None ||
      Variable.hasAttr<OMPThreadPrivateDeclAttr>())
    return true;
  if (SM.isPointWithin(SM.getExpansionLoc(Variable.getLocation()),
                       SM.getExpansionLoc(Loop.Body->getBeginLoc()),
                       SM.getExpansionLoc(bodyEnd())))
    return true;
  return llvm::any_of(Parents, [&](const Stmt *P) {
    auto *Directive = dyn_cast<OMPExecutableDirective>(P);
    return Directive && (isPrivateBy(*Directive, &Variable) ||
                         isInRegion(*Directive, Variable));
  });
}

SourceLocation ParallelIteration::bodyEnd() const {
  return Loop.Directive ? Loop.Directive->getRawStmt()->getEndLoc()
                        : Loop.Body->getEndLoc();
}

bool ParallelIteration::isInRegion(const OMPExecutableDirective &Directive,
                                   const VarDecl &Variable) const {
  const SourceManager &SM = Context.getSourceManager();
  return isOpenMPParallelDirective(Directive.getDirectiveKind()) &&
         SM.isPointWithin(
             SM.getExpansionLoc(Variable.getLocation()),
             SM.getExpansionLoc(Directive.getRawStmt()->getBeginLoc()),
             SM.getExpansionLoc(Directive.getRawStmt()->getEndLoc()));
}

} // namespace vfriendly::tidy
