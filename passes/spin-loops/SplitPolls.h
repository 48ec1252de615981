//===- SplitPolls.h - Separate polling from working iterations --*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop may wait in some iterations and work in others:
//
//   for (;;) {                             for (;;) {
//     if (!atomic_load(&ready))              while (!atomic_load(&ready))
//       continue;                    =>        ;
//     work();                                work();
//   }                                      }
//
// As a whole it is not a wait, because work() has effects. This transformation
// makes the iterations without effects an inner loop, which SpinLoopAnalysis
// then finds:
//
//        |                           |
//      header <--.                 outer <-----.
//      /    \    |                   |         |
//     |    work  |       =>   .--> header      |
//      \    /    |            |    /    \      |
//      latch ----'           latch'    work    |
//                                        |     |
//                                      latch --'
//
// Each path through the new loops executes the same instructions, in the same
// order, as the corresponding path through the old loop.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_SPINLOOPS_SPLITPOLLS_H
#define VFRIENDLY_PASSES_SPINLOOPS_SPLITPOLLS_H

#include "llvm/IR/PassManager.h"

namespace vfriendly {

struct VariableFacts;

/// Splits those loops of F that are not spin loops, but whose iterations
/// without effects are proved to be unbounded waits. Returns true, and
/// invalidates F's analyses, if F changed.
bool splitPolls(llvm::Function &F, llvm::FunctionAnalysisManager &FAM,
                VariableFacts &Variables);

} // namespace vfriendly

#endif
