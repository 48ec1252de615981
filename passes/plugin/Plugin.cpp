//===- Plugin.cpp - libvfriendly.so, for opt, clang and lld ---------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/heap-churn/HeapChurnPass.h"
#include "passes/plugin/VersionGuard.h"
#include "passes/spin-loops/SpinLoopAnalysis.h"
#include "passes/spin-loops/SpinLoopsPass.h"

#include "llvm/Passes/PassBuilder.h"
#include "llvm/Plugins/PassPlugin.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Process.h"

using namespace llvm;
using namespace vfriendly;

static cl::opt<std::string>
    SpinOption("vf-spin", cl::value_desc("pause|block|off"),
               cl::desc("What vf-spin-loops does about spin loops"));

static cl::opt<std::string>
    HeapOption("vf-heap", cl::value_desc("on|off"),
               cl::desc("Whether vf-heap-churn rewrites"));

[[noreturn]] static void usageError(const Twine &Message) {
  errs() << "vfriendly: " << Message << '\n';
  exit(1);
}

static SpinMode requireSpinMode(StringRef Where, StringRef Text) {
  if (auto Mode = parseSpinMode(Text))
    return *Mode;
  usageError(Twine(Where) + "=" + Text + ": use pause, block or off");
}

/// The mode the plugin runs with by itself: -mllvm -vf-spin, then VF_SPIN in
/// the environment (the only way into a linker, which reads its options before
/// it loads plugins), then block.
static SpinMode defaultSpinMode() {
  if (SpinOption.getNumOccurrences())
    return requireSpinMode("-vf-spin", SpinOption);
  if (auto Text = sys::Process::GetEnv("VF_SPIN"))
    return requireSpinMode("VF_SPIN", *Text);
  return SpinMode::Block;
}

static bool requireSwitch(StringRef Where, StringRef Text) {
  if (Text != "on" && Text != "off")
    usageError(Twine(Where) + "=" + Text + ": use on or off");
  return Text == "on";
}

/// As defaultSpinMode: -mllvm -vf-heap, then VF_HEAP, then on.
static bool heapRewritesByDefault() {
  if (HeapOption.getNumOccurrences())
    return requireSwitch("-vf-heap", HeapOption);
  if (auto Text = sys::Process::GetEnv("VF_HEAP"))
    return requireSwitch("VF_HEAP", *Text);
  return true;
}

/// vf-heap-churn or vf-heap-churn<mode=on|off>; false if Name is another pass.
static bool parseHeapChurn(StringRef Name, bool &Rewrites) {
  if (!Name.consume_front("vf-heap-churn"))
    return false;
  Rewrites = heapRewritesByDefault();
  if (Name.empty())
    return true;
  if (!Name.consume_front("<") || !Name.consume_back(">"))
    return false;
  if (!Name.consume_front("mode="))
    usageError("vf-heap-churn<" + Name +
               ">: the only parameter is mode=on|off");
  Rewrites = requireSwitch("vf-heap-churn<mode", Name);
  return true;
}

/// NAME or NAME<mode=...>; false if Name is another pass.
static bool parseSpinLoops(StringRef Name, StringRef PassName, SpinMode &Mode) {
  if (!Name.consume_front(PassName))
    return false;
  Mode = defaultSpinMode();
  if (Name.empty())
    return true;
  if (!Name.consume_front("<") || !Name.consume_back(">"))
    return false;
  if (!Name.consume_front("mode="))
    usageError(PassName + "<" + Name +
               ">: the only parameter is mode=pause|block|off");
  Mode = requireSpinMode((PassName + "<mode").str(), Name);
  return true;
}

static bool isInLinker(ThinOrFullLTOPhase LTO) {
  return LTO == ThinOrFullLTOPhase::ThinLTOPostLink ||
         LTO == ThinOrFullLTOPhase::FullLTOPostLink;
}

static void addSpinLoops(ModulePassManager &MPM, OptimizationLevel Level,
                         SpinPhase Phase, ThinOrFullLTOPhase LTO) {
  SpinMode Mode = defaultSpinMode();
  if (Level == OptimizationLevel::O0)
    Phase = SpinPhase::Unoptimized;
  MPM.addPass(SpinLoopsPass(Mode, Phase, isInLinker(LTO)));
}

static void registerPasses(PassBuilder &PB) {
  if (PassInstrumentationCallbacks *PIC =
          PB.getPassInstrumentationCallbacks()) {
    PIC->addClassToPassName(SpinLoopsPass::name(), "vf-spin-loops");
    PIC->addClassToPassName(SpinLoopPrinterPass::name(),
                            "print<vf-spin-loops>");
    PIC->addClassToPassName(HeapChurnPass::name(), "vf-heap-churn");
  }
  PB.registerAnalysisRegistrationCallback([](FunctionAnalysisManager &FAM) {
    FAM.registerPass([] { return SpinLoopAnalysis(); });
  });
  PB.registerPipelineParsingCallback(
      [](StringRef Name, FunctionPassManager &FPM,
         ArrayRef<PassBuilder::PipelineElement>) {
        if (Name != "print<vf-spin-loops>")
          return false;
        FPM.addPass(SpinLoopPrinterPass(errs()));
        return true;
      });
  PB.registerPipelineParsingCallback(
      [](StringRef Name, ModulePassManager &MPM,
         ArrayRef<PassBuilder::PipelineElement>) {
        bool Rewrites;
        if (parseHeapChurn(Name, Rewrites)) {
          MPM.addPass(HeapChurnPass(Rewrites));
          return true;
        }
        SpinMode Mode;
        bool All = parseSpinLoops(Name, "vf-default", Mode);
        if (!All && !parseSpinLoops(Name, "vf-spin-loops", Mode))
          return false;
        MPM.addPass(SpinLoopsPass(Mode, SpinPhase::Early));
        if (All)
          MPM.addPass(HeapChurnPass(heapRewritesByDefault()));
        return true;
      });

  // Waits on plain memory must be seen before JumpThreading breaks them; what
  // inlining brings into sight is looked at again after it.
  PB.registerPipelineEarlySimplificationEPCallback([](ModulePassManager &MPM,
                                                      OptimizationLevel Level,
                                                      ThinOrFullLTOPhase LTO) {
    addSpinLoops(MPM, Level, SpinPhase::Early, LTO);
  });
  PB.registerOptimizerEarlyEPCallback([](ModulePassManager &MPM,
                                         OptimizationLevel Level,
                                         ThinOrFullLTOPhase LTO) {
    if (Level == OptimizationLevel::O0)
      return;
    addSpinLoops(MPM, Level, SpinPhase::Late, LTO);
    // After inlining: what becomes of a pointer shows.
    MPM.addPass(HeapChurnPass(heapRewritesByDefault(), isInLinker(LTO)));
  });
  PB.registerOptimizerLastEPCallback([](ModulePassManager &MPM,
                                        OptimizationLevel Level,
                                        ThinOrFullLTOPhase LTO) {
    if (Level != OptimizationLevel::O0 &&
        LTO != ThinOrFullLTOPhase::ThinLTOPreLink &&
        LTO != ThinOrFullLTOPhase::FullLTOPreLink)
      addSpinLoops(MPM, Level, SpinPhase::Last, LTO);
  });
  PB.registerFullLinkTimeOptimizationLastEPCallback(
      [](ModulePassManager &MPM, OptimizationLevel Level) {
        addSpinLoops(MPM, Level, SpinPhase::Last,
                     ThinOrFullLTOPhase::FullLTOPostLink);
        // What was inlined from other files; there is no earlier point.
        if (Level != OptimizationLevel::O0)
          MPM.addPass(
              HeapChurnPass(heapRewritesByDefault(), /*InLinker=*/true));
      });
  PB.registerFullLinkTimeOptimizationEarlyEPCallback(
      [](ModulePassManager &MPM, OptimizationLevel Level) {
        addSpinLoops(MPM, Level, SpinPhase::Early,
                     ThinOrFullLTOPhase::FullLTOPostLink);
      });
}

extern "C" __attribute__((visibility("default"))) PassPluginLibraryInfo
llvmGetPassPluginInfo() {
  requireMatchingLLVM();
  return {LLVM_PLUGIN_API_VERSION, "vfriendly", "0.1.0", registerPasses};
}
