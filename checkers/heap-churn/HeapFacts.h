//===- HeapFacts.h - Heap functions of other units --------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The facts about the heap that ProgramFacts carries between units:
//
//   {"heap": "app_get", "op": "allocate", "size": 0}  what a definition does
//   {"asks": "app_get", "op": "none"}  what a call of another unit's is taken
//                                      for, so that the tool sees a difference
//   {"loop": "parse_line"}             a loop calls this function
//   {"calls": "parse", "to": ["parse_line"]}  what a function calls; "seldom"
//                                      is true if it runs seldom
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_HEAPCHURN_HEAPFACTS_H
#define VFRIENDLY_CHECKERS_HEAPCHURN_HEAPFACTS_H

#include "checkers/common/ProgramFacts.h"
#include "checkers/heap-churn/FunctionView.h"

namespace vfriendly::tidy {

/// Records the facts about the heap of one function. pre: Program.areWanted().
void tellHeap(FunctionView &View, ProgramFacts &Program);

/// Records which functions Root passes to somebody who may call them again and
/// again: in an argument, a variable or an initializer.
void tellCallbacks(const clang::Stmt *Root, const clang::ASTContext &Context,
                   ProgramFacts &Program);

/// Returns what the unit that defines F says of it: that a call does nothing to
/// the heap is a HeapOp::None. Returns nothing if no unit does.
std::optional<HeapFunction> heapOfOtherUnit(const clang::FunctionDecl &F,
                                            const ProgramFacts &Program);

/// Returns true if F is defined in another unit of the program.
bool isOfOtherUnit(const clang::FunctionDecl &F);

} // namespace vfriendly::tidy

#endif
