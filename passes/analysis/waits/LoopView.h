//===- LoopView.h - Gathering of a loop's facts -----------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The implementation of Gather.h, which calls the functions gather... below in
// order. Each of them reads what those before it have gathered.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_ANALYSIS_WAITS_LOOPVIEW_H
#define VFRIENDLY_PASSES_ANALYSIS_WAITS_LOOPVIEW_H

#include "passes/analysis/waits/Causes.h"
#include "passes/analysis/waits/Gather.h"

#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"

namespace vfriendly {

/// The loop, and what is known of it besides the facts.
struct LoopView {
  LoopView(llvm::Loop &L, Surroundings &Around)
      : L(L), LI(Around.LI), DT(Around.DT), Inner(Around.Inner), Around(Around),
        Causes(L, DT, Around.Variables) {}

  llvm::Loop &L;
  llvm::LoopInfo &LI;
  const llvm::DominatorTree &DT;
  const SpinLoopInfo &Inner;
  Surroundings &Around;
  CauseCollector Causes;
  /// The effects, in the order of Facts::Effects.
  llvm::SmallVector<llvm::Instruction *, 4> Effects;
  /// The accesses by which the waiting exits poll, those that only locate other
  /// polls, and those that poll several addresses.
  llvm::SmallSetVector<llvm::Instruction *, 4> Accesses, Pointers, Varying;
  /// The conditions that end the loop only if other threads write memory.
  llvm::SmallVector<ExitLeaf, 4> Waiting;
  /// Edges by which iterations go on that have found something, and the
  /// accesses that tell. All others give a hint.
  llvm::SmallVector<llvm::BasicBlockEdge, 2> Finds;
  llvm::SmallPtrSet<llvm::Instruction *, 4> Asked;
  /// The conditions of exits that depend on the loop's own progress.
  llvm::SmallVector<llvm::Value *, 4> OwnConditions;
};

// Effects.cpp
void gatherEffects(LoopView &In, Gathered &G);
void gatherGuards(LoopView &In, Gathered &G);

// Steps.cpp
/// How a cell changes in an iteration. Each includes those before it.
enum class Step {
  Same,   ///< It keeps its value, or is set to an invariant one.
  Counts, ///< Adds constants.
  Scales, ///< Multiplies, divides or limits by constants, too.
  Sums,   ///< Adds other values, such as the step of a back-off.
  Works
};
struct CellStep {
  Step By = Step::Same;
  /// A value to which some iterations set the cell; null if there is none.
  const llvm::Value *SetTo = nullptr;
  /// True if they set it to several values.
  bool SetsSeveral = false;
};
/// Returns how a cell, whose old value IsOld recognizes, changes if New is its
/// new value.
CellStep stepOf(const llvm::Value &New,
                llvm::function_ref<bool(const llvm::Value *)> IsOld,
                const llvm::Loop &L);
/// Returns how Phi, a phi of L's header, changes.
CellStep stepOf(const llvm::PHINode &Phi, const llvm::Loop &L);
/// Returns true if I is a phi that has, when an inner loop starts, what it had
/// at the end of the iteration of L before: the inner loop does not start
/// again, but goes on.
bool goesOn(const llvm::Instruction &I, const llvm::Loop &L);

/// Returns the constant that a counter is compared with: 1000 for `i < 1000`,
/// or at which one starts that counts down to 0.
uint64_t boundIn(const llvm::Value *Condition);

// Stores.cpp
/// Returns true if Store counts, as in ++statistics.waits or pauses *= 2, and
/// no address that L reads depends on the count, or if it records an extreme or
/// the next state of a random number generator.
bool isStatistics(const llvm::StoreInst &Store, const llvm::Loop &L);
/// Returns true if Store keeps what the loop polls, neither atomic nor
/// volatile, and each iteration that is followed by another one stores the same
/// value at the same address: `while (next == cached) cached = load(&index);`.
/// A store that polls nothing may be a sign of life that somebody watches.
bool isRepeated(const llvm::StoreInst &Store, const llvm::Loop &L);

// Iterations.cpp
using EdgeTest = llvm::function_ref<bool(const llvm::BasicBlock *From,
                                         const llvm::BasicBlock *To)>;
/// Returns true if every way from Start, a block of L, to the header of L
/// passes one of Blocks, or an edge for which Ends, if given, returns true.
/// pre: blocks from which a constant selects the successor are gone
/// (KnownWays.h).
bool everyWayPasses(
    const llvm::Loop &L, const llvm::BasicBlock *Start,
    const llvm::SmallPtrSetImpl<const llvm::BasicBlock *> &Blocks,
    EdgeTest Ends = nullptr);
bool everyIterationPasses(const llvm::Loop &L, const llvm::BasicBlock *B);
void gatherHints(LoopView &In, Gathered &G);
/// Returns true if L contains a spin hint that is not in an inner waiting loop.
/// Inner waiting loops include those that an earlier run of the pass has
/// rewritten.
bool hintsItself(const LoopView &In);
void gatherProgress(LoopView &In, Gathered &G);
/// Returns Own if Exiting is reached only if a comparison of what others may
/// write with the loop's own progress has a certain result: the next iteration
/// may then end the loop without other threads. Returns Walks for a search for
/// free bits, each iteration of which looks at another one: `if ((map & (1 <<
/// i)) == 0 && exchange(...)) break;`. Else, returns 0.
CauseSet foundByProgress(LoopView &In, llvm::BasicBlock *Exiting);

// Causes.cpp
/// Returns true if all arguments of Call are invariant in L: it tries the same
/// again in each iteration.
bool repeatsCall(const llvm::CallBase &Call, const llvm::Loop &L);

// Exits.cpp
void gatherExits(LoopView &In, Gathered &G);
/// Adds C's polls to those of the loop. If an atomic or volatile poll is
/// compared with plain memory, such as a barrier's local sense passed by
/// reference, the plain memory is not polled.
void notePolls(LoopView &In, const Causes &C);
void gatherPolls(LoopView &In, Gathered &G);
/// Where control goes when an attempt has succeeded.
enum class Way { Unclear, Out, Iteration };
/// Returns where L continues when the exchange succeeds.
Way wayOfSuccess(const llvm::Loop &L, const llvm::AtomicCmpXchgInst &Exchange);
/// Returns where L continues when Try takes the lock or decrements the
/// semaphore; Unclear unless Try returns 0 then, as the functions of POSIX and
/// C do.
Way wayOfSuccess(const llvm::Loop &L, const llvm::CallBase &Try);

// Versions.cpp
/// Returns true if the condition compares two reads of one address, perhaps
/// among other conditions.
bool isVersionCheck(const llvm::Loop &L, const llvm::Value *Condition,
                    unsigned Depth = 0);
/// Returns true if the loop ends when a version number is unchanged. A loop
/// that ends when the version has changed waits for a writer.
bool endsUnchanged(const llvm::Loop &L, const ExitLeaf &Leaf);

// Retries.cpp
const llvm::Value *withoutCasts(const llvm::Value *V);
/// The object that an address points into, and the offset there. Each use of a
/// member computes the address again.
using Cell = std::pair<const llvm::Value *, int64_t>;
Cell cellOf(const llvm::Value *Address, const llvm::DataLayout &DL);

/// Returns the place at which L has read V, or bits of it, perhaps in an
/// earlier iteration: by loads or by exchanges that failed. No object if there
/// is none, or several. A phi of the header may have any value before the loop.
Cell cellRead(const llvm::Loop &L, const llvm::Value *V);
/// Returns true if all values of Phi were read by L at one place, by loads or
/// by exchanges that failed. The way to Phi then does not decide the value;
/// other threads do.
bool joinsReads(const llvm::Loop &L, const llvm::PHINode &Phi);
/// Returns true if V is computed, within an iteration of L, from a value for
/// which IsSource returns true.
bool dependsOn(const llvm::Value *V,
               llvm::function_ref<bool(const llvm::Value *)> IsSource,
               const llvm::Loop &L);
void gatherRetries(LoopView &In, Gathered &G);

// SpinLoops.cpp
void gatherSurroundings(LoopView &In, Gathered &G);
/// Returns true if V is the result of a fetch-and-add, or a part of it.
bool isTicketNumber(const llvm::Value *V, unsigned Depth = 0);

} // namespace vfriendly

#endif
