//===- GiveWay.h - Yields in loops that may do more than wait ---*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   for (i = 0; i < n && !(task = pop(queue)); ++i)
//     pause();
//
// What pop does is unknown. The hint in each iteration says that the thread has
// nothing better to do, but the loop may do more than wait, so it must keep all
// its iterations. A pause may take long, as the thread may be preempted there,
// so the thread may also yield after it:
//
//       pause
//          |
//       --polls == 0? --------.
//          | no               | yes
//          |                  v
//          |      state, polls = wait(state)
//          |                  |
//          v                  |
//     the rest <--------------'
//
// The call is not on the loop's back edge, where the loop may hold a lock that
// it has released for the pause. The runtime returns how many pauses take some
// microseconds. It yields only after it has seen that threads share CPUs, or
// once in the time that a wake-up takes, to see whether they do.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_SPINLOOPS_GIVEWAY_H
#define VFRIENDLY_PASSES_SPINLOOPS_GIVEWAY_H

#include "passes/analysis/waits/SpinLoops.h"

namespace vfriendly {

/// Returns true if S may yield: each iteration gives the CPU's spin hint, and
/// neither yields nor sleeps, no loop inside S waits in the runtime, and S does
/// not end after a CPU time.
bool mayGiveWay(const SpinLoop &S);

/// Lets the loop yield after its pauses. Returns false if it has none any more.
/// pre: whyOnlyPause is empty for the function.
bool emitGiveWay(llvm::Loop &L, llvm::LoopInfo &LI, llvm::DominatorTree &DT);

} // namespace vfriendly

#endif
