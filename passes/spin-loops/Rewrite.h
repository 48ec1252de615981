//===- Rewrite.h - Changes to spin loops and writers ------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each function makes one change to the IR and updates the LoopInfo and
// DominatorTree it takes. SpinLoopsPass decides what to change.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_SPINLOOPS_REWRITE_H
#define VFRIENDLY_PASSES_SPINLOOPS_REWRITE_H

#include "passes/analysis/waits/SpinLoopAnalysis.h"
#include "passes/common/RuntimeCalls.h"
#include "passes/spin-loops/WaitCall.h"
#include "passes/spin-loops/Writers.h"

#include "llvm/IR/IRBuilder.h"

namespace vfriendly {

/// Returns true if accesses of this type can be made atomic without changing
/// their meaning.
bool canBeAtomic(llvm::Type *Ty, llvm::Align Alignment,
                 const llvm::DataLayout &DL);

/// Returns true if the target of M has a spin hint.
bool hasPauseHint(const llvm::Module &M);
/// Returns true if rewritten code of M's target can call the runtime through
/// weak symbols.
bool canBlock(const llvm::Module &M);
/// Returns true if M uses none of the runtime's names for something else.
bool namesAreFree(const llvm::Module &M);

/// Returns true if a block can be inserted on every back edge of L.
bool hasSplittableLatches(const llvm::Loop &L);

/// Inserts a block that all back edges of L pass.
/// pre: hasSplittableLatches.
llvm::BasicBlock *splitBackEdge(llvm::Loop &L, llvm::LoopInfo &LI,
                                llvm::DominatorTree &DT);

/// Puts the CPU's spin hint on L's back edge.
/// pre: hasPauseHint, hasSplittableLatches.
void emitPause(llvm::Loop &L, llvm::LoopInfo &LI, llvm::DominatorTree &DT);

/// Makes a non-atomic load an acquire load, if its type allows.
void makeAcquire(llvm::LoadInst &Load);

/// Write is an instruction that writes at Address. Inserts code after Write
/// that notifies the waiters of each of Keys. If no thread waits, the inserted
/// code executes a relaxed load and a branch. Returns false if Write already
/// notifies all of Keys.
bool emitNotify(llvm::Instruction &Write, llvm::Value &Address,
                llvm::ArrayRef<NotifyKey> Keys);

/// Gives each exit of F's waiting loops a block of its own, so that LLVM sets
/// up the stack frame for the call only on the path that waits: if the first
/// poll succeeds, no additional instruction is executed. Runs just before code
/// generation, because other passes remove empty blocks.
bool separateWaitExits(llvm::Function &F, llvm::LoopInfo &LI,
                       llvm::DominatorTree &DT);

/// Removes attributes such as `memory` and `willreturn` from the functions in
/// Changed, their call sites and their callers in the module: these attributes
/// no longer hold, because the functions may now wait or notify. LLVM would
/// delete calls of functions that kept these attributes.
void forgetPromises(llvm::ArrayRef<llvm::Function *> Changed);

} // namespace vfriendly

#endif
