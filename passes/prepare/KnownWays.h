//===- KnownWays.h - Branches that the way to them decides ------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Clang lets a `break` from the scope of a local variable, and a `return` from
// an inlined function, pass a block that all ways share and from which a
// constant selects the next:
//
//     break   rest of body            break   rest of body
//      2 \     / 0                      |          |
//         phi, switch        =>         |          |
//        2 /     \ 0                    |          |
//      exit     header                exit       header
//
// With such a block in it, a loop seems to have iterations that give no hint,
// and an exit on which all its values depend.
//
// LLVM's JumpThreading does the same, but also moves reads of plain memory out
// of loops, by which the wait is lost. SimplifyCFG does it for `br` only.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_PREPARE_KNOWNWAYS_H
#define VFRIENDLY_PASSES_PREPARE_KNOWNWAYS_H

#include "llvm/ADT/STLFunctionalExtras.h"

namespace llvm {
class BasicBlock;
class Instruction;
class Loop;
class LoopInfo;
class Value;
} // namespace llvm

namespace vfriendly {

/// Lets every block of L that leads to a small block skip that block's branch,
/// if it is decided by where control comes from. Returns true if L changed; LI
/// is then out of date, and L's ID may be lost. Calls BeforeChange before each
/// change.
bool takeKnownWays(const llvm::Loop &L, const llvm::LoopInfo &LI,
                   llvm::function_ref<void()> BeforeChange);

/// Makes the phis of L's header take the arm of a select that the branch back
/// to the header decides: after a failed exchange, `expected` is what the
/// exchange has read, and what C's functions leave there is what it has read
/// in either case. Returns true if L changed. Calls BeforeChange before each
/// change.
///
///   next = success ? expected : read            next = read
///   if (success) exit else header       =>      if (success) exit else header
bool takeKnownValues(const llvm::Loop &L,
                     llvm::function_ref<void()> BeforeChange);

/// Returns true if all instructions of B may be executed by a copy of B.
bool canCopy(const llvm::BasicBlock &B);

/// Makes the uses of Original outside of its block see whichever was computed:
/// Original, or Copy at the end of the block CopyBlock.
void joinValues(llvm::Instruction &Original, llvm::Value &Copy,
                llvm::BasicBlock &CopyBlock);

} // namespace vfriendly

#endif
