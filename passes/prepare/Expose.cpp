//===- Expose.cpp - Inlining of calls in loop conditions ------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/prepare/Expose.h"

#include "passes/analysis/common/TellingNames.h"
#include "passes/analysis/common/WaitNeutral.h"
#include "passes/analysis/waits/Devices.h"
#include "passes/prepare/KnownWays.h"

#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/CFG.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Attributes.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/ValueHandle.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace llvm;

namespace vfriendly {

/// Maximum number of calls to inline, and the weight of one that may leave
/// branches. Waits have fewer; in other loops, inlining level by level would
/// multiply the code. A conversion of std::chrono is a straight line that
/// simplification removes, and comparing a time with a deadline takes twenty.
static constexpr unsigned MaxInlined = 128, BranchingWeight = 2;

/// Maximum number of instructions of a function that is inlined into loops
/// whatever it does: a store by assembly, a wrapper of an atomic operation, a
/// step of a back-off. Before simplification each argument takes three.
static constexpr unsigned MaxTiny = 60;

/// Maximum number of instructions of a step of a back-off: delays of several
/// kinds, each in a loop.
static constexpr unsigned MaxBackOff = 150;

/// Maximum depth of steps in steps.
static constexpr unsigned MaxStepDepth = 4;

/// Maximum number of side effects of a loop before inlining: more than
/// MaxEffects (Facts.h), because some are calls whose effects disappear
/// when they are inlined.
static constexpr unsigned MaxHarms = 24;

/// Returns true if Call returns an object in a local variable that other calls
/// access and that must stay in memory, because one of them is not inlined,
/// such as the destructor of std::function. Nothing could then be proved about
/// the inlined call, so the judge sees it as a whole.
bool ConditionExposer::keepsResultInMemory(const CallBase &Call) {
  if (!Call.hasStructRetAttr())
    return false;
  const Value *Object = getUnderlyingObject(Call.getArgOperand(0));
  if (!isLocalObject(*Object))
    return false;
  SmallVector<const Value *, 8> Worklist{Object};
  SmallPtrSet<const Value *, 8> Seen;
  while (!Worklist.empty()) {
    const Value *V = Worklist.pop_back_val();
    if (!Seen.insert(V).second)
      continue;
    for (const User *U : V->users()) {
      CalleeEffects OfOther;
      if (isa<GetElementPtrInst>(U))
        Worklist.push_back(U);
      else if (auto *Other = dyn_cast<CallBase>(U);
               Other && Other != &Call && passesObjectOn(*Other) &&
               (!Callees.add(*const_cast<CallBase *>(Other), 0, OfOther) ||
                OfOther.Tries))
        return true;
    }
  }
  return false;
}

/// Returns false for a loop that ends by counting alone: it does not wait,
/// whatever it calls. A worker's loop without an end may wait in between.
static bool mayEndByOthers(const Loop &L) {
  SmallVector<BasicBlock *, 4> Exiting;
  L.getExitingBlocks(Exiting);
  if (Exiting.empty())
    return true;
  SmallVector<const Instruction *, 16> Left;
  for (BasicBlock *B : Exiting)
    Left.push_back(B->getTerminator());
  SmallPtrSet<const Instruction *, 16> Seen;
  while (!Left.empty()) {
    const Instruction *I = Left.pop_back_val();
    if (!L.contains(I) || !Seen.insert(I).second)
      continue;
    // Only a header phi is followed to its operands. The value of another phi
    // also depends on branches, so it is assumed to depend on other threads.
    bool Carried = I->getParent() == L.getHeader() && L.getLoopLatch();
    if (I->mayReadFromMemory() || (isa<PHINode>(I) && !Carried))
      return true;
    for (const Use &U : I->operands())
      if (auto *Operand = dyn_cast<Instruction>(U))
        Left.push_back(Operand);
  }
  return false;
}

/// Collects the calls of L to be inlined, and their effects. Returns false if L
/// cannot be a wait: it only counts, or it has an effect, gives no hint and
/// does not try.
bool ConditionExposer::collectCalls(const Loop &L,
                                    SmallVectorImpl<CallBase *> &Calls,
                                    CalleeEffects &Does) {
  if (!mayEndByOthers(L))
    return false;
  unsigned Harms = 0;
  bool Hinted = false, Tried = false;
  // Functions that may return early without effect are common, so those that
  // only read plain memory are taken for polls in loops with a hint only.
  SmallVector<CallBase *, 4> PlainTries;
  for (BasicBlock *B : L.blocks()) {
    for (Instruction &I : *B) {
      if (auto *Call = dyn_cast<CallBase>(&I)) {
        CallClass Class = classifyCall(*Call);
        Hinted |= isHint(Class.Effect);
        if (Class.Effect == CallEffect::AsmStore)
          Harms += !isLocalStore(Class.Address, 0);
        if (Class.Effect != CallEffect::Other)
          continue;
        Hinted = Hinted || isHint(promisedEffect(*Call));
        CalleeEffects OfCall;
        bool IsHarmless = Callees.add(*Call, 0, OfCall);
        Hinted |= isHint(OfCall.Hint);
        bool Keeps = keepsResultInMemory(*Call);
        if (IsHarmless && Keeps && OfCall.Tries && OfCall.ReadsMarked) {
          Tried = true;
          Call->addFnAttr(Attribute::get(Call->getContext(), TryAttribute));
        }
        if (!IsHarmless || Keeps || (OfCall.Tries && passesObjectOn(*Call)))
          ++Harms;
        else if (OfCall.Tries && !OfCall.ReadsMarked)
          PlainTries.push_back(Call);
        else if (!isa<MemIntrinsic>(Call))
          Calls.push_back(Call);
        Does |= OfCall;
      } else if (auto *Store = dyn_cast<StoreInst>(&I)) {
        Harms += !isLocalStore(Store->getPointerOperand(), 0);
      }
      if (Harms > MaxHarms)
        return false;
    }
  }
  if (Hinted)
    append_range(Calls, PlainTries);
  else
    Harms += PlainTries.size();
  return (!Harms && !Does.Adds) || Hinted || Tried;
}

/// Simplifies changed code by the passes that run early in the pipeline. None
/// of them uses facts about the previous iteration of a loop.
static void simplify(Function &F, FunctionAnalysisManager &FAM) {
  FAM.invalidate(F, PreservedAnalyses::none());
  FunctionPassManager Cleanup;
  Cleanup.addPass(SimplifyCFGPass());
  Cleanup.addPass(SROAPass(SROAOptions::ModifyCFG));
  Cleanup.addPass(EarlyCSEPass());
  FAM.invalidate(F, Cleanup.run(F, FAM));
}

/// Returns true if L accesses memory that the program marks as shared. L may
/// then wait in some iterations, and work in others.
static bool accessesMarkedMemory(const Loop &L) {
  return any_of(L.blocks(),
                [](const BasicBlock *B) { return any_of(*B, isMarkedAccess); });
}

/// Gives the loop with this header its ID again, which has the loop's location.
static void restoreID(Value *Header, MDNode *ID, LoopInfo &LI) {
  auto *B = dyn_cast_or_null<BasicBlock>(Header);
  Loop *L = B ? LI.getLoopFor(B) : nullptr;
  if (ID && L && L->getHeader() == B)
    L->setLoopID(ID);
}

/// Returns true if F is a step of a back-off: it gives a hint, and accesses no
/// memory but its own and that of its arguments. What else it calls, such as a
/// yield of another file, is left to the judge.
static bool isBackOff(const Function &F, unsigned Depth = 0) {
  if (Depth == MaxStepDepth || !mayInline(F) ||
      !hasNItemsOrLess(instructions(F), MaxBackOff))
    return false;
  bool Hints = false;
  for (const Instruction &I : instructions(F)) {
    if (auto *Call = dyn_cast<CallBase>(&I)) {
      CallEffect Effect = classifyCall(*Call).Effect;
      const Function *Callee = Call->getCalledFunction();
      Hints = Hints || isHint(Effect) ||
              (Effect == CallEffect::Other && Callee &&
               isBackOff(*Callee, Depth + 1));
    } else if (const Value *Address = getLoadStorePointerOperand(&I)) {
      if (isMarkedAccess(I) ||
          !isa<Argument, AllocaInst>(getUnderlyingObject(Address)))
        return false;
    } else if (I.mayReadOrWriteMemory()) {
      return false;
    }
  }
  return Hints;
}

/// Returns true if F is small, has no loop, and calls only such functions and
/// those whose effects are known.
static bool isTiny(const Function &F, unsigned Depth = 0) {
  if (Depth == MaxStepDepth || !mayInline(F) ||
      !hasNItemsOrLess(instructions(F), MaxTiny))
    return false;
  SmallVector<std::pair<const BasicBlock *, const BasicBlock *>, 2> BackEdges;
  FindFunctionBackedges(F, BackEdges);
  return BackEdges.empty() && all_of(instructions(F), [&](auto &I) {
           auto *Call = dyn_cast<CallBase>(&I);
           const Function *Callee = Call ? Call->getCalledFunction() : nullptr;
           return !Call || classifyCall(*Call).Effect != CallEffect::Other ||
                  (Callee &&
                   (Callee->isIntrinsic() || Callee->doesNotReturn() ||
                    isTiny(*Callee, Depth + 1)));
         });
}

/// Returns true if Call is inlined for a report whatever its callee does.
static bool isStep(const CallBase &Call) {
  const Function *Callee = Call.getCalledFunction();
  return isa<CallInst>(Call) && Callee && Callee != Call.getFunction() &&
         classifyCall(Call).Effect == CallEffect::Other &&
         (isTiny(*Callee) || isBackOff(*Callee));
}

/// Adds the steps in loops of F.
static void collectSteps(Function &F, const LoopInfo &LI,
                         SmallVectorImpl<CallBase *> &Calls) {
  for (Instruction &I : instructions(F)) {
    auto *Call = dyn_cast<CallInst>(&I);
    if (Call && LI.getLoopFor(I.getParent()) && isStep(*Call))
      Calls.push_back(Call);
  }
}

/// Returns true if Call, a call in a loop, has no effect, and no try decides
/// whether it has one.
bool ConditionExposer::isHarmless(CallBase &Call) {
  CalleeEffects Does;
  return classifyCall(Call).Effect == CallEffect::Other &&
         !isa<MemIntrinsic>(Call) && !keepsResultInMemory(Call) &&
         Callees.add(Call, 0, Does) && !Does.Tries;
}

bool ConditionExposer::run(Function &F, FunctionAnalysisManager &FAM,
                           function_ref<void()> BeforeChange) {
  bool Changed = false;
  auto Change = [&, Told = false]() mutable {
    if (!std::exchange(Told, true))
      BeforeChange();
  };
  unsigned Total = 0, Levels = MaxCallDepth;
  bool Steps = For == ExposeFor::Report;
  if (Steps)
    Levels += MaxStepDepth;
  // Makes one iteration for each level of calls, and one that finds no more
  // calls.
  for (unsigned Iteration = 0; Iteration <= Levels; ++Iteration) {
    LoopInfo &LI = FAM.getResult<LoopAnalysis>(F);
    SmallVector<CallBase *, 8> Calls;
    SmallVector<std::pair<WeakVH, MDNode *>, 4> Separated;
    // The loops are looked at when all steps have been inlined.
    if (Steps)
      collectSteps(F, LI, Calls);
    Steps = !Calls.empty();
    for (Loop *L : LI.getLoopsInPreorder()) {
      if (Steps)
        break;
      SmallVector<CallBase *, 4> OfLoop;
      CalleeEffects Does;
      bool IsCandidate = collectCalls(*L, OfLoop, Does);
      // Adds each call only once: the calls of an inner loop are also calls of
      // the outer one.
      if (IsCandidate)
        for (CallBase *Call : OfLoop)
          if (!is_contained(Calls, Call))
            Calls.push_back(Call);
      MDNode *ID = L->getLoopID();
      // What a loop does before it ends may look like an effect of each
      // iteration until the ways are separated.
      if (!IsCandidate && !Does.ReadsMarked && !accessesMarkedMemory(*L))
        continue;
      Changed |= takeKnownValues(*L, Change);
      if (takeKnownWays(*L, LI, Change))
        Separated.push_back({WeakVH(L->getHeader()), ID});
    }
    if (!Separated.empty()) {
      Changed = true;
      simplify(F, FAM);
      for (auto &[Header, ID] : Separated)
        restoreID(Header, ID, FAM.getResult<LoopAnalysis>(F));
      continue;
    }
    if (Calls.empty())
      break;
    bool Inlined = false;
    // The callee of each call, and the call whose body it comes from.
    SmallVector<std::pair<const Function *, unsigned>, 8> History;
    constexpr unsigned OfLoops = ~0U;
    for (const CallBase *Call : Calls)
      History.push_back({Call->getCalledFunction(), OfLoops});
    auto IsRecursive = [&](const CallBase &Inside, unsigned From) {
      for (unsigned N = From; N != OfLoops; N = History[N].second)
        if (History[N].first == Inside.getCalledFunction())
          return true;
      return false;
    };
    // Adds the calls of inlined bodies, so that levels of wrappers are
    // simplified together.
    for (unsigned N = 0; N != Calls.size(); ++N) {
      CallBase *Call = Calls[N];
      Function *Callee = Call->getCalledFunction();
      if (!AttributeFuncs::areInlineCompatible(F, *Callee) ||
          !FAM.getResult<TargetIRAnalysis>(F).areInlineCompatible(&F, Callee))
        continue;
      Total += Steps ? 0 : Callee->size() == 1 ? 1 : BranchingWeight;
      if (Total > MaxInlined)
        break;
      auto GetAssumptions = [&](Function &Of) -> AssumptionCache & {
        return FAM.getResult<AssumptionAnalysis>(Of);
      };
      InlineFunctionInfo IFI(GetAssumptions); // Refers to GetAssumptions.
      Change();
      SmallVector<Instruction *, 4> Marked;
      if (namesRegisters(calledName(*Call)))
        Marked = markReadsOfDevice(*Callee);
      // What a function without effects calls has none either.
      bool MayExtend = Steps || isHarmless(*Call);
      bool IsInlined =
          InlineFunction(*Call, IFI, /*MergeAttributes=*/true).isSuccess();
      unmarkReads(Marked);
      if (!IsInlined)
        continue;
      Inlined = true;
      if (!MayExtend)
        continue;
      for (CallBase *Inside : IFI.InlinedCallSites)
        if (!IsRecursive(*Inside, N) &&
            (Steps ? isStep(*Inside) : isHarmless(*Inside))) {
          Calls.push_back(Inside);
          History.push_back({Inside->getCalledFunction(), N});
        }
    }
    if (!Inlined && !std::exchange(Steps, false))
      break;
    if (!Inlined)
      continue;
    Changed = true;
    simplify(F, FAM);
  }
  return Changed;
}

} // namespace vfriendly
