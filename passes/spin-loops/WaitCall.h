//===- WaitCall.h - The call that waits, and its key ------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A wait for one word sleeps on that word's address. A wait whose condition
// reads several words sleeps on one key, and the writers of each of the words
// notify that key:
//
// - the words are parts of one global: the key is the global;
// - they are at constant distances from each other: the key is the address of
//   the first word, which a writer computes from the address that it writes and
//   the distance;
// - otherwise: the key is a constant, computed from the names of all words.
//
// Waits of the third kind in different objects of one type share their key: a
// notify for one of them wakes all waiters, and each waiter whose condition is
// not true only makes one more poll.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_SPINLOOPS_WAITCALL_H
#define VFRIENDLY_PASSES_SPINLOOPS_WAITCALL_H

#include "passes/analysis/waits/Gather.h"
#include "passes/analysis/waits/SpinLoopAnalysis.h"
#include "passes/spin-loops/Writers.h"

#include "llvm/IR/IRBuilder.h"

namespace vfriendly {

struct WaitKey {
  /// The key that the wait passes to the runtime; null if the writers of its
  /// words cannot all compute a common key.
  llvm::Value *Address = nullptr;
  /// True if the key stands for several words; false if it is the address of
  /// the only polled word.
  bool Several = false;
  /// Each word with the key that its writers notify. Empty if Address is null.
  llvm::SmallVector<std::pair<Location, NotifyKey>, 2> Words;
};

/// Returns the key of S. Valid while S is unchanged.
WaitKey keyOf(const SpinLoop &S);

/// Returns the polled value as the runtime compares it with memory, extended to
/// 64 bits; null if the runtime cannot compare it.
llvm::Value *observedValue(const Poll &P, llvm::IRBuilder<> &B);

/// Returns true if each iteration in which no condition of Passed ends the loop
/// polls P before it can leave the loop. Only then may the runtime read the
/// memory between polls: the loop would read it next in any case.
bool isPolledFirst(const Poll &P, const llvm::Loop &L,
                   const llvm::DominatorTree &DT,
                   llvm::ArrayRef<ExitLeaf> Passed = {});

/// Return the calling convention of both wait functions, and the type of each.
llvm::CallingConv::ID waitConvention(const llvm::Module &M);
llvm::FunctionType *waitType(llvm::LLVMContext &Context);
llvm::FunctionType *boundedWaitType(llvm::LLVMContext &Context);

/// Inserts a call of WaitFunction on the back edge of S. Key is the result of
/// keyOf(S). The argument `how` of the call has the bits of Flags.
/// pre: canBlock, namesAreFree, hasSplittableLatches.
llvm::CallInst *emitWait(const SpinLoop &S, const WaitKey &Key, uint32_t Flags,
                         llvm::LoopInfo &LI, llvm::DominatorTree &DT);

/// What the argument `how` of a wait says about its writers: nothing, that some
/// notify (VF_SPIN_NOTIFIED with VF_SPIN_UNSEEN), or that all do.
enum class Notified { Unknown, BySome, ByAll };
/// Returns what Wait, a call that emitWait has made, says; ByAll if its
/// argument cannot be changed, because it is no constant.
Notified notifiedBy(const llvm::CallInst &Wait);
/// pre: notifiedBy(Wait) is less.
void setNotified(llvm::CallInst &Wait, Notified By);

/// Returns the memory that Wait, a call that emitWait has made, waits for.
/// Takes the location from an access to that memory in the loop around Wait.
/// Returns nullopt if Wait waits for no word or several words, or if the loop
/// no longer exists.
std::optional<Location> locateWait(const llvm::CallInst &Wait,
                                   const llvm::LoopInfo &LI);

} // namespace vfriendly

#endif
