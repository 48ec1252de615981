//===- Hoist.cpp - One buffer for all iterations of a loop ----------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   for (...) {                char *kept = NULL; size_t room = 0;
//     char *b = malloc(n);     for (...) {
//     ...                 =>     if (!kept || n > room) {
//     free(b);                     free(kept);
//   }                              kept = malloc(room = n);
//                                }
//                                char *b = kept;
//                                ...
//                              }
//                              free(kept);
//
// The variable room is omitted if n is the same in each iteration. An iteration
// that does not reach the malloc still allocates nothing. If malloc fails, that
// iteration gets null, as before, and the next one tries again. A calloc
// becomes an allocation that each iteration clears; where the size is above
// MostCleared, each iteration allocates anew, because the kernel's fresh pages
// are zero, and only those that are touched cost anything.
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/heap/Escape.h"
#include "passes/analysis/heap/LoopOwnership.h"
#include "passes/common/RuntimeCalls.h"
#include "passes/heap-churn/Rewrite.h"

#include "llvm/Analysis/DomTreeUpdater.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/MemoryBuiltins.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/EHPersonalities.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/LoopUtils.h"

using namespace llvm;
using namespace llvm::PatternMatch;

namespace vfriendly {

/// Maximum number of bytes that an iteration clears instead of allocating them
/// zeroed. With a fresh mapping for each block, of which four pages are
/// touched, calloc and free take 156 us for 512 KiB and 17 us for 2 MiB;
/// clearing takes 67 and 102 us. (glibc maps blocks from 128 KiB on, or after
/// it has freed one, above 32 MiB.)
static constexpr uint64_t MostCleared = 512 << 10;

void findVanishing(FunctionState &Here) {
  for (Instruction &I : instructions(Here.F))
    if (mayLeave(I, Here.TLI) && Here.LI.getLoopFor(I.getParent()))
      Here.Vanishing.insert(&I);
}

namespace {

/// The arguments of an allocation call that determine its size: one, or two to
/// be multiplied.
struct SizeArguments {
  unsigned First;
  std::optional<unsigned> Second;

  bool contains(unsigned Number) const {
    return Number == First || Number == Second;
  }
};

} // namespace

static std::optional<SizeArguments> sizeArguments(const CallBase &Call) {
  Attribute Sizes = Call.getFnAttr(Attribute::AllocSize);
  if (!Sizes.isValid())
    return std::nullopt;
  auto [First, Second] = Sizes.getAllocSizeArgs();
  return SizeArguments{First, Second};
}

static bool isSameInAllIterations(const CallBase &Call, const Loop &L) {
  return all_of(Call.args(),
                [&](const Use &Each) { return L.isLoopInvariant(Each); });
}

/// Returns the size argument of a sized operator delete; null if there is none.
static Use *toldSize(CallBase &Free, const TargetLibraryInfo &TLI) {
  LibFunc Which;
  if (!TLI.getLibFunc(Free, Which))
    return nullptr;
  switch (Which) {
  case LibFunc_ZdlPvj:
  case LibFunc_ZdlPvm:
  case LibFunc_ZdaPvj:
  case LibFunc_ZdaPvm:
  case LibFunc_ZdlPvjSt11align_val_t:
  case LibFunc_ZdlPvmSt11align_val_t:
  case LibFunc_ZdaPvjSt11align_val_t:
  case LibFunc_ZdaPvmSt11align_val_t:
    return &Free.getArgOperandUse(1);
  default:
    return nullptr;
  }
}

/// Returns true if Size is a linear function of a counter that increases in
/// each iteration. The sizes then grow, and each iteration would need a new
/// buffer.
static bool growsEachIteration(Value *Size, const Loop &L) {
  Value *Inner;
  while (isa<Instruction>(Size) && L.contains(cast<Instruction>(Size)) &&
         !isa<PHINode>(Size)) {
    if (!match(Size, m_CombineOr(m_ZExtOrSExt(m_Value(Inner)),
                                 m_Trunc(m_Value(Inner)))) &&
        !match(Size, m_c_Add(m_Value(Inner), m_ConstantInt())) &&
        !match(Size, m_c_Or(m_Value(Inner), m_ConstantInt())) &&
        !match(Size, m_c_Mul(m_Value(Inner), m_ConstantInt())) &&
        !match(Size, m_Shl(m_Value(Inner), m_ConstantInt())))
      return false;
    Size = Inner;
  }
  auto *Iteration = dyn_cast<PHINode>(Size);
  BasicBlock *Latch = L.getLoopLatch();
  ConstantInt *Step;
  return Iteration && Latch && Iteration->getParent() == L.getHeader() &&
         match(Iteration->getIncomingValueForBlock(Latch),
               m_c_Add(m_Specific(Iteration), m_ConstantInt(Step))) &&
         !Step->isNegative();
}

/// Returns true if the block of Call has known contents: zeros.
static bool isCleared(const CallBase &Call, const TargetLibraryInfo &TLI) {
  Type *Byte = Type::getInt8Ty(Call.getContext());
  Constant *Initial =
      getInitialValueOfAllocation(const_cast<CallBase *>(&Call), &TLI, Byte);
  return Initial && !isa<UndefValue>(Initial);
}

static StringRef whyNotReuse(const Allocation &A, const Loop &L,
                             const TargetLibraryInfo &TLI) {
  std::optional<SizeArguments> Sizes = sizeArguments(*A.Call);
  if (!Sizes) {
    Type *Byte = Type::getInt8Ty(A.Call->getContext());
    Constant *Initial = getInitialValueOfAllocation(A.Call, &TLI, Byte);
    if (!Initial || !isa<UndefValue>(Initial))
      return "its initial contents are not known";
  }
  if (std::optional<APInt> Size = getAllocSize(A.Call, &TLI);
      Size && Size->ugt(MostCleared) && isCleared(*A.Call, TLI))
    return "it is large and zeroed: to clear it would cost more than the "
           "kernel's fresh pages";
  if (isSameInAllIterations(*A.Call, L))
    return "";
  if (!Sizes)
    return "its size is not known";
  for (const Use &Argument : A.Call->args()) {
    if (L.isLoopInvariant(Argument))
      continue;
    if (!Sizes->contains(A.Call->getArgOperandNo(&Argument)))
      return "its alignment is not the same in every iteration";
    if (growsEachIteration(Argument, L))
      return "its size grows in each iteration: allocate the largest size "
             "once, before the loop";
  }
  return "";
}

static bool isUsedBehind(const Allocation &A, const Loop &L) {
  return any_of(A.Users, [&](const Instruction *I) { return !L.contains(I); });
}

/// Returns true if the block of A must be freed where control leaves L by Exit,
/// because it would leak otherwise.
static bool needsFree(const Allocation &A, const Loop &L,
                      const LoopOwnership &Owner, const BasicBlock &Exit) {
  if (Owner.atExit(Exit) == Owned::Unreachable)
    return false;
  // Where the iteration that leaves L by Exit may own its block and code after
  // L uses the block, no free is needed at Exit: either the code after L frees
  // the block, or the original program leaked it too.
  return Owner.atExit(Exit) == Owned::No || !isUsedBehind(A, L);
}

static StringRef whyNotFreeHere(const CallBase &Free, const CallBase &Call,
                                const Loop &L, const TargetLibraryInfo &TLI) {
  // Requires a free function of the C or C++ library: the kept buffer may be
  // null, which other functions may not accept.
  LibFunc Known;
  if (!TLI.getLibFunc(Free, Known))
    return "the function that frees it is unknown";
  if (isa<InvokeInst>(Free) || !Free.doesNotThrow())
    return "freeing it may throw";
  if (Free.hasOperandBundles() || Free.cannotDuplicate() ||
      Free.isConvergent() || Free.isMustTailCall())
    return "it is freed in an unusual way";
  const Use *Size = toldSize(const_cast<CallBase &>(Free), TLI);
  for (const Use &Argument : Free.args())
    if (Argument != getFreedOperand(&Free, &TLI) && &Argument != Size &&
        !L.isLoopInvariant(Argument))
      return "an argument of the call that frees it differs between iterations";
  if (Size && !sizeArguments(Call) && !L.isLoopInvariant(*Size))
    return "an argument of the call that frees it differs between iterations";
  return "";
}

/// Maximum number of analysis steps per function: without it large functions
/// with many allocations would take seconds.
static constexpr size_t MaxWork = 1 << 22;

StringRef whyNotHoist(const Allocation &A, const Loop &L,
                      const FunctionState &Here) {
  if (none_of(A.Frees, [&](const CallBase *Free) { return L.contains(Free); }))
    return "it is not freed in the loop";
  if (Here.F.hasPersonalityFn() &&
      isScopedEHPersonality(classifyEHPersonality(Here.F.getPersonalityFn())))
    return "the function has funclets";
  if (StringRef Why = whyNotReuse(A, L, Here.TLI); !Why.empty())
    return Why;
  for (CallBase *Free : A.Frees) {
    if (!L.contains(Free)) {
      if (toldSize(*Free, Here.TLI) && !isSameInAllIterations(*A.Call, L))
        return "it is freed after the loop, with a size that may differ from "
               "that of the kept block";
    } else if (StringRef Why = whyNotFreeHere(*Free, *A.Call, L, Here.TLI);
               !Why.empty()) {
      return Why;
    }
  }
  Here.Work += L.getNumBlocks() + Here.Vanishing.size();
  if (Here.Work > MaxWork)
    return "its function is too large to analyse";

  LoopOwnership Owner(A, L, Here.DT);
  for (const Instruction *I : Here.Vanishing) {
    if (I == A.Call || !L.contains(I))
      continue;
    Owned There = Owner.before(*I);
    if (There == Owned::Unreachable)
      continue;
    if (There != Owned::Yes)
      return "a call in the loop may throw, call longjmp or end the thread, "
             "and the buffer would be lost";
    // A call that leaves the function here leaked the block of this iteration
    // before the rewrite. After the rewrite it would leak the largest block of
    // all iterations.
    if (!isSameInAllIterations(*A.Call, L))
      return "a call in the loop may throw, call longjmp or end the thread, "
             "and a larger buffer would be lost";
  }
  // The kept buffer must not be null after the loop, because uses after the
  // loop would take null for a freed block.
  if (isUsedBehind(A, L))
    for (auto [Phi, From] : A.Nones)
      if (Owned There = L.contains(Phi)
                            ? Owner.between(*From, *Phi->getParent())
                            : Owned::Unreachable;
          There == Owned::Yes || There == Owned::Maybe)
        return "it is used after the loop, where it may be null";
  SmallVector<BasicBlock *, 4> Exits;
  L.getUniqueExitBlocks(Exits);
  for (const BasicBlock *Exit : Exits)
    if (Owner.atExit(*Exit) == Owned::Maybe && !needsFree(A, L, Owner, *Exit))
      return "at an exit of the loop it may or may not have been freed";
  return "";
}

namespace {

/// Rewrites one allocation.
class Hoister {
public:
  Hoister(const Allocation &A, Loop &L, FunctionState &Here)
      : A(A), L(L), Here(Here), Call(*A.Call), At(&Call),
        Pointer(Call.getType()) {}

  void run() {
    LoopOwnership Owner(A, L, Here.DT);
    bool SameSize = isSameInAllIterations(Call, L);
    CallBase &Free = **find_if(
        A.Frees, [&](const CallBase *Each) { return L.contains(Each); });
    Kept = variable(Constant::getNullValue(Pointer), "kept");
    std::optional<SizeArguments> Sizes = sizeArguments(Call);
    Taken = Sizes ? Call.getArgOperand(Sizes->First) : nullptr;
    Value *Size = Sizes ? computeSize() : nullptr;
    if (!SameSize)
      Room = variable(Constant::getNullValue(Size->getType()), "room");

    SmallVector<BasicBlock *, 4> Exits;
    L.getUniqueExitBlocks(Exits);
    for (BasicBlock *Exit : Exits)
      if (needsFree(A, L, Owner, *Exit))
        freeKept(Free, Exit->getFirstInsertionPt());
    takeIfNeeded(Free, Size);
    for (CallBase *Each : A.Frees)
      if (L.contains(Each))
        Each->eraseFromParent();
    forgetPromises(A);
    markRewritten(Call);
  }

private:
  AllocaInst *variable(Constant *Initial, StringRef Name) {
    IRBuilder<> AtEntry(&*Here.F.getEntryBlock().getFirstInsertionPt());
    auto *Variable = AtEntry.CreateAlloca(Initial->getType(), nullptr,
                                          Call.getName() + "." + Name);
    IRBuilder<>(L.getLoopPreheader()->getTerminator())
        .CreateStore(Initial, Variable);
    Here.Promoted.push_back(Variable);
    return Variable;
  }

  /// Returns argument Number of the allocation call. Freezes an argument that
  /// may be undef, because a branch on undef is undefined behaviour.
  Value *defined(unsigned Number) {
    Value *Argument = Call.getArgOperand(Number);
    if (!isa<Constant>(Argument) &&
        !Call.paramHasAttr(Number, Attribute::NoUndef)) {
      Argument = At.CreateFreeze(Argument);
      Call.setArgOperand(Number, Argument);
    }
    return Argument;
  }

  /// Returns the size of the allocation in bytes. Sets Overflows to the
  /// condition that the computation of the size overflows.
  Value *computeSize() {
    SizeArguments Sizes = *sizeArguments(Call);
    Value *Size = defined(Sizes.First);
    if (!Sizes.Second)
      return Size;
    Value *Each = defined(*Sizes.Second);
    if (match(Size, m_One()))
      return Each;
    if (match(Each, m_One()))
      return Size;
    Value *Product =
        At.CreateBinaryIntrinsic(Intrinsic::umul_with_overflow, Size, Each);
    Overflows = At.CreateExtractValue(Product, 1);
    return At.CreateExtractValue(Product, 0);
  }

  void freeKept(CallBase &Free, BasicBlock::iterator Where) {
    IRBuilder<> Builder(Where->getParent(), Where);
    auto *Copy = cast<CallBase>(Free.clone());
    for (Use &Argument : Copy->args())
      if (Argument == getFreedOperand(&Free, &Here.TLI))
        Argument.set(Builder.CreateLoad(Pointer, Kept, "kept"));
    // Removes `nonnull`: the kept buffer may be null where the freed pointer
    // was not.
    Copy->removeParamAttr(0, Attribute::NonNull);
    Copy->removeParamAttr(0, Attribute::Dereferenceable);
    // The size passed to operator delete may be computed in the loop, but
    // always equals the allocated size.
    if (Use *Size = toldSize(*Copy, Here.TLI); Size && sizeArguments(Call))
      Size->set(Room
                    ? Builder.CreateLoad(Room->getAllocatedType(), Room, "room")
                    : Taken);
    Builder.Insert(Copy);
    setLocation(*Copy, Free.getDebugLoc());
  }

  void takeIfNeeded(CallBase &Free, Value *Size) {
    Value *Before = At.CreateLoad(Pointer, Kept, "kept");
    Value *Suffices = At.CreateIsNotNull(Before);
    // Whether a block that is too large to be cleared is replaced.
    bool Replaces = isCleared(Call, Here.TLI) && !isa<ConstantInt>(Size);
    if (Replaces)
      Suffices = At.CreateAnd(
          Suffices, At.CreateICmpULE(
                        Size, ConstantInt::get(Size->getType(), MostCleared)));
    Value *RoomBefore = nullptr;
    if (Room) {
      RoomBefore = At.CreateLoad(Room->getAllocatedType(), Room, "room");
      Suffices = At.CreateAnd(Suffices, At.CreateICmpULE(Size, RoomBefore));
      if (Overflows)
        Suffices = At.CreateAnd(Suffices, At.CreateNot(Overflows));
    }

    BasicBlock *Head = Call.getParent();
    BasicBlock *Take =
        SplitBlock(Head, &Call, &Here.DT, &Here.LI, nullptr, "take");
    BasicBlock *Join;
    if (auto *Invoke = dyn_cast<InvokeInst>(&Call))
      Join = SplitEdge(Take, Invoke->getNormalDest(), &Here.DT, &Here.LI,
                       nullptr, "have");
    else
      Join = SplitBlock(Take, Call.getNextNode(), &Here.DT, &Here.LI, nullptr,
                        "have");
    auto *Reuse =
        BasicBlock::Create(Here.F.getContext(), "reuse", &Here.F, Join);
    IRBuilder<> AtReuse(BranchInst::Create(Join, Reuse));
    AtReuse.SetCurrentDebugLocation(Call.getDebugLoc());
    Reuse->getTerminator()->setDebugLoc(Call.getDebugLoc());
    IRBuilder<> AtHead(Head->getTerminator());
    AtHead.SetCurrentDebugLocation(Call.getDebugLoc());
    // All iterations but few reuse the buffer.
    AtHead.CreateCondBr(
        Suffices, Reuse, Take,
        MDBuilder(Here.F.getContext()).createLikelyBranchWeights());
    Head->getTerminator()->eraseFromParent();
    Here.LI.getLoopFor(Join)->addBasicBlockToLoop(Reuse, Here.LI);
    DomTreeUpdater(Here.DT, DomTreeUpdater::UpdateStrategy::Eager)
        .applyUpdates({{DominatorTree::Insert, Head, Reuse},
                       {DominatorTree::Insert, Reuse, Join}});

    if (isCleared(Call, Here.TLI))
      AtReuse.CreateMemSet(Before, AtReuse.getInt8(0), Size, MaybeAlign());

    if (Room || Replaces) {
      freeKept(Free, Call.getIterator());
      IRBuilder<> AtTake(&Call);
      AtTake.CreateStore(Constant::getNullValue(Pointer), Kept);
    }
    IRBuilder<> AtJoin(Join, Join->getFirstInsertionPt());
    PHINode *Buffer = choose(Join, Pointer, "buffer");
    Call.replaceAllUsesWith(Buffer);
    Buffer->addIncoming(Before, Reuse);
    Buffer->addIncoming(&Call, Take);
    AtJoin.CreateStore(Buffer, Kept);
    if (!Room)
      return;
    PHINode *RoomNow = choose(Join, Room->getAllocatedType(), "room");
    RoomNow->addIncoming(RoomBefore, Reuse);
    RoomNow->addIncoming(Size, Take);
    AtJoin.CreateStore(RoomNow, Room);
  }

  PHINode *choose(BasicBlock *Where, Type *T, StringRef Name) {
    auto *Choice = PHINode::Create(T, 2, Name);
    Choice->insertBefore(Where->begin());
    Choice->setDebugLoc(Call.getDebugLoc());
    return Choice;
  }

  const Allocation &A;
  Loop &L;
  FunctionState &Here;
  CallBase &Call;
  IRBuilder<> At;
  Type *Pointer;
  AllocaInst *Kept = nullptr;
  /// The variable that holds the size of the kept buffer; null if all
  /// iterations need the same size.
  AllocaInst *Room = nullptr;
  /// The first size argument of the allocation call (SizeArguments::First).
  Value *Taken = nullptr;
  Value *Overflows = nullptr;
};

} // namespace

bool prepareHoist(Loop &L, FunctionState &Here) {
  Here.IsChanged = true;
  if (!L.getLoopPreheader() &&
      !InsertPreheaderForLoop(&L, &Here.DT, &Here.LI, /*MSSAU=*/nullptr,
                              /*PreserveLCSSA=*/false))
    return false;
  formDedicatedExitBlocks(&L, &Here.DT, &Here.LI, /*MSSAU=*/nullptr,
                          /*PreserveLCSSA=*/false);
  return L.hasDedicatedExits();
}

void hoist(const Allocation &A, Loop &L, FunctionState &Here) {
  Hoister(A, L, Here).run();
}

} // namespace vfriendly
