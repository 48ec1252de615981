//===- Judgement.h - Decision how an object is placed -----------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_ANALYSIS_NUMA_JUDGEMENT_H
#define VFRIENDLY_PASSES_ANALYSIS_NUMA_JUDGEMENT_H

#include "passes/analysis/numa/Objects.h"

namespace vfriendly {

enum class Verdict {
  NotShared,     ///< No parallel region accesses the object in bulk.
  Lost,          ///< It escapes into a table of pointers.
  Table,         ///< It is a table of pointers.
  ParallelFirst, ///< The threads that use it write it first.
  NeverWritten,  ///< No bulk write of it is visible.
  SerialFirst    ///< One thread writes it first, and a team uses it.
};

struct Judgement {
  Verdict Is = Verdict::NotShared;
  /// The first bulk write to the object, if the verdict is SerialFirst or
  /// ParallelFirst.
  const llvm::Instruction *FirstWrite = nullptr;
  /// An instruction in a parallel region that uses the object.
  const llvm::Instruction *Use = nullptr;
  /// True if each bulk use in a region is in a loop with a static schedule, so
  /// that each thread uses one block of the object.
  bool InBlocks = false;
};

/// Decides where the pages of the object Of belong. pre: all pointers to Of
/// have been followed.
Judgement judge(const Object &Of, Regions &Threads);

} // namespace vfriendly

#endif
