//===- PassPlugin.h - LLVM's header of pass plugins -------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// It is in another folder in LLVM 19. Not part of LLVMVersions.h, because it
// includes PassBuilder.h, which takes 3 s to compile.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_COMMON_PASSPLUGIN_H
#define VFRIENDLY_PASSES_COMMON_PASSPLUGIN_H

#include "llvm/Config/llvm-config.h"
#include "llvm/Passes/PassBuilder.h"

#if LLVM_VERSION_MAJOR >= 22
#include "llvm/Plugins/PassPlugin.h"
#else
#include "llvm/Passes/PassPlugin.h"
#endif

namespace vfriendly {

/// Returns Info, with which LLVM calls Prepare before it makes machine code of
/// a module. LLVM 19 does not call it.
template <void (*Prepare)(llvm::Module &, const llvm::TargetMachine &)>
llvm::PassPluginLibraryInfo beforeCodeGen(llvm::PassPluginLibraryInfo Info) {
#if LLVM_VERSION_MAJOR >= 22
  Info.PreCodeGenCallback = [](llvm::Module &M, llvm::TargetMachine &Target,
                               llvm::CodeGenFileType,
                               llvm::raw_pwrite_stream &) {
    Prepare(M, Target);
    return false; // LLVM goes on by itself.
  };
#endif
  return Info;
}

} // namespace vfriendly

#endif
