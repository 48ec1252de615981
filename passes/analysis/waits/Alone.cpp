//===- Alone.cpp - A loop while no other thread writes --------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values are numbered: equal numbers, equal values. All reads of one place have
// one number until the iteration writes there. A phi of the header has the
// number of what earlier iterations read, if all of them read one place:
// nothing has changed since.
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/waits/Alone.h"

#include "passes/analysis/common/WaitNeutral.h"
#include "passes/analysis/waits/Numbering.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/IntrinsicInst.h"

#include <map>

using namespace llvm;

namespace vfriendly {

namespace {

/// Maximum number of blocks that all ways together pass. A wait passes a few
/// dozen before one way is found to be possible.
constexpr unsigned MaxSteps = 2000;
/// Maximum number of blocks of a loop, each of which is a level of recursion.
constexpr unsigned MaxBlocks = 256;

/// What is known on one way.
struct State : Known {
  DenseMap<const Value *, Id> Values;
  std::map<std::pair<Id, uint64_t>, Id> Memory;
  /// Counts the calls that may have written anything.
  unsigned Calls = 0;
};

class Ways {
public:
  Ways(LoopView &In, ExchangeTest MustSucceed, EdgeTest ShowsProgress)
      : L(In.L), LI(In.LI), DL(In.L.getHeader()->getDataLayout()),
        MustSucceed(MustSucceed), ShowsProgress(ShowsProgress) {}

  bool anyBack() {
    if (L.getNumBlocks() > MaxBlocks)
      return false;
    MayChange = any_of(L.blocks(), [](const BasicBlock *B) {
      return any_of(*B, [](const Instruction &I) { return mayWriteAny(I); });
    });
    State S;
    for (const PHINode &Phi : L.getHeader()->phis())
      S.Values[&Phi] = settled(S, Phi).value_or(N.unknown(&Phi));
    return leadsBack(L.getHeader(), std::move(S));
  }

private:
  static bool mayWriteAny(const Instruction &I) {
    auto *Call = dyn_cast<CallBase>(&I);
    if (!Call || isa<IntrinsicInst>(I))
      return false;
    CallEffect Effect = classifyCall(*Call).Effect;
    return Effect == CallEffect::Other || Effect == CallEffect::Lock ||
           Effect == CallEffect::TryLock || Effect == CallEffect::AsmStore ||
           Effect == CallEffect::AsmAdd;
  }

  std::optional<Id> settled(State &S, const Value &V, unsigned Steps = 0);
  std::optional<Id> settledAll(State &S, ArrayRef<const Value *> Values,
                               const Value *Self, unsigned Steps);
  Id valueOf(State &S, const Value *V);
  Id cellOf(State &S, const Value *Address);
  Id read(State &S, const Value *Address, Type *Ty);
  void write(State &S, const Value *Address, Type *Ty, Id V);
  /// Returns false if the way ends with I: an exchange succeeds.
  bool execute(State &S, const Instruction &I);
  Id evaluate(State &S, const Instruction &I);
  bool leadsBack(const BasicBlock *B, State S);
  bool leadsBack(const BasicBlock *From, const BasicBlock *To, State S);

  Loop &L;
  LoopInfo &LI;
  const DataLayout &DL;
  ExchangeTest MustSucceed;
  EdgeTest ShowsProgress;
  /// True if a call may change what was read in the iteration before.
  bool MayChange = false;
  Numbering N;
  SmallPtrSet<const BasicBlock *, 16> Passed;
  unsigned Steps = 0;
};

/// Returns what all Values are in every iteration but the first ones, if
/// they are the same: the content of a place, or an invariant value.
std::optional<Id> Ways::settledAll(State &S, ArrayRef<const Value *> Values,
                                   const Value *Self, unsigned Steps) {
  std::optional<Id> Same;
  for (const Value *V : Values) {
    if (V == Self)
      continue;
    std::optional<Id> Is = settled(S, *V, Steps + 1);
    if (!Is || (Same && *Is != *Same))
      return std::nullopt;
    Same = Is;
  }
  return Same;
}

std::optional<Id> Ways::settled(State &S, const Value &V, unsigned Steps) {
  // A phi of the header, one that joins the ways of an iteration, and a local
  // variable; two levels are spare.
  if (Steps > 5)
    return std::nullopt;
  auto *I = dyn_cast<Instruction>(&V);
  if (!I || !L.contains(I))
    return valueOf(S, &V);
  if (isa<ZExtInst, FreezeInst, BitCastInst, PtrToIntInst, IntToPtrInst>(I))
    return settled(S, *I->getOperand(0), Steps + 1);
  if (auto *Phi = dyn_cast<PHINode>(I)) {
    const Loop *Inside = LI.getLoopFor(Phi->getParent());
    bool IsHeader = Inside->getHeader() == Phi->getParent();
    SmallVector<const Value *, 4> Next;
    for (unsigned From = 0; From != Phi->getNumIncomingValues(); ++From)
      if (!IsHeader || Inside->contains(Phi->getIncomingBlock(From)))
        Next.push_back(Phi->getIncomingValue(From));
    return settledAll(S, Next, Phi, Steps);
  }
  if (isa<BinaryOperator>(I) && isa<ConstantInt>(I->getOperand(1))) {
    std::optional<Id> Left = settled(S, *I->getOperand(0), Steps + 1);
    if (!Left || I->getType()->getScalarSizeInBits() > 64)
      return std::nullopt;
    return N.operation(S, I->getOpcode(), I->getType()->getScalarSizeInBits(),
                       {*Left, valueOf(S, I->getOperand(1))});
  }
  const Value *Address = nullptr;
  if (auto *Load = dyn_cast<LoadInst>(I))
    Address = Load->getPointerOperand();
  else if (auto *Part = dyn_cast<ExtractValueInst>(I);
           Part && Part->getIndices()[0] == 0)
    if (auto *Failed = dyn_cast<AtomicCmpXchgInst>(Part->getAggregateOperand()))
      Address = Failed->getPointerOperand();
  if (auto *Call = dyn_cast<CallBase>(I);
      Call && classifyCall(*Call).Effect == CallEffect::AsmLoad)
    Address = classifyCall(*Call).Address;
  if (!Address || MayChange ||
      !L.isLoopInvariant(vfriendly::cellOf(Address, DL).first))
    return std::nullopt;
  if (isa<AllocaInst>(vfriendly::cellOf(Address, DL).first)) {
    SmallVector<const Value *, 4> Stored;
    for (const BasicBlock *B : L.blocks())
      for (const Instruction &J : *B)
        if (auto *Store = dyn_cast<StoreInst>(&J);
            Store && vfriendly::cellOf(Store->getPointerOperand(), DL) ==
                         vfriendly::cellOf(Address, DL))
          Stored.push_back(Store->getValueOperand());
    return settledAll(S, Stored, nullptr, Steps);
  }
  // Only what the loop itself does not write stays.
  return N.read(cellOf(S, Address),
                DL.getTypeStoreSize(I->getType()).getKnownMinValue(), 0);
}

Id Ways::valueOf(State &S, const Value *V) {
  if (auto It = S.Values.find(V); It != S.Values.end())
    return It->second;
  while (isa<ZExtInst, FreezeInst, BitCastInst, PtrToIntInst, IntToPtrInst>(V))
    V = cast<Instruction>(V)->getOperand(0);
  if (auto It = S.Values.find(V); It != S.Values.end())
    return It->second;
  if (auto *C = dyn_cast<ConstantInt>(V); C && C->getBitWidth() <= 64)
    return N.number(C->getZExtValue());
  if (isa<ConstantPointerNull>(V))
    return N.number(0);
  return N.unknown(V);
}

Id Ways::cellOf(State &S, const Value *Address) {
  auto [Base, Offset] = vfriendly::cellOf(Address, DL);
  Id At = valueOf(S, Base);
  return Offset ? N.operation(S, Instruction::Add, 64, {At, N.number(Offset)})
                : At;
}

Id Ways::read(State &S, const Value *Address, Type *Ty) {
  TypeSize Size = DL.getTypeStoreSize(Ty);
  if (Size.isScalable())
    return N.unknown(Address);
  Id At = cellOf(S, Address);
  auto [It, New] = S.Memory.try_emplace({At, Size}, 0);
  if (!New)
    return It->second;
  Id Is = N.read(At, Size.getFixedValue(), S.Calls);
  S.Memory[{At, Size}] = Is;
  return Is;
}

void Ways::write(State &S, const Value *Address, Type *Ty, Id V) {
  Id At = cellOf(S, Address);
  for (auto It = S.Memory.begin(); It != S.Memory.end();)
    It = It->first.first == At ? S.Memory.erase(It) : std::next(It);
  TypeSize Size = DL.getTypeStoreSize(Ty);
  if (!Size.isScalable())
    S.Memory[{At, Size.getFixedValue()}] = V;
}

Id Ways::evaluate(State &S, const Instruction &I) {
  unsigned Width =
      I.getType()->isIntegerTy() ? I.getType()->getIntegerBitWidth() : 64;
  auto Operand = [&](unsigned Which) {
    return valueOf(S, I.getOperand(Which));
  };
  if (auto *Load = dyn_cast<LoadInst>(&I))
    return read(S, Load->getPointerOperand(), Load->getType());
  if (isa<ZExtInst, FreezeInst, BitCastInst, PtrToIntInst, IntToPtrInst>(I))
    return Operand(0);
  if (auto *Compare = dyn_cast<ICmpInst>(&I)) {
    Type *Ty = I.getOperand(0)->getType();
    return N.compare(Compare->getPredicate(),
                     Ty->isIntegerTy() ? Ty->getIntegerBitWidth() : 64ULL,
                     Operand(0), Operand(1));
  }
  if (isa<BinaryOperator, GetElementPtrInst, TruncInst, SExtInst, SelectInst>(
          I)) {
    SmallVector<Id, 4> Operands;
    if (isa<GetElementPtrInst>(I) && vfriendly::cellOf(&I, DL).first != &I)
      return cellOf(S, &I);
    for (const Use &U : I.operands())
      Operands.push_back(valueOf(S, U));
    if (any_of(Operands, [&](Id E) { return N.isDeep(E); }))
      return N.unknown(&I);
    if (I.isCommutative() && N.asNumber(Operands[0]))
      std::swap(Operands[0], Operands[1]);
    unsigned Code = I.getOpcode();
    if (auto *Address = dyn_cast<GetElementPtrInst>(&I)) // Scaled by the type.
      Operands.push_back(N.unknown(Address->getSourceElementType()));
    return N.operation(S, Code, Width, Operands);
  }
  if (auto *Part = dyn_cast<ExtractValueInst>(&I))
    if (auto *Exchange =
            dyn_cast<AtomicCmpXchgInst>(Part->getAggregateOperand())) {
      Id Old = valueOf(S, Exchange);
      if (Part->getIndices()[0] == 0)
        return Old;
      Id New = valueOf(S, Exchange->getNewValOperand()),
         Expected = valueOf(S, Exchange->getCompareOperand());
      if (New == Expected) // A read.
        return N.compare(CmpInst::ICMP_EQ, 64, Old, Expected);
      return N.operation(S, Success, 1, {Old, Expected});
    }
  if (auto *Call = dyn_cast<CallBase>(&I))
    if (CallClass Class = classifyCall(*Call);
        Class.Effect == CallEffect::AsmLoad && I.getType()->isSized())
      return read(S, Class.Address, I.getType());
  return N.unknown(&I);
}

bool Ways::execute(State &S, const Instruction &I) {
  if (auto *Store = dyn_cast<StoreInst>(&I)) {
    write(S, Store->getPointerOperand(), Store->getValueOperand()->getType(),
          valueOf(S, Store->getValueOperand()));
    return true;
  }
  if (auto *RMW = dyn_cast<AtomicRMWInst>(&I)) {
    Id Old = read(S, RMW->getPointerOperand(), RMW->getType()),
       With = valueOf(S, RMW->getValOperand()), New = N.unknown(&I);
    unsigned Width = RMW->getType()->isIntegerTy()
                         ? RMW->getType()->getIntegerBitWidth()
                         : 64;
    switch (RMW->getOperation()) {
    case AtomicRMWInst::Xchg:
      New = With;
      break;
    case AtomicRMWInst::Add:
      New = N.operation(S, Instruction::Add, Width, {Old, With});
      break;
    case AtomicRMWInst::Sub:
      New = N.operation(S, Instruction::Sub, Width, {Old, With});
      break;
    case AtomicRMWInst::Or:
      New = N.operation(S, Instruction::Or, Width, {Old, With});
      break;
    case AtomicRMWInst::And:
      New = N.operation(S, Instruction::And, Width, {Old, With});
      break;
    default:
      break;
    }
    write(S, RMW->getPointerOperand(), RMW->getType(), New);
    S.Values[&I] = Old;
    return true;
  }
  if (auto *Exchange = dyn_cast<AtomicCmpXchgInst>(&I)) {
    Id Old = read(S, Exchange->getPointerOperand(),
                  Exchange->getNewValOperand()->getType()),
       Expected = valueOf(S, Exchange->getCompareOperand());
    S.Values[&I] = Old;
    Expected = N.simplify(S, Expected);
    return valueOf(S, Exchange->getNewValOperand()) == Expected ||
           (N.simplify(S, Old) != Expected &&
            !MustSucceed(I, N.asNumber(Expected)));
  }
  if (auto *Call = dyn_cast<CallBase>(&I);
      Call && classifyCall(*Call).Effect == CallEffect::AsmTry) {
    Value *Address = classifyCall(*Call).Address;
    for (const Use &Arg : Call->args())
      if (Arg != Address && N.simplify(S, valueOf(S, Arg)) ==
                                N.simplify(S, read(S, Address, Arg->getType())))
        return false;
    if (MustSucceed(I, false))
      return false;
    S.Values[&I] = N.unknown(&I);
    return true;
  }
  if (mayWriteAny(I)) {
    S.Memory.clear();
    ++S.Calls;
  }
  if (!I.getType()->isVoidTy() && !I.isTerminator())
    S.Values[&I] = evaluate(S, I);
  return true;
}

bool Ways::leadsBack(const BasicBlock *From, const BasicBlock *To, State S) {
  if (!L.contains(To) || ShowsProgress(From, To))
    return false;
  if (To == L.getHeader())
    return true;
  if (Passed.contains(To)) // Another iteration of an inner loop.
    return false;
  // An inner loop is entered in its first iteration, and left in any.
  bool Enters = LI.getLoopFor(To)->getHeader() == To;
  State First = S;
  for (const PHINode &Phi : To->phis()) {
    First.Values[&Phi] = valueOf(S, Phi.getIncomingValueForBlock(From));
    if (Enters)
      S.Values[&Phi] = settled(S, Phi).value_or(N.unknown(&Phi));
  }
  return leadsBack(To, std::move(First)) ||
         (Enters && !To->phis().empty() && leadsBack(To, std::move(S)));
}

bool Ways::leadsBack(const BasicBlock *B, State S) {
  if (++Steps > MaxSteps)
    return false;
  for (const Instruction &I : *B)
    if (!isa<PHINode>(I) && !execute(S, I))
      return false;
  Passed.insert(B);
  bool Found = false;
  const Instruction *End = B->getTerminator();
  if (auto *Br = dyn_cast<BranchInst>(End); Br && Br->isConditional()) {
    for (bool Is : {true, false}) {
      State Next = S;
      if (!Found && N.assume(Next, valueOf(S, Br->getCondition()), Is))
        Found = leadsBack(B, Br->getSuccessor(Is ? 0 : 1), std::move(Next));
    }
  } else if (auto *Switch = dyn_cast<SwitchInst>(End)) {
    Id Of = valueOf(S, Switch->getCondition());
    unsigned Width = Switch->getCondition()->getType()->getIntegerBitWidth();
    State Default = S;
    bool HasDefault = true;
    for (auto Case : Switch->cases()) {
      Id Is = valueOf(S, Case.getCaseValue());
      State Next = S;
      if (!Found && N.assume(Next, {CmpInst::ICMP_EQ, Of, Is, Width}))
        Found = leadsBack(B, Case.getCaseSuccessor(), std::move(Next));
      HasDefault =
          HasDefault && N.assume(Default, {CmpInst::ICMP_NE, Of, Is, Width});
    }
    if (!Found && HasDefault)
      Found = leadsBack(B, Switch->getDefaultDest(), std::move(Default));
  } else {
    for (const BasicBlock *Next : successors(B))
      Found = Found || (!Next->isEHPad() && leadsBack(B, Next, S));
  }
  Passed.erase(B);
  return Found;
}

} // namespace

bool mayGoOnAlone(LoopView &In, ExchangeTest MustSucceed,
                  EdgeTest ShowsProgress) {
  return Ways(In, MustSucceed, ShowsProgress).anyBack();
}

} // namespace vfriendly
