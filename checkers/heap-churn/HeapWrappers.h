//===- HeapWrappers.h - Heap functions of the program -----------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// HeapCalls asks these functions about functions that no table and no attribute
// describes.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_HEAPCHURN_HEAPWRAPPERS_H
#define VFRIENDLY_CHECKERS_HEAPCHURN_HEAPWRAPPERS_H

#include "checkers/heap-churn/HeapCalls.h"

namespace vfriendly::tidy {

/// Returns what the body of F does to the heap if each call of F does the same:
/// returns a block that nothing else points to, resizes the block that it is
/// passed, or releases that block. Otherwise, and if F has no body, returns
/// nothing.
std::optional<HeapFunction> summarizeBody(const clang::FunctionDecl &F,
                                          HeapCalls &Heap);

/// Returns what the declaration of F promises by convention: `void *app_malloc
/// (size_t)`, `void app_free(void *)`. Such a name counts only if no body is
/// known.
std::optional<HeapFunction> promiseOf(const clang::FunctionDecl &F);

/// Returns what F promises by the name and type of its counterpart, which the
/// unit declares, too: `struct buffer *buffer_new(void)` and `void
/// buffer_free(struct buffer *)`, `void buffer_free(struct buffer **)`.
std::optional<HeapFunction> promiseOfObjects(const clang::FunctionDecl &F);

/// Returns what a global variable promises in the same way, a pointer to such a
/// function: `extern void *(*app_malloc)(size_t)`.
std::optional<HeapFunction> promiseOf(const clang::VarDecl &Pointer);

} // namespace vfriendly::tidy

#endif
