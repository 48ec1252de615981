//===- Numbering.cpp - Equal values, and what is known of them ------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/waits/Numbering.h"

#include "llvm/ADT/APInt.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace vfriendly {

Id Numbering::add(Expression E) {
  for (Id Operand : E.Operands)
    E.Depth = std::max(E.Depth, All[Operand].Depth + 1);
  auto Key =
      std::make_tuple(unsigned(E.Is), E.Code, E.Width, E.Value, E.Of,
                      std::vector<Id>(E.Operands.begin(), E.Operands.end()));
  auto [It, New] = Numbers.try_emplace(std::move(Key), All.size());
  if (New)
    All.push_back(std::move(E));
  return It->second;
}

Id Numbering::operation(const Known &K, unsigned Code, unsigned Width,
                        ArrayRef<Id> Operands) {
  return simplify(K, add({Operation, Code, Width, 0, nullptr,
                          SmallVector<Id, 2>(Operands)}));
}

Id Numbering::simplify(const Known &K, Id E) {
  if (auto It = K.Equal.find(E); It != K.Equal.end())
    return simplify(K, It->second);
  if (All[E].Is != Operation)
    return E;
  Expression Of = All[E];
  for (Id &Operand : Of.Operands)
    Operand = simplify(K, Operand);
  const uint64_t *Left = asNumber(Of.Operands[0]);
  if (Left && Of.Code == Instruction::Trunc && Of.Width == 1)
    return number(*Left & 1);
  const uint64_t *Right =
      Of.Operands.size() == 2 ? asNumber(Of.Operands[1]) : nullptr;
  uint64_t Mask = Of.Width >= 64 ? ~0ULL : (1ULL << Of.Width) - 1;
  if (Left && Right) {
    switch (Of.Code) {
    case Instruction::Add:
      return number((*Left + *Right) & Mask);
    case Instruction::Sub:
      return number((*Left - *Right) & Mask);
    case Instruction::And:
      return number(*Left & *Right);
    case Instruction::Or:
      return number(*Left | *Right);
    case Instruction::Xor:
      return number(*Left ^ *Right);
    }
  }
  if (Right) {
    uint64_t Clear = 0;
    if (auto It = K.Zeros.find(Of.Operands[0]); It != K.Zeros.end())
      Clear = It->second;
    if (Of.Code == Instruction::And && !(*Right & ~Clear & Mask))
      return number(0);
    if (Of.Code == Instruction::And && !(~*Right & ~Clear & Mask))
      return Of.Operands[0];
    if (Of.Code == Instruction::Sub) {
      Of.Code = Instruction::Add;
      Of.Operands[1] = number((0 - *Right) & Mask);
      return simplify(K, add(Of));
    }
    const Expression &Inner = All[Of.Operands[0]];
    if (Of.Code == Instruction::Add && Inner.Is == Operation &&
        Inner.Code == Instruction::Add && Inner.Width == Of.Width &&
        asNumber(Inner.Operands[1])) {
      uint64_t Sum = (*Right + *asNumber(Inner.Operands[1])) & Mask;
      Of.Operands[0] = Inner.Operands[0];
      Of.Operands[1] = number(Sum);
      return simplify(K, add(Of));
    }
    if (*asNumber(Of.Operands[1]) == 0 &&
        is_contained({unsigned(Instruction::Add), unsigned(Instruction::Or),
                      unsigned(Instruction::Xor)},
                     Of.Code))
      return Of.Operands[0];
  }
  if (Of.Operands.size() == 2 && Of.Operands[0] == Of.Operands[1] &&
      (Of.Code == Instruction::Sub || Of.Code == Instruction::Xor))
    return number(0);
  return add(Of);
}

bool Numbering::either(Known &K, std::pair<Id, bool> A, std::pair<Id, bool> B,
                       unsigned Depth) {
  Known IfA = K, IfB = K;
  bool MayA = assume(IfA, A.first, A.second, Depth),
       MayB = assume(IfB, B.first, B.second, Depth);
  if (MayA != MayB)
    K = std::move(MayA ? IfA : IfB);
  return MayA || MayB;
}

bool Numbering::assume(Known &K, Id Condition, bool Is, unsigned Depth) {
  Condition = simplify(K, Condition);
  if (const uint64_t *N = asNumber(Condition))
    return (*N != 0) == Is;
  Expression E = All[Condition];
  if (!isBool(Condition) || Depth == MaxDepth) {
    if (E.Is == Operation)
      return true;
    return assume(
        K, {Is ? CmpInst::ICMP_NE : CmpInst::ICMP_EQ, Condition, number(0), 8});
  }
  auto Also = [&](unsigned N, bool Value) {
    return assume(K, E.Operands[N], Value, Depth + 1);
  };
  if (E.Code == Success) // Success is progress.
    return !Is && assume(K, {CmpInst::ICMP_NE, E.Operands[0], E.Operands[1],
                             unsigned(E.Value ? E.Value : 64)});
  if ((E.Code & 0xff) == Instruction::ICmp && E.Code >> 8) {
    auto Predicate = CmpInst::Predicate(E.Code >> 8);
    if (!Is)
      Predicate = CmpInst::getInversePredicate(Predicate);
    const uint64_t *Right = asNumber(simplify(K, E.Operands[1]));
    if (isBool(E.Operands[0]) && Right && ICmpInst::isEquality(Predicate))
      return Also(0, (Predicate == CmpInst::ICMP_EQ) == (*Right != 0));
    return assume(K,
                  {Predicate, E.Operands[0], E.Operands[1], unsigned(E.Value)});
  }
  const uint64_t *Last = asNumber(E.Operands.back());
  // Condition is (A is IfA) && (B is IfB), or the opposite of that.
  auto Both = [&](unsigned A, bool IfA, unsigned B, bool IfB, bool Holds) {
    if (Holds)
      return Also(A, IfA) && Also(B, IfB);
    return either(K, {E.Operands[A], !IfA}, {E.Operands[B], !IfB}, Depth + 1);
  };
  switch (E.Code) {
  case Instruction::Trunc:
    return assume(K, {CmpInst::ICMP_EQ, E.Operands[0], number(Is), 8});
  case Instruction::Xor:
    return !Last || Also(0, Is != (*Last != 0));
  case Instruction::And:
    return Both(0, true, 1, true, Is);
  case Instruction::Or:
    return Both(0, false, 1, false, !Is);
  case Instruction::Select: {
    const uint64_t *First = asNumber(E.Operands[1]);
    if (Last && *Last == 0) // A && B
      return Both(0, true, 1, true, Is);
    if (First && *First != 0) // A || B
      return Both(0, false, 2, false, !Is);
    if (First && *First == 0) // !A && B
      return Both(0, false, 2, true, Is);
    if (Last && *Last != 0) // !A || B
      return Both(0, true, 1, false, !Is);
    return true;
  }
  default:
    return true;
  }
}

bool Numbering::assume(Known &K, Comparison C) {
  // The sign of a difference orders numbers that wrap.
  Expression Left = All[simplify(K, C.Left)];
  const uint64_t *Right = asNumber(simplify(K, C.Right));
  if (Left.Is == Operation && Right && Left.Operands.size() == 2) {
    APInt Number = APInt(64, *Right).zextOrTrunc(C.Width);
    bool Orders = Left.Code == Instruction::Sub && !CmpInst::isUnsigned(C.Is);
    if (Number.isAllOnes() && C.Is == CmpInst::ICMP_SGT)
      C = {CmpInst::ICMP_SGE, C.Left, number(0), C.Width};
    else if (Number.isAllOnes() && C.Is == CmpInst::ICMP_SLE)
      C = {CmpInst::ICMP_SLT, C.Left, number(0), C.Width};
    else if (Number.isOne() && C.Is == CmpInst::ICMP_SLT)
      C = {CmpInst::ICMP_SLE, C.Left, number(0), C.Width};
    else if (Number.isOne() && C.Is == CmpInst::ICMP_SGE)
      C = {CmpInst::ICMP_SGT, C.Left, number(0), C.Width};
    Right = asNumber(simplify(K, C.Right));
    if (*Right == 0 && (Orders || (Left.Code == Instruction::Xor &&
                                   ICmpInst::isEquality(C.Is))))
      C = {C.Is, Left.Operands[0], Left.Operands[1], C.Width};
    else if (*Right == 0 && C.Is == CmpInst::ICMP_EQ &&
             Left.Code == Instruction::And && asNumber(Left.Operands[1]))
      K.Zeros[Left.Operands[0]] |= *asNumber(Left.Operands[1]);
  }
  K.Comparisons.push_back(C);
  if (C.Is == CmpInst::ICMP_EQ) {
    // Deeper expressions are replaced: those that replace them do not contain
    // them.
    Id A = simplify(K, C.Left), B = simplify(K, C.Right);
    if (asNumber(A) || (!asNumber(B) && All[A].Depth < All[B].Depth))
      std::swap(A, B);
    if (A != B && !asNumber(A))
      K.Equal[A] = B;
  }
  return isConsistent(K);
}

/// Returns true unless some of what is known contradicts the rest.
bool Numbering::isConsistent(const Known &K) {
  enum { Less = 1, Same = 2, More = 4 };
  std::map<std::pair<Id, Id>, unsigned> Signed, Unsigned;
  for (Comparison C : K.Comparisons) {
    Id A = simplify(K, C.Left), B = simplify(K, C.Right);
    const uint64_t *Left = asNumber(A), *Right = asNumber(B);
    if (Left && Right && C.Width <= 64) {
      auto InWidth = [&](uint64_t Number) {
        return APInt(64, Number).zextOrTrunc(C.Width);
      };
      if (!ICmpInst::compare(InWidth(*Left), InWidth(*Right), C.Is))
        return false;
      continue;
    }
    if (A == B) {
      if (CmpInst::isFalseWhenEqual(C.Is))
        return false;
      continue;
    }
    if (A > B) {
      std::swap(A, B);
      C.Is = CmpInst::getSwappedPredicate(C.Is);
    }
    unsigned Allowed = Less | Same | More;
    switch (C.Is) {
    case CmpInst::ICMP_EQ:
      Allowed = Same;
      break;
    case CmpInst::ICMP_NE:
      Allowed = Less | More;
      break;
    case CmpInst::ICMP_SLT:
    case CmpInst::ICMP_ULT:
      Allowed = Less;
      break;
    case CmpInst::ICMP_SGT:
    case CmpInst::ICMP_UGT:
      Allowed = More;
      break;
    case CmpInst::ICMP_SLE:
    case CmpInst::ICMP_ULE:
      Allowed = Less | Same;
      break;
    default:
      Allowed = More | Same;
      break;
    }
    unsigned &S1 = Signed.try_emplace({A, B}, 7).first->second,
             &U1 = Unsigned.try_emplace({A, B}, 7).first->second;
    if (!CmpInst::isUnsigned(C.Is))
      S1 &= Allowed;
    if (!CmpInst::isSigned(C.Is))
      U1 &= Allowed;
    if (!(S1 & U1 & Same))
      S1 &= ~Same, U1 &= ~Same;
    if (!S1 || !U1)
      return false;
  }
  return true;
}

} // namespace vfriendly
