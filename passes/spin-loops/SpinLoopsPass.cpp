//===- SpinLoopsPass.cpp - Rewrite spin loops -----------------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// This file decides what is done with each spin loop, and emits the remarks.
//
//===----------------------------------------------------------------------===//

#include "passes/spin-loops/SpinLoopsPass.h"

#include "passes/analysis/common/KeepMarks.h"
#include "passes/analysis/waits/BoundedSpin.h"
#include "passes/analysis/waits/Causes.h"
#include "passes/analysis/waits/SpinLoopAnalysis.h"
#include "passes/common/LLVMVersions.h"
#include "passes/common/RuntimeCalls.h"
#include "passes/common/Summary.h"
#include "passes/prepare/Expose.h"
#include "passes/prepare/PollingPaths.h"
#include "passes/prepare/SplitPolls.h"
#include "passes/spin-loops/Describe.h"
#include "passes/spin-loops/Fallback.h"
#include "passes/spin-loops/GiveWay.h"
#include "passes/spin-loops/OriginalBody.h"
#include "passes/spin-loops/Remarks.h"
#include "passes/spin-loops/Rewrite.h"
#include "passes/spin-loops/Vetoes.h"
#include "passes/spin-loops/WaitSites.h"
#include "passes/spin-loops/Writers.h"
#include "runtime/include/vfriendly/spin_wait.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Analysis/CFG.h"
#include "llvm/Analysis/OptimizationRemarkEmitter.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace vfriendly {

std::optional<SpinMode> parseSpinMode(StringRef Text) {
  return StringSwitch<std::optional<SpinMode>>(Text)
      .Case("off", SpinMode::Off)
      .Case("pause", SpinMode::Pause)
      .Case("block", SpinMode::Block)
      .Default(std::nullopt);
}

static StringRef toString(SpinMode Mode) {
  switch (Mode) {
  case SpinMode::Off:
    return "off";
  case SpinMode::Pause:
    return "pause";
  case SpinMode::Block:
    return "block";
  }
  llvm_unreachable("all modes named above");
}

namespace {

/// Maximum bound of a loop into which the pass inserts a PAUSE. 1000 PAUSEs of
/// 25 ns take 25 us, as long as a wake-up of a thread. A larger bound was
/// chosen for iterations of a nanosecond or two: the 35,000 iterations of
/// streamcluster take 70 us, with PAUSE they would take a millisecond.
constexpr uint64_t MaxPausedIterations = 1000;

/// The spin loops of F. Valid as long as the LoopInfo of F is.
struct FoundLoops {
  Function *F;
  SpinLoopInfo Info;
};

class SpinLoopsImpl {
public:
  SpinLoopsImpl(Module &M, FunctionAnalysisManager &FAM, Summary &Counts,
                SpinMode Mode, SpinPhase Phase, bool Thin)
      : M(M), FAM(FAM), Counts(Counts), Mode(Mode), Phase(Phase), Thin(Thin),
        Forbidden(M) {}

  bool run();

private:
  bool finish();
  void keep(Function &F);
  void find(Function &F);
  SmallPtrSet<const Instruction *, 8> tries() const;
  bool isRetry(const Loop *L) const;
  Decision decide(const SpinLoop &S, Function &F);
  void rewrite(const SpinLoop &S, const Decision &D, Function &F);
  void giveWay(Function &F);
  void wasRewritten(Function &F);
  void say(const SpinLoop &S, const Decision &D, Function &F);
  void notifyWriters();

  Module &M;
  FunctionAnalysisManager &FAM;
  Summary &Counts;
  SpinMode Mode;
  SpinPhase Phase;
  bool Thin;
  Vetoes Forbidden;
  ConditionExposer Exposer;
  VariableFacts Variables;
  std::optional<Writers> AllWriters;
  SmallVector<FoundLoops, 4> All;
  WaitSites Waits;
  /// The functions with loops that have YieldMark.
  SmallSetVector<Function *, 4> Yielding;
  SmallSetVector<Function *, 4> Rewritten;
  bool SaidRuntime = false;
  bool Changed = false;
};

bool SpinLoopsImpl::run() {
  if (Phase == SpinPhase::Last)
    return finish();
  // Marks loops before inlining, so that inlined copies have the marks too.
  for (Function &F : M)
    if (!F.isDeclaration() && Forbidden.kept().contains(&F) && isFirst(Phase))
      keep(F);
  // Finds all loops before it rewrites any, because the decision about a loop
  // depends on the stores in all functions.
  for (Function &F : M)
    if (!F.isDeclaration())
      find(F);
  if (All.empty() && Yielding.empty() && !M.getFunction(WaitFunction) &&
      !M.getFunction(BoundedWaitFunction))
    return Changed;
  Forbidden.findCallbacks();
  AllWriters.emplace(M, tries());
  for (FoundLoops &Found : All) {
    for (SpinLoop &S : Found.Info.Loops) {
      if (mayBeDriver(S, *AllWriters))
        S.Kind = SpinKind::Device;
      if (isMarked(*S.L, DecidedMark))
        continue;
      // Skips polls of plain memory in this phase, because JumpThreading and
      // LICM have already changed such loops.
      if (Phase == SpinPhase::Late &&
          any_of(S.Polls, [](const Poll &P) { return P.isPlain(); }))
        continue;
      bool InDoubt = !S.Doubt.empty();
      if (InDoubt && isMarked(*S.L, DoubtMark))
        continue;
      Decision D = decide(S, *Found.F);
      const bool Yields = D.Action == Decision::GiveWay;
      if (Yields && isMarked(*S.L, YieldMark))
        continue;
      say(S, D, *Found.F);
      if (InDoubt || Yields) {
        mark(*S.L, DoubtMark);
        if (Yields) {
          mark(*S.L, YieldMark);
          Yielding.insert(Found.F);
        }
        Changed = true;
      } else {
        rewrite(S, D, *Found.F);
      }
    }
  }
  // Not before the last chance to prove that the loop is a wait.
  if (isLast(Phase))
    for (Function *F : Yielding)
      giveWay(*F);
  notifyWriters();
  forgetPromises(Rewritten.getArrayRef());
  if (Changed)
    declareFallback(M);
  if (Phase == SpinPhase::Alone)
    Changed |= linkFallback(M);
  return Changed;
}

bool SpinLoopsImpl::finish() {
  SmallSetVector<Function *, 8> Waiting;
  if (Function *Wait = M.getFunction(WaitFunction))
    for (User *U : Wait->users())
      if (auto *Call = dyn_cast<CallInst>(U))
        Waiting.insert(Call->getFunction());
  for (Function *F : Waiting)
    Changed |= separateWaitExits(*F, FAM.getResult<LoopAnalysis>(*F),
                                 FAM.getResult<DominatorTreeAnalysis>(*F));
  return Changed;
}

void SpinLoopsImpl::keep(Function &F) {
  if (!F.hasFnAttribute(KeepMark)) {
    F.addFnAttr(KeepMark);
    Changed = true;
  }
  for (Loop *L : FAM.getResult<LoopAnalysis>(F).getLoopsInPreorder())
    if (!isMarked(*L, KeepMark)) {
      mark(*L, KeepMark);
      Changed = true;
    }
}

void SpinLoopsImpl::find(Function &F) {
  // Skips functions without back edges, which have no loops. The test is cheap,
  // and most functions have none.
  SmallVector<std::pair<const BasicBlock *, const BasicBlock *>, 8> BackEdges;
  FindFunctionBackedges(F, BackEdges);
  if (BackEdges.empty())
    return;
  if (Phase == SpinPhase::Unoptimized ||
      F.hasFnAttribute(Attribute::OptimizeNone)) {
    if (Phase != SpinPhase::Late) // Emitted before.
      sayUnoptimized(FAM.getResult<OptimizationRemarkEmitterAnalysis>(F), F);
    return;
  }
  OriginalBody Original(F);
  bool Exposed = false, Split = false;
  if (isFirst(Phase) && Mode != SpinMode::Off && Forbidden.mayChange(F)) {
    Exposed = Exposer.run(F, FAM, [&] { Original.save(); });
    Split = splitPolls(F, FAM, Variables);
    Changed |= Exposed || Split;
  }
  auto &LI = FAM.getResult<LoopAnalysis>(F);
  SpinLoopInfo Info =
      findSpinLoops(F, LI, FAM.getResult<DominatorTreeAnalysis>(F), Variables);
  if (Exposed && !Split && Info.Loops.empty() && Original.restore())
    return FAM.invalidate(F, PreservedAnalyses::none());
  if (any_of(LI.getLoopsInPreorder(),
             [](const Loop *L) { return isMarked(*L, YieldMark); }))
    Yielding.insert(&F);
  if (!Info.Loops.empty())
    All.push_back({&F, std::move(Info)});
}

/// Returns the read-modify-writes by which waits try to take a lock. Such a
/// write does not end another wait for the lock.
SmallPtrSet<const Instruction *, 8> SpinLoopsImpl::tries() const {
  SmallPtrSet<const Instruction *, 8> Tries;
  for (const FoundLoops &Found : All)
    for (const SpinLoop &S : Found.Info.Loops)
      if (S.Kind != SpinKind::Retry)
        for (const Poll &P : S.Polls)
          Tries.insert(P.Access);
  return Tries;
}

/// Returns true if L, a loop found in this run, waits for nobody.
bool SpinLoopsImpl::isRetry(const Loop *L) const {
  return any_of(All, [&](const FoundLoops &Found) {
    return any_of(Found.Info.Loops, [&](const SpinLoop &S) {
      return S.L == L && S.Kind == SpinKind::Retry;
    });
  });
}

Decision SpinLoopsImpl::decide(const SpinLoop &S, Function &F) {
  if (S.Kind == SpinKind::Retry)
    return {Decision::Leave, "a retry can succeed at once, so the loop is not "
                             "a wait"};
  if (S.Kind == SpinKind::Device)
    return {Decision::Leave, "it may poll a device: it reads a constant "
                             "address, or sleeps between reads of memory that "
                             "no visible code writes"};
  if (Mode == SpinMode::Off)
    return {Decision::Leave, "rewriting is switched off"};
  if (isMarked(*S.L, KeepMark))
    return {Decision::Leave, "its function is marked vfriendly:keep"};
  StringRef Why;
  if (!Forbidden.mayChangeLoops(F, &Why))
    return {Decision::Leave, Why};
  if (!hasSplittableLatches(*S.L))
    return {Decision::Leave, "its back edge is an indirect branch"};
  const bool InDoubt = !S.Doubt.empty();
  if (InDoubt && !mayGiveWay(S))
    return {Decision::Leave, S.Doubt};
  if (S.Sleeps) {
    Surroundings Around(FAM.getResult<LoopAnalysis>(F),
                        FAM.getResult<DominatorTreeAnalysis>(F), Variables);
    return {Decision::Leave,
            sleepsRarely(*S.L, Around)
                ? "it sleeps after many polls: wait for an event instead, on a "
                  "futex or a condition variable"
                : "it sleeps between polls: wait for an event instead, on a "
                  "futex or a condition variable"};
  }
  // Does not rewrite a test-and-test-and-set loop if the pass has already
  // decided about its inner loop: the inner loop waits for the same word.
  for (Loop *Sub : S.L->getSubLoops())
    if (isMarked(*Sub, DecidedMark) && !isMarked(*Sub, KeepMark) &&
        S.Kind == SpinKind::TestAndTestAndSet && !isRetry(Sub))
      return {Decision::Leave, "the loop inside it waits for the same lock"};
  // The inner loop already waits in the runtime, so a yield in this loop would
  // cost another time slice. An example is uv__async_spin of libuv.
  if (S.Yields && waitsWithBound(*S.L))
    return {Decision::Leave, "it yields, and the loop inside it waits in the "
                             "runtime"};

  auto PauseOnly = [&](StringRef Why) -> Decision {
    if (InDoubt)
      return {Decision::Leave, S.Doubt};
    if (S.Pauses)
      return {Decision::Leave, Why};
    if (S.Bound > MaxPausedIterations)
      return {Decision::Leave,
              "its bound was chosen for iterations without a spin hint; with a "
              "hint they would take many times as long"};
    if (!hasPauseHint(M))
      return {Decision::Leave, "the target has no spin hint"};
    return {Decision::Pause, Why};
  };
  if (Mode == SpinMode::Pause)
    return PauseOnly(S.Pauses ? "it pauses already" : "");
  if (Why = Forbidden.whyOnlyPause(F); !Why.empty())
    return PauseOnly(Why);
  // The reason why a wait might skip or delay something.
  StringRef Keeps = S.Doubt;
  BoundedWait Limited;
  if (!InDoubt && (S.Gated || (S.InTurn && S.Bounded))) {
    Keeps =
        "it polls in some iterations only, and a wait would delay the others";
  } else if (!InDoubt && S.Bounded) {
    Limited = planBoundedWait(S, FAM.getResult<ScalarEvolutionAnalysis>(F),
                              FAM.getResult<LoopAnalysis>(F),
                              FAM.getResult<DominatorTreeAnalysis>(F));
    Keeps = Limited.Why;
    if (!Limited.MayPause)
      return {Decision::Leave, Keeps};
  }
  if (S.Kind == SpinKind::SeqLock)
    return PauseOnly("a seqlock's reader waits only until a write has ended");
  for (const Poll &P : S.Polls) {
    if (!P.Address)
      continue;
    if (isDeviceAddress(P.Address))
      return PauseOnly("it polls a constant address: a device register");
    // Volatile memory without a visible writer may be a device register, each
    // read of which may matter. An unbounded wait on a global variable is
    // rewritten nevertheless, because its rewrite keeps all reads, whereas the
    // rewrite of a bounded wait omits some.
    if (isa<LoadInst>(P.Access) && P.Volatile &&
        (S.Bounded || !locatePoll(P).Global) &&
        !AllWriters->anyFor(locatePoll(P)))
      return PauseOnly("volatile memory behind a pointer, with no writer in "
                       "sight, may be a device");
    auto *Global = dyn_cast<GlobalVariable>(getUnderlyingObject(P.Address));
    if (Global && AllWriters->isOnlyRead(*Global))
      return {Decision::Leave,
              "nothing in the program writes the polled memory"};
  }
  if (!Keeps.empty())
    return mayGiveWay(S) ? Decision{Decision::GiveWay, Keeps}
                         : PauseOnly(Keeps);
  if (Limited.Plan)
    return {Decision::WaitBounded, "", std::move(Limited.Plan)};
  if (S.InTurn)
    return {Decision::WaitAwake, ""};
  return {S.ByClock ? Decision::WaitUntil : Decision::Wait, ""};
}

void SpinLoopsImpl::rewrite(const SpinLoop &S, const Decision &D, Function &F) {
  Changed = true;
  if (D.Action == Decision::Leave)
    return mark(*S.L, DecidedMark);

  auto &LI = FAM.getResult<LoopAnalysis>(F);
  auto &DT = FAM.getResult<DominatorTreeAnalysis>(F);
  WaitKey Key = keyOf(S);
  if (D.Action == Decision::WaitBounded && Key.Several)
    Key = WaitKey();
  for (const Poll &P : S.Polls)
    if (auto *Load = dyn_cast<LoadInst>(P.Access))
      makeAcquire(*Load);
  if (!D.maySleep()) {
    if (D.Action == Decision::Pause)
      emitPause(*S.L, LI, DT);
    else
      emitWait(S, WaitKey(), VF_SPIN_NO_SLEEP, LI, DT);
    for (auto &[Where, Notified] : Key.Words)
      Waits.add(nullptr, Where, Notified);
  } else {
    uint32_t Flags = 0;
    if (S.Kind == SpinKind::Ticket || S.Kind == SpinKind::Queue)
      Flags |= VF_SPIN_NO_SLEEP;
    if (S.Kind == SpinKind::TryLockCall)
      Flags |= VF_SPIN_TRYLOCK;
    CallInst *Call =
        D.Action == Decision::Wait
            ? emitWait(S, Key, Flags, LI, DT)
            : emitBoundedWait(S, *D.Plan, Flags,
                              FAM.getResult<ScalarEvolutionAnalysis>(F), LI,
                              DT);
    for (auto &[Where, Notified] : Key.Words)
      Waits.add(Call, Where, Notified);
  }
  mark(*S.L, DecidedMark); // Sets it on the new back edge.
  wasRewritten(F);
}

void SpinLoopsImpl::wasRewritten(Function &F) {
  FAM.invalidate(F, [] {
    PreservedAnalyses PA;
    PA.preserve<LoopAnalysis>();
    PA.preserve<DominatorTreeAnalysis>();
    return PA;
  }());
  Rewritten.insert(&F);
  Changed = true;
}

/// Gives way in the loops of F that have YieldMark. They may be copies, inlined
/// into F.
void SpinLoopsImpl::giveWay(Function &F) {
  if (Mode != SpinMode::Block || !Forbidden.mayChangeLoops(F) ||
      !Forbidden.whyOnlyPause(F).empty())
    return;
  auto &LI = FAM.getResult<LoopAnalysis>(F);
  for (Loop *L : LI.getLoopsInPreorder()) {
    if (isMarked(*L, YieldMark) && !isMarked(*L, DecidedMark) &&
        !isMarked(*L, KeepMark) &&
        emitGiveWay(*L, LI, FAM.getResult<DominatorTreeAnalysis>(F)))
      wasRewritten(F);
  }
}

void SpinLoopsImpl::say(const SpinLoop &S, const Decision &D, Function &F) {
  auto &ORE = FAM.getResult<OptimizationRemarkEmitterAnalysis>(F);
  sayDecision(ORE, S, D);
  if (S.Kind != SpinKind::Retry && S.Kind != SpinKind::Device)
    Counts.count(D.Action != Decision::Leave, D.Why);
  if (D.waits() && D.Action != Decision::GiveWay &&
      !std::exchange(SaidRuntime, true))
    sayNeedsRuntime(ORE, S);
}

/// Makes the known writers notify the waits of this run and of earlier ones.
void SpinLoopsImpl::notifyWriters() {
  Waits.addEarlier(M, FAM);
  WaitSites::Outcome Done = Waits.notify(
      *AllWriters, [&](const Function &F) { return Forbidden.mayChange(F); });
  if (Thin && Phase == SpinPhase::Late)
    for (CallInst *Call : Done.Uncovered)
      sayOutOfSight(FAM.getResult<OptimizationRemarkEmitterAnalysis>(
                        *Call->getFunction()),
                    *Call);
  if (isLast(Phase))
    for (CallInst *Call : waitsEndedBySome(M))
      sayOthersMayEnd(FAM.getResult<OptimizationRemarkEmitterAnalysis>(
                          *Call->getFunction()),
                      *Call);
  Changed |= !Done.Covered.empty() || !Done.Changed.empty();
  insertRange(Rewritten, Done.Changed);
}

} // namespace

PreservedAnalyses SpinLoopsPass::run(Module &M, ModuleAnalysisManager &MAM) {
  auto &FAM = MAM.getResult<FunctionAnalysisManagerModuleProxy>(M).getManager();
  return SpinLoopsImpl(M, FAM, MAM.getResult<SummaryAnalysis>(M), Mode, Phase,
                       Thin)
                 .run()
             ? PreservedAnalyses::none()
             : PreservedAnalyses::all();
}

void SpinLoopsPass::printPipeline(
    raw_ostream &OS, function_ref<StringRef(StringRef)> MapClassName) {
  OS << MapClassName(name()) << "<mode=" << toString(Mode) << '>';
}

} // namespace vfriendly
