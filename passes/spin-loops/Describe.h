//===- Describe.h - Descriptions of spin loops ----------------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_SPIN_LOOPS_DESCRIBE_H
#define VFRIENDLY_SPIN_LOOPS_DESCRIBE_H

#include "passes/analysis/waits/SpinLoopAnalysis.h"
#include "passes/spin-loops/Writers.h"

#include "llvm/IR/DebugLoc.h"

#include <string>

namespace vfriendly {

/// Returns the memory that P reads.
Location locatePoll(const Poll &P);

/// Returns a description such as "volatile 'flag'", "plain memory at offset 8
/// of 'struct.node'".
std::string describe(const Poll &P);

/// Returns the source location of the loop's keyword.
llvm::DebugLoc locateLoop(const SpinLoop &S);

} // namespace vfriendly

#endif
