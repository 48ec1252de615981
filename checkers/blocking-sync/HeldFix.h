//===- HeldFix.h - Moving a call out of a critical section ------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_BLOCKINGSYNC_HELDFIX_H
#define VFRIENDLY_CHECKERS_BLOCKINGSYNC_HELDFIX_H

#include "checkers/blocking-sync/LongCalls.h"

#include "clang/Basic/Diagnostic.h"

namespace vfriendly::tidy {

/// Returns the edits that move calls of malloc and free in Found out of the
/// section of Take, where that is proven to change nothing else. Sites are the
/// places of F that take or release a lock.
std::vector<clang::FixItHint> moveOut(llvm::ArrayRef<LongCall> Found,
                                      const SpinSite &Take,
                                      llvm::ArrayRef<SpinSite> Sites,
                                      const clang::FunctionDecl &F,
                                      const clang::ASTContext &Context);

} // namespace vfriendly::tidy

#endif
