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
// Skipping k polls after a failed one has the effect of k more iterations whose
// polls all read the same value as the failed poll. That this is a legal
// execution, passes/analysis/waits/BoundedSpin.cpp proves for the loop's IR.
// The text of the fix also requires that
//
//  - an iteration polls one word, by a read, and writes no local variable but
//    the counter;
//  - the counter changes by one in each iteration;
//  - the test of the counter would not end the loop in any of the k iterations:
//    Left is the number of further tests, from here on, that do not end it.
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
  /// The condition under which the result of the poll ends the loop:
  /// End.Condition has the value End.Holds.
  Exit End;
  /// True if the polled word is volatile and not atomic. The word may be a
  /// device register, unless a write to it is visible.
  bool IsVolatile = false;
};

/// Returns how the fix may skip polls of a loop. Returns nothing, and sets Why
/// to the reason, if polls may not be skipped. pre: Spin.Counts.
std::optional<Budget> planBudget(const WrittenWait &Spin, const LoopSite &Site,
                                 llvm::StringRef &Why);

} // namespace vfriendly::tidy

#endif
