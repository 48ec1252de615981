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

/// Adds the definitions in Text, textual IR of ours, that M declares.
void linkDefinitions(llvm::Module &M, llvm::StringRef Text);

/// Asks the linker for libvfrt, by the note that lld follows and others ignore,
/// if it stands beside this plugin. Its place is written down as it is now: lld
/// says so if it is gone by the time of linking. Not for the linker's own run
/// of a pass, when it is too late for another library.
void dependOnRuntime(llvm::Module &M);

} // namespace vfriendly

#endif
