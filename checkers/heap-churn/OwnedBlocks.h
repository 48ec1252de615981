//===- OwnedBlocks.h - Functions that fill and empty objects ----*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   buffer_init(&b);   // fills b: stores a new block in it
//   use(&b);
//   buffer_free(&b);   // empties b: releases a block that it leads to
//
// The facts about functions that other units ask for (ProgramFacts.h):
//
//   {"into": "buffer_init", "parameter": 0}
//   {"from": "frame_drop", "parameter": 0, "if": "buffer_free", "of": 0}
//
// The second holds if buffer_free, of another unit, empties its parameter.
// Parameter -1 is the object of a method.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_HEAPCHURN_OWNEDBLOCKS_H
#define VFRIENDLY_CHECKERS_HEAPCHURN_OWNEDBLOCKS_H

#include "checkers/common/ProgramFacts.h"
#include "checkers/heap-churn/FunctionView.h"

#include <map>

namespace vfriendly::tidy {

/// What a function does to the object that a parameter leads to.
enum class OwnerOp { Fills, Empties };

class OwnedBlocks {
public:
  static constexpr int This = -1;

  /// A call of another unit's function on which it depends whether a function
  /// does it.
  using Passed = std::pair<const clang::FunctionDecl *, int>;
  struct Answer {
    bool Does = false;
    llvm::SmallVector<Passed, 2> If; ///< Any of these suffices.
    bool mayDo() const { return Does || !If.empty(); }
  };

  explicit OwnedBlocks(HeapCalls &Heap) : Heap(Heap) {}

  /// Returns whether a call of F may fill or empty the object that Parameter
  /// leads to. F may be of another unit.
  Answer ask(const clang::FunctionDecl &F, int Parameter, OwnerOp Op);

  /// Records the facts about F, a definition.
  void tell(const clang::FunctionDecl &F, ProgramFacts &Program);

private:
  class Collector;
  using Effects = std::map<std::pair<int, OwnerOp>, Answer>;
  const Effects &effectsOf(const clang::FunctionDecl &Definition);

  HeapCalls &Heap;
  llvm::DenseMap<const clang::FunctionDecl *, std::unique_ptr<Effects>> Known;
  unsigned Depth = 0;
};

/// An object that each iteration of a loop, or each call of the function, fills
/// by one call and empties by a later one, or by its destructor.
struct OwnerPair {
  const clang::VarDecl *Object = nullptr;
  const clang::Stmt *Loop = nullptr; ///< Null for each call.
  const clang::Expr *Fill = nullptr;
  const clang::Expr *Empty = nullptr; ///< Null for the destructor.
  /// Names of conditions for ProgramFacts::condition, by their kind.
  llvm::SmallVector<std::pair<llvm::StringRef, std::string>, 2> If;
};

/// Finds the objects that the iterations of loops of View's function fill and
/// empty. With Program, also those of which it depends on other units.
std::vector<OwnerPair> pairsOfLoops(FunctionView &View, OwnedBlocks &Owned,
                                    const ProgramFacts *Program);

/// Does the same for those that each call of the function fills and empties.
std::vector<OwnerPair> pairsOfCalls(FunctionView &View, OwnedBlocks &Owned,
                                    const ProgramFacts *Program);

} // namespace vfriendly::tidy

#endif
