//===- Runtime.cpp - What rewritten code needs of libvfrt -----------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/common/Runtime.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/Metadata.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"

#include <dlfcn.h>

using namespace llvm;

namespace vfriendly {

void linkDefinitions(Module &M, StringRef Text) {
  // clang drops value names, but the parser needs them while it reads.
  LLVMContext &Context = M.getContext();
  bool Discards = Context.shouldDiscardValueNames();
  Context.setDiscardValueNames(false);
  SMDiagnostic Error;
  std::unique_ptr<Module> Ours = parseAssemblyString(Text, Error, Context);
  Context.setDiscardValueNames(Discards);
  if (!Ours)
    report_fatal_error(Twine("vfriendly: fallback does not parse: ") +
                       Error.getMessage());
  Ours->setDataLayout(M.getDataLayout());
  Ours->setTargetTriple(M.getTargetTriple());
  if (Linker::linkModules(M, std::move(Ours), Linker::LinkOnlyNeeded))
    report_fatal_error("vfriendly: fallback does not link");
}

void dependOnRuntime(Module &M) {
  Dl_info Plugin;
  if (!dladdr(reinterpret_cast<void *>(&dependOnRuntime), &Plugin))
    return;
  NamedMDNode *Libraries =
      M.getOrInsertNamedMetadata("llvm.dependent-libraries");
  for (StringRef Name : {"vfrt-link.o", "libvfrt.a"}) {
    SmallString<128> Path(Plugin.dli_fname);
    sys::fs::make_absolute(Path);
    sys::path::remove_filename(Path);
    sys::path::append(Path, Name);
    if (!sys::fs::exists(Path))
      return;
    // Metadata is the same node where it has the same operands.
    MDNode *Note =
        MDNode::get(M.getContext(), MDString::get(M.getContext(), Path));
    if (!is_contained(Libraries->operands(), Note))
      Libraries->addOperand(Note);
  }
}

} // namespace vfriendly
