//===- Rewrite.cpp - Changes to spin loops and writers --------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/spin-loops/Rewrite.h"

#include "passes/common/Runtime.h"
#include "passes/common/RuntimeCalls.h"
#include "passes/spin-loops/Fallback.h"

#include "llvm/Analysis/CFG.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/IntrinsicsAArch64.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;

namespace vfriendly {

bool canBeAtomic(Type *Ty, Align Alignment, const DataLayout &DL) {
  if (!Ty->isIntegerTy() && !Ty->isPointerTy() && !Ty->isFloatTy() &&
      !Ty->isDoubleTy())
    return false;
  uint64_t Size = DL.getTypeStoreSize(Ty);
  return isPowerOf2_64(Size) && Size <= 8 &&
         DL.getTypeSizeInBits(Ty) == Size * 8 && Alignment.value() >= Size;
}

bool hasPauseHint(const Module &M) {
  const Triple T(M.getTargetTriple());
  return T.isX86() || T.isAArch64() || T.isRISCV();
}

bool canBlock(const Module &M) {
  // The data layout shows ILP32 ABIs that the triple does not show.
  return hasRuntime(Triple(M.getTargetTriple())) &&
         M.getDataLayout().getPointerSizeInBits() == 64;
}

static constexpr StringLiteral ArmedWord = "vf_spin_armed";

bool namesAreFree(const Module &M) {
  for (StringRef Name : {StringRef(ArmedWord), StringRef(NeverArmedWord)})
    if (const GlobalValue *V = M.getNamedValue(Name))
      if (!isa<GlobalVariable>(V) || !V->getValueType()->isIntegerTy(32))
        return false;
  for (StringRef Name :
       {StringRef("vf_spin_wait"), StringRef("vf_spin_wait_bounded"),
        StringRef(NotifyFunction)})
    if (const GlobalValue *V = M.getNamedValue(Name); V && !isa<Function>(V))
      return false;
  for (auto [Name, Ty] :
       {std::pair(WaitFunction, waitType(M.getContext())),
        std::pair(BoundedWaitFunction, boundedWaitType(M.getContext()))}) {
    const GlobalValue *V = M.getNamedValue(Name);
    auto *Wait = dyn_cast_or_null<Function>(V);
    if (V && !(Wait && Wait->getFunctionType() == Ty &&
               Wait->getCallingConv() == waitConvention(M)))
      return false;
  }
  return true;
}

bool hasSplittableLatches(const Loop &L) {
  SmallVector<BasicBlock *, 4> Latches;
  L.getLoopLatches(Latches);
  return none_of(Latches, [](const BasicBlock *B) {
    return isa<IndirectBrInst, CallBrInst>(B->getTerminator());
  });
}

BasicBlock *splitBackEdge(Loop &L, LoopInfo &LI, DominatorTree &DT) {
  SmallVector<BasicBlock *, 4> Latches;
  L.getLoopLatches(Latches);
  DebugLoc Where = L.getStartLoc();
  MDNode *ID = L.getLoopID();
  BasicBlock *Edge = SplitBlockPredecessors(L.getHeader(), Latches,
                                            ".vf.failed.poll", &DT, &LI);
  if (ID)
    L.setLoopID(ID); // The split drops it if there are several latches.
  if (!Edge->getTerminator()->getDebugLoc())
    Edge->getTerminator()->setDebugLoc(Where);
  return Edge;
}

void emitPause(Loop &L, LoopInfo &LI, DominatorTree &DT) {
  IRBuilder<> B(splitBackEdge(L, LI, DT)->getTerminator());
  const Triple T(L.getHeader()->getModule()->getTargetTriple());
  if (T.isX86()) {
    B.CreateIntrinsic(Intrinsic::x86_sse2_pause, ArrayRef<Type *>(), {});
  } else if (T.isAArch64()) {
    // ISB takes about as long as x86's PAUSE; YIELD is a no-op on cores without
    // SMT, which are most. 15: full system, the only defined operand.
    B.CreateIntrinsic(Intrinsic::aarch64_isb, ArrayRef<Type *>(),
                      {B.getInt32(15)});
  } else {
    // PAUSE of Zihintpause, written as its encoding, so that it assembles
    // without the extension and is a no-op on CPUs without it.
    auto *Ty = FunctionType::get(B.getVoidTy(), false);
    B.CreateCall(Ty, InlineAsm::get(Ty, ".insn i 0x0F, 0, x0, x0, 0x010",
                                    "~{memory}", /*hasSideEffects=*/true));
  }
}

void makeAcquire(LoadInst &Load) {
  if (Load.isSimple() &&
      canBeAtomic(Load.getType(), Load.getAlign(), Load.getDataLayout()))
    Load.setAtomic(AtomicOrdering::Acquire);
}

static constexpr StringLiteral NotifyMark = "vf.spin.notifies";

/// Returns Key as an operand of NotifyMark.
static Metadata *markOf(const NotifyKey &Key, LLVMContext &Context) {
  return ConstantAsMetadata::get(
      Key.Fixed
          ? Key.Fixed
          : ConstantInt::getSigned(Type::getInt64Ty(Context), Key.Distance));
}

bool emitNotify(Instruction &Write, Value &Address, ArrayRef<NotifyKey> Keys) {
  Module &M = *Write.getModule();
  SmallVector<Metadata *, 2> Marks;
  if (MDNode *Old = Write.getMetadata(NotifyMark))
    Marks.append(Old->op_begin(), Old->op_end());
  SmallVector<NotifyKey, 2> New;
  for (const NotifyKey &Key : Keys) {
    Metadata *Mark = markOf(Key, M.getContext());
    if (is_contained(Marks, Mark))
      continue;
    Marks.push_back(Mark);
    New.push_back(Key);
  }
  if (New.empty())
    return false;
  Write.setMetadata(NotifyMark, MDNode::get(M.getContext(), Marks));
  IRBuilder<> B(Write.getNextNode());
  B.SetCurrentDebugLocation(Write.getDebugLoc());

  // The generated code tests ArmedWord, a variable of libvfrt. If libvfrt is
  // not linked, the code reads NeverArmedWord, which is always zero, instead of
  // branching around the test. If M itself already declares ArmedWord, that
  // declaration keeps its linkage.
  bool OwnReferences = M.getNamedValue(ArmedWord);
  auto *Armed =
      cast<GlobalVariable>(M.getOrInsertGlobal(ArmedWord, B.getInt32Ty()));
  if (!OwnReferences)
    Armed->setLinkage(GlobalValue::ExternalWeakLinkage);
  auto *NeverArmed =
      cast<GlobalVariable>(M.getOrInsertGlobal(NeverArmedWord, B.getInt32Ty()));
  Value *Word = B.CreateSelect(B.CreateIsNotNull(Armed), Armed, NeverArmed);
  LoadInst *Load = B.CreateAlignedLoad(B.getInt32Ty(), Word, Align(4));
  Load->setAtomic(AtomicOrdering::Monotonic);
  Instruction *Then = SplitBlockAndInsertIfThen(
      B.CreateIsNotNull(Load), B.GetInsertPoint(), /*Unreachable=*/false,
      MDBuilder(M.getContext()).createUnlikelyBranchWeights());

  B.SetInsertPoint(Then);
  B.SetCurrentDebugLocation(Write.getDebugLoc());
  OwnReferences = M.getNamedValue(NotifyFunction);
  FunctionCallee Notify =
      M.getOrInsertFunction(NotifyFunction, B.getVoidTy(), B.getPtrTy());
  if (!OwnReferences)
    cast<Function>(Notify.getCallee())
        ->setLinkage(GlobalValue::ExternalWeakLinkage);
  for (const NotifyKey &Key : New) {
    Value *Waited = Key.Fixed ? Key.Fixed : &Address;
    if (Key.Distance != 0)
      Waited = B.CreatePtrAdd(Waited, B.getInt64(-Key.Distance));
    CallInst *Call = B.CreateCall(Notify, {Waited});
    setLocation(*Call, Write.getDebugLoc());
    Call->addFnAttr(Attribute::NoUnwind);
    Call->addFnAttr(Attribute::Cold);
  }
  return true;
}

bool separateWaitExits(Function &F, LoopInfo &LI, DominatorTree &DT) {
  SmallVector<Loop *, 4> Waiting;
  for (BasicBlock &B : F)
    for (Instruction &I : B)
      if (auto *Call = dyn_cast<CallInst>(&I))
        if (calls(*Call, WaitFunction))
          if (Loop *L = LI.getLoopFor(&B); L && !is_contained(Waiting, L))
            Waiting.push_back(L);

  bool Changed = false;
  for (Loop *L : Waiting) {
    SmallVector<Loop::Edge, 4> Exits;
    L->getExitEdges(Exits);
    for (auto [From, To] : Exits) {
      Instruction *Branch = From->getTerminator();
      // If several cases of a switch lead to To, skips all but the first:
      // splitting the edge of the first case has merged the edges of the others
      // into the new edge.
      if (To->isEHPad() || !isa<BranchInst, SwitchInst>(Branch) ||
          !is_contained(successors(From), To))
        continue;
      BasicBlock *Own = To;
      if (!To->getUniquePredecessor())
        Own = SplitCriticalEdge(Branch, GetSuccessorNumber(From, To),
                                CriticalEdgeSplittingOptions(&DT, &LI)
                                    .setMergeIdenticalEdges()
                                    .unsetPreserveLoopSimplify());
      if (!Own || !isa<BranchInst>(Own->getFirstNonPHIIt()))
        continue;
      // Empty assembly emits no code, but keeps LLVM from removing the block.
      IRBuilder<> B(Own->getTerminator());
      auto *Ty = FunctionType::get(B.getVoidTy(), false);
      B.CreateCall(Ty, InlineAsm::get(Ty, "", "", /*hasSideEffects=*/true));
      Changed = true;
    }
  }
  return Changed;
}

void forgetPromises(ArrayRef<Function *> Changed) {
  static constexpr Attribute::AttrKind Promises[] = {
      Attribute::Memory,      Attribute::NoSync,    Attribute::NoFree,
      Attribute::WillReturn,  Attribute::NoRecurse, Attribute::MustProgress,
      Attribute::Speculatable};
  SmallVector<Function *, 8> Worklist(Changed);
  SmallPtrSet<Function *, 8> Seen;
  while (!Worklist.empty()) {
    Function *Fn = Worklist.pop_back_val();
    if (!Seen.insert(Fn).second)
      continue;
    for (Attribute::AttrKind Kind : Promises)
      Fn->removeFnAttr(Kind);
    SmallVector<User *, 8> Users(Fn->users());
    while (!Users.empty()) {
      User *U = Users.pop_back_val();
      // Follows an alias or constant expression to the calls that use it. Its
      // users are in Fn's module, because only this module refers to Fn.
      if (isa<GlobalAlias, ConstantExpr>(U)) {
        append_range(Users, U->users());
        continue;
      }
      auto *Call = dyn_cast<CallBase>(U);
      if (!Call)
        continue;
      for (Attribute::AttrKind Kind : Promises)
        Call->removeFnAttr(Kind);
      Worklist.push_back(Call->getFunction());
    }
  }
}

} // namespace vfriendly
