//===- Advice.h - What only the author can change ---------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_HEAPCHURN_ADVICE_H
#define VFRIENDLY_PASSES_HEAPCHURN_ADVICE_H

#include "llvm/IR/PassManager.h"

namespace vfriendly {

/// Analysis remarks about what makes the process resize and no rewrite mends:
/// system calls for ranges of memory in loops.
void advise(llvm::Function &F, llvm::FunctionAnalysisManager &FAM);

} // namespace vfriendly

#endif
