//===- Judgement.h - Whether an object is placed, and how -------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_NUMAPLACEMENT_JUDGEMENT_H
#define VFRIENDLY_PASSES_NUMAPLACEMENT_JUDGEMENT_H

#include "passes/numa-placement/Objects.h"

namespace vfriendly {

enum class Verdict {
  NotShared,     ///< No parallel region goes through it.
  Lost,          ///< It is in a table of pointers, which is not followed.
  Table,         ///< It is such a table itself.
  ParallelFirst, ///< Its users write it first.
  NeverWritten,  ///< No write is seen that goes through it.
  SerialFirst    ///< One thread writes what a team uses.
};

struct Judgement {
  Verdict Is = Verdict::NotShared;
  /// The write of SerialFirst and ParallelFirst.
  const llvm::Instruction *FirstWrite = nullptr;
  /// A use in a region.
  const llvm::Instruction *Use = nullptr;
  /// Every use in a region that goes through it does so by static schedule:
  /// each thread has a block of it.
  bool InBlocks = false;
};

/// pre: Of has been followed.
Judgement judge(const Object &Of, Regions &Threads);

} // namespace vfriendly

#endif
