//===- FirstWriter.h - Which code writes an array first ---------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_NUMAPLACEMENT_FIRSTWRITER_H
#define VFRIENDLY_CHECKERS_NUMAPLACEMENT_FIRSTWRITER_H

#include "checkers/numa-placement/BulkAccess.h"

#include "llvm/ADT/MapVector.h"

namespace vfriendly::tidy {

class ProgramFacts;

/// A loop, or a call or declaration that fills, in a function that one thread
/// executes, and a use of the arrays by several threads.
struct SerialFill {
  BulkEvent Fill, Use;
  llvm::SmallVector<const clang::ValueDecl *, 2> Arrays;
};
/// By the loop that fills.
using SerialFills = llvm::MapVector<const clang::Stmt *, SerialFill>;

/// Finds the serial fills of the unit that threads of the unit use. If Program
/// wants facts, records them, and adds to Candidates the other fills, whose use
/// may be in another unit.
SerialFills findSerialFills(const UnitValues &Values,
                            const clang::ASTContext &Context,
                            ProgramFacts &Program, SerialFills &Candidates);

} // namespace vfriendly::tidy

#endif
