//===- OriginalBody.h - A function as it was before a change -*- C++ -*-==//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Calls are inlined before it is known whether a loop waits. Where none does,
// the function gets its body back: the inlined code would only be larger, and
// LLVM's inliner decides better.
//
//   OriginalBody Original(F);
//   Original.save();
//   ... // Changes F.
//   if (!FoundAny)
//     Original.restore();
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_SPINLOOPS_ORIGINALBODY_H
#define VFRIENDLY_PASSES_SPINLOOPS_ORIGINALBODY_H

namespace llvm {
class Function;
} // namespace llvm

namespace vfriendly {

class OriginalBody {
public:
  explicit OriginalBody(llvm::Function &F) : F(F) {}
  OriginalBody(const OriginalBody &) = delete;
  OriginalBody &operator=(const OriginalBody &) = delete;
  ~OriginalBody();

  /// Copies F's body, unless the address of a block is taken: a copy has other
  /// addresses. pre: it was not called before.
  void save();
  /// Gives F the saved body, if there is one, and returns true then. All
  /// analyses of F are out of date. post: nothing is saved.
  bool restore();

private:
  llvm::Function &F;
  /// Owns the saved body; null if there is none.
  llvm::Function *Saved = nullptr;
};

} // namespace vfriendly

#endif
