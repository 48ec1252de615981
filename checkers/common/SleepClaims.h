//===- SleepClaims.h - Loops whose sleeps are reported ----------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   perUnit<SleepClaims>()->has(Loop.getBeginLoc())
//
// A loop that sleeps between its looks is reported once: at the sleep, by
// vfriendly-blocking-sync-sleep-poll, where that check runs and says what the
// loop waits for; else by vfriendly-spin-loops.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_COMMON_SLEEPCLAIMS_H
#define VFRIENDLY_CHECKERS_COMMON_SLEEPCLAIMS_H

#include "clang/Basic/SourceLocation.h"
#include "llvm/ADT/DenseSet.h"

#include <functional>

namespace vfriendly::tidy {

struct SleepClaims {
  /// Judges the unit, if that has not been done; empty if the check that
  /// reports sleeps does not run. clang-tidy calls checks in any order.
  std::function<void()> Judge;
  llvm::DenseSet<clang::SourceLocation> Loops;

  bool has(clang::SourceLocation Loop) {
    if (Judge)
      Judge();
    return Loops.contains(Loop);
  }
};

} // namespace vfriendly::tidy

#endif
