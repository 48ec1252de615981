//===- StackChain.h - Promoted memory along calls ---------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A function may run on a stack of a few kilobytes: a fiber's, a signal
// handler's, or that of a thread with a small stack. So the bytes that
// promotion adds are limited along each chain of calls, not for each function:
//
//   f1 -> f2 -> f3      at most -vf-stack-limit bytes in f1, f2 and f3 together
//
// Only chains within the module are followed. A function that unknown code may
// call, and that calls unknown code, counts as recursive and gets no promoted
// memory (Recursion.h). So a chain that leaves the module and comes back, or
// enters another one, has promoted memory in one part only, except below main,
// whose thread has a stack of megabytes.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_HEAPCHURN_STACKCHAIN_H
#define VFRIENDLY_PASSES_HEAPCHURN_STACKCHAIN_H

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace llvm {
class Function;
class Module;
} // namespace llvm

namespace vfriendly {

class StackChain {
public:
  explicit StackChain(llvm::Module &M);

  /// Returns true if Size more bytes in the frame of F keep each chain of calls
  /// through F within the limit.
  bool hasRoom(const llvm::Function &F, uint64_t Size) const;

  /// Records that Size bytes were added to the frame of F.
  void add(const llvm::Function &F, uint64_t Size) {
    Groups[GroupOf.lookup(&F)].Bytes += Size;
    Total += Size;
  }

private:
  using Numbers = llvm::SmallVector<unsigned, 4>;
  /// The functions of a cycle of calls, or a single function. The bytes of a
  /// cycle count once: recursive functions get no promoted memory.
  struct Group {
    uint64_t Bytes = 0;
    Numbers Callers, Callees;
  };

  /// Returns the most bytes in a chain of groups that Next leads to from First,
  /// without First; UINT64_MAX if there are too many to tell.
  uint64_t most(unsigned First, Numbers Group::*Next) const;

  llvm::SmallVector<Group, 0> Groups;
  llvm::DenseMap<const llvm::Function *, unsigned> GroupOf;
  uint64_t Total = 0;
};

} // namespace vfriendly

#endif
