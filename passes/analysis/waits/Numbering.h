//===- Numbering.h - Equal values, and what is known of them ----*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Expressions are numbered: those with one number are equal. Comparisons that
// are known to hold make more of them equal, until they contradict each other:
//
//   Known K;                                          x & 1 == 0
//   N.assume(K, {ICMP_EQ, N.operation(K, And, 32, {X, N.number(1)}), Zero,
//   32}); N.assume(K, {ICMP_NE, X, N.operation(K, And, 32, {X, N.number(~1)}),
//   32});
//   // false: x & ~1 is x
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_ANALYSIS_WAITS_NUMBERING_H
#define VFRIENDLY_PASSES_ANALYSIS_WAITS_NUMBERING_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Instructions.h"

#include <deque>
#include <map>
#include <tuple>

namespace vfriendly {

/// The number of an expression.
using Id = unsigned;

/// The code of an operation that is true if an exchange has succeeded.
inline constexpr unsigned Success = ~0U;

struct Comparison {
  llvm::CmpInst::Predicate Is;
  Id Left, Right;
  unsigned Width;
};

/// What is known to hold.
struct Known {
  llvm::SmallVector<Comparison, 8> Comparisons;
  std::map<Id, Id> Equal;
  std::map<Id, uint64_t> Zeros; ///< Bits that are clear.
};

class Numbering {
public:
  Id number(uint64_t N) { return add({Number, 0, 0, N, nullptr, {}}); }
  Id unknown(const void *Of) { return add({Unknown, 0, 0, 0, Of, {}}); }
  /// What is read at Place, of Size bytes. Values that are read at different
  /// Times may differ.
  Id read(Id Place, uint64_t Size, unsigned Time) {
    return add({Read, Time, unsigned(Size), 0, nullptr, {Place}});
  }
  /// Code is an opcode, Success, or made by compare.
  Id operation(const Known &K, unsigned Code, unsigned Width,
               llvm::ArrayRef<Id> Operands);
  Id compare(llvm::CmpInst::Predicate Is, unsigned Width, Id Left, Id Right) {
    return add({Operation, codeOf(Is), 1, Width, nullptr, {Left, Right}});
  }

  /// Returns the number, or null if E is none.
  const uint64_t *asNumber(Id E) const {
    return All[E].Is == Number ? &All[E].Value : nullptr;
  }
  /// Returns true if E has more levels than are worth following.
  bool isDeep(Id E) const { return All[E].Depth >= MaxDepth; }

  /// Returns the simplest expression that is equal by what is known.
  Id simplify(const Known &K, Id E);

  /// Adds to what is known; returns false if that is a contradiction.
  bool assume(Known &K, Id Condition, bool Is, unsigned Depth = 0);
  bool assume(Known &K, Comparison C);

private:
  /// Maximum depth of an expression. Version numbers and places of queues have
  /// four or five levels.
  static constexpr unsigned MaxDepth = 12;

  enum Kind { Number, Unknown, Read, Operation };
  struct Expression {
    Kind Is;
    unsigned Code;
    unsigned Width;
    uint64_t Value;
    const void *Of;
    llvm::SmallVector<Id, 2> Operands;
    unsigned Depth = 0;
  };

  static constexpr unsigned codeOf(llvm::CmpInst::Predicate Is) {
    return llvm::Instruction::ICmp | unsigned(Is) << 8;
  }
  Id add(Expression E);
  bool isBool(Id E) const {
    return All[E].Is == Operation && All[E].Width == 1;
  }
  /// Adds that one of two conditions has a value.
  bool either(Known &K, std::pair<Id, bool> A, std::pair<Id, bool> B,
              unsigned Depth);
  bool isConsistent(const Known &K);

  std::deque<Expression> All;
  std::map<std::tuple<unsigned, unsigned, unsigned, uint64_t, const void *,
                      std::vector<Id>>,
           Id>
      Numbers;
};

} // namespace vfriendly

#endif
