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
// the value that forbids nothing as default. `gather` sets it. Only the
// predicates of Judge.cpp read it.
//
// A new rule is a predicate and a line of a table in Judge.cpp, a case in
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
  /// True if the address is a constant number or in another address space.
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

/// An effect that may be visible outside the loop.
struct Effect {
  enum What {
    Other,
    Addition,   ///< A read-modify-write that adds to memory.
    Store,      ///< A store to shared memory.
    Statistics, ///< A store of the old value plus a constant, or a relaxed
                ///< atomic addition whose result is not used.
    LocalStore, ///< A store to a local variable whose address escapes.
    Call,       ///< A call of a function.
    Notify      ///< A notify that an earlier run of the pass inserted.
  } Kind = Other;
  /// When an iteration has the effect.
  enum When {
    Always,
    Rarely,    ///< Once in a wait, in every nth iteration, or after a time.
    Failing,   ///< On a path on which the program fails, by the callee's name.
    Succeeding ///< On a path that computes the value that an exit tests, which
               ///< is a constant on other paths: a try has succeeded.
  } Guard = Always;
  /// Why a failed iteration leaves memory as the one before it did.
  enum How {
    Never,
    TakesBack, ///< By the opposite addition.
    Retracts,  ///< By another constant at the same address.
    Repeats,   ///< A plain store of the same value at the same address.
    Releases   ///< A lock is taken and released.
  } Undone = Never;
  /// What the name of the called function suggests: Pause, Sleep, Clock, or
  /// Other.
  CallEffect Promised = CallEffect::Other;
  /// True if an exit depends on the result of the call.
  bool Polled = false;
  /// True if the call only passes on a local object (passesObjectOn).
  bool PassesOn = false;
  /// True if the called function's name suggests that each call does work, and
  /// not every iteration gives a hint: a hint tells more than a name.
  bool NamesWork = false;
  /// The function called, or the one by which the program fails; may be empty.
  std::string Callee;
};

/// What each iteration that is followed by another one does.
enum class HintRhythm {
  None,
  Hints, ///< Gives a spin hint, backs off, or waits in an inner loop.
  Pauses ///< The same, and a sleep does not count: it may delay for a device.
};

/// A value that each iteration computes from that of the previous one.
struct Carried {
  /// True if it decides how many iterations this loop, or a delay in it, makes.
  bool Decides = false;
  /// True if it is counted: the step may grow, as in a back-off.
  bool Counts = false;
  /// True if it only changes by constants.
  bool ByConstants = false;
  /// True if the code after the loop uses it.
  bool LivesOn = false;
};

//===----------------------------------------------------------------------===//
// All facts
//===----------------------------------------------------------------------===//

/// How far the facts are known. Each stage adds to those before it.
enum class Stage { Effects, Exits, Progress, Kind };

struct Facts {
  Stage Known = Stage::Kind;

  // Stage::Effects
  /// At most MaxEffects + 1. Guard is Rarely or Succeeding and Polled is true
  /// from Stage::Progress on only.
  llvm::SmallVector<Effect, 4> Effects;
  /// Hints that the source already has.
  bool Pauses = false, Yields = false, Sleeps = false;
  bool hints() const { return Pauses || Yields || Sleeps; }
  HintRhythm Rhythm = HintRhythm::None;
  /// True if all that it does is to call functions that are seen to have no
  /// effect when they fail. Rhythm is then Pauses, as if it gave a hint.
  bool OnlyTries = false;

  // Stage::Exits
  llvm::SmallVector<Leaf, 2> Exits;
  /// The polls on which the exits that wait depend.
  llvm::SmallVector<PollFact, 2> Polls;
  /// True if it only waits if words that it reads in turn count as one.
  bool PollsInTurn = false;

  // Stage::Progress
  llvm::SmallVector<Carried, 2> Carries;
  /// True if it reads memory at another address in each iteration.
  bool ReadsElements = false;
  /// True if it exchanges a value on which no exit depends.
  bool ExchangesUnasked = false;

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
