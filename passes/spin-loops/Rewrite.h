//===- Rewrite.h - The changes made to spin loops and writers ---*- C++ -*-===//
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

#include "passes/spin-loops/RuntimeCalls.h"
#include "passes/spin-loops/SpinLoopAnalysis.h"
#include "passes/spin-loops/WaitKeys.h"
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

/// Returns the polled value as the runtime compares it, or null if there is
/// none.
llvm::Value *observedValue(const Poll &P, llvm::IRBuilder<> &B);

/// Returns true if the runtime may read the polled memory before the loop does:
/// only if the loop reads it next, whatever else changes meanwhile.
bool isPolledFirst(const Poll &P, const llvm::Loop &L,
                   const llvm::DominatorTree &DT);

/// Puts the CPU's spin hint on L's back edge.
/// pre: hasPauseHint, hasSplittableLatches.
void emitPause(llvm::Loop &L, llvm::LoopInfo &LI, llvm::DominatorTree &DT);

/// The calling convention of both wait functions, and the type of the bounded
/// one.
llvm::CallingConv::ID waitConvention(const llvm::Module &M);
llvm::FunctionType *boundedWaitType(llvm::LLVMContext &Context);

/// Puts a call of WaitFunction on the back edge of S, with Key, which is
/// keyOf(S). `how` is emitted with the bits of Flags.
/// pre: canBlock, namesAreFree, hasSplittableLatches.
llvm::CallInst *emitWait(const SpinLoop &S, const WaitKey &Key, uint32_t Flags,
                         llvm::LoopInfo &LI, llvm::DominatorTree &DT);

/// Returns true if VF_SPIN_NOTIFIED is not set in the `how` of a call emitWait
/// made, and can be.
bool canBeNotified(const llvm::CallInst &Wait);
/// Sets VF_SPIN_NOTIFIED. pre: canBeNotified.
void setNotified(llvm::CallInst &Wait);

/// Returns the memory that a call of emitWait waits for, by an access in its
/// loop; nullopt if it waits for no word or several, or if its loop is gone.
std::optional<Location> locateWait(const llvm::CallInst &Wait,
                                   const llvm::LoopInfo &LI);

/// Makes a non-atomic load an acquire load, if its type allows.
void makeAcquire(llvm::LoadInst &Load);

/// Inserts a notify of Keys after Write, which writes at Address. It costs a
/// relaxed load and a branch if no thread waits. Returns false if Write already
/// notifies them.
bool emitNotify(llvm::Instruction &Write, llvm::Value &Address,
                llvm::ArrayRef<NotifyKey> Keys);

/// Adds the definitions that rewritten code refers to. Called once per module,
/// last.
void linkFallback(llvm::Module &M);

/// Gives the exits of F's waiting loops their own blocks, so that the stack
/// frame for a call is set up around the wait only: if the first test succeeds,
/// no instruction is added. Runs last before code generation, as passes remove
/// empty blocks.
bool separateWaitExits(llvm::Function &F, llvm::LoopInfo &LI,
                       llvm::DominatorTree &DT);

/// Removes from these functions, their call sites and their callers in the
/// module the attributes that no longer hold because they may wait or wake.
/// Otherwise LLVM would delete the calls.
void forgetPromises(llvm::ArrayRef<llvm::Function *> Changed);

} // namespace vfriendly

#endif
