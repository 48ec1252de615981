//===- RuntimeNote.cpp - Says once that waits gain from libvfrt -----------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/plugin/RuntimeNote.h"

#include "passes/common/RuntimeCalls.h"

#include "llvm/IR/Module.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <dlfcn.h>

using namespace llvm;

namespace vfriendly {

/// Returns the path by which the plugin was loaded.
static StringRef pluginPath() {
  Dl_info Info;
  bool Found = dladdr(reinterpret_cast<void *>(&pluginPath), &Info) != 0;
  return Found && Info.dli_fname ? Info.dli_fname : "";
}

bool isLoadedWithRuntime() {
  return pluginPath().ends_with("/./libvfriendly.so");
}

PreservedAnalyses RuntimeNotePass::run(Module &M, ModuleAnalysisManager &) {
  size_t Waits = 0;
  for (StringRef Name : {WaitFunction, BoundedWaitFunction})
    if (const Function *Wait = M.getFunction(Name))
      Waits += count_if(Wait->users(), IsaPred<CallBase>);
  if (Waits != 0) {
    StringRef Folder = sys::path::parent_path(pluginPath());
    errs() << "vfriendly: " << M.getSourceFileName() << ": " << Waits
           << (Waits == 1 ? " wait" : " waits")
           << " rewritten; without libvfrt, waits only pause, yield and sleep. "
              "Link "
           << Folder << "/vfrt-link.o " << Folder
           << "/libvfrt.a (or give --config=" << Folder
           << "/vfriendly.cfg instead), or say -mllvm -vf-runtime=none\n";
  }
  return PreservedAnalyses::all();
}

} // namespace vfriendly
