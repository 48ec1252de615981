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

/// Adds to M those definitions of Text, which is vfriendly's own textual IR,
/// that M declares. Objects do not name libvfrt: the link decides how a
/// program gets it. Emits an error on failure.
void linkDefinitions(llvm::Module &M, llvm::StringRef Text);

} // namespace vfriendly

#endif
