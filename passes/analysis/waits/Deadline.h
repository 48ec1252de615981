//===- Deadline.h - Waits that give up at a time ----------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   while (!flag)
//     if (now() > end)
//       return false;
//
// The call of the runtime is on the back edge, so each iteration still polls
// and reads the clock, in the order of the source:
//
//        loop: poll ----------> exit
//          |  ^
//          v  |
//     now() > end ------------> gives up
//          |  |
//          v  |
//         wait: pauses or yields
//
// Iterations take longer, as if the thread had been preempted between two of
// them, so the result is one that the loop could have had. The wait neither
// sleeps nor blocks (VF_SPIN_NO_SLEEP, without an address that writers could
// notify): it ends no later after the time than one yield takes. If no other
// thread wants the CPU, that is less than a microsecond; beside a thread that
// computes, up to a time slice.
//
// The clock must go on while the thread has no CPU. A limit of CPU time would
// hardly come nearer in yields, and the wait could take a thousand times as
// long.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_ANALYSIS_WAITS_DEADLINE_H
#define VFRIENDLY_PASSES_ANALYSIS_WAITS_DEADLINE_H

#include "passes/analysis/waits/SpinLoops.h"

namespace vfriendly {

/// Returns why S, which only a clock bounds, must not wait in the runtime;
/// empty if it may.
llvm::StringRef whyNotUntil(const SpinLoop &S);

} // namespace vfriendly

#endif
