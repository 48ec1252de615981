//===- Targets.h - Targets that the runtime supports ------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_COMMON_TARGETS_H
#define VFRIENDLY_PASSES_COMMON_TARGETS_H

#include "llvm/TargetParser/Triple.h"

namespace vfriendly {

/// Returns true if libvfrt runs on this target: 64-bit Linux with 64-bit
/// pointers.
inline bool hasRuntime(const llvm::Triple &T) {
  return T.isOSLinux() && T.isOSBinFormatELF() && T.isArch64Bit() && !T.isX32();
}

} // namespace vfriendly

#endif
