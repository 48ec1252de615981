//===- KnownWays.cpp - Branches that the way to them decides --------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A way P -> B -> S that is always taken from P becomes P -> N -> S, where N is
// a copy of B with the values that B has then. N executes what B would have
// executed, so each path executes the same instructions as before.
//
// B is not the header of a loop, so no loop gets a second entry: if S is in a
// cycle that avoids the loop's header, so are B and P.
//
//===----------------------------------------------------------------------===//

#include "passes/prepare/KnownWays.h"

#include "passes/common/LLVMVersions.h"

#include "llvm/Analysis/ConstantFolding.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Support/KnownBits.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/SSAUpdater.h"

using namespace llvm;
using namespace llvm::PatternMatch;

namespace vfriendly {

/// Maximum number of instructions of a copied block. A block that selects has a
/// phi and a switch, or compares the result of a small function; it may call
/// two destructors, and pass on two or three values. Two values that a function
/// returns in one register take eight more.
static constexpr unsigned MaxCopied = 16;

/// Maximum number of ways that are separated in a loop. A wait has two or
/// three; a state machine may have thousands.
static constexpr unsigned MaxWays = 16;

void joinValues(Instruction &Original, Value &Copy, BasicBlock &CopyBlock) {
  SmallVector<Use *, 8> Uses;
  for (Use &U : Original.uses()) {
    auto *User = cast<Instruction>(U.getUser());
    auto *Phi = dyn_cast<PHINode>(User);
    BasicBlock *At = Phi ? Phi->getIncomingBlock(U) : User->getParent();
    if (At != Original.getParent())
      Uses.push_back(&U);
  }
  if (Uses.empty() && !Original.isUsedByMetadata())
    return;
  SSAUpdater Values;
  Values.Initialize(Original.getType(), Original.getName());
  Values.AddAvailableValue(Original.getParent(), &Original);
  Values.AddAvailableValue(&CopyBlock, &Copy);
  for (Use *U : Uses)
    Values.RewriteUse(*U);
  Values.UpdateDebugValues(&Original);
}

bool canCopy(const BasicBlock &B) {
  return isa<BranchInst, SwitchInst>(B.getTerminator()) && !B.isEHPad() &&
         none_of(B, [](const Instruction &I) {
           auto *Call = dyn_cast<CallBase>(&I);
           return I.getType()->isTokenTy() || isa<NoAliasScopeDeclInst>(I) ||
                  (Call && (Call->cannotDuplicate() || Call->isConvergent()));
         });
}

/// Returns what is known of the bits of V, an operand in B, if control comes
/// from From: a std::optional<int> is returned as a number of 64 bits, one of
/// which says whether there is a value.
static KnownBits bitsFrom(Value *V, const BasicBlock &B, const BasicBlock &From,
                          unsigned Depth = 0) {
  unsigned Width = V->getType()->getIntegerBitWidth();
  if (auto *C = dyn_cast<ConstantInt>(V))
    return KnownBits::makeConstant(C->getValue());
  auto *I = dyn_cast<Instruction>(V);
  // Follows operands eight levels deep: both values are widened, one is
  // shifted, and the other way round.
  if (!I || I->getParent() != &B || Depth == 8)
    return KnownBits(Width);
  if (auto *Phi = dyn_cast<PHINode>(I)) {
    auto *C = dyn_cast<ConstantInt>(Phi->getIncomingValueForBlock(&From));
    return C ? KnownBits::makeConstant(C->getValue()) : KnownBits(Width);
  }
  if (!isa<TruncInst, ZExtInst, BinaryOperator>(I))
    return KnownBits(Width);
  KnownBits Left = bitsFrom(I->getOperand(0), B, From, Depth + 1);
  if (isa<CastInst>(I))
    return Left.zextOrTrunc(Width);
  KnownBits Right = bitsFrom(I->getOperand(1), B, From, Depth + 1);
  switch (I->getOpcode()) {
  case Instruction::Shl:
    return KnownBits::shl(Left, Right);
  case Instruction::LShr:
    return KnownBits::lshr(Left, Right);
  case Instruction::Or:
    return Left | Right;
  case Instruction::And:
    return Left & Right;
  default:
    return KnownBits(Width);
  }
}

/// Returns the value that V, an operand in B, has if control comes from From;
/// null if it is not a constant.
static Constant *valueFrom(Value *V, const BasicBlock &B,
                           const BasicBlock &From, unsigned Depth = 0) {
  if (auto *C = dyn_cast<Constant>(V))
    return C;
  auto *Br = dyn_cast<BranchInst>(From.getTerminator());
  if (Br && Br->isConditional() && Br->getCondition() == V)
    return ConstantInt::getBool(V->getContext(), Br->getSuccessor(0) == &B);
  auto *I = dyn_cast<Instruction>(V);
  if (!I || I->getParent() != &B)
    return nullptr;
  if (auto *Phi = dyn_cast<PHINode>(I))
    return dyn_cast<Constant>(Phi->getIncomingValueForBlock(&From));
  if (isa<TruncInst>(I) && I->getType()->isIntegerTy())
    if (KnownBits Bits = bitsFrom(I, B, From); Bits.isConstant())
      return ConstantInt::get(I->getType(), Bits.getConstant());
  // Follows operands three levels deep: the result of a small function is
  // compared, the comparison may be negated, and tested with a counter.
  if (Depth == 3)
    return nullptr;
  if (auto *Select = dyn_cast<SelectInst>(I)) // && and ||
    if (auto *Chosen = dyn_cast_or_null<ConstantInt>(
            valueFrom(Select->getCondition(), B, From, Depth + 1)))
      return valueFrom(Chosen->isOne() ? Select->getTrueValue()
                                       : Select->getFalseValue(),
                       B, From, Depth + 1);
  // A cast: bool has a byte in memory, and a bit as a result.
  if (!isa<ICmpInst, BinaryOperator, CastInst>(I))
    return nullptr;
  SmallVector<Constant *, 2> Operands;
  for (Value *Op : I->operands()) {
    Operands.push_back(valueFrom(Op, B, From, Depth + 1));
    if (!Operands.back())
      return nullptr;
  }
  return ConstantFoldInstOperands(I, Operands, B.getDataLayout());
}

/// Returns the successor to which B branches if control comes from From; null
/// if that does not decide it.
static BasicBlock *nextFrom(BasicBlock &B, const BasicBlock &From) {
  auto *Br = dyn_cast<BranchInst>(B.getTerminator());
  auto *Switch = dyn_cast<SwitchInst>(B.getTerminator());
  auto *Decides = dyn_cast_or_null<ConstantInt>(
      valueFrom(Br ? Br->getCondition() : Switch->getCondition(), B, From));
  if (!Decides)
    return nullptr;
  return Br ? Br->getSuccessor(Decides->isOne() ? 0 : 1)
            : Switch->findCaseValue(Decides)->getCaseSuccessor();
}

/// Makes From lead to Next by a copy of B. pre: From has one edge to B.
static void separate(BasicBlock &From, BasicBlock &B, BasicBlock &Next) {
  ValueToValueMapTy Copies;
  BasicBlock *Copy = CloneBasicBlock(&B, Copies, ".vf.way", B.getParent());
  for (PHINode &Phi : B.phis()) {
    cast<Instruction>(Copies[&Phi])->eraseFromParent();
    Copies[&Phi] = Phi.getIncomingValueForBlock(&From);
  }
  Instruction *Branch = Copy->getTerminator();
  auto *Direct = BranchInst::Create(&Next, Branch->getIterator());
  Direct->setDebugLoc(Branch->getDebugLoc());
  Branch->eraseFromParent();
  remapInstructionsInBlocks({Copy}, Copies);
  for (PHINode &Phi : Next.phis()) {
    Value *In = Phi.getIncomingValueForBlock(&B);
    Value *Mapped = Copies.lookup(In);
    Phi.addIncoming(Mapped ? Mapped : In, Copy);
  }
  From.getTerminator()->replaceSuccessorWith(&B, Copy);
  B.removePredecessor(&From, /*KeepOneInputPHIs=*/true);
  for (Instruction &I : B)
    if (!I.isTerminator())
      joinValues(I, *Copies[&I], *Copy);
}

/// Lets Br test C instead of whether `C ? A : B` is one of the constants A and
/// B, such as the number of a way out of a scope with variables.
static bool testDirectly(BranchInst &Br, function_ref<void()> BeforeChange) {
  CmpPredicate Is;
  Value *Condition;
  const APInt *IfTrue, *IfFalse, *With;
  if (!Br.isConditional() ||
      !match(Br.getCondition(),
             m_ICmp(Is,
                    m_Select(m_Value(Condition), m_APInt(IfTrue),
                             m_APInt(IfFalse)),
                    m_APInt(With))) ||
      !ICmpInst::isEquality(Is) || !Condition->getType()->isIntegerTy(1) ||
      (*IfTrue == *With) == (*IfFalse == *With))
    return false;
  BeforeChange();
  if ((*IfTrue == *With) != (Is == ICmpInst::ICMP_EQ))
    Br.swapSuccessors();
  Br.setCondition(Condition);
  return true;
}

/// Returns true if I selects, by its success, what an exchange expected or what
/// it found, as C's functions do: that is what it found.
static bool selectsFound(const Instruction &I) {
  auto *Select = dyn_cast<SelectInst>(&I);
  auto *Found =
      Select ? dyn_cast<ExtractValueInst>(Select->getFalseValue()) : nullptr;
  auto *Success =
      Select ? dyn_cast<ExtractValueInst>(Select->getCondition()) : nullptr;
  auto *Exchange =
      Found ? dyn_cast<AtomicCmpXchgInst>(Found->getAggregateOperand())
            : nullptr;
  return Exchange && Success && Success->getAggregateOperand() == Exchange &&
         Select->getTrueValue() == Exchange->getCompareOperand();
}

bool takeKnownValues(const Loop &L, function_ref<void()> BeforeChange) {
  bool Changed = false;
  for (BasicBlock *B : L.blocks()) {
    if (auto *Br = dyn_cast<BranchInst>(B->getTerminator()))
      Changed |= testDirectly(*Br, BeforeChange);
    for (Instruction &I : *B)
      if (selectsFound(I) && !I.use_empty()) {
        BeforeChange();
        I.replaceAllUsesWith(I.getOperand(2));
        Changed = true;
      }
  }
  for (PHINode &Phi : L.getHeader()->phis())
    for (Use &Incoming : Phi.incoming_values()) {
      auto *Br =
          dyn_cast<BranchInst>(Phi.getIncomingBlock(Incoming)->getTerminator());
      auto *Select = dyn_cast<SelectInst>(Incoming);
      if (!Select || !Br || !Br->isConditional() ||
          Br->getSuccessor(0) == Br->getSuccessor(1))
        continue;
      bool Holds = Br->getSuccessor(0) == L.getHeader();
      Value *Condition = Br->getCondition();
      if (match(Condition, m_Not(m_Value(Condition))))
        Holds = !Holds;
      if (Condition != Select->getCondition())
        continue;
      BeforeChange();
      Incoming.set(Holds ? Select->getTrueValue() : Select->getFalseValue());
      Changed = true;
    }
  return Changed;
}

bool takeKnownWays(const Loop &L, const LoopInfo &LI,
                   function_ref<void()> BeforeChange) {
  unsigned Ways = 0;
  for (BasicBlock *B : SmallVector<BasicBlock *>(L.blocks())) {
    if (LI.isLoopHeader(B) || B->getSingleSuccessor() ||
        !hasNItemsOrLess(B->begin(), B->end(), MaxCopied) || !canCopy(*B))
      continue;
    for (BasicBlock *From : SmallVector<BasicBlock *>(predecessors(B))) {
      BasicBlock *Next = nextFrom(*B, *From);
      if (!Next || Next == B || count(successors(From), B) != 1 ||
          !isa<BranchInst, SwitchInst>(From->getTerminator()))
        continue;
      BeforeChange();
      separate(*From, *B, *Next);
      if (++Ways == MaxWays)
        return true;
    }
  }
  return Ways != 0;
}

} // namespace vfriendly
