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
// If the loop ends by another word only, as in `while (!stop)`, it must give a
// hint: else it serves a queue, and nothing says that it waits for work.
//
// A counter or a clock may select the iterations that do more than poll. They
// block, sleep, or look for other work:
//
//   while (!atomic_load(&ready))           for (;;) {
//     if (++n % k == 0)                      while (!atomic_load(&ready))
//       block();                     =>        if (++n % k == 0)
//                                                goto rare;
//                                            break;
//                                          rare:
//                                            block();
//                                          }
//
// The edge to the rare branch is an exit of the inner loop, which so becomes a
// wait that gives up after a count or at a time. This is done if BoundedSpin.h
// can prove its bound. The counter goes on through both loops, so the rare
// branch runs in the same iterations as before.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_PREPARE_SPLITPOLLS_H
#define VFRIENDLY_PASSES_PREPARE_SPLITPOLLS_H

#include "llvm/IR/PassManager.h"

namespace vfriendly {

struct VariableFacts;

/// What the inner loops are for: only waits that yield and are limited differ,
/// which are reported but not rewritten.
enum class SplitFor { Rewrite, Report };

/// Splits those loops of F that are not spin loops, but whose iterations
/// without effects are proved to be waits. Returns true, and
/// invalidates F's analyses, if F changed. The outer loops are marked
/// (KeepMarks.h): with DecidedMark if rare work ends the polling, otherwise
/// with DoubtMark.
bool splitPolls(llvm::Function &F, llvm::FunctionAnalysisManager &FAM,
                VariableFacts &Variables, SplitFor Use = SplitFor::Rewrite);

} // namespace vfriendly

#endif
