//===- Plugin.cpp - libvfriendly.so, for opt, clang and lld ---------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/waits/SpinLoopAnalysis.h"
#include "passes/common/LLVMVersions.h"
#include "passes/common/PassPlugin.h"
#include "passes/common/RuntimeCalls.h"
#include "passes/common/Summary.h"
#include "passes/plugin/VersionGuard.h"
#include "passes/spin-loops/Fallback.h"
#include "passes/spin-loops/FunctionSummaries.h"
#include "vfriendly/Passes.h"

#include "llvm/IR/Module.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"

#include <dlfcn.h>

using namespace llvm;
using namespace vfriendly;

static cl::opt<std::string>
    SpinOption("vf-spin", cl::value_desc("pause|block|off"),
               cl::desc("What vf-spin-loops does about spin loops"));

static cl::opt<std::string>
    HeapOption("vf-heap", cl::value_desc("on|off"),
               cl::desc("Whether vf-heap-churn rewrites"));

static cl::opt<std::string>
    NumaOption("vf-numa", cl::value_desc("on|off"),
               cl::desc("Whether vf-numa-placement rewrites"));

static cl::opt<std::string>
    RuntimeOption("vf-runtime", cl::value_desc("linked|none"),
                  cl::desc("Whether the program links libvfrt; if this is "
                           "given, nothing asks for it"));

static cl::opt<std::string> SummaryOption(
    "vf-summary", cl::value_desc("FILE"),
    cl::desc("File in which translation units record the effects of their "
             "functions"));

/// Returns the path by which the plugin was loaded.
static StringRef pluginPath() {
  Dl_info Info;
  bool Found = dladdr(reinterpret_cast<void *>(&pluginPath), &Info) != 0;
  return Found && Info.dli_fname ? Info.dli_fname : "";
}

namespace {
/// Reports a wrong option as soon as there is a module to report it for.
/// Exiting while a pipeline is built would end the program in which the
/// compiler is embedded.
class UsageErrorPass : public PassInfoMixin<UsageErrorPass> {
public:
  explicit UsageErrorPass(Error E) : Message(toString(std::move(E))) {}

  PreservedAnalyses run(Module &M, ModuleAnalysisManager &) {
    M.getContext().emitError("vfriendly: " + Message);
    return PreservedAnalyses::all();
  }
  static bool isRequired() { return true; }

private:
  std::string Message;
};

/// Prints one line for a unit with rewritten waits, which names the files to
/// link. Changes nothing. It is no diagnostic of clang: as a warning it would
/// end builds with -Werror, and clang prints no note without a warning.
class RuntimeNotePass : public PassInfoMixin<RuntimeNotePass> {
public:
  PreservedAnalyses run(Module &M, ModuleAnalysisManager &) {
    size_t Waits = 0;
    for (StringRef Name : {WaitFunction, BoundedWaitFunction})
      if (const Function *Wait = M.getFunction(Name))
        Waits += count_if(Wait->users(), IsaPred<CallBase>);
    if (Waits != 0) {
      StringRef Folder = sys::path::parent_path(pluginPath());
      errs()
          << "vfriendly: " << M.getSourceFileName() << ": " << Waits
          << (Waits == 1 ? " wait" : " waits")
          << " rewritten; without libvfrt, waits only pause, yield and sleep. "
             "Link "
          << Folder << "/vfrt-link.o " << Folder
          << "/libvfrt.a (or give --config=" << Folder
          << "/vfriendly.cfg instead), or say -mllvm -vf-runtime=none\n";
    }
    return PreservedAnalyses::all();
  }
};
} // namespace

static Error usageError(const Twine &Message) {
  return createStringError(inconvertibleErrorCode(), Message);
}

static Expected<SpinMode> toSpinMode(StringRef Where, StringRef Text) {
  if (auto Mode = parseSpinMode(Text))
    return *Mode;
  return usageError(Twine(Where) + "=" + Text + ": use pause, block or off");
}

static Expected<bool> toSwitch(StringRef Where, StringRef Text) {
  if (Text != "on" && Text != "off")
    return usageError(Twine(Where) + "=" + Text + ": use on or off");
  return Text == "on";
}

static bool isInLinker(ThinOrFullLTOPhase LTO) {
  return LTO == ThinOrFullLTOPhase::ThinLTOPostLink ||
         LTO == ThinOrFullLTOPhase::FullLTOPostLink;
}

/// Returns the mode if the pipeline text gives none: the value of the option
/// -mllvm -vf-spin if it is given, otherwise block. A linker parses its options
/// before it loads plugins, so in a linker the environment variable VF_SPIN can
/// give the mode. Compilers ignore this variable, because compiler caches
/// compare only the command line.
static Expected<SpinMode> defaultSpinMode(ThinOrFullLTOPhase LTO) {
  if (SpinOption.getNumOccurrences())
    return toSpinMode("-vf-spin", SpinOption);
  if (isInLinker(LTO))
    if (auto Text = sys::Process::GetEnv("VF_SPIN"))
      return toSpinMode("VF_SPIN", *Text);
  return SpinMode::Block;
}

/// Returns whether a pass rewrites if the pipeline text gives no mode: the
/// value of Option if that option is given; otherwise, in a linker, the value
/// of the environment variable Variable; otherwise true.
static Expected<bool> switchByDefault(const cl::opt<std::string> &Option,
                                      const char *Variable,
                                      ThinOrFullLTOPhase LTO) {
  if (Option.getNumOccurrences())
    return toSwitch(("-" + Option.ArgStr).str(), Option);
  if (isInLinker(LTO))
    if (auto Text = sys::Process::GetEnv(Variable))
      return toSwitch(Variable, *Text);
  return true;
}

static Expected<bool> heapRewritesByDefault(ThinOrFullLTOPhase LTO) {
  return switchByDefault(HeapOption, "VF_HEAP", LTO);
}

/// The environment variable cannot be VF_NUMA: libvfnuma reads VF_NUMA at run
/// time.
static Expected<bool> numaRewritesByDefault(ThinOrFullLTOPhase LTO) {
  return switchByDefault(NumaOption, "VF_NUMA_PASS", LTO);
}

/// Returns the name of the summary file: the value of the option -mllvm
/// -vf-summary if that option is given; otherwise, in a linker, the value of
/// the environment variable VF_SUMMARY; otherwise an empty string.
static std::string summaryPath(ThinOrFullLTOPhase LTO) {
  if (!SummaryOption.getNumOccurrences() && isInLinker(LTO))
    return sys::Process::GetEnv("VF_SUMMARY").value_or("");
  return SummaryOption;
}

static void readSummary(ModulePassManager &MPM, ThinOrFullLTOPhase LTO) {
  if (std::string Path = summaryPath(LTO); !Path.empty())
    MPM.addPass(ReadSummaryPass(Path));
}

static void writeSummary(ModulePassManager &MPM, ThinOrFullLTOPhase LTO,
                         bool IsLink = false) {
  if (SummaryOption.getNumOccurrences() && SummaryOption.empty())
    MPM.addPass(UsageErrorPass(usageError("-vf-summary=: name a file")));
  if (std::string Path = summaryPath(LTO); !Path.empty())
    MPM.addPass(WriteSummaryPass(Path, IsLink));
}

/// Returns the text M of NAME<mode=M>, or nothing if there are no parameters.
static Expected<std::optional<StringRef>>
parseMode(StringRef Name, StringRef PassName, StringRef Values) {
  StringRef Parameters = Name.drop_front(PassName.size());
  if (Parameters.empty())
    return std::nullopt;
  if (!Parameters.consume_front("<mode=") || !Parameters.consume_back(">"))
    return usageError(Name + ": the only parameter is mode=" + Values);
  return Parameters;
}

static bool isPass(StringRef Name, StringRef PassName) {
  return Name.consume_front(PassName) &&
         (Name.empty() || (Name.starts_with("<") && Name.ends_with(">")));
}

static Error addSpinLoops(ModulePassManager &MPM, StringRef Name,
                          StringRef PassName) {
  auto Text = parseMode(Name, PassName, "pause|block|off");
  if (!Text)
    return Text.takeError();
  auto Mode = *Text ? toSpinMode((PassName + "<mode").str(), **Text)
                    : defaultSpinMode(ThinOrFullLTOPhase::None);
  if (!Mode)
    return Mode.takeError();
  readSummary(MPM, ThinOrFullLTOPhase::None);
  MPM.addPass(SpinLoopsPass(*Mode, SpinPhase::Alone));
  writeSummary(MPM, ThinOrFullLTOPhase::None);
  return Error::success();
}

/// Adds a pass whose only parameter is mode=on|off. Without the parameter,
/// Default is the mode.
template <typename Pass>
static Error addSwitched(ModulePassManager &MPM, StringRef Name,
                         StringRef PassName, Expected<bool> Default) {
  auto Text = parseMode(Name, PassName, "on|off");
  if (!Text || *Text)
    consumeError(Default.takeError());
  if (!Text)
    return Text.takeError();
  auto Rewrites =
      *Text ? toSwitch((PassName + "<mode").str(), **Text) : std::move(Default);
  if (!Rewrites)
    return Rewrites.takeError();
  MPM.addPass(Pass(*Rewrites));
  return Error::success();
}

static Error addHeapChurn(ModulePassManager &MPM, StringRef Name) {
  return addSwitched<HeapChurnPass>(
      MPM, Name, "vf-heap-churn",
      heapRewritesByDefault(ThinOrFullLTOPhase::None));
}

static Error addNumaPlacement(ModulePassManager &MPM, StringRef Name) {
  return addSwitched<NumaPlacementPass>(
      MPM, Name, "vf-numa-placement",
      numaRewritesByDefault(ThinOrFullLTOPhase::None));
}

/// Adds the pass that this pipeline element names. Returns false if it does not
/// name a pass of this plugin.
static bool addByName(StringRef Name, ModulePassManager &MPM) {
  Error E = Error::success();
  if (isPass(Name, "vf-heap-churn")) {
    E = joinErrors(std::move(E), addHeapChurn(MPM, Name));
  } else if (isPass(Name, "vf-numa-placement")) {
    E = joinErrors(std::move(E), addNumaPlacement(MPM, Name));
  } else if (isPass(Name, "vf-spin-loops")) {
    E = joinErrors(std::move(E), addSpinLoops(MPM, Name, "vf-spin-loops"));
  } else if (isPass(Name, "vf-default")) {
    E = joinErrors(std::move(E), addSpinLoops(MPM, Name, "vf-default"));
    E = joinErrors(std::move(E), addHeapChurn(MPM, "vf-heap-churn"));
    E = joinErrors(std::move(E), addNumaPlacement(MPM, "vf-numa-placement"));
  } else {
    return addPassOnRequest(Name, MPM);
  }
  if (E)
    MPM.addPass(UsageErrorPass(std::move(E)));
  return true;
}

/// Adds the pass for one phase of a pipeline. Reports a wrong mode only in
/// the first phase, so that there is one error. pre: Phase is not Unoptimized.
static void addSpinLoops(ModulePassManager &MPM, OptimizationLevel Level,
                         SpinPhase Phase, ThinOrFullLTOPhase LTO) {
  auto Mode = defaultSpinMode(LTO);
  if (!Mode) {
    if (isFirst(Phase))
      return MPM.addPass(UsageErrorPass(Mode.takeError()));
    return consumeError(Mode.takeError());
  }
  if (Level == OptimizationLevel::O0)
    Phase = SpinPhase::Unoptimized;
  if (isFirst(Phase))
    readSummary(MPM, LTO);
  MPM.addPass(
      SpinLoopsPass(*Mode, Phase, LTO == ThinOrFullLTOPhase::ThinLTOPostLink));
}

static void addHeapChurn(ModulePassManager &MPM, ThinOrFullLTOPhase LTO) {
  auto Rewrites = heapRewritesByDefault(LTO);
  if (!Rewrites)
    return MPM.addPass(UsageErrorPass(Rewrites.takeError()));
  MPM.addPass(HeapChurnPass(*Rewrites, LTO));
}

static void addNumaPlacement(ModulePassManager &MPM, ThinOrFullLTOPhase LTO) {
  auto Rewrites = numaRewritesByDefault(LTO);
  if (!Rewrites)
    return MPM.addPass(UsageErrorPass(Rewrites.takeError()));
  MPM.addPass(NumaPlacementPass(*Rewrites));
}

/// Adds the pass that asks once per unit to link libvfrt, unless the options
/// say whether it is linked.
///
/// vfriendly.cfg, which links libvfrt, cannot pass an option, because clang
/// would pass it to assemblers and linkers, too; so it loads the plugin from
/// DIR/./libvfriendly.so.
static void addRuntimeNote(ModulePassManager &MPM) {
  if (!RuntimeOption.getNumOccurrences()) {
    if (!pluginPath().ends_with("/./libvfriendly.so"))
      MPM.addPass(RuntimeNotePass());
  } else if (RuntimeOption != "linked" && RuntimeOption != "none") {
    MPM.addPass(UsageErrorPass(
        usageError("-vf-runtime=" + RuntimeOption + ": use linked or none")));
  }
}

static void registerPasses(PassBuilder &PB) {
  if (PassInstrumentationCallbacks *PIC =
          PB.getPassInstrumentationCallbacks()) {
    addPassNames(*PIC);
    PIC->addClassToPassName(SpinLoopPrinterPass::name(),
                            "print<vf-spin-loops>");
    PIC->addClassToPassName(LinkFallbackPass::name(), "vf-link-fallback");
    PIC->addClassToPassName(SummaryPass::name(), "vf-summary");
    PIC->addClassToPassName(ReadSummaryPass::name(), "vf-read-summary");
    PIC->addClassToPassName(WriteSummaryPass::name(), "vf-write-summary");
    PIC->addClassToPassName(RuntimeNotePass::name(), "vf-runtime-note");
    PIC->addClassToPassName(UnoptimizedWarningPass::name(),
                            "vf-unoptimized-warning");
  }
  PB.registerAnalysisRegistrationCallback([](FunctionAnalysisManager &FAM) {
    FAM.registerPass([] { return SpinLoopAnalysis(); });
  });
  PB.registerAnalysisRegistrationCallback([](ModuleAnalysisManager &MAM) {
    MAM.registerPass([] { return SummaryAnalysis(); });
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
        return addByName(Name, MPM);
      });

  // Runs the pass before JumpThreading, which breaks up loops that poll plain
  // memory. The pass runs again after inlining, which may expose more waits.
  PB.registerPipelineEarlySimplificationEPCallback(
      withPhase([](ModulePassManager &MPM, OptimizationLevel Level,
                   ThinOrFullLTOPhase LTO) {
        addSpinLoops(MPM, Level, SpinPhase::Early, LTO);
        if (Level == OptimizationLevel::O0)
          MPM.addPass(UnoptimizedWarningPass());
      }));
  PB.registerOptimizerEarlyEPCallback(
      withPhase([](ModulePassManager &MPM, OptimizationLevel Level,
                   ThinOrFullLTOPhase LTO) {
        if (Level == OptimizationLevel::O0)
          return;
        addSpinLoops(MPM, Level, SpinPhase::Late, LTO);
        // Runs after inlining, when callees' uses of a pointer are visible.
        addHeapChurn(MPM, LTO);
        addNumaPlacement(MPM, LTO);
      }));
  PB.registerOptimizerLastEPCallback(
      withPhase([](ModulePassManager &MPM, OptimizationLevel Level,
                   ThinOrFullLTOPhase LTO) {
        if (Level != OptimizationLevel::O0 &&
            LTO != ThinOrFullLTOPhase::ThinLTOPreLink &&
            LTO != ThinOrFullLTOPhase::FullLTOPreLink)
          addSpinLoops(MPM, Level, SpinPhase::Last, LTO);
        if (Level == OptimizationLevel::O0)
          return;
        MPM.addPass(LinkFallbackPass());
        writeSummary(MPM, LTO);
        if (!isInLinker(LTO)) {
          MPM.addPass(SummaryPass());
          addRuntimeNote(MPM);
        }
      }));
  PB.registerFullLinkTimeOptimizationLastEPCallback(
      [](ModulePassManager &MPM, OptimizationLevel Level) {
        addSpinLoops(MPM, Level, SpinPhase::Last,
                     ThinOrFullLTOPhase::FullLTOPostLink);
        // Runs these two passes at the end of full LTO's link, where they see
        // code that was inlined from other files: the link has no earlier
        // extension point after inlining.
        if (Level != OptimizationLevel::O0) {
          MPM.addPass(LinkFallbackPass());
          addHeapChurn(MPM, ThinOrFullLTOPhase::FullLTOPostLink);
          addNumaPlacement(MPM, ThinOrFullLTOPhase::FullLTOPostLink);
          writeSummary(MPM, ThinOrFullLTOPhase::FullLTOPostLink,
                       /*IsLink=*/true);
        }
      });
  PB.registerFullLinkTimeOptimizationEarlyEPCallback(
      [](ModulePassManager &MPM, OptimizationLevel Level) {
        addSpinLoops(MPM, Level, SpinPhase::Only,
                     ThinOrFullLTOPhase::FullLTOPostLink);
      });
}

extern "C" __attribute__((visibility("default"))) PassPluginLibraryInfo
llvmGetPassPluginInfo() {
  requireMatchingLLVM();
  return beforeCodeGen<assembleFallback>(
      {LLVM_PLUGIN_API_VERSION, "vfriendly", "0.1.0", registerPasses});
}
