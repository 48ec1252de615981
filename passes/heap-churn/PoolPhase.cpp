//===- PoolPhase.cpp - Pools for the blocks of a function -----------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pool frees its blocks one by one, as malloc does, and releases a chunk
// without blocks, so no block is held longer than before. The rewrite requires
// a proof that no block is used after the function has returned, that no other
// free receives a block of the pool, and that the frees of the pool receive no
// other block.
//
// If control leaves the function other than by a return (an exception, longjmp,
// the end of the thread), the pool would leak. The blocks in it would leak
// without the rewrite, too, but the pool's own memory would not. So before a
// call that may do this, a pool without blocks releases its memory.
//
//===----------------------------------------------------------------------===//

#include "passes/heap-churn/PoolPhase.h"

#include "passes/analysis/heap/Escape.h"
#include "passes/common/Runtime.h"
#include "passes/common/RuntimeCalls.h"
#include "vfriendly/Fallbacks.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/MemoryBuiltins.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/EHPersonalities.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

using namespace llvm;

namespace vfriendly {

static constexpr StringLiteral MallocName = "vf_pool_or_malloc";
static constexpr StringLiteral CallocName = "vf_pool_or_calloc";
static constexpr StringLiteral FreeName = "vf_pool_or_free";
static constexpr StringLiteral TrimName = "vf_pool_trim_if_used";
static constexpr StringLiteral DestroyName = "vf_pool_destroy_if_used";

/// Returns the name of the function that replaces Call; empty if none does.
static StringRef replacement(const CallBase &Call,
                             const TargetLibraryInfo &TLI) {
  LibFunc Which;
  if (!isa<CallInst>(Call) || !isPlainAllocation(Call, TLI) ||
      !TLI.getLibFunc(Call, Which))
    return "";
  if (Which == LibFunc_malloc)
    return MallocName;
  return Which == LibFunc_calloc ? StringRef(CallocName) : "";
}

PoolPhase::PoolPhase(ArrayRef<CallBase *> Others, FunctionState &Here,
                     function_ref<bool()> IsRecursive)
    : Here(Here) {
  if (none_of(Others, [&](const CallBase *Call) {
        return Here.LI.getLoopFor(Call->getParent()) &&
               !replacement(*Call, Here.TLI).empty();
      }))
    return;
  SmallVector<CallBase *, 8> Calls;
  for (Instruction &I : instructions(Here.F))
    if (auto *Call = dyn_cast<CallBase>(&I))
      if (!replacement(*Call, Here.TLI).empty())
        Calls.push_back(Call);
  PointsTo Known(Here.F, Calls, Here.TLI);
  if (!Known.isDone())
    return;
  findFrees(Known);
  // If one allocation is worth pooling, all allocations that are freed by the
  // same calls are pooled as well.
  SmallPtrSet<CallBase *, 4> Wanted;
  for (CallBase *Call : Calls)
    if (is_contained(Others, Call) && outlivesIteration(*Call, Known))
      Wanted.insert(Call);
  if (Wanted.empty())
    return;
  spread([&](CallBase *C) { return Wanted.contains(C); },
         [&](CallBase *C) { return Wanted.insert(C).second; });

  StringRef Obstacle = obstacle(IsRecursive);
  for (CallBase *Call : Calls)
    if (Wanted.contains(Call))
      judge(*Call, Known, Obstacle);
  spread([&](CallBase *C) { return WhyNot.contains(C); },
         [&](CallBase *C) {
           return refuse(
               *C, "the call that frees it also frees blocks that cannot come "
                   "from a pool");
         });
  for (CallBase *Call : Calls)
    if (Wanted.contains(Call) && !WhyNot.contains(Call))
      Pooled.push_back(Call);
}

/// Spreads a property among allocations whose blocks may be freed by the same
/// call: if Is holds for one of these allocations, calls Become for all of
/// them. Repeats this until no call of Become returns true.
void PoolPhase::spread(function_ref<bool(CallBase *)> Is,
                       function_ref<bool(CallBase *)> Become) const {
  for (bool IsNew = true; IsNew;) {
    IsNew = false;
    for (const Free &Each : Frees)
      if (any_of(Each.Sources, Is))
        for (CallBase *Source : Each.Sources)
          IsNew |= Become(Source);
  }
}

bool PoolPhase::refuse(const CallBase &Call, StringRef Why) {
  return WhyNot.insert({&Call, Why}).second;
}

void PoolPhase::findFrees(const PointsTo &Known) {
  for (Instruction &I : instructions(Here.F)) {
    auto *Call = dyn_cast<CallBase>(&I);
    if (!Call || !isPlainFree(*Call, Here.TLI))
      continue;
    Places Found = Known.places(*Call->getArgOperand(0));
    Free Each{Call, {}, Found.Elsewhere};
    for (auto [Object, At] : Found.Objects)
      if (auto *Source = dyn_cast<CallBase>(const_cast<Instruction *>(Object)))
        Each.Sources.push_back(Source);
      else
        Each.IsMixed = true;
    if (!Each.Sources.empty())
      Frees.push_back(std::move(Each));
  }
}

void PoolPhase::judge(const CallBase &Call, const PointsTo &Known,
                      StringRef Obstacle) {
  bool IsFreed = false, IsOwn = true;
  if (StringRef Why = Known.whyShared(Call); !Why.empty()) {
    refuse(Call, Why);
    IsOwn = false;
  }
  for (const Free &Each : Frees) {
    if (!is_contained(Each.Sources, &Call))
      continue;
    IsFreed = true;
    if (IsOwn && Here.LI.getLoopFor(Each.Call->getParent()))
      OwnRuns.insert(&Call);
    if (Each.IsMixed)
      refuse(Call, "the call that frees it may also free a block from "
                   "elsewhere");
  }
  if (!IsFreed)
    refuse(Call, "it is not freed in this function");
  if (!Obstacle.empty())
    refuse(Call, Obstacle);
}

/// Returns true if more than one block of the allocation may be live at a time.
bool PoolPhase::outlivesIteration(const CallBase &Call,
                                  const PointsTo &Known) const {
  const Loop *L = Here.LI.getLoopFor(Call.getParent());
  if (!L)
    return false;
  if (Known.isHeld(Call))
    return true;
  for (; L; L = L->getParentLoop())
    for (const PHINode &Phi : L->getHeader()->phis())
      if (Known.places(Phi).Objects.count(&Call))
        return true;
  return false;
}

/// Returns the reason why the function can have no pool; empty if it can.
StringRef PoolPhase::obstacle(function_ref<bool()> IsRecursive) const {
  const Triple T(Here.F.getParent()->getTargetTriple());
  // Requires weak ELF symbols: in a program without libvfrt the addresses of
  // the functions of libvfrt must be null. These functions take sizes of 64
  // bits.
  if (!T.isOSBinFormatELF() ||
      Here.F.getDataLayout().getPointerSizeInBits() != 64)
    return "libvfrt has no pools for this target";
  if (Here.F.hasPersonalityFn() &&
      isScopedEHPersonality(classifyEHPersonality(Here.F.getPersonalityFn())))
    return "exceptions are handled in funclets";
  for (const BasicBlock &B : Here.F)
    if (B.getTerminatingMustTailCall())
      return "the function ends in a tail call";
  if (IsRecursive())
    return "its function is recursive, and each call would create a pool";
  return "";
}

CallInst *PoolPhase::callRuntime(StringRef Name, Type *Result,
                                 ArrayRef<Value *> Arguments,
                                 Instruction &Before) const {
  SmallVector<Type *, 3> Types;
  for (const Value *Each : Arguments)
    Types.push_back(Each->getType());
  IRBuilder<> Builder(&Before);
  FunctionCallee Callee = Here.F.getParent()->getOrInsertFunction(
      Name, FunctionType::get(Result, Types, /*isVarArg=*/false));
  CallInst *Call = Builder.CreateCall(Callee, Arguments);
  Call->addFnAttr(Attribute::NoUnwind);
  Call->addFnAttr(Attribute::WillReturn);
  setLocation(*Call, Before.getDebugLoc());
  return Call;
}

/// Replaces Call by a call of Name, with the pool as the first argument.
void PoolPhase::replace(CallBase &Call, StringRef Name) const {
  Function &F = Here.F;
  SmallVector<Value *, 3> Arguments{Pool};
  append_range(Arguments, Call.args());
  CallInst *New = callRuntime(Name, Call.getType(), Arguments, Call);
  New->setMemoryEffects(Call.getMemoryEffects() | MemoryEffects::argMemOnly());
  New->takeName(&Call);
  // Does not mark the result noalias, because destroying the pool accesses the
  // block, too.
  if (Attribute Sizes = Call.getFnAttr(Attribute::AllocSize); Sizes.isValid()) {
    auto [First, Second] = Sizes.getAllocSizeArgs();
    if (Second)
      ++*Second;
    New->addFnAttr(
        Attribute::getWithAllocSizeArgs(F.getContext(), First + 1, Second));
  }
  Call.replaceAllUsesWith(New);
  Call.eraseFromParent();
}

void PoolPhase::guardVanishing() const {
  SmallVector<BasicBlock *, 8> Worklist;
  SmallPtrSet<BasicBlock *, 16> Reached;
  SmallVector<Instruction *, 8> Guarded;
  auto Look = [&](BasicBlock::iterator From, BasicBlock &B) {
    for (Instruction &I : make_range(From, B.end()))
      if (mayLeave(I, Here.TLI))
        Guarded.push_back(&I);
    for (BasicBlock *Next : successors(&B))
      if (Reached.insert(Next).second)
        Worklist.push_back(Next);
  };
  SmallPtrSet<Instruction *, 8> Known;
  for (CallBase *Call : Pooled)
    Look(std::next(Call->getIterator()), *Call->getParent());
  while (!Worklist.empty()) {
    BasicBlock *B = Worklist.pop_back_val();
    Look(B->begin(), *B);
  }
  for (Instruction *I : Guarded)
    if (Known.insert(I).second)
      callRuntime(TrimName, Type::getVoidTy(I->getContext()), {Pool}, *I);
}

void PoolPhase::rewrite() {
  Function &F = Here.F;
  LLVMContext &Context = F.getContext();
  IRBuilder<> AtEntry(&*F.getEntryBlock().getFirstInsertionPt());
  Type *Pointer = AtEntry.getPtrTy();
  Pool = AtEntry.CreateAlloca(Pointer, nullptr, "vf.pool");
  AtEntry.CreateStore(ConstantPointerNull::get(cast<PointerType>(Pointer)),
                      Pool);
  guardVanishing();
  for (const Free &Each : Frees)
    if (is_contained(Pooled, Each.Sources.front()))
      replace(*Each.Call, FreeName);
  for (CallBase *Call : Pooled)
    replace(*Call, replacement(*Call, Here.TLI));
  for (BasicBlock &B : F)
    if (Instruction *Last = B.getTerminator();
        isa<ReturnInst, ResumeInst>(Last))
      callRuntime(DestroyName, Type::getVoidTy(Context), {Pool}, *Last);
  Here.IsChanged = true;
}

bool linkPoolFallback(Module &M) {
  SmallVector<StringRef, 5> Used;
  bool IsMissing = false;
  for (StringRef Name :
       {MallocName, CallocName, FreeName, TrimName, DestroyName})
    if (Function *F = M.getFunction(Name)) {
      IsMissing |= F->isDeclaration();
      Used.push_back(Name);
    }
  if (!IsMissing)
    return false;
  linkDefinitions(M, fallback::Pool);
  // Keeps the functions external. LTO could otherwise make them internal and
  // remove their parameters, so that a later run of the pass could not add
  // calls.
  SmallVector<GlobalValue *, 5> Ours;
  for (StringRef Name : Used)
    Ours.push_back(M.getFunction(Name));
  appendToCompilerUsed(M, Ours);
  return true;
}

} // namespace vfriendly
