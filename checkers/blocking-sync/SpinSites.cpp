//===- SpinSites.cpp - What a function takes and releases -----------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/blocking-sync/SpinLocks.h"

#include "checkers/common/AtomicOps.h"
#include "checkers/common/SourceText.h"

#include "clang/AST/ExprCXX.h"
#include "clang/Basic/SourceManager.h"

using namespace clang;

namespace vfriendly::tidy {

llvm::iterator_range<SpinLocks::MacroUses::const_iterator>
SpinLocks::macrosIn(const FunctionSync &F, const ASTContext &Context) const {
  const SourceManager &SM = Context.getSourceManager();
  SourceRange Body = F.Function->getBody()->getSourceRange();
  auto Begin = Macros.lower_bound(SM.getExpansionLoc(Body.getBegin()));
  return {Begin, std::find_if(Begin, Macros.end(), [&](const auto &Use) {
            return !(Use.first < SM.getExpansionLoc(Body.getEnd()));
          })};
}

bool SpinLocks::mayTake(const FunctionSync &F, const ASTContext &Context) {
  for (const auto &[Where, Op] : macrosIn(F, Context))
    if (Op == SpinOp::Acquire)
      return true;
  return F.Polls ||
         llvm::any_of(F.Syncs,
                      [&](const SyncSite &S) {
                        auto *Made = dyn_cast<CXXConstructExpr>(S.Site);
                        return S.Kind == SyncKind::SpinLock ||
                               (Made &&
                                isGuard(Made->getConstructor()->getParent()));
                      }) ||
         llvm::any_of(F.Calls,
                      [&](const CallSite &C) {
                        return takes(*C.Call) || returnsGuard(*C.Call) ||
                               (of(*C.Call) == SpinOp::Try &&
                                innermostLoop(C.Parents));
                      }) ||
         llvm::any_of(F.Indirect,
                      [&](const CallExpr *C) { return takes(*C); }) ||
         llvm::any_of(F.Makes, [&](const MakeSite &M) {
           return isGuard(M.Made->getConstructor()->getParent());
         });
}

bool SpinLocks::mayTry(const FunctionSync &F, unsigned Depth) {
  return llvm::any_of(F.Calls, [&](const CallSite &C) {
    return of(*C.Call, Depth) == SpinOp::Try;
  });
}

/// Returns false if no macro's expansion begins with S and not with what is
/// around it. Asking where S begins costs a walk.
static bool maybeExpansion(const Stmt *S, ArrayRef<const Stmt *> Parents) {
  return Parents.empty() || !isa<Expr>(Parents.back()) ||
         isa<CallExpr, AtomicExpr, StmtExpr, ParenExpr>(S);
}

/// Returns the first argument of the macro of which S is the expansion that
/// names a variable or field.
static const ValueDecl *lockInMacro(const Stmt *S, const SourceManager &SM) {
  const ValueDecl *Object = nullptr;
  forEachStmt(S, [&](const Stmt *Below, ArrayRef<const Stmt *>) {
    auto *E = dyn_cast<Expr>(Below);
    if (Object || !E || !SM.isMacroArgExpansion(E->getBeginLoc()))
      return;
    if (E->getType()->isPointerType() || E->isLValue())
      Object = objectOf(E);
  });
  return Object;
}

/// Returns true for a guard that is made without taking the lock.
static bool isDeferred(const CXXConstructExpr &Made) {
  return Made.getNumArgs() > 1 &&
         identifierOf(Made.getArg(1)->getType()->getAsCXXRecordDecl()) ==
             "defer_lock_t";
}

std::vector<SpinSite> SpinLocks::sitesOf(const FunctionSync &F,
                                         const ASTContext &Context) {
  const SourceManager &SM = Context.getSourceManager();
  std::vector<SpinSite> Sites;
  llvm::DenseSet<SourceLocation> Seen;
  llvm::DenseSet<const Stmt *> Polling;
  auto InPoll = [&](ArrayRef<const Stmt *> Parents) {
    return llvm::any_of(Parents,
                        [&](const Stmt *P) { return Polling.contains(P); });
  };
  bool MayPoll = F.HasAtomics || mayTry(F, 1);
  bool HasMacros = !macrosIn(F, Context).empty(), Counts = false;
  // The part of a macro that takes or releases, and the number of its parents.
  const Stmt *Expanded = nullptr;
  size_t Depth = 0;
  forEachStmt(F.Function->getBody(), [&](const Stmt *S,
                                         ArrayRef<const Stmt *> Parents) {
    auto Add = [&](SpinOp Op, const ValueDecl *Object) -> SpinSite & {
      Sites.emplace_back(Op, S, Object);
      return Sites.back();
    };
    auto Guards = [&](SpinSite &Site) {
      Site.IsGuard = true;
      Site.Parents.assign(Parents.begin(), Parents.end());
    };
    if (Expanded && Parents.size() > Depth && Parents[Depth] == Expanded)
      return;
    if (HasMacros && maybeExpansion(S, Parents) &&
        S->getBeginLoc().isMacroID()) {
      SourceLocation Where = SM.getExpansionLoc(S->getBeginLoc());
      if (auto Macro = Macros.find(Where); Macro != Macros.end()) {
        Expanded = S;
        Depth = Parents.size();
        if (Seen.insert(Where).second)
          Add(Macro->second, lockInMacro(S, SM)).Macro = Where;
        return;
      }
    }
    if (isLoop(S)) {
      const ValueDecl *Object = nullptr;
      if (MayPoll && (polls(*S, 0, Context, &Object) ||
                      (Counts && waitsForTurn(*S, &Object)))) {
        Add(SpinOp::Acquire, Object);
        Polling.insert(S);
      }
    } else if (auto *Made = dyn_cast<CXXConstructExpr>(S)) {
      if (Made->getNumArgs() > 0 && !isDeferred(*Made) &&
          !Made->getConstructor()->isCopyOrMoveConstructor() &&
          isGuard(Made->getConstructor()->getParent())) {
        Guards(Add(SpinOp::Acquire, objectOf(Made->getArg(0))));
      }
    } else if (WordChange Change = changeOf(S, Context);
               Change.Is != WordChange::None) {
      Counts |= Change.Is == WordChange::Add;
      // What sets a word in a loop has been found with the loop.
      if (Change.Is != WordChange::Set)
        Add(SpinOp::Release, Change.Object);
    } else if (auto *Call = dyn_cast<CallExpr>(S)) {
      SpinOp Op = of(*Call);
      if (returnsGuard(*Call))
        Guards(Add(SpinOp::Acquire, lockOf(*Call)));
      else if (Op == SpinOp::Release)
        Add(Op, lockOf(*Call));
      else if (takes(*Call) && !(Op == SpinOp::Try && InPoll(Parents)))
        Add(SpinOp::Acquire, lockOf(*Call)).When = whenTaken(*Call);
    }
  });
  return Sites;
}

} // namespace vfriendly::tidy
