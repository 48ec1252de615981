//===- Describe.h - Spin loops in words and places ------------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_SPIN_LOOPS_DESCRIBE_H
#define VFRIENDLY_SPIN_LOOPS_DESCRIBE_H

#include "passes/spin-loops/SpinLoopAnalysis.h"
#include "passes/spin-loops/Writers.h"

#include "llvm/IR/DebugLoc.h"

#include <string>

namespace vfriendly {

/// Where in memory it looks.
Location locatePoll(const Poll &P);

/// "volatile 'flag'", "plain memory at offset 8 of 'struct.node'".
std::string describe(const Poll &P);

/// Where in the source the loop is: its keyword.
llvm::DebugLoc locateLoop(const SpinLoop &S);

} // namespace vfriendly

#endif
