//===- RuntimeNote.h - Says once that waits gain from libvfrt ---*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_PLUGIN_RUNTIMENOTE_H
#define VFRIENDLY_PASSES_PLUGIN_RUNTIMENOTE_H

#include "llvm/IR/PassManager.h"

namespace vfriendly {

/// Prints one line for a unit with rewritten waits, which names the files to
/// link. Changes nothing. It is no diagnostic of clang: as a warning it would
/// end builds with -Werror, and clang prints no note without a warning.
class RuntimeNotePass : public llvm::PassInfoMixin<RuntimeNotePass> {
public:
  llvm::PreservedAnalyses run(llvm::Module &M, llvm::ModuleAnalysisManager &);
};

/// Returns true if vfriendly.cfg loaded the plugin, which links libvfrt as
/// well. It cannot pass an option, because clang would pass it to assemblers
/// and linkers, too; so it loads the plugin from DIR/./libvfriendly.so.
bool isLoadedWithRuntime();

} // namespace vfriendly

#endif
