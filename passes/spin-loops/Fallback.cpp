//===- Fallback.cpp - Waits of programs without libvfrt -------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/spin-loops/Fallback.h"

#include "passes/common/Runtime.h"
#include "passes/common/RuntimeCalls.h"
#include "passes/spin-loops/WaitCall.h"
#include "vfriendly/Fallbacks.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

using namespace llvm;

namespace vfriendly {

/// Named metadata of modules to which linkFallback adds definitions.
static constexpr StringLiteral NeedsFallback = "vf.spin.needs.fallback";

/// Returns those declarations of M that the fallback defines.
static SmallVector<GlobalValue *, 3> undefined(Module &M) {
  SmallVector<GlobalValue *, 3> Found;
  for (StringRef Name :
       {StringRef(WaitFunction), StringRef(BoundedWaitFunction),
        StringRef(NeverArmedWord)})
    if (GlobalValue *G = M.getNamedValue(Name); G && G->isDeclaration())
      Found.push_back(G);
  return Found;
}

void declareFallback(Module &M) {
  SmallVector<GlobalValue *, 3> Declared = undefined(M);
  if (Declared.empty())
    return;
  M.getOrInsertNamedMetadata(NeedsFallback);
  // The definitions are hidden, too: LLVM sees that their addresses are near.
  for (GlobalValue *G : Declared)
    G->setVisibility(GlobalValue::HiddenVisibility);
}

/// Prepares the comparison of vf_spin_how (calls.ll). Its operands must be
/// addresses that the dynamic linker has found: without dso_local, an
/// executable takes them from its table of addresses, as for __sched_yield.
static void compareNames(Module &M, bool HasBothNames) {
  for (auto [Name, Own] : {std::pair("sched_yield", "__sched_yield"),
                           std::pair("nanosleep", "__nanosleep")}) {
    Function *F = M.getFunction(Name), *Same = M.getFunction(Own);
    if (!F || !Same)
      continue;
    for (Function *Each : {F, Same})
      if (Each->isDeclaration())
        Each->setDSOLocal(false);
    if (!HasBothNames && Same->hasExternalWeakLinkage())
      Same->replaceAllUsesWith(F);
  }
}

static void link(Module &M) {
  if (undefined(M).empty())
    return;
  linkDefinitions(M, fallback::Calls);
  if (!M.getFunction(WaitFunction) && !M.getFunction(BoundedWaitFunction))
    return;
  const Triple T(M.getTargetTriple());
  linkDefinitions(M, T.getArch() == Triple::x86_64    ? fallback::X86_64
                     : T.getArch() == Triple::aarch64 ? fallback::AArch64
                     : T.getArch() == Triple::riscv64 ? fallback::RISCV64
                                                      : fallback::Generic);
  compareNames(M, T.isGNUEnvironment());
  // Keeps the functions external. If LTO made them internal, it would remove
  // their parameters, and a later run of the pass could not add calls.
  for (StringRef Name : {WaitFunction, BoundedWaitFunction})
    if (Function *Wait = M.getFunction(Name)) {
      Wait->setCallingConv(waitConvention(M));
      appendToCompilerUsed(M, {Wait});
    }
}

bool linkFallback(Module &M) {
  NamedMDNode *Needs = M.getNamedMetadata(NeedsFallback);
  if (!Needs)
    return false;
  M.eraseNamedMetadata(Needs);
  link(M);
  return true;
}

/// Returns the assembly for units that are compiled for Target; empty if there
/// is none. It is position-independent, in AT&T's syntax, and reaches only what
/// is near.
static StringRef assemblyFor(const Module &M, const TargetMachine &Target) {
  const Triple &T = Target.getTargetTriple();
  if (!hasRuntime(T) || M.getDataLayout().getPointerSize() != 8 ||
      Target.getCodeModel() != CodeModel::Small ||
      Target.getMCAsmInfo()->getAssemblerDialect() != 0 ||
      // A sanitizer has put a tag into the address of the words, which is far.
      M.getNamedAlias("vf_spin_alone_words_2"))
    return "";
  return T.getArch() == Triple::x86_64    ? fallback::X86_64Assembly
         : T.getArch() == Triple::aarch64 ? fallback::AArch64Assembly
                                          : "";
}

void assembleFallback(Module &M, const TargetMachine &Target) {
  StringSet<> Replaced;
  std::string Text;
  SmallVector<StringRef, 8> Sections;
  assemblyFor(M, Target).split(Sections, "\t.section\t");
  for (StringRef Section : Sections) {
    StringRef Group = Section.split('\n').first;
    if (!Group.consume_back(",comdat"))
      continue;
    Group = Group.rsplit(',').second;
    // Its copy of a link-time optimizer is internal, with a convention of its
    // own.
    Function *F = M.getFunction(Group);
    if (F && F->hasLinkOnceODRLinkage()) {
      F->deleteBody();
      F->setComdat(nullptr);
      Replaced.insert(Group);
    }
    if (Replaced.contains(Group))
      (Text += "\t.section\t").append(Section);
  }
  if (!Text.empty())
    M.appendModuleInlineAsm(Text + "\t.text\n");
}

PreservedAnalyses LinkFallbackPass::run(Module &M, ModuleAnalysisManager &) {
  return linkFallback(M) ? PreservedAnalyses::none() : PreservedAnalyses::all();
}

} // namespace vfriendly
