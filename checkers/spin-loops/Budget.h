//===- Budget.h - Polls that a bounded spin may skip ------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   for (i = 0; i < 1000000; i++) {
//     if (flag)
//       break;
//     i += vf_spin_budget(&flag, 0, &vf_state, sizeof(flag), 999999 - i);
//   }
//
// To skip k polls is to execute k iterations after a failed one, each reading
// what that one read. This is a legal execution if all of these hold:
//
//  - an iteration does nothing but read and count, and no local variable but
//    the counter is written, so nothing else goes from one to the next;
//  - of memory that others may write it reads one word, by one access, and the
//    place of this access depends on no other such memory and not on the
//    counter: the second iteration would read what the first did;
//  - the counter changes by one in each iteration, and nothing else changes it;
//  - its test would not end the loop in any of the k iterations: Left is the
//    number of tests in a row from here on that would hold.
//
// The pass proves the same for IR (passes/spin-loops/BoundedSpin.cpp), for more
// forms. Here a loop must also have a form whose text is easy to change.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_SPINLOOPS_BUDGET_H
#define VFRIENDLY_CHECKERS_SPINLOOPS_BUDGET_H

#include "checkers/spin-loops/FixIts.h"

namespace vfriendly::tidy {

struct Budget {
  /// Source text: Counter is the name of the counter, Assignment the start of
  /// the assignment that skips polls, such as `i += `, and Left the number of
  /// polls left.
  std::string Counter, Assignment, Left;
  /// The condition by which the poll ends the loop. The loop ends if
  /// Exit.Condition has the value Exit.Holds.
  Guard Exit;
  /// True if the word is volatile and not atomic. It may be a register of a
  /// device, unless a writer is visible.
  bool IsVolatile = false;
};

/// Returns how polls of a loop may be skipped; if they may not, Why is the
/// reason. pre: Spin.Counts.
std::optional<Budget> planBudget(const SpinLoop &Spin, const LoopSite &Site,
                                 llvm::StringRef &Why);

} // namespace vfriendly::tidy

#endif
