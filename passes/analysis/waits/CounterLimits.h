//===- CounterLimits.h - When a counter ends a loop -------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bounds of loops that test a counter in ways for which ScalarEvolution knows
// no exit limit. BoundedSpin.h uses them.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_ANALYSIS_WAITS_COUNTERLIMITS_H
#define VFRIENDLY_PASSES_ANALYSIS_WAITS_COUNTERLIMITS_H

namespace llvm {
class Loop;
class SCEV;
class ScalarEvolution;
} // namespace llvm

namespace vfriendly {

struct ExitLeaf;

/// Returns a number of iterations of which Leaf, a test whether a counter has
/// passed a limit, ends none; null if Leaf has another form.
///
/// For `x > k`, ScalarEvolution must prove that k is not the largest number,
/// with which the loop would not end. With x0, the value of x in iteration 0,
/// no iteration before max(k, x0) - x0 has an x above k, in both cases.
const llvm::SCEV *untilAbove(const ExitLeaf &Leaf, const llvm::Loop &L,
                             llvm::ScalarEvolution &SE);

/// Returns a number of iterations of which Leaf, a test `x % k == r` of a
/// counter x that steps by 1, ends none; null if Leaf has another form.
/// ScalarEvolution knows this number only for r = 0 and a constant power of
/// two.
///
/// With x0, the value of x in iteration 0, the test ends iteration
/// (k + r - x0 % k) % k, unless x wraps before and the remainders start again:
/// so no iterations are counted beyond the one with the largest x. If x is
/// signed and x0 negative, remainders are negative, and none is counted. Most
/// is set to a constant that is not exceeded.
const llvm::SCEV *untilMultiple(const ExitLeaf &Leaf, const llvm::Loop &L,
                                llvm::ScalarEvolution &SE,
                                const llvm::SCEV *&Most);

} // namespace vfriendly

#endif
