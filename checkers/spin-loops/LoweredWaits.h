//===- LoweredWaits.h - Waits found in LLVM IR ------------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   LoweredWaits Judge;
//   Judge.consider(F);                    // for each function
//   if (Judge.run(Context))               // at the end of the unit
//     for (const LoweredWait &Each : Judge.Found) ...
//
// Runs the analysis of the LLVM pass (passes/analysis/waits/SpinLoops.h) on
// the IR of functions, at the point of the pipeline at which the pass runs. The
// declarations in the IR get attributes that say what only the source tells.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_SPINLOOPS_LOWEREDWAITS_H
#define VFRIENDLY_CHECKERS_SPINLOOPS_LOWEREDWAITS_H

#include "checkers/common/LoweredUnit.h"
#include "passes/analysis/common/SpinKind.h"

#include "llvm/ADT/SmallVector.h"

namespace llvm {
class DominatorTree;
class LoopInfo;
class ScalarEvolution;
} // namespace llvm

namespace vfriendly {
struct Poll;
struct SpinLoop;
} // namespace vfriendly

namespace vfriendly::tidy {

/// One access by which a loop polls.
struct LoweredPoll {
  /// The place of the access, preceded by those of the calls that were inlined,
  /// the outermost first. Empty if an optimization has removed it.
  llvm::SmallVector<LoweredPlace, 1> Chain;
  /// Memory is read, or changed by an attempt; or a function is called.
  enum { Read, Try, TryLock, Call } How = Read;
  bool Atomic = false, Volatile = false;
  /// True if each iteration polls several addresses.
  bool Varies = false;
};

/// What the IR says of a wait as a whole.
struct WaitFacts {
  SpinKind Kind = SpinKind::Flag;
  /// True if the loop also has an exit that does not need another thread: a
  /// counter, or a clock.
  bool Counts = false, ReadsClock = false;
  /// The most iterations that a counter allows; 0 if that is not known.
  uint64_t MaxIterations = 0;
  /// The reason why no iterations of a loop that counts may be skipped; empty
  /// if they may (BoundedSpin.h).
  llvm::StringRef WhyNotSkip;
  /// The spin hints that the loop already contains.
  bool Pauses = false, Yields = false, Sleeps = false;
  /// An unproved assumption of the report, if any. A loop with a doubt is never
  /// changed.
  std::string Doubt;
  /// True if each iteration takes and releases a lock.
  bool Locks = false;
  /// True if these are the polling iterations of a loop that does more in
  /// others (SplitPolls.h), after a count or a time if Counts or ReadsClock.
  /// Such a loop is never changed: the end of its body is reached by others,
  /// too.
  bool IsSplit = false;
};

/// A wait in the function In (SpinLoops.h).
struct LoweredWait : WaitFacts {
  const clang::FunctionDecl *In;
  /// The beginnings of the statements that became this loop. Empty for gotos;
  /// several if a loop and the loop around it became one.
  llvm::SmallVector<LoweredPlace, 1> Loops;
  llvm::SmallVector<LoweredPoll, 2> Polls;
};

/// Returns true if debug information gives Place for the location At in a file.
bool isAt(clang::SourceLocation At, const LoweredPlace &Place,
          const clang::SourceManager &SM);

class LoweredWaits : private IrJudge {
public:
  LoweredWaits();

  /// Adds a definition of a function that has a candidate in this outermost
  /// loop.
  void consider(const clang::FunctionDecl &Function, const clang::Stmt *Loop) {
    if (Roots.empty() || Roots.back() != &Function)
      Roots.push_back(&Function);
    IrJudge::Loops.insert(Loop);
  }

  /// Fills Found. Returns false if clang cannot generate IR, for example
  /// because the unit has errors. Definitions are all of the unit.
  bool run(clang::ASTContext &Context,
           llvm::ArrayRef<const clang::FunctionDecl *> Definitions) {
    addMappings(Context, Definitions);
    return Unit->judge(Context);
  }

  /// Inner loops come before the loops around them.
  std::vector<LoweredWait> Found;

private:
  void addMappings(const clang::ASTContext &Context,
                   llvm::ArrayRef<const clang::FunctionDecl *> Definitions);
  void tell(const LoweredFunctions &Functions) override;
  void judge(const LoweredFunctions &Functions) override;
  void tellEffect(llvm::Function &F, const clang::FunctionDecl &D);
  void tellNames(llvm::Function &F, const clang::FunctionDecl &D);
  void add(const clang::FunctionDecl &In, const SpinLoop &S,
           llvm::ScalarEvolution &SE, const llvm::LoopInfo &LI,
           const llvm::DominatorTree &DT);

  std::shared_ptr<LoweredUnit> Unit;
  /// Functions with bodies that are named like tries to lock: said when those
  /// that can be inlined are.
  std::vector<llvm::Function *> Tries;
};

} // namespace vfriendly::tidy

#endif
