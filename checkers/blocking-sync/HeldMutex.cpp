//===- HeldMutex.cpp - The mutex that is held at a call -------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A mutex that is released next, before it is taken again, is held already. So
// the search looks at what follows the call, from the inside to the outside:
//
//   while (more) {                here the loop goes on to its begin, unless
//     if (full)                   nothing in it synchronizes
//       signal(&c);         <- call
//     if (bad) {
//       unlock(&m);               this branch leaves
//       return;
//     }
//   }
//   unlock(&m);                   m is held at the call
//
// A guard ends with its block, and a mutex that the condition of a `for` takes
// and releases with that loop:
//
//   for (int i = 0; i ? (unlock(&m), 0) : (lock(&m), 1); i = 1) { ... }
//
//===----------------------------------------------------------------------===//

#include "checkers/blocking-sync/HeldMutex.h"

#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"
#include "clang/Basic/SourceManager.h"
#include "llvm/ADT/SmallPtrSet.h"

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

/// Returns true if the branch of Part in which S is ends with a jump out of
/// Part or with a call that does not return.
static bool leaves(const SyncSite &S, const Stmt *Part) {
  auto Begin = llvm::find(S.Parents, Part);
  for (auto Where = S.Parents.end(); Where != Begin;) {
    --Where;
    auto *Block = dyn_cast<CompoundStmt>(*Where);
    if (!Block || Block->body_empty())
      continue;
    const Stmt *Last = Block->body_back();
    // do { ...; goto end; } while (0), of a macro.
    while (auto *Do = dyn_cast<DoStmt>(Last)) {
      auto *Body = dyn_cast<CompoundStmt>(Do->getBody());
      if (!Body || Body->body_empty())
        break;
      Last = Body->body_back();
    }
    auto *Call = dyn_cast<CallExpr>(Last);
    const FunctionDecl *Callee = Call ? Call->getDirectCallee() : nullptr;
    bool StaysInside = std::any_of(Begin, Where, [&](const Stmt *P) {
      return isLoop(P) || (isa<SwitchStmt>(P) && isa<BreakStmt>(Last));
    });
    if (isa<ReturnStmt, GotoStmt, CXXThrowExpr>(Last) ||
        (isa<BreakStmt, ContinueStmt>(Last) && !StaysInside) ||
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

namespace {
/// A block around the call, and the statement of it in which the call is.
struct Level {
  const CompoundStmt *Block;
  const Stmt *Part;
  size_t Index; ///< Of Block among the statements around the call.
};

/// A mutex that may be held at a call.
struct Candidate {
  HeldMutex Held;
  /// The `for` whose condition takes and releases it; null for others.
  const ForStmt *Scope = nullptr;
};

class HeldSearch {
public:
  HeldSearch(const SyncSite &Site, const FunctionSync &F) : Site(Site), F(F) {
    for (size_t I = 0; I < Site.Parents.size(); ++I)
      if (auto *Block = dyn_cast<CompoundStmt>(Site.Parents[I]))
        Levels.push_back(
            {Block,
             I + 1 < Site.Parents.size() ? Site.Parents[I + 1] : Site.Site, I});
  }

  std::vector<HeldMutex> run() {
    addGuards();
    addScopes();
    addReleased();
    std::vector<HeldMutex> Found;
    for (Candidate &Each : Candidates)
      if (findRelease(Each))
        Found.push_back(Each.Held);
    return Found;
  }

private:
  /// What a statement after the call does to a mutex.
  enum class Next { Nothing, Releases, Other };

  void addGuards();
  bool isStillHeld(const SyncSite &Lock, const ValueDecl &Guard) const;
  void addScopes();
  void addReleased();
  bool findRelease(Candidate &Of) const;
  Next afterwards(const Stmt *Part, HeldMutex &Held) const;
  bool mayRepeat(size_t From, size_t To, const Candidate &Of) const;

  const SyncSite &Site;
  const FunctionSync &F;
  SmallVector<Level, 8> Levels; ///< The outermost first.
  std::vector<Candidate> Candidates;
};
} // namespace

/// Adds the guards that are declared before the call in the blocks around it.
void HeldSearch::addGuards() {
  for (const Level &L : Levels)
    for (const Stmt *Part : L.Block->body()) {
      if (Part == L.Part)
        break;
      for (const SyncSite &S : F.Syncs)
        if (const ValueDecl *Guard = S.Kind == SyncKind::Lock &&
                                             isa<DeclStmt>(Part) &&
                                             isWithin(S, Part)
                                         ? guardOf(S)
                                         : nullptr;
            Guard && isStillHeld(S, *Guard))
          Candidates.push_back({{&S, S.Object, Guard, L.Block}});
    }
}

/// Returns true unless a call on Guard has released the mutex before the call.
bool HeldSearch::isStillHeld(const SyncSite &Lock,
                             const ValueDecl &Guard) const {
  bool Held = false;
  for (const Level &L : Levels)
    for (const Stmt *Part : L.Block->body()) {
      if (Part == L.Part)
        break;
      for (const SyncSite &S : F.Syncs) {
        if (!isWithin(S, Part) || (&S != &Lock && S.Object != &Guard))
          continue;
        if (S.Kind == SyncKind::Lock && isDirect(S, Part))
          Held = true;
        else if (S.Kind == SyncKind::Unlock && !leaves(S, Part))
          // A branch that releases it and takes it again leaves it held.
          Held &= !isDirect(S, Part) &&
                  llvm::any_of(F.Syncs, [&](const SyncSite &Again) {
                    return Again.Kind == SyncKind::Lock &&
                           Again.Object == &Guard && isWithin(Again, Part);
                  });
      }
    }
  return Held;
}

/// Adds the mutexes that the condition of a `for` around the call takes and
/// releases.
void HeldSearch::addScopes() {
  for (const Stmt *Each : Site.Parents) {
    auto *For = dyn_cast<ForStmt>(Each);
    if (!For || !For->getCond())
      continue;
    for (const SyncSite &Lock : F.Syncs)
      if (Lock.Kind == SyncKind::Lock && Lock.Object &&
          isWithin(Lock, For->getCond()) &&
          llvm::any_of(F.Syncs, [&](const SyncSite &S) {
            return S.Kind == SyncKind::Unlock && S.Object == Lock.Object &&
                   isWithin(S, For->getCond());
          }))
        Candidates.push_back({{&Lock, Lock.Object}, For});
  }
}

/// Adds the mutexes that calls release somewhere.
void HeldSearch::addReleased() {
  llvm::SmallPtrSet<const ValueDecl *, 4> Seen;
  for (const SyncSite &S : F.Syncs) {
    if (S.Kind != SyncKind::Unlock || !S.Object ||
        !Seen.insert(S.Object).second ||
        llvm::any_of(F.Syncs, [&](const SyncSite &Lock) {
          return Lock.Kind == SyncKind::Lock && guardOf(Lock) == S.Object;
        }))
      continue;
    HeldMutex Held{nullptr, S.Object};
    auto IsBefore = [&](const SyncSite &One, const SyncSite &Other) {
      return F.Function->getASTContext()
          .getSourceManager()
          .isBeforeInTranslationUnit(One.Site->getBeginLoc(),
                                     Other.Site->getBeginLoc());
    };
    for (const SyncSite &Lock : F.Syncs)
      if (Lock.Kind == SyncKind::Lock && Lock.Object == S.Object &&
          IsBefore(Lock, Site) && (!Held.Lock || IsBefore(*Held.Lock, Lock)))
        Held.Lock = &Lock;
    Candidates.push_back({Held});
  }
}

HeldSearch::Next HeldSearch::afterwards(const Stmt *Part,
                                        HeldMutex &Held) const {
  for (const SyncSite &S : F.Syncs) {
    if (!isWithin(S, Part))
      continue;
    if (S.Kind == SyncKind::Wait || S.Kind == SyncKind::TimedWait)
      return Next::Other;
    if ((S.Kind != SyncKind::Lock && S.Kind != SyncKind::Unlock) ||
        !isOf(S, Held))
      continue;
    if (S.Kind == SyncKind::Unlock && !isDirect(S, Part) && leaves(S, Part))
      continue;
    if (S.Kind != SyncKind::Unlock || !isDirect(S, Part))
      return Next::Other;
    Held.Unlock = &S;
    return Next::Releases;
  }
  return Next::Nothing;
}

/// Returns true if a loop among the statements around the call from From to To
/// may wait in its next iteration, or take or release the mutex there.
bool HeldSearch::mayRepeat(size_t From, size_t To, const Candidate &Of) const {
  for (size_t I = From; I < To; ++I) {
    const Stmt *Loop = Site.Parents[I];
    if (!isLoop(Loop) || isa<DoStmt>(Loop))
      continue;
    for (const SyncSite &S : F.Syncs)
      if (isWithin(S, Loop) &&
          (S.Kind == SyncKind::Wait || S.Kind == SyncKind::TimedWait ||
           ((S.Kind == SyncKind::Lock || S.Kind == SyncKind::Unlock) &&
            isOf(S, Of.Held))))
        return true;
  }
  return false;
}

/// Looks for the release of a mutex after the call. Returns false if there is a
/// wait before it, or if there is none.
bool HeldSearch::findRelease(Candidate &Of) const {
  HeldMutex &Held = Of.Held;
  size_t Skip = Site.Parents.size(); // Levels from here on are left.
  for (size_t I = Levels.size(); I-- > 0;) {
    const Level &L = Levels[I];
    size_t Outer = I ? Levels[I - 1].Index : 0;
    bool After = false;
    for (const Stmt *Part : L.Block->body()) {
      if (After && L.Index < Skip) {
        const Stmt *Does = Part;
        while (auto *Case = dyn_cast<SwitchCase>(Does))
          Does = Case->getSubStmt();
        if (Next Is = afterwards(Part, Held); Is != Next::Nothing) {
          Held.Block = L.Block;
          Held.Part = L.Part;
          return Is == Next::Releases;
        }
        if (isa<ReturnStmt, GotoStmt, ContinueStmt, CXXThrowExpr>(Does)) {
          Held.Part = L.Part;
          return Held.Guard && isa<ReturnStmt, CXXThrowExpr>(Does);
        }
        if (isa<BreakStmt>(Does)) {
          for (Skip = L.Index; Skip > 0; --Skip)
            if (isLoop(Site.Parents[Skip]) ||
                isa<SwitchStmt>(Site.Parents[Skip]))
              break;
        }
      }
      After |= Part == L.Part;
    }
    Held.Part = L.Part;
    if (Held.Guard && Held.Block == L.Block)
      return true;
    if (Of.Scope &&
        llvm::is_contained(ArrayRef(Site.Parents).slice(Outer, L.Index - Outer),
                           Of.Scope)) {
      Held.Block = L.Block;
      return true;
    }
    if (L.Index < Skip && mayRepeat(Outer, L.Index, Of))
      return false;
  }
  return false;
}

std::vector<HeldMutex> heldAt(const SyncSite &Site, const FunctionSync &F) {
  return HeldSearch(Site, F).run();
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
