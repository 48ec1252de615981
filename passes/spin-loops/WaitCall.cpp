//===- WaitCall.cpp - The call that waits, and its key --------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/spin-loops/WaitCall.h"

#include "passes/common/RuntimeCalls.h"
#include "passes/spin-loops/Describe.h"
#include "passes/spin-loops/Rewrite.h"
#include "runtime/include/vfriendly/spin_wait.h"

#include "llvm/Analysis/DomTreeUpdater.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Metadata.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/SSAUpdater.h"

using namespace llvm;

namespace vfriendly {

//===----------------------------------------------------------------------===//
// The key
//===----------------------------------------------------------------------===//

/// Returns the global variable that contains the words of all Polls; null if
/// they are not in one variable.
static GlobalVariable *commonGlobal(ArrayRef<const Poll *> Polls) {
  GlobalVariable *Common = nullptr;
  for (const Poll *P : Polls) {
    auto *Global = dyn_cast<GlobalVariable>(
        getUnderlyingObject(P->Address, /*MaxLookup=*/16));
    // Excludes thread-local variables: the waiter and the writer would each
    // compute the address of their own copy.
    if (!Global || Global->isThreadLocal() || (Common && Common != Global))
      return nullptr;
    Common = Global;
  }
  return Common;
}

/// Returns the distance in bytes from the word that First polls to the word
/// that P polls; nullopt if the distance is not constant.
static std::optional<int64_t> distanceOf(const Poll &P, const Poll &First) {
  if (P.Varies || First.Varies)
    return std::nullopt;
  const DataLayout &DL = P.Access->getDataLayout();
  unsigned Bits = DL.getIndexTypeSizeInBits(P.Address->getType());
  APInt To(Bits, 0), From(Bits, 0);
  if (P.Address->stripAndAccumulateConstantOffsets(DL, To,
                                                   /*AllowNonInbounds=*/true) !=
      First.Address->stripAndAccumulateConstantOffsets(
          DL, From, /*AllowNonInbounds=*/true))
    return std::nullopt;
  return (To - From).trySExtValue();
}

/// Returns a key made from the names of the globals or types that contain Words
/// and from the offsets in them, so that all files compute the same key. The
/// highest bit of the key is set, so it differs from all addresses in user
/// space.
static Constant *keyByName(ArrayRef<std::pair<Location, NotifyKey>> Words,
                           LLVMContext &Context) {
  std::string Names;
  raw_string_ostream OS(Names);
  for (const auto &[Where, Key] : Words) {
    auto *Tag = dyn_cast_or_null<MDNode>(Where.Tag);
    auto *TagName = Tag && Tag->getNumOperands() != 0
                        ? dyn_cast_or_null<MDString>(Tag->getOperand(0).get())
                        : nullptr;
    if (Where.Global)
      OS << Where.Global->getName();
    else if (TagName)
      OS << TagName->getString() << '+' << Where.TagOffset;
    else if (Where.Struct && Where.Struct->hasName())
      OS << Where.Struct->getName() << '+' << Where.StructOffset.value_or(0);
    OS << ' ' << Where.Size << ' ';
  }
  uint64_t Hash = xxh3_64bits(Names) | UINT64_C(1) << 63;
  return ConstantExpr::getIntToPtr(
      ConstantInt::get(Type::getInt64Ty(Context), Hash),
      PointerType::getUnqual(Context));
}

WaitKey keyOf(const SpinLoop &S) {
  WaitKey Key;
  if (const Poll *Unique = S.uniquePoll()) {
    Key.Address = Unique->Address;
    Key.Words.push_back({locatePoll(*Unique), NotifyKey()});
    return Key;
  }
  SmallVector<const Poll *, 4> Polls;
  for (const Poll &P : S.Polls) {
    if (P.OnlyLocates)
      continue;
    if (!P.Address) // A library's lock, whose release does not notify.
      return Key;
    Polls.push_back(&P);
  }
  if (Polls.empty())
    return Key;

  Key.Several = true;
  if (GlobalVariable *Global = commonGlobal(Polls)) {
    Key.Address = Global;
    for (const Poll *P : Polls)
      Key.Words.push_back({locatePoll(*P), NotifyKey{Global, 0}});
    return Key;
  }
  Key.Address = Polls.front()->Address;
  for (const Poll *P : Polls) {
    std::optional<int64_t> Distance = distanceOf(*P, *Polls.front());
    if (!Distance)
      Key.Address = nullptr;
    Key.Words.push_back(
        {locatePoll(*P), NotifyKey{nullptr, Distance.value_or(0)}});
  }
  if (Key.Address)
    return Key;
  Constant *Name = keyByName(Key.Words, S.L->getHeader()->getContext());
  Key.Address = Name;
  for (auto &Word : Key.Words)
    Word.second = NotifyKey{Name, 0};
  return Key;
}

//===----------------------------------------------------------------------===//
// The call
//===----------------------------------------------------------------------===//

FunctionType *waitType(LLVMContext &Context) {
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

bool isPolledFirst(const Poll &P, const Loop &L, const DominatorTree &DT,
                   ArrayRef<ExitLeaf> Passed) {
  SmallVector<BasicBlock *, 4> Exiting;
  L.getExitingBlocks(Exiting);
  return all_of(Exiting, [&](BasicBlock *B) {
    auto *Br = dyn_cast<BranchInst>(B->getTerminator());
    return DT.dominates(P.Access, B->getTerminator()) ||
           (Br && Br->isConditional() &&
            any_of(Passed, [&](const ExitLeaf &Leaf) {
              return Leaf.Condition == Br->getCondition();
            }));
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
  setLocation(*Call, Call->getDebugLoc());

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

Notified notifiedBy(const CallInst &Wait) {
  ConstantInt *How = howOf(Wait);
  if (!How)
    return Notified::ByAll;
  if (!(How->getZExtValue() & VF_SPIN_NOTIFIED))
    return Notified::Unknown;
  return How->getZExtValue() & VF_SPIN_UNSEEN ? Notified::BySome
                                              : Notified::ByAll;
}

void setNotified(CallInst &Wait, Notified By) {
  ConstantInt *How = cast<ConstantInt>(howOf(Wait));
  uint64_t Flags = How->getZExtValue() & ~uint64_t(VF_SPIN_UNSEEN);
  Flags |= VF_SPIN_NOTIFIED | (By == Notified::BySome ? VF_SPIN_UNSEEN : 0);
  Wait.setArgOperand(HowArgument, ConstantInt::get(How->getType(), Flags));
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
      if (std::optional<MemoryLocation> At = MemoryLocation::getOrNone(&I);
          At && At->Ptr == Address && At->Size.isPrecise() &&
          !At->Size.isScalable())
        return locate(I, Address, At->Size.getValue(), /*Plain=*/false);
  return std::nullopt;
}

} // namespace vfriendly
