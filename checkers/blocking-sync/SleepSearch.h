//===- SleepSearch.h - The ways from a sleep back to it ---------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A way from a sleep back to it, in the control-flow graph, is idle if no block
// on it works. A call of which the effect is not known does not work if its
// result says that there was nothing, and that decides that the thread sleeps:
// so the ways on which the result says that there was something are cut. The
// idle ways wait for others if one of the branches that leave them depends on
// what others do: on memory that they may write, or on such a result.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_BLOCKINGSYNC_SLEEPSEARCH_H
#define VFRIENDLY_CHECKERS_BLOCKINGSYNC_SLEEPSEARCH_H

#include "checkers/blocking-sync/SleepingPolls.h"

#include "clang/Analysis/CFG.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <map>
#include <memory>
#include <optional>

namespace vfriendly::tidy {

/// What a result says on one way out of a test.
enum class Says {
  Unknown, ///< Nothing, or only that it is no error.
  Got,     ///< There was something.
  Nothing,
  Failed ///< An error: there was nothing, or it cannot be had.
};

/// A comparison of what a call returned.
struct ResultTest {
  const clang::Expr *Of = nullptr;
  Says IfTrue = Says::Unknown, IfFalse = Says::Unknown;
};

/// What decides on a branch.
struct Causes {
  bool Memory = false, Clock = false, Errno = false;
  bool Count = false;   ///< A variable that is stepped somewhere,
  bool Bounded = false; ///< on an idle way.
  const clang::FunctionDecl *Looks = nullptr;
  llvm::SmallVector<const clang::Expr *, 2> Asked;

  void add(const Causes &More) {
    Memory |= More.Memory;
    Clock |= More.Clock;
    Count |= More.Count;
    Bounded |= More.Bounded;
    Errno |= More.Errno;
    Looks = Looks ? Looks : More.Looks;
    Asked.append(More.Asked.begin(), More.Asked.end());
  }
};

using Blocks = llvm::SmallPtrSet<const clang::CFGBlock *, 16>;
/// In an order that is the same in each run, as the first that asks is
/// reported.
using OrderedBlocks = llvm::SmallSetVector<const clang::CFGBlock *, 16>;
using Variables = llvm::SmallPtrSet<const clang::VarDecl *, 8>;

class SleepSearch {
public:
  SleepSearch(const FunctionSync &F, IdleEffects &Does,
              const clang::ASTContext &Context)
      : F(F), Does(Does), Context(Context) {}

  std::optional<SleepingPoll> find(const SyncSite &Sleep);

private:
  std::optional<SleepingPoll> search(const SyncSite &Sleep);
  bool build();
  void addChanges(const clang::CFGBlock &Block, const clang::Stmt *S);
  ResultTest testOf(const clang::CFGBlock &Block) const;
  const clang::Expr *askedBy(const clang::Expr *E) const;
  bool findIdle(const SyncSite &Site, const clang::CFGBlock &Sleep);
  bool ignoresResult(const clang::Expr *Asked) const;
  bool leavesIdle(const clang::CFGBlock &Block) const;
  bool worksOnItems(const clang::CFGBlock &Block, const SyncSite &Sleep) const;
  bool isNotRepeated(const clang::CFGBlock &Block, unsigned Successor,
                     const clang::CFGBlock &Sleep) const;
  bool alsoIfGot(const clang::Expr *Asked, const clang::CFGBlock &Sleep) const;
  Causes causesOf(const clang::Expr *E) const {
    Variables Seen;
    return causesOf(E, Seen);
  }
  Causes causesOf(const clang::Expr *E, Variables &Seen) const;
  void addLocal(const clang::VarDecl &Variable, Causes &Found,
                Variables &Seen) const;
  bool staysIn(const clang::CFGBlock &Block, unsigned Successor) const;
  void forEachIdle(
      llvm::function_ref<void(const clang::CFGBlock &, const clang::Stmt *)>
          Visit) const;
  bool returnsTo(const clang::CFGBlock *From,
                 const clang::CFGBlock &Sleep) const;
  std::optional<SleepingPoll> judge(const SyncSite &Sleep,
                                    const clang::CFGBlock &At);
  bool wouldBlock() const;
  const SyncSite *takenToLook(const clang::Expr *Asked) const;
  bool isAfterWork(const Blocks &Decides, const clang::CFGBlock &Sleep) const;

  const FunctionSync &F;
  IdleEffects &Does;
  const clang::ASTContext &Context;
  std::unique_ptr<clang::CFG> Graph;
  /// The function is an iteration of a loop around its calls.
  bool ByCallers = false;
  /// Effects of the statements that have some.
  llvm::DenseMap<const clang::Stmt *, IdleEffect> Effects;
  /// What gives local variables and fields their values: assignments, steps,
  /// declarations, and calls that get their address.
  struct Change {
    const clang::Stmt *By;
    const clang::Expr *Value; ///< Null for ++ and --.
    const clang::CFGBlock *In;

    /// The new value depends on the old: `++i`, `p = p->next`.
    bool IsStep;
  };
  llvm::DenseMap<const clang::ValueDecl *, llvm::SmallVector<Change, 2>>
      Changes;
  std::map<const clang::CFGBlock *, ResultTest> Tests;
  Blocks Work;
  Blocks Printing;    ///< Those of Work that only print.
  OrderedBlocks Idle; ///< The blocks on idle ways.
  llvm::SmallPtrSet<const clang::Stmt *, 16>
      Passed; ///< The statements in Idle.
};

/// Returns the condition by which Block chooses its successor.
const clang::Expr *conditionOf(const clang::CFGBlock &Block);

} // namespace vfriendly::tidy

#endif
