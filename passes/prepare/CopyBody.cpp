//===- CopyBody.cpp - A second body within the same module ----------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/prepare/CopyBody.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace llvm;

namespace vfriendly {

Function *copyWithBody(Function &F, StringRef Suffix, ValueToValueMapTy &Map) {
  Function *Copy = Function::Create(
      F.getFunctionType(), GlobalValue::InternalLinkage, F.getAddressSpace(),
      F.getName() + Suffix, F.getParent());
  Copy->setAttributes(F.getAttributes());
  Copy->setCallingConv(F.getCallingConv());
  if (F.hasGC())
    Copy->setGC(F.getGC());
  if (F.hasPersonalityFn())
    Copy->setPersonalityFn(F.getPersonalityFn());
  for (auto [From, To] : zip_equal(F.args(), Copy->args()))
    Map[&From] = &To;
  SmallVector<BasicBlock *, 16> Blocks;
  DenseMap<DIAssignID *, DIAssignID *> Assignments;
  for (BasicBlock &B : F) {
    BasicBlock *New = CloneBasicBlock(&B, Map, "", Copy);
    Map[&B] = New;
    if (B.hasAddressTaken())
      Map[BlockAddress::get(&F, &B)] = BlockAddress::get(Copy, New);
    for (Instruction &I : *New)
      at::remapAssignID(Assignments, I);
    Blocks.push_back(New);
  }
  // Does not follow metadata, other than to local values.
  remapInstructionsInBlocks(Blocks, Map);
  return Copy;
}

} // namespace vfriendly
