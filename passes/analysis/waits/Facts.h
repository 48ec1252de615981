//===- Facts.h - What is known of a loop that may wait ----------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Facts describe one loop without referring to its IR, so they can be gathered
// from LLVM IR (Gather.h) or from MLIR, or be written by hand in a test:
//
//   Facts F;                     // while (!atomic_load(&flag)) pause();
//
//   F.Exits.resize(1);
//   F.Exits[0].Whole.Causes = Polled;
//   F.Polls.resize(1);
//   F.Pauses = true;
//   bool Waits = judge(F).Waits; // Judge.h
//
// A new cause is a bit of Cause: CauseCollector sets it, and waitsForOthers
// says whether an exit with the cause still waits for other threads.
//
// A new fact is a member of Facts, under the stage in which it is known, with
// the value that forbids nothing as default. `gather` sets it. The predicates
// of Judge.cpp read it, and the later stages of `gather`.
//
// A new rule is a predicate and a line of the table in Judge.cpp, a case in
// test/spin-loops/judge/judge.cpp and a loop in test/spin-loops/pass.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_ANALYSIS_WAITS_FACTS_H
#define VFRIENDLY_PASSES_ANALYSIS_WAITS_FACTS_H

#include "passes/analysis/common/CallEffects.h"

#include "llvm/ADT/SmallVector.h"

#include <string>

namespace vfriendly {

//===----------------------------------------------------------------------===//
// Causes
//===----------------------------------------------------------------------===//

/// What a value that the loop computes depends on. A value with no cause is the
/// same in each iteration. The causes of an expression are the union of those
/// of its operands.
enum Cause : unsigned {
  /// Memory that other threads may write, at an address that is invariant or
  /// depends on such memory only.
  Polled = 1 << 0,
  /// The loop's own progress: a counter, or a variable that only the loop
  /// changes.
  Own = 1 << 1,
  /// The progress of an inner loop, which restarts in each iteration of the
  /// outer loop.
  Inner = 1 << 2,
  /// A counter that wraps: i = (i + 1) % n.
  Rotates = 1 << 3,
  /// Memory whose address is computed from a counter that wraps: the loop polls
  /// several words in turn.
  InTurn = 1 << 4,
  Clock = 1 << 5,
  /// Memory at an address that changes from iteration to iteration.
  Walks = 1 << 6,
};
using CauseSet = unsigned;

/// Causes by which the loop changes the value itself, without other threads.
inline constexpr CauseSet ByItself = Own | Rotates | InTurn | Clock | Walks;

/// Returns true if the value differs between iterations only if other threads
/// write memory.
inline bool waitsForOthers(CauseSet C) {
  return (C & Polled) && !(C & ByItself);
}

/// Returns true if the value is the same in each iteration.
inline bool isFixed(CauseSet C) { return !(C & (Polled | ByItself)); }

//===----------------------------------------------------------------------===//
// Exits and polls
//===----------------------------------------------------------------------===//

/// One part of an exit's condition.
struct Condition {
  CauseSet Causes = 0;
  /// The constant that a counter is compared with: 1000 for `i < 1000`.
  uint64_t Bound = 0;
  /// True if the loop continues when an exchange succeeds.
  bool StaysOnSuccess = false;
  /// True if the loop ends when a version number, read twice, is unchanged.
  bool EndsUnchanged = false;
  /// True if this thread's number in a queue is compared with a polled value.
  bool ComparesTicket = false;
};

/// One alternative of an exit. The exits of a loop are a disjunction of leaves,
/// and each leaf is a conjunction of its parts.
struct Leaf {
  Condition Whole;
  /// The parts that must all hold, as in `if (++i % 64 == 0 && flag)`. Empty if
  /// the condition has a single part.
  llvm::SmallVector<Condition, 0> Parts;
  /// True if the exit is passed in every iteration, and taken unless errno is
  /// EINTR: a call that a signal has interrupted is repeated.
  bool RepeatsInterrupted = false;
};

/// One access by which the loop polls.
struct PollFact {
  enum By {
    Read,    ///< A read of memory.
    Try,     ///< A read-modify-write.
    TryLock, ///< A call of a library's trylock.
    Call     ///< A call of another function.
  } How = Read;
  /// True if the memory is neither atomic nor volatile.
  bool Plain = false;
  /// True if the memory is a device's.
  bool Device = false;
  /// True if the value is used only to compute the address of another poll.
  bool OnlyLocates = false;
  /// True if each iteration polls several addresses.
  bool Varies = false;
  /// True if an exchange or trylock that succeeds is followed by another
  /// iteration.
  bool SuccessGoesOn = false;
  /// True if the memory is in a node of a queue lock.
  bool InQueueNode = false;
};

//===----------------------------------------------------------------------===//
// Effects, hints and progress
//===----------------------------------------------------------------------===//

/// Maximum number of side effects of a spin loop. A loop with more is taken for
/// work and not examined further, because spin loops have few.
inline constexpr unsigned MaxEffects = 16;

/// One thing that an iteration that is followed by another one may leave behind
/// for other threads, for the code after the loop, or for later iterations.
struct Effect {
  enum Trace {
    Nothing,   ///< What the iteration before has left. A notify that an earlier
               ///< run of the pass has inserted counts as the store before it.
    Fails,     ///< The program fails there, by the name of a called function.
    TakesBack, ///< It adds to memory, and subtracts the same.
    Releases,  ///< It takes a lock and releases it.
    Succeeds,  ///< Only a try that has succeeded leads there: an exit tests a
               ///< value that is a constant on other paths.
    Retracts,  ///< It writes a constant, and another at the same address, or
               ///< what was there before.
    Unknown,   ///< A call that is a hint, a clock or a poll by its name or by
               ///< the use of its result.
    Counts,    ///< A count, an extreme or a random number that nobody polls.
    Locally,   ///< A write of a local variable whose address escapes.
    Rarely,    ///< Once in a wait, in every nth iteration, or after a time.
    Keeps,     ///< A count in a variable that the code after the loop uses.
    Calls,     ///< Until Stage::Progress: a call.
    Work
  } Leaves = Work;
  /// What the name of the called function suggests: Pause, Sleep, Clock, Reads,
  /// TryLock of a call that is repeated, or Other.
  CallEffect Promised = CallEffect::Other;
  /// True if the call only passes on a local object (passesObjectOn).
  bool PassesOn = false;
  /// True if it would be Work but for the name or the arguments of a function
  /// that is not seen.
  bool ByName = false;
  /// The function called, or the one by which the program fails; may be empty.
  std::string Callee;
};

/// What each iteration that is followed by another one does.
enum class HintRhythm {
  None,
  Hints, ///< Gives a spin hint, backs off, or waits in an inner loop.
  Pauses ///< The same, and a sleep does not count: it may delay for a device.
};

//===----------------------------------------------------------------------===//
// All facts
//===----------------------------------------------------------------------===//

/// How far the facts are known. Each stage adds to those before it.
enum class Stage { Effects, Exits, Progress, Kind };

struct Facts {
  Stage Known = Stage::Kind;

  // Stage::Effects
  /// At most MaxEffects + 1, and from Stage::Progress on those of variables.
  llvm::SmallVector<Effect, 4> Effects;
  /// Hints that the source already has.
  bool Pauses = false, Yields = false, Sleeps = false;
  bool hints() const { return Pauses || Yields || Sleeps; }
  HintRhythm Rhythm = HintRhythm::None;
  /// True if all that it does is to call functions that are seen to have no
  /// effect when they fail. Rhythm is then Pauses, as if it gave a hint.
  bool OnlyTries = false;

  // Stage::Exits
  /// One with the cause Walks also stands for other branches with that cause.
  llvm::SmallVector<Leaf, 2> Exits;
  /// The polls on which the exits that wait depend.
  llvm::SmallVector<PollFact, 2> Polls;
  /// True if it only waits if words that it reads in turn count as one.
  bool PollsInTurn = false;

  // Stage::Kind
  /// True if the loop ends by itself while no other thread writes: each
  /// iteration tries an update that can succeed at once, or finds that another
  /// thread has made progress.
  bool OnlyRetries = false;
  /// True if an inner loop waits until a word is free, and this loop then takes
  /// that word.
  bool TakesWhatItWaitedFor = false;
  /// True if an inner loop polls a flag.
  bool PollsInside = false;
  /// True if the function counts its arrival before the loop.
  bool CountsBefore = false;
  /// True if it gives a hint that is not in an inner waiting loop.
  bool HintsItself = false;
};

} // namespace vfriendly

#endif
