//===- Summary.cpp - Summary of a translation unit's waits ----------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/common/Summary.h"

#include "llvm/Analysis/CFG.h"
#include "llvm/Analysis/OptimizationRemarkEmitter.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace vfriendly {

AnalysisKey SummaryAnalysis::Key;

void Summary::count(bool IsRewritten, StringRef Why) {
  ++(IsRewritten ? Rewritten : Left);
  if (!IsRewritten)
    ++Reasons[Why.str()];
}

std::string Summary::text() const {
  std::string Text = std::to_string(Rewritten + Left) + " waits seen, " +
                     std::to_string(Rewritten) + " rewritten, " +
                     std::to_string(Left) + " left";
  StringRef Separator = ": ";
  for (const auto &[Why, Times] : Reasons) {
    Text += (Separator + Why + " (" + Twine(Times) + ")").str();
    Separator = "; ";
  }
  return Text;
}

PreservedAnalyses SummaryPass::run(Module &M, ModuleAnalysisManager &MAM) {
  // A remark needs a function as its location: the first one with debug
  // information or, if there is none, the first one.
  Function *First = nullptr;
  for (Function &F : M)
    if (!F.isDeclaration() &&
        (!First || (F.getSubprogram() && !First->getSubprogram())))
      First = &F;
  if (!First)
    return PreservedAnalyses::all();
  auto &FAM = MAM.getResult<FunctionAnalysisManagerModuleProxy>(M).getManager();
  FAM.getResult<OptimizationRemarkEmitterAnalysis>(*First).emit([&] {
    return OptimizationRemarkAnalysis("vf-summary", "Unit",
                                      First->getSubprogram(),
                                      &First->getEntryBlock())
           << MAM.getResult<SummaryAnalysis>(M).text();
  });
  return PreservedAnalyses::all();
}

namespace {
class Unoptimized : public DiagnosticInfo {
public:
  Unoptimized() : DiagnosticInfo(kind(), DS_Warning) {}
  void print(DiagnosticPrinter &Printer) const override {
    Printer << "vfriendly rewrites nothing without optimization: compile with "
               "-O1 or more, or without the plugin";
  }

private:
  static int kind() {
    static const int Kind = getNextAvailablePluginDiagnosticKind();
    return Kind;
  }
};
} // namespace

PreservedAnalyses UnoptimizedWarningPass::run(Module &M,
                                              ModuleAnalysisManager &) {
  SmallVector<std::pair<const BasicBlock *, const BasicBlock *>, 4> Edges;
  for (const Function &F : M) {
    if (F.isDeclaration())
      continue;
    FindFunctionBackedges(F, Edges);
    if (Edges.empty())
      continue;
    M.getContext().diagnose(Unoptimized());
    break;
  }
  return PreservedAnalyses::all();
}

} // namespace vfriendly
