//===- Allocation.cpp - Heap memory that does not escape ------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Pointers are followed through a phi or select if all of its operands are null
// or lead back to the same call, and the phi does not dominate the call. Each
// use then refers to the block of the call's last execution, and not to one
// from an earlier iteration:
//
//     entry -> ... -> Call -> ... -> Phi -> ... -> Use
//                      ^                     |
//                      +---------------------+
//
// The first execution of Call precedes Phi, as Phi does not dominate Call.
// Assume that a path runs from Phi through Call to Use without passing Phi
// again. Then a path from entry through Call to Use avoids Phi too. But Use
// uses Phi, which therefore dominates it: a contradiction.
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/heap/Allocation.h"

#include "passes/analysis/heap/Escape.h"
#include "passes/common/LLVMVersions.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/MemoryBuiltins.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Metadata.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;
using namespace llvm::PatternMatch;

namespace vfriendly {

bool isRealloc(const CallBase &Call, const TargetLibraryInfo &TLI) {
  LibFunc Which;
  return getReallocatedOperand(&Call) ||
         (TLI.getLibFunc(Call, Which) &&
          (Which == LibFunc_realloc || Which == LibFunc_reallocf ||
           Which == LibFunc_reallocarray || Which == LibFunc_vec_realloc));
}

bool isPlainFree(const CallBase &Call, const TargetLibraryInfo &TLI) {
  LibFunc Which;
  return TLI.getLibFunc(Call, Which) && Which == LibFunc_free &&
         isa<CallInst>(Call) && !Call.isMustTailCall() &&
         !Call.hasOperandBundles();
}

bool isPlainAllocation(const CallBase &Call, const TargetLibraryInfo &TLI) {
  LibFunc Which;
  // Excludes allocators that the program defines: the rewrite assumes the C
  // library's rules about when memory is reused.
  if (const Function *Callee = Call.getCalledFunction();
      Callee && !Callee->isDeclaration())
    return false;
  // Excludes kmp_alloc_shared: it allocates from a stack of OpenMP's runtime,
  // whose blocks must be freed in reverse order.
  if (TLI.getLibFunc(Call, Which) && Which == LibFunc___kmpc_alloc_shared)
    return false;
  return isAllocationFn(&Call, &TLI) && isRemovableAlloc(&Call, &TLI) &&
         getAllocationFamily(&Call, &TLI) && !isa<CallBrInst>(Call) &&
         !Call.isMustTailCall() && !Call.isConvergent() &&
         !Call.cannotDuplicate() && !Call.hasOperandBundles();
}

namespace {

class Follower {
public:
  Follower(CallBase &Call, const TargetLibraryInfo &TLI,
           const DominatorTree &DT)
      : TLI(TLI), DT(DT), Family(*getAllocationFamily(&Call, &TLI)) {
    Found.Call = &Call;
  }

  Allocation run() {
    derive(*Found.Call);
    while (Found.Known && !Worklist.empty())
      for (Use &U : Worklist.pop_back_val()->uses()) {
        followUse(U);
        if (!Found.Known)
          break;
      }
    for (const auto &[V, Why] : Partners)
      if (Found.Known && !Derived.contains(V) && !Numbers.contains(V))
        giveUp(Why);
    // Gives up if a pointer that a function such as strchr has returned is
    // freed: the pointer may be null, and the call then does not free the
    // block.
    for (CallBase *Free : Found.Frees)
      if (Found.Known && HasFinders &&
          getFreedOperand(Free, &TLI)->stripPointerCasts() != Found.Call)
        giveUp("the freed pointer may be null");
    return std::move(Found);
  }

private:
  void giveUp(StringRef Why) {
    Found.Why = Why;
    Found.Known = false;
  }

  void derive(Value &V) {
    if (Derived.insert(&V).second)
      Worklist.push_back(&V);
  }

  /// Requires that V points into the block of Found.Call. If the analysis does
  /// not find that by its end, it gives up with the reason Why.
  void expect(Value *V, StringRef Why) { Partners.push_back({V, Why}); }

  void followUse(Use &U) {
    auto *I = cast<Instruction>(U.getUser());
    if (isa<PHINode, SelectInst>(I))
      return followChoice(*I);
    auto *Call = dyn_cast<CallBase>(I);
    if (!isa<GetElementPtrInst, BitCastInst, FreezeInst>(I))
      Found.Users.push_back(I);
    if (auto *Compare = dyn_cast<ICmpInst>(I))
      return followCompare(*Compare, U);
    if (isa<PtrToIntInst, PtrToAddrInst>(I))
      return followNumber(*I);
    if (Call && getFreedOperand(Call, &TLI) == U.get() &&
        !isRealloc(*Call, TLI) && getAllocationFamily(Call, &TLI) == Family) {
      Found.Frees.push_back(Call);
      return;
    }
    PointerUse Known = usePointer(U, TLI);
    if (!Known.Escape.empty())
      return giveUp(Known.Escape);
    if (!Known.IsInResult)
      return;
    if (!I->getType()->isPointerTy())
      return giveUp("an integer is computed from its address");
    HasFinders |= Call != nullptr;
    derive(*I);
  }

  /// Returns true if the phi or select I, which is executed before Call,
  /// chooses the block of the previous iteration.
  bool isOfIterationBefore(const Instruction &I) const {
    return isa<PHINode>(I) &&
           DT.dominates(I.getParent(), Found.Call->getParent());
  }

  void followChoice(Instruction &I) {
    if (isOfIterationBefore(I))
      return giveUp("its address is passed to the next iteration");
    for (Use &Each : I.operands()) {
      auto *Phi = dyn_cast<PHINode>(&I);
      if (Phi && isa<ConstantPointerNull>(Each))
        Found.Nones.push_back({Phi, Phi->getIncomingBlock(Each)});
      else if (Each->getType() == I.getType())
        expect(Each, "its address is one of several");
    }
    derive(I);
  }

  void followCompare(ICmpInst &Compare, Use &U) {
    Value *Other = Compare.getOperand(1 - U.getOperandNo());
    // A rewrite changes the address of the block, so the result of comparing
    // the address with another one may change. A comparison with null keeps its
    // result.
    if (!isa<ConstantPointerNull>(Other))
      return expect(Other, "its address is compared");
    if (Compare.isEquality() && U.get() == Found.Call)
      Found.Tests.push_back(&Compare);
  }

  /// Follows the uses of Number, the address of the block as an integer.
  /// Accepts only the difference of two addresses in the block, because the
  /// difference does not depend on the address of the block.
  void followNumber(Instruction &Number) {
    if (!Numbers.insert(&Number).second)
      return;
    for (User *Each : Number.users()) {
      if (isa<PHINode>(Each)) {
        followNumberChoice(cast<PHINode>(*Each));
        continue;
      }
      auto *Difference = dyn_cast<BinaryOperator>(Each);
      if (!Difference || Difference->getOpcode() != Instruction::Sub)
        return giveUp("an integer is computed from its address");
      for (Value *Operand : Difference->operands())
        expectNumber(*Operand);
      // Requires that both operands are null on the same paths. If only one
      // operand is null, the difference is the other operand, which depends on
      // the address of the block.
      if (noneFrom(*Difference->getOperand(0)) !=
          noneFrom(*Difference->getOperand(1)))
        return giveUp("an integer is computed from its address");
    }
  }

  void followNumberChoice(PHINode &Choice) {
    if (isOfIterationBefore(Choice))
      return giveUp("its address is passed to the next iteration");
    for (Value *Each : Choice.incoming_values())
      if (!match(Each, m_Zero()))
        expectNumber(*Each);
    followNumber(Choice);
  }

  void expectNumber(Value &V) {
    if (isa<PtrToIntInst, PtrToAddrInst>(V))
      return expect(cast<Instruction>(V).getOperand(0),
                    "an integer is computed from its address");
    expect(&V, "an integer is computed from its address");
  }

  /// Returns the incoming blocks for which V, a phi or a phi converted to an
  /// integer, is null.
  static SmallVector<const BasicBlock *, 2> noneFrom(const Value &V) {
    SmallVector<const BasicBlock *, 2> From;
    auto *I = dyn_cast<Instruction>(&V);
    auto *Choice = dyn_cast<PHINode>(
        I && isa<PtrToIntInst, PtrToAddrInst>(I) ? I->getOperand(0) : &V);
    if (Choice)
      for (const BasicBlock *Each : Choice->blocks())
        if (match(Choice->getIncomingValueForBlock(Each), m_Zero()))
          From.push_back(Each);
    return From;
  }

  Allocation Found;
  const TargetLibraryInfo &TLI;
  const DominatorTree &DT;
  StringRef Family;
  /// True if the block is passed to a function such as strchr, which returns a
  /// pointer into the block or null.
  bool HasFinders = false;
  SmallPtrSet<Value *, 8> Derived;
  /// Integers that were computed from the address of the block.
  SmallPtrSet<Value *, 4> Numbers;
  SmallVector<Value *, 8> Worklist;
  SmallVector<std::pair<Value *, StringRef>, 4> Partners;
};

/// Returns the type in TBAA's tree to which an access belongs; null for
/// accesses that may alias everything.
const MDNode *accessedType(const MDNode &Tag) {
  auto *Base = dyn_cast_or_null<MDNode>(Tag.getOperand(0));
  // Excludes the root of the type tree, which has no parent, and then the
  // character type below it: accesses of these types may alias everything.
  if (!Base || Base->getNumOperands() < 2)
    return nullptr;
  auto *Name = dyn_cast<MDString>(Base->getOperand(0));
  return Name && Name->getString() == "omnipotent char" ? nullptr : Base;
}

} // namespace

Allocation followAllocation(CallBase &Call, const TargetLibraryInfo &TLI,
                            const DominatorTree &DT) {
  return Follower(Call, TLI, DT).run();
}

void forgetPromises(const Allocation &A) {
  const MDNode *Type = nullptr;
  bool AreSame = true;
  for (Instruction *I : A.Users) {
    for (unsigned Kind :
         {LLVMContext::MD_invariant_load, LLVMContext::MD_invariant_group,
          LLVMContext::MD_access_group,
          LLVMContext::MD_mem_parallel_loop_access})
      I->setMetadata(Kind, nullptr);
    // A copy of a structure accesses several types, one for each field
    // (tbaa.struct).
    AreSame &= !I->hasMetadata(LLVMContext::MD_tbaa_struct);
    const MDNode *Tag = I->getMetadata(LLVMContext::MD_tbaa);
    const MDNode *Accessed = Tag ? accessedType(*Tag) : nullptr;
    if (!Accessed)
      continue;
    AreSame &= !Type || Type == Accessed;
    Type = Accessed;
  }
  if (AreSame)
    return;
  for (Instruction *I : A.Users) {
    I->setMetadata(LLVMContext::MD_tbaa, nullptr);
    I->setMetadata(LLVMContext::MD_tbaa_struct, nullptr);
  }
}

static constexpr const char *Mark = "vf.heap";

void markRewritten(Instruction &I) {
  I.setMetadata(Mark, MDNode::get(I.getContext(), {}));
}

bool isMarkedRewritten(const Instruction &I) { return I.hasMetadata(Mark); }

} // namespace vfriendly
