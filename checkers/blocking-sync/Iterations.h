//===- Iterations.h - How often loops iterate ----------------- -*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_BLOCKINGSYNC_ITERATIONS_H
#define VFRIENDLY_CHECKERS_BLOCKINGSYNC_ITERATIONS_H

#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"

#include <cstdint>
#include <optional>

namespace vfriendly::tidy {

/// Returns the factor by which the bound of Loop exceeds the number of CPUs,
/// as in `2 * std::thread::hardware_concurrency()`; 1 if none is visible.
int64_t threadsPerCpu(const clang::Stmt *Loop,
                      const clang::ASTContext &Context);

/// Returns the number of elements of the array, or of the list in braces, that
/// a range loop iterates over; nullopt if it is not known, or if the loop is
/// not the only one that names the list.
std::optional<int64_t> elementsOf(const clang::CXXForRangeStmt &Loop,
                                  const clang::FunctionDecl &In,
                                  const clang::ASTContext &Context);

/// Returns how often a `for` loop with a constant bound iterates, judged by its
/// head alone: a start that is not known counts as 0, and an increment that is
/// not known as 1. nullopt if the bound is not known.
std::optional<int64_t> iterationsOf(const clang::Stmt *Loop,
                                    const clang::ASTContext &Context);

/// Returns true if Loop iterates so seldom that threads in it do not matter,
/// like the repetitions of a measurement.
bool iteratesSeldom(const clang::Stmt *Loop, const clang::ASTContext &Context);

} // namespace vfriendly::tidy

#endif
