//===- OriginalBody.cpp - A function as it was before a change ------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/spin-loops/OriginalBody.h"

#include "passes/prepare/CopyBody.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Function.h"

using namespace llvm;

namespace vfriendly {

OriginalBody::~OriginalBody() {
  if (Saved)
    Saved->eraseFromParent();
}

void OriginalBody::save() {
  if (any_of(F, [](const BasicBlock &B) { return B.hasAddressTaken(); }))
    return;
  ValueToValueMapTy Copies;
  Saved = copyWithBody(F, ".vf.original", Copies);
}

bool OriginalBody::restore() {
  if (!Saved)
    return false;
  for (BasicBlock &B : F)
    B.dropAllReferences();
  while (!F.empty())
    F.begin()->eraseFromParent();
  F.splice(F.end(), Saved);
  for (auto [To, From] : zip_equal(F.args(), Saved->args()))
    From.replaceAllUsesWith(&To);
  Saved->eraseFromParent();
  Saved = nullptr;
  return true;
}

} // namespace vfriendly
