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
#include "passes/spin-loops/HeldLocks.h"
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
#include "llvm/IR/InstIterator.h"
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
  void sayWhatIsHeld(Function &F);
  void keep(Function &F);
  void find(Function &F);
  SmallPtrSet<const Instruction *, 8> tries() const;
  bool waitsInside(const Loop &L) const;
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
  ConditionExposer Exposer{ExposeFor::Rewrite};
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

/// Not before: the functions that take and release a lock are inlined now.
void SpinLoopsImpl::sayWhatIsHeld(Function &F) {
  auto &ORE = FAM.getResult<OptimizationRemarkEmitterAnalysis>(F);
  if (!ORE.enabled())
    return;
  auto &LI = FAM.getResult<LoopAnalysis>(F);
  SmallPtrSet<const CallBase *, 4> Said;
  for (Instruction &I : instructions(F)) {
    auto *Wait = dyn_cast<CallInst>(&I);
    if (!Wait || !calls(*Wait, WaitFunction))
      continue;
    const CallBase *Long = longCallWhileHeld(*Wait, LI);
    if (Long && Said.insert(Long).second)
      sayHeld(ORE, *Wait, *Long);
  }
}

bool SpinLoopsImpl::finish() {
  SmallSetVector<Function *, 8> Waiting;
  if (Function *Wait = M.getFunction(WaitFunction))
    for (User *U : Wait->users())
      if (auto *Call = dyn_cast<CallInst>(U))
        Waiting.insert(Call->getFunction());
  for (Function &F : M) // In the order of the source.
    if (Waiting.contains(&F))
      sayWhatIsHeld(F);
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
  if (isFirst(Phase) && Mode != SpinMode::Off && Forbidden.whyKeep(F).empty()) {
    Exposed = Exposer.run(F, FAM, [&] { Original.save(); });
    Split = splitPolls(F, FAM, Variables);
    Changed |= Exposed || Split;
  }
  auto &LI = FAM.getResult<LoopAnalysis>(F);
  SpinLoopInfo Info =
      findSpinLoops(LI.getLoopsInPreorder(), LI,
                    FAM.getResult<DominatorTreeAnalysis>(F), Variables);
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

/// Returns true if the pass has decided about a loop in L that waits: for what
/// L tries to get, if L tests it, and tests it again.
bool SpinLoopsImpl::waitsInside(const Loop &L) const {
  return any_of(L, [&](const Loop *In) {
    auto IsRetry = [In](const SpinLoop &S) {
      return S.L == In && S.Kind == SpinKind::Retry;
    };
    return isMarked(*In, DecidedMark) && !isMarked(*In, KeepMark) &&
           none_of(All, [&](auto &Found) {
             return any_of(Found.Info.Loops, IsRetry);
           });
  });
}

/// A reason to do no more than Most.
struct Limit {
  bool Holds;
  decltype(Decision::Action) Most;
  StringRef Why;
};

/// The first limit that holds decides. Those after it may make no sense then.
template <unsigned N> static const Limit &firstOf(const Limit (&Limits)[N]) {
  return *find_if(Limits, [](const Limit &L) { return L.Holds; });
}

Decision SpinLoopsImpl::decide(const SpinLoop &S, Function &F) {
  auto &LI = FAM.getResult<LoopAnalysis>(F);
  auto &DT = FAM.getResult<DominatorTreeAnalysis>(F);
  constexpr auto Leave = Decision::Leave, Pause = Decision::Pause;
  const StringRef Kept = Forbidden.whyKeepLoop(*S.L, F);
  const StringRef OnlyPause = Forbidden.whyOnlyPause(F);
  const bool Doubted = !S.Doubt.empty(), GivesWay = mayGiveWay(S);
  const bool Skips = S.Gated || (S.InTurn && S.Bounded);
  BoundedWait Limited;
  if (!Doubted && !Skips && S.Bounded)
    Limited =
        planBoundedWait(S, FAM.getResult<ScalarEvolutionAnalysis>(F), LI, DT);
  /// The reason why a wait might skip or delay something.
  const StringRef Keeps =
      Doubted ? S.Doubt
      : Skips ? "it polls in some iterations only, and a wait would delay the "
                "others"
              : Limited.Why;
  auto PollsOften = [&] {
    Surroundings Around(LI, DT, Variables);
    return sleepsRarely(*S.L, Around);
  };
  auto Polls = [&](auto Is) {
    return any_of(S.Polls, [&](const Poll &P) { return P.Address && Is(P); });
  };
  const Limit Limits[] = {
      {S.Kind == SpinKind::Retry, Leave,
       "a retry can succeed at once, so the loop is not a wait"},
      {S.Kind == SpinKind::Device, Leave,
       "it may poll a device: it reads a constant address or a mapping of a "
       "device, or sleeps between reads of memory that no visible code writes"},
      {Mode == SpinMode::Off, Leave, "rewriting is switched off"},
      {!Kept.empty(), Leave, Kept},
      {!hasSplittableLatches(*S.L), Leave,
       "its back edge is an indirect branch"},
      {Doubted && !GivesWay, Leave, S.Doubt},
      {S.Sleeps && PollsOften(), Leave,
       "it sleeps after many polls: wait for an event instead, on a futex or a "
       "condition variable"},
      {S.Sleeps, Leave,
       "it sleeps between polls: wait for an event instead, on a futex or a "
       "condition variable"},
      {S.Kind == SpinKind::TestAndTestAndSet && waitsInside(*S.L), Leave,
       "the loop inside it waits for the same lock"},
      // A yield would cost another time slice, as in uv__async_spin of libuv.
      {S.Yields && waitsWithBound(*S.L), Leave,
       "it yields, and the loop inside it waits in the runtime"},
      {Mode == SpinMode::Pause, Pause, S.Pauses ? "it pauses already" : ""},
      {!OnlyPause.empty(), Pause, OnlyPause},
      {!Limited.MayPause, Leave, Keeps},
      {S.Kind == SpinKind::SeqLock, Pause,
       "a seqlock's reader waits only until a write has ended"},
      {Polls([&](auto &P) { return mayBeRegister(P, S, *AllWriters); }), Pause,
       "volatile memory behind a pointer, with no writer in sight, may be a "
       "device"},
      {Polls([&](auto &P) { return AllWriters->isOnlyRead(*P.Address); }),
       Leave, "nothing in the program writes the polled memory"},
      {!Keeps.empty(), GivesWay ? Decision::GiveWay : Pause, Keeps},
      {Limited.Plan.has_value(), Decision::WaitBounded, ""},
      {S.InTurn, Decision::WaitAwake, ""},
      {S.ByClock, Decision::WaitUntil, ""},
      {true, Decision::Wait, ""}};
  const Limit &First = firstOf(Limits);
  if (First.Most != Pause)
    return {First.Most, First.Why, std::move(Limited.Plan)};
  const Limit OfPause[] = {
      {Doubted, Leave, S.Doubt},
      {S.Pauses, Leave, First.Why},
      {S.Bound > MaxPausedIterations, Leave,
       "its bound was chosen for iterations without a spin hint; with a hint "
       "they would take many times as long"},
      {!hasPauseHint(M), Leave, "the target has no spin hint"},
      {true, Pause, First.Why}};
  const Limit &Then = firstOf(OfPause);
  return {Then.Most, Then.Why};
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
  if (Mode != SpinMode::Block || !Forbidden.whyOnlyPause(F).empty())
    return;
  auto &LI = FAM.getResult<LoopAnalysis>(F);
  for (Loop *L : LI.getLoopsInPreorder()) {
    if (isMarked(*L, YieldMark) && !isMarked(*L, DecidedMark) &&
        Forbidden.whyKeepLoop(*L, F).empty() &&
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
  WaitSites::Outcome Done = Waits.notify(*AllWriters, [&](const Function &F) {
    return Forbidden.whyKeep(F).empty();
  });
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
