//===- many-opt.cpp - opt for many modules in one process -----------------===//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
//   many-opt PLUGIN FILE=PASSES...
//
// Runs PASSES with -verify-each on each module. Prints FILE before it begins
// with the module, so that after a crash the last line names it; "FILE: error"
// if the passes reported an error, "FILE: invalid" if there is no module.
//
//===----------------------------------------------------------------------===//

#include "passes/common/PassPlugin.h"

#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/StandardInstrumentations.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace {
struct CountErrors : DiagnosticHandler {
  unsigned Errors = 0;
  bool handleDiagnostics(const DiagnosticInfo &Info) override {
    Errors += Info.getSeverity() == DS_Error;
    return true;
  }
};
} // namespace

static void runOne(PassPlugin &Plugin, StringRef File, StringRef Passes) {
  outs() << File << "\n";
  outs().flush();
  LLVMContext Context;
  SMDiagnostic Wrong;
  std::unique_ptr<Module> M = parseIRFile(File, Wrong, Context);
  if (!M || verifyModule(*M)) {
    outs() << File << ": invalid " << Wrong.getMessage() << "\n";
    return;
  }
  auto Handler = std::make_unique<CountErrors>();
  CountErrors &Counted = *Handler;
  Context.setDiagnosticHandler(std::move(Handler));

  PassInstrumentationCallbacks Callbacks;
  StandardInstrumentations Instrumentations(Context, /*DebugLogging=*/false, /*VerifyEach=*/true);
  PassBuilder Builder(nullptr, PipelineTuningOptions(), std::nullopt, &Callbacks);
  Plugin.registerPassBuilderCallbacks(Builder);
  LoopAnalysisManager LAM;
  FunctionAnalysisManager FAM;
  CGSCCAnalysisManager CAM;
  ModuleAnalysisManager MAM;
  Builder.registerModuleAnalyses(MAM);
  Builder.registerCGSCCAnalyses(CAM);
  Builder.registerFunctionAnalyses(FAM);
  Builder.registerLoopAnalyses(LAM);
  Builder.crossRegisterProxies(LAM, FAM, CAM, MAM);
  Instrumentations.registerCallbacks(Callbacks, &MAM);

  ModulePassManager Manager;
  if (Error E = Builder.parsePassPipeline(Manager, Passes)) {
    errs() << "many-opt: " << toString(std::move(E)) << "\n";
    exit(2);
  }
  Manager.run(*M, MAM);
  if (Counted.Errors || verifyModule(*M, &errs()))
    outs() << File << ": error\n";
}

int main(int Count, char **Arguments) {
  if (Count < 3) {
    errs() << "usage: many-opt PLUGIN FILE=PASSES...\n";
    return 2;
  }
  Expected<PassPlugin> Plugin = PassPlugin::Load(Arguments[1]);
  if (!Plugin) {
    errs() << "many-opt: " << toString(Plugin.takeError()) << "\n";
    return 2;
  }
  for (int I = 2; I != Count; ++I) {
    auto [File, Passes] = StringRef(Arguments[I]).split('=');
    runOne(*Plugin, File, Passes);
  }
  outs() << "done\n";
  return 0;
}
