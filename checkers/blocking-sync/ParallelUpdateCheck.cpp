//===- ParallelUpdateCheck.cpp - vfriendly-blocking-sync-parallel-update --===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/blocking-sync/Checks.h"

#include "checkers/blocking-sync/ParallelIteration.h"
#include "checkers/blocking-sync/Reduction.h"
#include "checkers/common/AtomicOps.h"
#include "checkers/common/SourceText.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/ASTLambda.h"
#include "clang/AST/ExprCXX.h"

using namespace clang;

namespace vfriendly::tidy {

namespace {

/// Returns true if S prints: the lock then keeps lines apart.
bool prints(const Stmt *S) {
  bool Found = false;
  forEachStmt(S, [&](const Stmt *C, ArrayRef<const Stmt *>) {
    StringRef Name = identifierOf(calleeOf(C));
    if (auto *Operator = dyn_cast<CXXOperatorCallExpr>(C))
      Found |= Operator->getOperator() == OO_LessLess;
    else
      Found |= Name.contains("print") || Name.contains("write") ||
               Name.starts_with("fput") || Name == "puts" || Name == "fflush";
  });
  return Found;
}

/// The statements that a lock taken at Site protects: those after it in its
/// block, up to an unlock.
SmallVector<const Stmt *, 4> protectedBy(const SyncSite &Site,
                                         const FunctionSync &F) {
  auto [Block, Own] = innermostBlock(Site.Site, Site.Parents);
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
  if (isHeldForPart(Code.Parents, Code.Statements) &&
      llvm::none_of(Code.Statements, prints))
    return Finding();
  auto Loop = parallelLoop(Code.Parents, Context);
  if (!Loop || Code.Statements.empty())
    return std::nullopt;
  ParallelIteration Each(Code.Parents, *Loop, Context);
  Finding Found;
  bool AllShared = true;
  for (const Stmt *S : Code.Statements) {
    auto One = reductionOf(S, Context);
    const Expr *Array = One ? smallArrayOf(One->Target, Context) : nullptr;
    AllShared &= One && Each.isShared(Array ? Array : One->Target);
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
                     [&](const Stmt *S) { return Each.isRead(S); }) ||
        Each.isConditional() || !(Each.isLight() || Each.isMostlyCritical()))
      return std::nullopt;
    return Found;
  }
  if (Each.isRare(Found.Result))
    return std::nullopt;
  if (Code.Guard && Loop->Directive)
    Found.Fix = reductionFix(
        {Code.F.Function, Loop->Directive, Code.Guard, Loop->Region}, Context);
  // Without a fix, a change must be worth the work.
  if (Found.Fix.Hints.empty() && !Each.isLight())
    return std::nullopt;
  return Found;
}

constexpr llvm::StringLiteral Cost = "the threads take turns";
constexpr llvm::StringLiteral Remedy = "give each thread a partial result";

bool takesLock(const SyncSite &S) {
  return S.Kind == SyncKind::Lock || S.Kind == SyncKind::SpinLock;
}

/// Where lambdas stand: their call operators are functions of their own.
using LambdaParents =
    llvm::DenseMap<const FunctionDecl *, SmallVector<const Stmt *, 8>>;

LambdaParents lambdasIn(const SyncModel &Model) {
  LambdaParents Found; // Of use if one of them takes a lock.
  if (llvm::none_of(Model.functions(), [](const FunctionSync &F) {
        return isLambdaCallOperator(F.Function) &&
               llvm::any_of(F.Syncs, takesLock);
      }))
    return Found;
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
    if (takesLock(S)) {
      SmallVector<const Stmt *, 16> Parents(Lambdas.lookup(F.Function));
      Parents.append(S.Parents.begin(), S.Parents.end());
      Visit(
          {F, Parents, protectedBy(S, F), "with a lock held", nullptr, S.Site});
    }
  if (F.Function->getASTContext().getLangOpts().OpenMP == 0)
    return;
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
          ParallelIteration Each(Parents, Loop ? *Loop : ParallelLoop(),
                                 Context);
          if (!Loop || !Result || !Each.isShared(Atomic->Object) ||
              !Each.isLight() || Each.isRare(Atomic->Object) ||
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
