//===- Rewrite.cpp - Changes to spin loops and writers --------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/spin-loops/Rewrite.h"

#include "passes/common/Runtime.h"
#include "passes/common/Targets.h"
#include "runtime/include/vfriendly/spin_wait.h"
#include "vfriendly/Fallbacks.h"

#include "llvm/Analysis/CFG.h"
#include "llvm/Analysis/DomTreeUpdater.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/IntrinsicsAArch64.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"
#include "llvm/Transforms/Utils/SSAUpdater.h"

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

static FunctionType *waitType(LLVMContext &Context) {
  Type *I64 = Type::getInt64Ty(Context);
  return FunctionType::get(
      I64,
      {PointerType::getUnqual(Context), I64, I64, Type::getInt32Ty(Context)},
      false);
}

FunctionType *boundedWaitType(LLVMContext &Context) {
  Type *I64 = Type::getInt64Ty(Context);
  Type *Ptr = PointerType::getUnqual(Context);
  return FunctionType::get(StructType::get(I64, I64),
                           {Ptr, I64, I64, Type::getInt32Ty(Context), I64, Ptr},
                           false);
}

// preserve_mostcc preserves most of the caller's registers, so that a wait
// whose first poll succeeds needs no stack frame.
CallingConv::ID waitConvention(const Module &M) {
  Triple::ArchType Arch = Triple(M.getTargetTriple()).getArch();
  return Arch == Triple::x86_64 || Arch == Triple::aarch64
             ? CallingConv::PreserveMost
             : CallingConv::C;
}

static constexpr StringLiteral ArmedWord = "vf_spin_armed",
                               NeverArmedWord = "vf_spin_never_armed";

bool namesAreFree(const Module &M) {
  for (StringRef Name : {ArmedWord, NeverArmedWord})
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

/// Returns the value of V at the end of block At, or Outside on paths on which
/// V was not computed.
static Value *valueAt(Instruction *V, BasicBlock *At, const Loop &L,
                      Value *Outside, const DominatorTree &DT) {
  if (DT.dominates(V, At->getTerminator()))
    return V;
  SSAUpdater SSA;
  SSA.Initialize(V->getType(), V->getName());
  SSA.AddAvailableValue(V->getParent(), V);
  for (BasicBlock *Pred : predecessors(L.getHeader()))
    if (!L.contains(Pred))
      SSA.AddAvailableValue(Pred, Outside);
  return SSA.GetValueAtEndOfBlock(At);
}

Value *observedValue(const Poll &P, IRBuilder<> &B) {
  Value *V = P.Access;
  if (isa<CallBase>(V))
    return nullptr;
  if (isa<AtomicCmpXchgInst>(V))
    V = B.CreateExtractValue(V, 0);
  if (P.Size == 0 || !isPowerOf2_32(P.Size) || P.Size > 8)
    return nullptr;
  if (auto *Load = dyn_cast<LoadInst>(P.Access))
    if (Load->getAlign().value() < P.Size)
      return nullptr;
  if (V->getType()->isPointerTy())
    V = B.CreatePtrToInt(V, B.getInt64Ty());
  else if (V->getType()->isFloatingPointTy())
    V = B.CreateBitCast(V, B.getIntNTy(P.Size * 8));
  return V->getType()->isIntegerTy() ? B.CreateZExt(V, B.getInt64Ty())
                                     : nullptr;
}

bool isPolledFirst(const Poll &P, const Loop &L, const DominatorTree &DT) {
  SmallVector<BasicBlock *, 4> Exiting;
  L.getExitingBlocks(Exiting);
  return all_of(Exiting, [&](BasicBlock *B) {
    return DT.dominates(P.Access, B->getTerminator());
  });
}

CallInst *emitWait(const SpinLoop &S, const WaitKey &Key, uint32_t Flags,
                   LoopInfo &LI, DominatorTree &DT) {
  Loop &L = *S.L;
  Module &M = *L.getHeader()->getModule();
  BasicBlock *Edge = splitBackEdge(L, LI, DT);
  IRBuilder<> B(Edge->getTerminator());

  // The state of this wait: the number of failed polls until the first call of
  // the runtime's wait function, then the result of its last call.
  auto *State = PHINode::Create(B.getInt64Ty(), 2, "vf.state");
  State->insertInto(L.getHeader(), L.getHeader()->begin());
  // The runtime is not called after the first polls if a poll is cheap: it
  // neither takes the cache line from the lock's holder nor includes a pause or
  // a yield.
  bool Cheap = !S.Pauses && !S.Yields && none_of(S.Polls, [](const Poll &P) {
    return P.ReadModifyWrite;
  });
  Value *Calls =
      B.CreateICmpUGE(State, B.getInt64(Cheap ? VF_SPIN_POLLS_UNCALLED : 0));
  DomTreeUpdater Updater(DT, DomTreeUpdater::UpdateStrategy::Eager);
  Instruction *InCall = SplitBlockAndInsertIfThen(
      Calls, B.GetInsertPoint(), /*Unreachable=*/false,
      MDBuilder(M.getContext()).createUnlikelyBranchWeights(), &Updater, &LI);
  BasicBlock *Latch = InCall->getSuccessor(0);
  B.SetInsertPoint(InCall);

  Value *Nowhere = ConstantPointerNull::get(B.getPtrTy());
  Value *Address = Key.Address ? Key.Address : Nowhere;
  Value *Observed = B.getInt64(0);
  uint32_t Size = 0;
  if (auto *I = dyn_cast<Instruction>(Address))
    Address = valueAt(I, Edge, L, Nowhere, DT);
  if (Key.Several)
    Flags |= VF_SPIN_SEVERAL;
  if (const Poll *P = Key.Address ? S.uniquePoll() : nullptr) {
    // If the loop also polls the pointer to the word, the runtime must not read
    // the word: its memory may be freed as soon as the pointer changes.
    bool Stays = none_of(S.Polls, [](const Poll &Q) { return Q.OnlyLocates; });
    bool MayRead = Stays && !P->Volatile && isPolledFirst(*P, L, DT) &&
                   DT.dominates(P->Access, Edge->getTerminator());
    if (Value *V = MayRead ? observedValue(*P, B) : nullptr) {
      Observed = V;
      Size = P->Size;
    }
  }

  FunctionCallee Wait =
      M.getOrInsertFunction(WaitFunction, waitType(M.getContext()));
  CallingConv::ID Convention = waitConvention(M);
  cast<Function>(Wait.getCallee())->setCallingConv(Convention);
  CallInst *Call =
      B.CreateCall(Wait, {Address, Observed, State, B.getInt32(Flags | Size)});
  Call->setCallingConv(Convention);
  Call->addFnAttr(Attribute::NoUnwind);
  Call->addFnAttr(Attribute::Cold);
  if (!Call->getDebugLoc() && L.getHeader()->getParent()->getSubprogram())
    Call->setDebugLoc(DILocation::get(
        M.getContext(), 0, 0, L.getHeader()->getParent()->getSubprogram()));

  B.SetInsertPoint(Edge->getTerminator());
  Value *Counted = B.CreateAdd(State, B.getInt64(1));
  B.SetInsertPoint(Latch, Latch->begin());
  PHINode *Next = B.CreatePHI(B.getInt64Ty(), 2);
  Next->addIncoming(Counted, Edge);
  Next->addIncoming(Call, Call->getParent());
  for (BasicBlock *Pred : predecessors(L.getHeader()))
    State->addIncoming(
        Pred == Latch ? static_cast<Value *>(Next) : B.getInt64(0), Pred);
  return Call;
}

static constexpr unsigned HowArgument = 3;

/// Returns the argument `how` of Wait; null if the argument is not constant,
/// because LLVM has merged two calls and selects between their arguments.
static ConstantInt *howOf(const CallInst &Wait) {
  return dyn_cast<ConstantInt>(Wait.getArgOperand(HowArgument));
}

void setNotified(CallInst &Wait) {
  ConstantInt *How = cast<ConstantInt>(howOf(Wait));
  Wait.setArgOperand(
      HowArgument,
      ConstantInt::get(How->getType(), How->getZExtValue() | VF_SPIN_NOTIFIED));
}

bool canBeNotified(const CallInst &Wait) {
  ConstantInt *How = howOf(Wait);
  return How && !(How->getZExtValue() & VF_SPIN_NOTIFIED);
}

/// Returns the type that I accesses at Address; null if I does not access it.
static Type *accessedType(const Instruction &I, const Value *Address) {
  if (auto *RMW = dyn_cast<AtomicRMWInst>(&I))
    return RMW->getPointerOperand() == Address ? RMW->getType() : nullptr;
  if (auto *Exchange = dyn_cast<AtomicCmpXchgInst>(&I))
    return Exchange->getPointerOperand() == Address
               ? Exchange->getNewValOperand()->getType()
               : nullptr;
  if (!isa<LoadInst, StoreInst>(I) || getLoadStorePointerOperand(&I) != Address)
    return nullptr;
  Type *Ty = getLoadStoreType(const_cast<Instruction *>(&I));
  return Ty->isScalableTy() ? nullptr : Ty;
}

std::optional<Location> locateWait(const CallInst &Wait, const LoopInfo &LI) {
  // Takes the width of the word from the polling access, because the arguments
  // of Wait contain the width only if the runtime may read the word.
  const Value *Address = Wait.getArgOperand(0);
  const Loop *L = LI.getLoopFor(Wait.getParent());
  ConstantInt *How = howOf(Wait);
  if (!L || isa<ConstantPointerNull, PHINode>(Address) || !How ||
      How->getZExtValue() & VF_SPIN_SEVERAL)
    return std::nullopt;
  for (const BasicBlock *B : L->blocks())
    for (const Instruction &I : *B)
      if (Type *Ty = accessedType(I, Address))
        return locate(I, Address, I.getDataLayout().getTypeStoreSize(Ty),
                      /*Plain=*/false);
  return std::nullopt;
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
    Call->addFnAttr(Attribute::NoUnwind);
    Call->addFnAttr(Attribute::Cold);
  }
  return true;
}

void linkFallback(Module &M) {
  const GlobalValue *Ours[] = {M.getFunction(WaitFunction),
                               M.getFunction(BoundedWaitFunction),
                               M.getGlobalVariable(NeverArmedWord)};
  if (none_of(Ours,
              [](const GlobalValue *G) { return G && G->isDeclaration(); }))
    return;
  linkDefinitions(M, fallback::Calls);
  if (!M.getFunction(WaitFunction) && !M.getFunction(BoundedWaitFunction))
    return;
  const Triple T(M.getTargetTriple());
  linkDefinitions(M, T.getArch() == Triple::x86_64    ? fallback::X86_64
                     : T.getArch() == Triple::aarch64 ? fallback::AArch64
                     : T.getArch() == Triple::riscv64 ? fallback::RISCV64
                                                      : fallback::Generic);
  // Keeps the functions external. If LTO made them internal, it would remove
  // their parameters, and a later run of the pass could not add calls.
  for (StringRef Name : {WaitFunction, BoundedWaitFunction})
    if (Function *Wait = M.getFunction(Name)) {
      Wait->setCallingConv(waitConvention(M));
      appendToCompilerUsed(M, {Wait});
    }
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
