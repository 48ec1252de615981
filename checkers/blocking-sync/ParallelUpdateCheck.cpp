//===- ParallelUpdateCheck.cpp - vfriendly-blocking-sync-parallel-update --===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/blocking-sync/Checks.h"

#include "checkers/blocking-sync/Reduction.h"
#include "checkers/common/AtomicOps.h"
#include "checkers/common/ParallelLoops.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"
#include "clang/Basic/OpenMPKinds.h"
#include "clang/Basic/SourceManager.h"

using namespace clang;

namespace vfriendly::tidy {

namespace {

/// What the threads of a team execute once in each of many iterations.
struct ParallelLoop {
  const OMPExecutableDirective *Directive = nullptr; ///< Null for an algorithm.
  /// Directive or the lambda: what is declared in it belongs to one thread.
  const Stmt *Body = nullptr;
  /// The region of the only team of threads that executes Directive; null if
  /// it is not visible, or if several teams or tasks may.
  const OMPExecutableDirective *Region = nullptr;
};

/// Returns the region whose threads alone execute Directive, which has the
/// statements Parents around it.
const OMPExecutableDirective *
onlyRegion(const OMPExecutableDirective &Directive,
           ArrayRef<const Stmt *> Parents) {
  SmallVector<const OMPExecutableDirective *, 2> Around;
  for (const Stmt *P : Parents)
    if (auto *Outer = dyn_cast<OMPExecutableDirective>(P))
      Around.push_back(Outer);
  switch (Directive.getDirectiveKind()) {
  case llvm::omp::OMPD_parallel:
  case llvm::omp::OMPD_parallel_for:
  case llvm::omp::OMPD_parallel_for_simd:
    return Around.empty() ? &Directive : nullptr;
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

std::optional<ParallelLoop> parallelLoop(ArrayRef<const Stmt *> Parents,
                                         const ASTContext &Context) {
  bool Repeats = false;
  for (size_t I = Parents.size(); I-- > 0;) {
    const Stmt *S = Parents[I];
    Repeats |= isLoop(S) && !hasFewIterations(S, Context);
    if (auto *Lambda = dyn_cast<LambdaExpr>(S)) {
      const CallExpr *Call = nullptr;
      for (size_t J = I; J-- > 0 && !Call;)
        Call = dyn_cast<CallExpr>(Parents[J]);
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

class Finder {
public:
  Finder(ArrayRef<const Stmt *> Parents, const ParallelLoop &Loop,
         const ASTContext &Context)
      : Parents(Parents), Loop(Loop), Context(Context) {}

  /// Returns true if E is the same object in all iterations and threads.
  bool isShared(const Expr *E) const {
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

  /// Returns true if a condition around the update lets few iterations through:
  /// it reads the result, or chooses one thread or every so many iterations.
  bool isRare(const Expr *Target) const {
    const ValueDecl *Object = Target ? objectOf(Target) : nullptr;
    for (const Stmt *S : llvm::reverse(Parents)) {
      if (S == Loop.Body)
        return false;
      auto *If = dyn_cast<IfStmt>(S);
      bool Rare = false;
      if (If)
        forEachStmt(If->getCond(), [&](const Stmt *C, ArrayRef<const Stmt *>) {
          auto *E = dyn_cast<Expr>(C);
          auto *Call = dyn_cast<CallExpr>(C);
          auto *Binary = dyn_cast<BinaryOperator>(C);
          Rare |= E && Object && isa<DeclRefExpr, MemberExpr>(E) &&
                  objectOf(E) == Object;
          Rare |= Call && Call->getDirectCallee() &&
                  Call->getDirectCallee()->getIdentifier() &&
                  Call->getDirectCallee()->getName() == "omp_get_thread_num";
          Expr::EvalResult Every;
          Rare |= Binary && Binary->getOpcode() == BO_Rem &&
                  !Binary->getRHS()->isValueDependent() &&
                  Binary->getRHS()->EvaluateAsInt(Every, Context) &&
                  Every.Val.getInt() >= 64; // as in hasFewIterations
        });
      if (Rare)
        return true;
    }
    return false;
  }

  /// Returns true if S does nothing but set a variable of the thread, as a poll
  /// does.
  bool isRead(const Stmt *S) const {
    auto *Sets = dyn_cast<BinaryOperator>(S);
    return Sets && Sets->isAssignmentOp() && !isShared(Sets->getLHS());
  }

  /// Returns true if some iterations skip the update, and do not enter another
  /// critical section instead.
  bool isConditional() const {
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

  /// Returns true if the code of an iteration outside of critical sections is
  /// no longer than that in them: no loop, and no more calls. Operators and
  /// conversions do not count.
  bool isMostlyCritical() const {
    unsigned Inside = 0, Outside = 0;
    bool Loops = false;
    forEachStmtAndLambda(
        iteration(), [&](const Stmt *S, ArrayRef<const Stmt *> Above) {
          Loops |= isLoop(S);
          auto *Call = dyn_cast<CallExpr>(S);
          if (!Call || isa<CXXOperatorCallExpr>(Call) ||
              isa_and_nonnull<CXXConversionDecl>(Call->getDirectCallee()))
            return;
          bool In = llvm::any_of(Above, [](const Stmt *P) {
            return isa<OMPCriticalDirective>(P);
          });
          ++(In ? Inside : Outside);
        });
    return !Loops && Inside != 0 && Inside >= Outside;
  }

  /// Returns true if an iteration does little except for the update: no inner
  /// loop, and no call except of functions of the system's headers.
  bool isLight() const {
    bool Light = true;
    unsigned Loops = 0;
    const SourceManager &SM = Context.getSourceManager();
    forEachStmtAndLambda(
        iteration(), [&](const Stmt *S, ArrayRef<const Stmt *>) {
          Loops += isLoop(S);
          auto *Call = dyn_cast<CallExpr>(S);
          const FunctionDecl *Callee = Call ? Call->getDirectCallee() : nullptr;
          if (Call && !(Callee && (Callee->getBuiltinID() ||
                                   SM.isInSystemHeader(Callee->getLocation()))))
            Light = false;
        });
    return Light && Loops == 0;
  }

private:
  /// Returns true if `if (...) ... else if (...) ...` has two or more branches,
  /// and each of them has a critical section.
  static bool entersInEachBranch(const IfStmt &Chain) {
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

  /// The body of the innermost loop, or of the lambda.
  const Stmt *iteration() const {
    for (const Stmt *S : llvm::reverse(Parents)) {
      if (isLoop(S))
        return loopBody(S);
      if (auto *Lambda = dyn_cast<LambdaExpr>(S))
        return Lambda->getBody();
    }
    return Loop.Body;
  }

  bool isOfThread(const VarDecl &Variable) const {
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

  SourceLocation bodyEnd() const {
    return Loop.Directive ? Loop.Directive->getRawStmt()->getEndLoc()
                          : Loop.Body->getEndLoc();
  }

  /// Returns true if each thread of a parallel region declares Variable.
  bool isInRegion(const OMPExecutableDirective &Directive,
                  const VarDecl &Variable) const {
    const SourceManager &SM = Context.getSourceManager();
    return isOpenMPParallelDirective(Directive.getDirectiveKind()) &&
           SM.isPointWithin(
               SM.getExpansionLoc(Variable.getLocation()),
               SM.getExpansionLoc(Directive.getRawStmt()->getBeginLoc()),
               SM.getExpansionLoc(Directive.getRawStmt()->getEndLoc()));
  }

  ArrayRef<const Stmt *> Parents;
  ParallelLoop Loop;
  const ASTContext &Context;
};

/// Returns true if S prints: the lock then keeps lines apart.
bool prints(const Stmt *S) {
  bool Found = false;
  forEachStmt(S, [&](const Stmt *C, ArrayRef<const Stmt *>) {
    auto *Call = dyn_cast<CallExpr>(C);
    const FunctionDecl *Callee = Call ? Call->getDirectCallee() : nullptr;
    if (auto *Operator = dyn_cast<CXXOperatorCallExpr>(C))
      Found |= Operator->getOperator() == OO_LessLess;
    else if (Callee && Callee->getIdentifier())
      Found |= Callee->getName().contains("print") ||
               Callee->getName().contains("write") ||
               Callee->getName().starts_with("fput") ||
               Callee->getName() == "puts" || Callee->getName() == "fflush";
  });
  return Found;
}

/// The statements that a lock taken at Site protects: those after it in its
/// block, up to an unlock.
SmallVector<const Stmt *, 4> protectedBy(const SyncSite &Site,
                                         const FunctionSync &F) {
  const CompoundStmt *Block = nullptr;
  const Stmt *Own = Site.Site;
  for (const Stmt *S : llvm::reverse(Site.Parents)) {
    if ((Block = dyn_cast<CompoundStmt>(S)))
      break;
    Own = S;
  }
  SmallVector<const Stmt *, 4> Found;
  bool Inside = false;
  if (!Block)
    return Found;
  for (const Stmt *S : Block->body())
    if (S == Own) {
      Inside = true;
    } else if (Inside) {
      for (const SyncSite &Other : F.Syncs)
        if (Other.Kind == SyncKind::Unlock && Other.Object == Site.Object &&
            (Other.Site == S || llvm::is_contained(Other.Parents, S)))
          return Found;
      Found.push_back(S);
    }
  return Found;
}

/// Code that one thread at a time executes.
struct Exclusive {
  const FunctionSync &F;
  ArrayRef<const Stmt *> Parents;
  SmallVector<const Stmt *, 4> Statements;
  StringRef How;
  /// The `omp critical` or `omp atomic`; null for a lock.
  const OMPExecutableDirective *Guard = nullptr;
  const Expr *Lock = nullptr;

  SourceLocation place() const {
    return Guard ? Guard->getBeginLoc() : Lock->getExprLoc();
  }
  SourceRange extent() const {
    return Guard ? Guard->getSourceRange() : Lock->getSourceRange();
  }
};

/// What a report says.
struct Finding {
  /// The result, if the code does nothing but update results that all threads
  /// share; else null.
  const Expr *Result = nullptr;
  ReductionFix Fix;
};

/// Returns nothing unless the code is likely to delay the loop.
std::optional<Finding> judge(const Exclusive &Code, const ASTContext &Context) {
  auto Loop = parallelLoop(Code.Parents, Context);
  if (!Loop || Code.Statements.empty())
    return std::nullopt;
  Finder Find(Code.Parents, *Loop, Context);
  Finding Found;
  bool AllShared = true;
  for (const Stmt *S : Code.Statements) {
    auto One = reductionOf(S, Context);
    AllShared &= One && Find.isShared(One->Target);
    if (AllShared && !Found.Result)
      Found.Result = One->Target;
  }
  if (!AllShared) {
    Found.Result = nullptr;
    // Atomic updates of different elements seldom collide. Other code is
    // reported only if each iteration waits for it, and not for its output.
    if (isa_and_nonnull<OMPAtomicDirective>(Code.Guard) ||
        llvm::any_of(Code.Statements, prints) ||
        llvm::all_of(Code.Statements,
                     [&](const Stmt *S) { return Find.isRead(S); }) ||
        Find.isConditional() || !(Find.isLight() || Find.isMostlyCritical()))
      return std::nullopt;
    return Found;
  }
  if (Find.isRare(Found.Result))
    return std::nullopt;
  if (Code.Guard && Loop->Directive)
    Found.Fix = reductionFix(
        {Code.F.Function, Loop->Directive, Code.Guard, Loop->Region}, Context);
  // Without a fix, a change must be worth the work.
  if (Found.Fix.Hints.empty() && !Find.isLight())
    return std::nullopt;
  return Found;
}

constexpr llvm::StringLiteral Cost = "the threads take turns";
constexpr llvm::StringLiteral Remedy = "give each thread a partial result";

/// Where lambdas stand: their call operators are functions of their own.
using LambdaParents =
    llvm::DenseMap<const FunctionDecl *, SmallVector<const Stmt *, 8>>;

LambdaParents lambdasIn(const SyncModel &Model) {
  LambdaParents Found;
  for (const FunctionSync &F : Model.functions())
    forEachStmtAndLambda(F.Function->getBody(),
                         [&](const Stmt *S, ArrayRef<const Stmt *> Parents) {
                           auto *Lambda = dyn_cast<LambdaExpr>(S);
                           if (!Lambda)
                             return;
                           auto &Around = Found[Lambda->getCallOperator()];
                           if (Around.size() <= Parents.size()) {
                             Around.assign(Parents.begin(), Parents.end());
                             Around.push_back(Lambda);
                           }
                         });
  return Found;
}

/// Lists what F does under a lock or in a directive.
void forEachExclusive(const FunctionSync &F, const LambdaParents &Lambdas,
                      llvm::function_ref<void(const Exclusive &)> Visit) {
  for (const SyncSite &S : F.Syncs)
    if (S.Kind == SyncKind::Lock || S.Kind == SyncKind::SpinLock) {
      SmallVector<const Stmt *, 16> Parents(Lambdas.lookup(F.Function));
      Parents.append(S.Parents.begin(), S.Parents.end());
      Visit(
          {F, Parents, protectedBy(S, F), "with a lock held", nullptr, S.Site});
    }
  forEachStmtAndLambda(F.Function->getBody(),
                       [&](const Stmt *S, ArrayRef<const Stmt *> Parents) {
                         if (!isa<OMPCriticalDirective, OMPAtomicDirective>(S))
                           return;
                         auto *Guard = cast<OMPExecutableDirective>(S);
                         Visit({F, Parents, guardedBy(*Guard),
                                isa<OMPAtomicDirective>(S)
                                    ? "atomically"
                                    : "in a critical section",
                                Guard});
                       });
}

/// Returns true if the atomic operation E with these Parents only modifies its
/// object: nothing uses the value that it returns.
bool isResultUnused(const Expr *E, ArrayRef<const Stmt *> Parents) {
  const Stmt *Whole = E;
  if (!Parents.empty() && isa<ExprWithCleanups>(Parents.back())) {
    Whole = Parents.back();
    Parents = Parents.drop_back();
  }
  if (Parents.empty())
    return true;
  const Stmt *User = Parents.back();
  if (auto *If = dyn_cast<IfStmt>(User))
    return If->getCond() != Whole;
  if (auto *For = dyn_cast<ForStmt>(User))
    return For->getCond() != Whole;
  if (auto *While = dyn_cast<WhileStmt>(User))
    return While->getCond() != Whole;
  if (auto *Do = dyn_cast<DoStmt>(User))
    return Do->getCond() != Whole;
  // `long Index = counter++` needs the value.
  return !isa<Expr, DeclStmt, ReturnStmt, SwitchStmt>(User);
}

} // namespace

void ParallelUpdateCheck::inspect(const SyncModel &Model,
                                  const ASTContext &Context) {
  llvm::DenseSet<const Stmt *> Removed;
  const LambdaParents Lambdas = lambdasIn(Model);
  for (const FunctionSync &F : Model.functions()) {
    forEachExclusive(F, Lambdas, [&](const Exclusive &Code) {
      auto Found =
          Removed.contains(Code.Guard) ? std::nullopt : judge(Code, Context);
      if (!Found || !claim(Code.place(), F.Function, Context))
        return;
      if (!Found->Fix.Hints.empty())
        Removed.insert(Found->Fix.Removed.begin(), Found->Fix.Removed.end());
      const ValueDecl *Result =
          Found->Result ? objectOf(Found->Result) : nullptr;
      std::string Does = Result ? "updates '" + Result->getNameAsString() + "' "
                                : std::string("runs code ");
      report(Code.place(), Code.extent(), *F.Function,
             "each iteration of a parallel loop " + Does + Code.How, Remedy,
             Cost)
          << Found->Fix.Hints;
      if (!Found->Fix.Reason.empty())
        diag(Code.place(), "no fix: %0", DiagnosticIDs::Note)
            << Found->Fix.Reason;
    });
    forEachStmtAndLambda(
        F.Function->getBody(),
        [&](const Stmt *S, ArrayRef<const Stmt *> Parents) {
          auto *E = dyn_cast<Expr>(S);
          auto Atomic =
              E && isResultUnused(E, Parents) ? matchAtomicOp(E) : std::nullopt;
          if (!Atomic || Atomic->Kind != AtomicKind::Modify || !Atomic->Object)
            return;
          auto Loop = parallelLoop(Parents, Context);
          const ValueDecl *Result = objectOf(Atomic->Object);
          Finder Find(Parents, Loop ? *Loop : ParallelLoop(), Context);
          if (!Loop || !Result || !Find.isShared(Atomic->Object) ||
              !Find.isLight() || Find.isRare(Atomic->Object) ||
              !claim(E->getExprLoc(), F.Function, Context))
            return;
          report(*E, *E, *F.Function,
                 "each iteration of a parallel loop updates '" +
                     Result->getName() + "' atomically",
                 Remedy, Cost);
        });
  }
}

} // namespace vfriendly::tidy
