//===- SignalFix.h - Moving a signal after the unlock -----------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_BLOCKINGSYNC_SIGNALFIX_H
#define VFRIENDLY_CHECKERS_BLOCKINGSYNC_SIGNALFIX_H

#include "checkers/blocking-sync/HeldMutex.h"

#include "clang/Basic/Diagnostic.h"

#include <vector>

namespace vfriendly::tidy {

/// Returns the edits that move Signal after the release of Held; empty if that
/// could change what the program does.
std::vector<clang::FixItHint>
signalAfterRelease(const SyncSite &Signal, const HeldMutex &Held,
                   const FunctionSync &F, const clang::ASTContext &Context);

} // namespace vfriendly::tidy

#endif
