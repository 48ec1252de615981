//===- Runtime.h - Definitions that rewritten code refers to ----*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_COMMON_RUNTIME_H
#define VFRIENDLY_PASSES_COMMON_RUNTIME_H

#include "llvm/ADT/StringRef.h"
#include "llvm/TargetParser/Triple.h"

namespace llvm {
class Module;
} // namespace llvm

namespace vfriendly {

/// Returns true if libvfrt runs on this target: 64-bit Linux with 64-bit
/// pointers.
inline bool hasRuntime(const llvm::Triple &T) {
  return T.isOSLinux() && T.isOSBinFormatELF() && T.isArch64Bit() && !T.isX32();
}

/// Adds definitions of those functions and variables that M only declares and
/// that IR, a text or bitcode of vfriendly, defines. The definitions refer to
/// libvfrt by weak symbols, so the link command decides whether a program uses
/// libvfrt. Emits an error on failure.
void linkDefinitions(llvm::Module &M, llvm::StringRef IR);

} // namespace vfriendly

#endif
