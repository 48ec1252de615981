//===- Remarks.cpp - Remarks about decisions ------------------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/spin-loops/Remarks.h"

#include "passes/analysis/common/WaitNeutral.h"
#include "passes/spin-loops/Describe.h"
#include "vfriendly/Catalogue.h"

#include "llvm/ADT/Statistic.h"
#include "llvm/Analysis/OptimizationRemarkEmitter.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

#define DEBUG_TYPE "vf-spin-loops"
STATISTIC(NumBlocking, "Waits that block after spinning");
STATISTIC(NumPausing, "Waits that pause");
STATISTIC(NumLeft, "Waits left as they are");

namespace vfriendly {

static constexpr const char *PassName = "vf-spin-loops";

static StringRef effectOf(const Decision &D) {
  switch (D.Action) {
  case Decision::Wait:
    return "failed polls now wait in the runtime";
  case Decision::WaitBounded:
    return "failed polls now wait in the runtime, for at most as long as the "
           "loop would spin";
  case Decision::WaitUntil:
    return "failed polls now pause or yield in the runtime, and the loop gives "
           "up at the same time";
  case Decision::WaitAwake:
    return "failed polls now pause or yield in the runtime and never sleep, as "
           "the loop polls several words in turn";
  case Decision::GiveWay:
    return "it now yields where threads share CPUs";
  case Decision::Pause:
    return "failed polls now give the CPU's spin hint";
  case Decision::Leave:
    break;
  }
  llvm_unreachable("nothing is done");
}

template <typename Remark>
static Remark fill(Remark R, const SpinLoop &S, const Decision &D) {
  R << "spin loop (" << ore::NV("Kind", toString(S.Kind)) << ")";
  StringRef Separator = " on ";
  SmallVector<std::string, 2> Said;
  for (const Poll &P : S.Polls) {
    auto *Call = dyn_cast<CallBase>(P.Access);
    std::string Text = describe(P);
    if (is_contained(Said, Text) || (Call && passesObjectOn(*Call)))
      continue;
    R << Separator << ore::NV("Polled", Text);
    Separator = ", ";
    Said.push_back(std::move(Text));
  }
  if (D.Action == Decision::Leave) {
    R << " left as it is: " << ore::NV("Reason", D.Why);
  } else if (D.Action == Decision::GiveWay && !S.Doubt.empty()) {
    R << " may do more than wait: " << ore::NV("Reason", D.Why)
      << "; it keeps all iterations, and now yields where threads share CPUs";
  } else {
    R << " wastes its vCPU while the thread it waits for is descheduled; "
      << effectOf(D);
    if (!D.Why.empty())
      R << ", and nothing else: " << ore::NV("Reason", D.Why);
  }
  // Beside a marked access, plain memory is mostly what the thread has recorded
  // itself, or what the access protects.
  if (!S.Locks &&
      all_of(S.Polls,
             [](const Poll &P) { return P.isPlain() || P.OnlyLocates; }) &&
      any_of(S.Polls, [](const Poll &P) { return P.isPlain(); }) &&
      none_of(S.Polls, [](const Poll &P) { return P.FilledBy != nullptr; }))
    R << "; polling plain memory is a data race that lets the optimizer "
         "delete the wait: make it atomic";
  if (!S.Summarized.empty())
    R << "; what '" << ore::NV("Summarized", S.Summarized)
      << "' does is known from the summary file only";
  R << " [" << ore::NV("Guideline", SpinLoops.Guideline) << "]";
  return R;
}

void sayDecision(OptimizationRemarkEmitter &ORE, const SpinLoop &S,
                 const Decision &D) {
  DebugLoc Where = locateLoop(S);
  BasicBlock *Block = S.L->getHeader();
  if (S.Kind == SpinKind::Retry || S.Kind == SpinKind::Device)
    ORE.emit([&] {
      return fill(
          OptimizationRemarkAnalysis(PassName, "NotAWait", Where, Block), S, D);
    });
  else if (D.Action == Decision::Leave) {
    ++NumLeft;
    ORE.emit([&] {
      return fill(
          OptimizationRemarkMissed(PassName, "SpinLoopKept", Where, Block), S,
          D);
    });
  } else {
    ++(D.waits() ? NumBlocking : NumPausing);
    ORE.emit([&] {
      StringRef Name = D.Action == Decision::GiveWay ? "SpinLoopYields"
                       : D.waits()                   ? "SpinLoopBlocks"
                                                     : "SpinLoopPauses";
      return fill(OptimizationRemark(PassName, Name, Where, Block), S, D);
    });
  }
}

void sayNeedsRuntime(OptimizationRemarkEmitter &ORE, const SpinLoop &S) {
  ORE.emit([&] {
    return OptimizationRemarkAnalysis(PassName, "NeedsRuntime", locateLoop(S),
                                      S.L->getHeader())
           << "link with libvfrt (vfrt-link.o and libvfrt.a beside the "
              "plugin, or vfriendly_enable in CMake); without it, waits only "
              "pause, yield and sleep 50 us at a time";
  });
}

void sayUnoptimized(OptimizationRemarkEmitter &ORE, Function &F) {
  ORE.emit([&] {
    return OptimizationRemarkMissed(PassName, "Unoptimized", F.getSubprogram(),
                                    &F.getEntryBlock())
           << "loops of this function are not analysed without optimization: "
              "compile with -O1 or more, and without optnone";
  });
}

void sayOutOfSight(OptimizationRemarkEmitter &ORE, const CallInst &Wait) {
  ORE.emit([&] {
    return OptimizationRemarkMissed(PassName, "WriterOutOfSight",
                                    Wait.getDebugLoc(), Wait.getParent())
           << "no writer notifies this wait, which therefore sleeps for only "
              "1/16 of its time: ThinLTO shows the pass one module at a time, "
              "and the writers are in others; link with -flto=full";
  });
}

void sayOthersMayEnd(OptimizationRemarkEmitter &ORE, const CallInst &Wait) {
  ORE.emit([&] {
    return OptimizationRemarkAnalysis("vf-spin-notify", "OthersMayEnd",
                                      Wait.getDebugLoc(), Wait.getParent())
           << "code that is not seen here, or another process where memory is "
              "shared, may end this wait without a notify: it then ends at "
              "most "
              "2 ms, or a twentieth of its time, late";
  });
}

void sayHeld(OptimizationRemarkEmitter &ORE, const CallInst &Wait,
             const CallBase &Long) {
  ORE.emit([&] {
    OptimizationRemarkAnalysis R("vf-spin-held", "HeldWhileLong",
                                 Long.getDebugLoc(), Long.getParent());
    R << "'" << ore::NV("Call", calledName(Long))
      << "' may sleep or enter the kernel while a lock is held that threads "
         "spin on";
    if (DebugLoc At = Wait.getDebugLoc())
      R << ", by the loop in line " << ore::NV("Line", At.getLine());
    return R << ": call it before the lock is taken or after its release, or "
                "take a mutex that sleeps";
  });
}

} // namespace vfriendly
