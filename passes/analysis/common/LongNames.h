//===- LongNames.h - Library functions that may take long -------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What may sleep, enter the kernel or take long while a lock is held that
// threads spin on: for the check `held` and the pass's remark.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_ANALYSIS_COMMON_LONGNAMES_H
#define VFRIENDLY_PASSES_ANALYSIS_COMMON_LONGNAMES_H

#include "llvm/ADT/StringRef.h"

#include <optional>

namespace vfriendly {

enum class LongKind {
  Memory,   ///< Allocates or releases.
  Pages,    ///< Touches memory that may be fresh, page by page.
  System,   ///< Enters the kernel.
  Command,  ///< Commands a device, which answers when it has obeyed.
  Output,   ///< Prints or logs.
  Sleep,    ///< Sleeps or yields.
  Wait,     ///< Waits for a lock that may block, or for another thread.
  Callback, ///< Calls what does not show.
  Loop,     ///< Repeats work without a small limit.
  Fork      ///< The child inherits a lock that nobody in it releases.
};

/// Returns what a function of the C library or of the system does.
std::optional<LongKind> longByName(llvm::StringRef Name);

} // namespace vfriendly

#endif
