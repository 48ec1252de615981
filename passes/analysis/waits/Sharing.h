//===- Sharing.h - Memory that other threads may write ----------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_ANALYSIS_WAITS_SHARING_H
#define VFRIENDLY_PASSES_ANALYSIS_WAITS_SHARING_H

namespace llvm {
class Value;
} // namespace llvm

namespace vfriendly {

/// Returns true if another thread may write what Address points to. False for
/// locals that do not escape, constants and thread-local variables.
bool mayBeShared(const llvm::Value *Address);

} // namespace vfriendly

#endif
