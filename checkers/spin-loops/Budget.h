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
// polls all read the same value as the failed poll. This is a legal execution
// if all of these hold:
//
//  - an iteration only reads and counts, and writes no local variable except
//    the counter, so it passes nothing else on to the next iteration;
//  - of memory that other threads may write, an iteration reads one word, by
//    one access, whose address depends neither on other such memory nor on the
//    counter: otherwise the skipped polls might have read other values;
//  - the counter changes by one in each iteration, and nothing else changes it;
//  - the test of the counter would not end the loop in any of the k iterations:
//    Left is the number of further tests, from here on, that do not end it.
//
// passes/analysis/waits/BoundedSpin.cpp proves the same for LLVM IR and accepts
// more forms of loops. This check also requires a form whose source text is
// easy to change.
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
