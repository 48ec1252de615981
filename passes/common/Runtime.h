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

/// Adds to M those definitions in Text, which is textual IR of vfriendly, of
/// which M has only declarations. Object files do not name libvfrt as a library
/// that they need: the link command decides whether a program gets it. Emits an
/// error on failure.
void linkDefinitions(llvm::Module &M, llvm::StringRef Text);

} // namespace vfriendly

#endif
