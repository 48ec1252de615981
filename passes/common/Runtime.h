//===- Runtime.h - What rewritten code needs of libvfrt ---------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_COMMON_RUNTIME_H
#define VFRIENDLY_PASSES_COMMON_RUNTIME_H

#include "llvm/ADT/StringRef.h"

namespace llvm {
class Module;
} // namespace llvm

namespace vfriendly {

/// Adds those definitions of Text, vfriendly's own textual IR, that M declares.
/// An object carries nothing else: how a program gets libvfrt is decided by its
/// link. Emits an error on failure.
void linkDefinitions(llvm::Module &M, llvm::StringRef Text);

} // namespace vfriendly

#endif
