//===- Expose.cpp - Inlining of calls in loop conditions ------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/prepare/Expose.h"

#include "passes/analysis/common/KeepMarks.h"
#include "passes/analysis/common/WaitNeutral.h"
#include "passes/prepare/KnownWays.h"

#include "llvm/Analysis/AssumptionCache.h"
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

/// Maximum number of instructions of an inlined function. libstdc++'s
/// compare_exchange has a case for each pair of memory orders, about 200
/// instructions before constants are folded; other conditions are smaller.
static constexpr unsigned MaxInstructions = 300;
/// Maximum depth of calls. A member function of a class, its std::atomic base
/// and the helpers of that base take 4 levels; wrappers around wrappers may
/// take twice as many.
static constexpr unsigned MaxDepth = 8;

/// Maximum number of calls to inline. Waits have fewer; in other loops,
/// inlining level by level would multiply the code.
static constexpr unsigned MaxInlined = 64;

/// Maximum number of side effects of a loop before inlining: more than
/// MaxEffects (Facts.h), because some are calls whose effects disappear
/// when they are inlined.
static constexpr unsigned MaxHarms = 24;

static bool mayInline(const Function &F) {
  return !F.hasFnAttribute(KeepMark) && !F.isDeclaration() &&
         !F.isInterposable() && !F.hasFnAttribute(Attribute::NoInline) &&
         !F.hasFnAttribute(Attribute::OptimizeNone) &&
         !F.hasFnAttribute(Attribute::Naked) &&
         !F.hasFnAttribute(Attribute::ReturnsTwice) && !F.isVarArg() &&
         !F.isPresplitCoroutine();
}

/// Returns true if Object is a thread-local variable, perhaps returned by a
/// function that returns nothing else.
static bool isThreadLocal(const Value *Object) {
  auto *Call = dyn_cast<CallBase>(Object);
  const Function *Callee = Call ? Call->getCalledFunction() : nullptr;
  if (!Callee)
    return false;
  if (Callee->getIntrinsicID() == Intrinsic::threadlocal_address)
    return true;
  return mayInline(*Callee) && Callee->size() == 1 &&
         any_of(Callee->getEntryBlock(), [](const Instruction &I) {
           auto *Return = dyn_cast<ReturnInst>(&I);
           auto *Result =
               Return
                   ? dyn_cast_or_null<IntrinsicInst>(Return->getReturnValue())
                   : nullptr;
           return Result &&
                  Result->getIntrinsicID() == Intrinsic::threadlocal_address;
         });
}

/// Returns true if a store to the address V is known to write a local variable
/// of the loop's function or of its thread: one of the executing function, or
/// one to which a parameter in Locals points.
static bool isLocalStore(const Value *V, ParameterSet Locals) {
  const Value *Object = getUnderlyingObject(V);
  if (isThreadLocal(Object))
    return true;
  if (auto *Arg = dyn_cast<Argument>(Object))
    return Arg->getArgNo() < 32 && (Locals >> Arg->getArgNo() & 1);
  return isa<AllocaInst>(Object);
}

/// Returns the parameters of the called function that point to local variables
/// of the loop's function, if the calling function's parameters in Locals do.
static ParameterSet localsOf(const CallBase &Call, ParameterSet Locals) {
  ParameterSet OfCallee = 0;
  for (unsigned I = 0; I != Call.arg_size() && I != 32; ++I)
    if (isLocalStore(Call.getArgOperand(I), Locals))
      OfCallee |= 1u << I;
  return OfCallee;
}

ConditionExposer::Effects &
ConditionExposer::Effects::operator|=(const Effects &Other) {
  Adds |= Other.Adds;
  Tries |= Other.Tries;
  Reads |= Other.Reads;
  ReadsMarked |= Other.ReadsMarked;
  Hints |= Other.Hints;
  return *this;
}

ConditionExposer::Summary
ConditionExposer::summarize(Function &F, ParameterSet Locals, unsigned Depth) {
  if (Depth > MaxDepth || !mayInline(F) ||
      !hasNItemsOrLess(instructions(F), MaxInstructions))
    return std::nullopt;
  auto [It, New] =
      Summaries.try_emplace({&F, Locals}, std::nullopt); // Ends recursion.
  if (!New)
    return It->second;

  // Follows the paths from the entry until they have an effect. Blocks that end
  // in abort or terminate are not part of a wait.
  Effects Does;
  bool Returns = false;
  SmallVector<BasicBlock *, 8> Worklist{&F.getEntryBlock()};
  SmallPtrSet<BasicBlock *, 8> Seen;
  while (!Worklist.empty()) {
    BasicBlock *B = Worklist.pop_back_val();
    if (!Seen.insert(B).second || isa<UnreachableInst>(B->getTerminator()))
      continue;
    Effects OfBlock;
    if (!all_of(*B, [&](Instruction &I) {
          return noteEffects(I, Locals, Depth, OfBlock);
        })) {
      Does.Tries = true;
      continue;
    }
    Does |= OfBlock;
    Returns |= isa<ReturnInst>(B->getTerminator());
    append_range(Worklist, successors(B));
  }
  // A function that does not tell whether it has succeeded is no try. The
  // destructor of a local object is one: the object tells.
  bool Tells = !F.getReturnType()->isVoidTy() || F.hasStructRetAttr() ||
               ((Locals & 1) && isDestructor(F));
  if (Does.Tries && (!Returns || !Does.Reads || !Tells))
    return std::nullopt;
  Summaries[{&F, Locals}] = Does;
  return Does;
}

/// Adds the effects of I, an instruction of a called function, to Does. Returns
/// false if a spin loop may not execute I.
bool ConditionExposer::noteEffects(Instruction &I, ParameterSet Locals,
                                   unsigned Depth, Effects &Does) {
  if (auto *Call = dyn_cast<CallBase>(&I))
    return isHarmless(*Call, Locals, Depth, Does);
  if (auto *Store = dyn_cast<StoreInst>(&I))
    return isLocalStore(Store->getPointerOperand(), Locals);
  if (auto *RMW = dyn_cast<AtomicRMWInst>(&I))
    Does.Adds |= RMW->getOperation() == AtomicRMWInst::Add ||
                 RMW->getOperation() == AtomicRMWInst::Sub;
  Does.Reads |= I.mayReadFromMemory();
  Does.ReadsMarked |= isMarkedAccess(I);
  return !isa<IndirectBrInst>(I);
}

/// Returns true if a spin loop may contain this call, at least if the called
/// function takes a path without effects. Adds the effects of the call to Does,
/// the effects of the calling function.
bool ConditionExposer::isHarmless(CallBase &Call, ParameterSet Locals,
                                  unsigned Depth, Effects &Does) {
  CallClass Class = classifyCall(Call);
  Does.Adds |= Class.Effect == CallEffect::AsmAdd;
  Does.Hints |= isHint(Class.Effect);
  if (isMarkedAccess(Call))
    Does.Reads = Does.ReadsMarked = true;
  if (Class.Effect == CallEffect::AsmStore)
    return isLocalStore(Class.Address, Locals);
  if (Class.Effect != CallEffect::Other)
    return true;
  if (auto *Memory = dyn_cast<MemIntrinsic>(&Call))
    return isLocalStore(Memory->getDest(), Locals);
  Function *Callee = Call.getCalledFunction();
  if (!Callee || Call.isNoInline())
    return false;
  Summary Inside = summarize(*Callee, localsOf(Call, Locals), Depth + 1);
  if (Inside)
    Does |= *Inside;
  return Inside.has_value();
}

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
      Effects OfOther;
      if (isa<GetElementPtrInst>(U))
        Worklist.push_back(U);
      else if (auto *Other = dyn_cast<CallBase>(U);
               Other && Other != &Call && passesObjectOn(*Other) &&
               (!isHarmless(*const_cast<CallBase *>(Other), 0, 0, OfOther) ||
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
                                    Effects &Does) {
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
        Effects OfCall;
        bool IsHarmless = isHarmless(*Call, 0, 0, OfCall);
        Hinted |= OfCall.Hints;
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

bool ConditionExposer::run(Function &F, FunctionAnalysisManager &FAM,
                           function_ref<void()> BeforeChange) {
  bool Changed = false;
  auto Change = [&, Told = false]() mutable {
    if (!std::exchange(Told, true))
      BeforeChange();
  };
  unsigned Total = 0;
  // Makes one iteration for each level of calls, and one that finds no more
  // calls.
  for (unsigned Iteration = 0; Iteration <= MaxDepth; ++Iteration) {
    LoopInfo &LI = FAM.getResult<LoopAnalysis>(F);
    SmallVector<CallBase *, 8> Calls;
    SmallVector<std::pair<WeakVH, MDNode *>, 4> Separated;
    for (Loop *L : LI.getLoopsInPreorder()) {
      SmallVector<CallBase *, 4> OfLoop;
      Effects Does;
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
    for (CallBase *Call : Calls) {
      Function *Callee = Call->getCalledFunction();
      if (!AttributeFuncs::areInlineCompatible(F, *Callee) ||
          !FAM.getResult<TargetIRAnalysis>(F).areInlineCompatible(&F, Callee))
        continue;
      if (++Total > MaxInlined)
        break;
      auto GetAssumptions = [&](Function &Of) -> AssumptionCache & {
        return FAM.getResult<AssumptionAnalysis>(Of);
      };
      InlineFunctionInfo IFI(GetAssumptions); // Refers to GetAssumptions.
      Change();
      Inlined |=
          InlineFunction(*Call, IFI, /*MergeAttributes=*/true).isSuccess();
    }
    if (!Inlined)
      break;
    Changed = true;
    simplify(F, FAM);
  }
  return Changed;
}

} // namespace vfriendly
