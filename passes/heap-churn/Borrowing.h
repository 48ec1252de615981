//===- Borrowing.h - What calls do with memory they are given ---*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_HEAPCHURN_BORROWING_H
#define VFRIENDLY_PASSES_HEAPCHURN_BORROWING_H

#include "llvm/ADT/StringRef.h"

namespace llvm {
class CallBase;
class TargetLibraryInfo;
class Use;
} // namespace llvm

namespace vfriendly {

bool isRealloc(const llvm::CallBase &Call, const llvm::TargetLibraryInfo &TLI);

/// Does it free what its first argument says, and nothing more?
bool isPlainFree(const llvm::CallBase &Call,
                 const llvm::TargetLibraryInfo &TLI);

/// Why a call may do more with memory that it is given as U than read and write
/// it until it returns; empty if it does not. What it returns may lead there.
llvm::StringRef whyNotBorrowed(const llvm::CallBase &Call, const llvm::Use &U,
                               const llvm::TargetLibraryInfo &TLI);

/// May what Call returns lead into memory that it is given as U?
///
/// pre: whyNotBorrowed is empty.
bool mayReturnPlaceIn(const llvm::CallBase &Call, const llvm::Use &U,
                      const llvm::TargetLibraryInfo &TLI);

} // namespace vfriendly

#endif
