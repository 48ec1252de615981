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

/// Adds the definitions in Text, textual IR of ours, that M declares. An object
/// carries no more than that: how a program gets libvfrt is for its link to
/// say. Emits an error where that fails.
void linkDefinitions(llvm::Module &M, llvm::StringRef Text);

} // namespace vfriendly

#endif
