//===- Remarks.h - Remarks of vf-heap-churn ---------------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   say<OptimizationRemarkMissed>(ORE, Call, "TakenInEachIteration",
//                                    "each ...");
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_HEAPCHURN_REMARKS_H
#define VFRIENDLY_PASSES_HEAPCHURN_REMARKS_H

#include "vfriendly/Catalogue.h"

#include "llvm/Analysis/OptimizationRemarkEmitter.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/Instruction.h"

namespace vfriendly {

/// Returns the location of I in the function that contains it after inlining:
/// users do not know the locations of code that was inlined from a library.
inline llvm::DebugLoc sourceLocOf(const llvm::Instruction &I) {
  llvm::DebugLoc Place = I.getDebugLoc();
  while (Place && Place.getInlinedAt())
    Place = Place.getInlinedAt();
  return Place;
}

/// Emits a remark of class Kind about I. The remark consists of Text and the
/// path of the guideline.
template <typename Kind>
void say(llvm::OptimizationRemarkEmitter &ORE, const llvm::Instruction &I,
         llvm::StringRef Name, const llvm::Twine &Text) {
  ORE.emit([&] {
    Kind Remark("vf-heap-churn", Name, sourceLocOf(I), I.getParent());
    Remark << Text.str() << " [" << HeapChurn.Guideline << "]";
    return Remark;
  });
}

} // namespace vfriendly

#endif
