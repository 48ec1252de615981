//===- Runtime.cpp - Definitions that rewritten code refers to ------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/common/Runtime.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using namespace llvm;

namespace vfriendly {

/// Removes from Ours what clang adds for the target, such as the CPU's name:
/// M's own options apply. Each program keeps one hidden copy of a definition.
static void makePortable(Module &Ours) {
  while (!Ours.named_metadata_empty())
    Ours.eraseNamedMetadata(&*Ours.named_metadata_begin());
  for (Function &F : Ours)
    for (Attribute A : F.getAttributes().getFnAttrs())
      if (A.isStringAttribute())
        F.removeFnAttr(A.getKindAsString());
  for (GlobalObject &Object : Ours.global_objects()) {
    if (Object.isDeclaration() || !Object.hasExternalLinkage())
      continue;
    Object.setLinkage(GlobalValue::LinkOnceODRLinkage);
    Object.setVisibility(GlobalValue::HiddenVisibility);
    Object.setComdat(Ours.getOrInsertComdat(Object.getName()));
  }
}

void linkDefinitions(Module &M, StringRef IR) {
  // clang discards value names, but the parser needs them.
  LLVMContext &Context = M.getContext();
  bool Discards = Context.shouldDiscardValueNames();
  Context.setDiscardValueNames(false);
  SMDiagnostic Error;
  std::unique_ptr<Module> Ours = getLazyIRModule(
      MemoryBuffer::getMemBuffer(IR, "vfriendly"), Error, Context);
  Context.setDiscardValueNames(Discards);
  if (!Ours)
    return Context.emitError("vfriendly: fallback does not parse: " +
                             Error.getMessage());
  makePortable(*Ours);
  Ours->setDataLayout(M.getDataLayout());
  Ours->setTargetTriple(M.getTargetTriple());
  // On failure, the IR linker has already reported the reason.
  if (Linker::linkModules(M, std::move(Ours), Linker::LinkOnlyNeeded))
    Context.emitError("vfriendly: fallback does not link");
}

} // namespace vfriendly
