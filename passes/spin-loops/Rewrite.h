//===- Rewrite.h - The changes made to spin loops and writers ---*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each function here makes one change to the IR and leaves LoopInfo and
// DominatorTree valid where it takes them. None decides whether to change
// anything: SpinLoopsPass does.
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

/// Can accesses of this type be made atomic without changing their meaning?
bool canBeAtomic(llvm::Type *Ty, llvm::Align Alignment,
                 const llvm::DataLayout &DL);

/// Does the target of M have a spin hint?
bool hasPauseHint(const llvm::Module &M);
/// Returns true if rewritten code of M's target can call the runtime through
/// weak symbols.
bool canBlock(const llvm::Module &M);
/// Returns true if M uses none of the runtime's names for something else.
bool namesAreFree(const llvm::Module &M);

/// Can a block be put on every way back to L's header?
bool hasSplittableLatches(const llvm::Loop &L);

/// A new block through which every way back to L's header goes.
/// pre: hasSplittableLatches.
llvm::BasicBlock *splitBackEdge(llvm::Loop &L, llvm::LoopInfo &LI,
                                llvm::DominatorTree &DT);

/// The polled value as the runtime compares it, or null if there is none.
llvm::Value *observedValue(const Poll &P, llvm::IRBuilder<> &B);

/// May the runtime read the polled memory once more before the loop does?
/// Only if the loop would do so next, whatever else changes meanwhile.
bool isPolledFirst(const Poll &P, const llvm::Loop &L,
                   const llvm::DominatorTree &DT);

/// Puts the CPU's spin hint on L's back edge.
/// pre: hasPauseHint, hasSplittableLatches.
void emitPause(llvm::Loop &L, llvm::LoopInfo &LI, llvm::DominatorTree &DT);

/// How the two are called.
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
/// Sets it. pre: canBeNotified.
void setNotified(llvm::CallInst &Wait);

/// Where a call emitWait made waits, by an access in its loop; nothing for one
/// that waits nowhere or for several words, or whose loop is gone.
std::optional<Location> locateWait(const llvm::CallInst &Wait,
                                   const llvm::LoopInfo &LI);

/// Makes a load acquire that is not atomic yet, if its type allows.
void makeAcquire(llvm::LoadInst &Load);

/// After Write, which writes at Address: wakes waiters on Keys, at the cost of
/// a relaxed load and a branch if there are none. Returns false if Write did
/// that already.
bool emitNotify(llvm::Instruction &Write, llvm::Value &Address,
                llvm::ArrayRef<NotifyKey> Keys);

/// Adds the definitions rewritten code refers to. Call once a module, last.
void linkFallback(llvm::Module &M);

/// Gives the exits of F's waiting loops blocks of their own, so that the stack
/// frame a call needs is made and undone around the wait alone: where the first
/// test succeeds, not one instruction is added. Run this last: before code
/// generation, empty blocks do not live long.
bool separateWaitExits(llvm::Function &F, llvm::LoopInfo &LI,
                       llvm::DominatorTree &DT);

/// Takes from these functions, their call sites and their callers in the module
/// the promises that do not hold any more now that they may wait or wake:
/// without this, LLVM deletes the calls.
void forgetPromises(llvm::ArrayRef<llvm::Function *> Changed);

} // namespace vfriendly

#endif
