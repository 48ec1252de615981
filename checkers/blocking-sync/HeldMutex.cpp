//===- HeldMutex.cpp - The mutex that is held at a call -------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Follows the blocks around a call, the outermost first, and in each of them
// the statements before the call:
//
//   lock(&m);                     m
//   if (full) { unlock(&m);       m: this branch leaves
//     return; }
//   if (empty)                    m
//     signal(&c);         <- call
//   unlock(&m);
//
// and then, from the inside to the outside, those after it, up to the release.
//
//===----------------------------------------------------------------------===//

#include "checkers/blocking-sync/HeldMutex.h"

#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"

using namespace clang;

namespace vfriendly::tidy {

static bool isWithin(const SyncSite &S, const Stmt *Part) {
  return S.Site == Part || llvm::is_contained(S.Parents, Part);
}

/// Returns true if S, in Part, runs whenever Part does.
static bool isDirect(const SyncSite &S, const Stmt *Part) {
  if (S.Site == Part)
    return true;
  auto Where = llvm::find(S.Parents, Part);
  for (; Where != S.Parents.end(); ++Where) {
    const Stmt *Next =
        std::next(Where) == S.Parents.end() ? S.Site : *std::next(Where);
    auto *If = dyn_cast<IfStmt>(*Where);
    auto *Do = dyn_cast<DoStmt>(*Where);
    if (If   ? Next != If->getCond()
        : Do ? Next != Do->getBody()
             : isLoop(*Where) ||
                   isa<SwitchStmt, AbstractConditionalOperator, LambdaExpr>(
                       *Where))
      return false;
  }
  return true;
}

/// Returns true if the branch of Part in which S is ends with a jump or with a
/// call that does not return.
static bool leaves(const SyncSite &S, const Stmt *Part) {
  auto Begin = llvm::find(S.Parents, Part);
  for (auto Where = S.Parents.end(); Where != Begin;) {
    --Where;
    auto *Block = dyn_cast<CompoundStmt>(*Where);
    if (!Block || Block->body_empty())
      continue;
    const Stmt *Last = Block->body_back();
    auto *Call = dyn_cast<CallExpr>(Last);
    const FunctionDecl *Callee = Call ? Call->getDirectCallee() : nullptr;
    if (isa<ReturnStmt, BreakStmt, ContinueStmt, GotoStmt, CXXThrowExpr>(
            Last) ||
        (Callee && Callee->isNoReturn()))
      return true;
  }
  return false;
}

/// Returns the variable that the construction of a guard defines; null for a
/// call that locks. The object of a call on a std::unique_lock is the guard.
static const ValueDecl *guardOf(const SyncSite &Lock) {
  return isa<CXXConstructExpr>(Lock.Site) ? declaredAt(Lock.Parents) : nullptr;
}

static bool isOf(const SyncSite &Op, const HeldMutex &Held) {
  return Op.Object && (Op.Object == Held.Mutex || Op.Object == Held.Guard);
}

/// Updates Held by what Part, a statement of Block before the call, does.
static void pass(const Stmt *Part, const CompoundStmt *Block,
                 const FunctionSync &F, std::vector<HeldMutex> &Held) {
  for (const SyncSite &S : F.Syncs) {
    if (!isWithin(S, Part))
      continue;
    if (S.Kind == SyncKind::Lock && isDirect(S, Part)) {
      const ValueDecl *Guard = guardOf(S);
      if (isa<CXXConstructExpr>(S.Site) && !(Guard && isa<DeclStmt>(Part)))
        continue; // Ends with its own block or expression.
      // `unlock(l); ...; lock(l)` of a guard.
      if (llvm::none_of(Held, [&](const HeldMutex &H) { return isOf(S, H); }))
        Held.push_back({&S, S.Object, Guard, Guard ? Block : nullptr});
    } else if (S.Kind == SyncKind::Unlock && !leaves(S, Part)) {
      // A branch that releases it and takes it again leaves it held.
      bool Again =
          !isDirect(S, Part) && llvm::any_of(F.Syncs, [&](const SyncSite &L) {
            return L.Kind == SyncKind::Lock && L.Object == S.Object &&
                   isWithin(L, Part);
          });
      if (!Again)
        llvm::erase_if(Held, [&](const HeldMutex &H) { return isOf(S, H); });
    }
  }
}

/// Looks for the release of Held in Part, a statement of Block after the call.
/// Returns true when it is known whether there is one.
static bool findRelease(HeldMutex &Held, const Stmt *Part, const Stmt *Around,
                        const CompoundStmt *Block, const FunctionSync &F,
                        bool &Waits) {
  for (const SyncSite &S : F.Syncs) {
    if (!isWithin(S, Part))
      continue;
    if (S.Kind == SyncKind::Wait || S.Kind == SyncKind::TimedWait) {
      Waits = true;
      return true;
    }
    if (S.Kind == SyncKind::Unlock && isOf(S, Held) && isDirect(S, Part)) {
      Held.Unlock = &S;
      Held.Block = Block;
      Held.Part = Around;
      return true;
    }
  }
  return false;
}

namespace {
/// A block around the call, and the statement of it in which the call is.
struct Level {
  const CompoundStmt *Block;
  const Stmt *Part;
};
} // namespace

/// Returns the first release, after the call, of a mutex that F never takes: a
/// caller has taken it. Null if there is none, or a wait before it.
static const SyncSite *releasedForCaller(ArrayRef<Level> Levels,
                                         const FunctionSync &F) {
  for (const Level &L : llvm::reverse(Levels)) {
    bool After = false;
    for (const Stmt *Part : L.Block->body()) {
      for (const SyncSite &S : F.Syncs) {
        if (!After || !isWithin(S, Part))
          continue;
        if (S.Kind == SyncKind::Wait || S.Kind == SyncKind::TimedWait)
          return nullptr;
        if (S.Kind == SyncKind::Unlock && S.Object && isDirect(S, Part))
          return llvm::none_of(F.Syncs,
                               [&](const SyncSite &Lock) {
                                 return Lock.Kind == SyncKind::Lock &&
                                        (Lock.Object == S.Object ||
                                         guardOf(Lock) == S.Object);
                               })
                     ? &S
                     : nullptr;
      }
      After |= Part == L.Part;
    }
  }
  return nullptr;
}

std::vector<HeldMutex> heldAt(const SyncSite &Site, const FunctionSync &F) {
  SmallVector<Level, 8> Levels;
  for (size_t I = 0; I < Site.Parents.size(); ++I)
    if (auto *Block = dyn_cast<CompoundStmt>(Site.Parents[I]))
      Levels.push_back({Block, I + 1 < Site.Parents.size() ? Site.Parents[I + 1]
                                                           : Site.Site});
  std::vector<HeldMutex> Held;
  for (const Level &L : Levels)
    for (const Stmt *Part : L.Block->body()) {
      if (Part == L.Part)
        break;
      pass(Part, L.Block, F, Held);
    }
  std::vector<HeldMutex> Released;
  for (HeldMutex &Each : Held) {
    bool Known = false, Waits = false;
    for (const Level &L : llvm::reverse(Levels)) {
      bool After = false;
      for (const Stmt *Part : L.Block->body()) {
        if (After && !Known)
          Known = findRelease(Each, Part, L.Part, L.Block, F, Waits);
        After |= Part == L.Part;
      }
      if (!Known && Each.Guard && Each.Block == L.Block) {
        Each.Part = L.Part;
        Known = true;
      }
      if (Known)
        break;
    }
    if (Known && !Waits)
      Released.push_back(Each);
  }
  if (const SyncSite *Unlock = releasedForCaller(Levels, F))
    Released.push_back(
        {nullptr, Unlock->Object, nullptr, nullptr, nullptr, Unlock});
  return Released;
}

const ValueDecl *mutexOf(const SyncSite &Wait, const FunctionSync &F) {
  const Expr *Argument = nullptr;
  if (auto *Member = dyn_cast<CXXMemberCallExpr>(Wait.Site))
    Argument = Member->getNumArgs() ? Member->getArg(0) : nullptr;
  else if (auto *Call = dyn_cast<CallExpr>(Wait.Site))
    Argument = Call->getNumArgs() > 1 ? Call->getArg(1) : nullptr;
  const ValueDecl *Given = objectOf(Argument);
  // A guard: the mutex is what it was made from.
  for (const SyncSite &S : F.Syncs)
    if (S.Kind == SyncKind::Lock && Given && guardOf(S) == Given)
      return S.Object;
  // The caller's guard or mutex may be any.
  auto *Variable = dyn_cast_or_null<VarDecl>(Given);
  return Variable && Variable->hasLocalStorage() ? nullptr : Given;
}

} // namespace vfriendly::tidy
