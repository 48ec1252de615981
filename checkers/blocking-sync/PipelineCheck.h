//===- PipelineCheck.h - vfriendly-blocking-sync-pipeline -------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_BLOCKINGSYNC_PIPELINECHECK_H
#define VFRIENDLY_CHECKERS_BLOCKINGSYNC_PIPELINECHECK_H

#include "checkers/blocking-sync/SyncCheck.h"

namespace vfriendly::tidy {

/// Reports threads that take items from one queue and put them into the next.
class PipelineCheck : public SyncCheck {
public:
  using SyncCheck::SyncCheck;

private:
  void inspect(const SyncModel &Model,
               const clang::ASTContext &Context) override;
};

} // namespace vfriendly::tidy

#endif
