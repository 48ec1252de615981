//===- Causes.h - Causes of a value in a loop -------------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_ANALYSIS_WAITS_CAUSES_H
#define VFRIENDLY_PASSES_ANALYSIS_WAITS_CAUSES_H

#include "passes/analysis/waits/Facts.h"
#include "passes/analysis/waits/Sharing.h"
#include "passes/analysis/waits/SpinLoops.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"

#include <memory>
#include <optional>

namespace vfriendly {

/// The causes of a value that is computed in a loop: all that the value depends
/// on.
struct Causes {
  /// Accesses to memory that other threads may write, at an invariant address.
  llvm::SmallSetVector<llvm::Instruction *, 4> Polls;
  /// Polls whose value is used only in the address of another poll: p in `while
  /// (!p->flag)`.
  llvm::SmallSetVector<llvm::Instruction *, 4> Pointers;
  /// Polls whose address depends on an inner loop, so that each iteration polls
  /// several words.
  llvm::SmallSetVector<llvm::Instruction *, 4> Varying;
  /// The causes other than Polled.
  CauseSet Others = 0;

  CauseSet kinds() const { return Others | (Polls.empty() ? 0u : Polled); }
};

/// Collects causes by following operands from uses to definitions within one
/// loop. Generated code has use-def chains of any length, so this is done with
/// an explicit stack, not by recursion.
class CauseCollector {
public:
  CauseCollector(const llvm::Loop &L, const llvm::DominatorTree &DT,
                 VariableFacts &Variables)
      : L(L), DT(DT), Variables(Variables) {}

  /// Returns the causes of V; a value defined outside L has none. pre: V
  /// belongs to the function of L.
  Causes collect(llvm::Value *V);

  /// Makes later searches treat the result of a function with unknown effects
  /// as a poll if its arguments are loop-invariant. By default, they treat such
  /// a result as progress of the loop.
  void takeCallsAsPolls() { CallsArePolls = true; }
  bool takesCallsAsPolls() const { return CallsArePolls; }

  /// Makes later searches treat words that are read in turn as polls, each of
  /// which reads several addresses.
  void takeTurnsAsPolls() { TurnsArePolls = true; }

private:
  /// The state of one search from uses to definitions: it finds the causes of
  /// one value, or of the address of one access.
  struct Search {
    /// The access whose address is searched; null in the search for a value.
    llvm::Instruction *Access;
    Causes Found;
    llvm::SmallPtrSet<llvm::Instruction *, 16> Visited;
    /// The instructions on the current path, from its start, each with the
    /// number of computing instructions on the path up to it. If the path
    /// reaches an instruction again with a higher number, that instruction's
    /// value is computed from its own previous value.
    llvm::SmallVector<std::pair<llvm::Instruction *, unsigned>, 16> Open;
  };
  struct Step {
    enum { Visit, Close, Finish } Kind;
    llvm::Value *V = nullptr;
    unsigned Depth = 0;
  };

  /// Starts a search inside the current search. The last step of the inner
  /// search, Finish, adds the causes found to the outer search.
  void begin(llvm::Instruction *Access, llvm::ArrayRef<llvm::Value *> From);
  void push(llvm::ArrayRef<llvm::Value *> Next, unsigned Depth);
  void visit(llvm::Value *V, unsigned Depth);
  void visitPhi(llvm::PHINode &Phi, unsigned Depth);
  void visitLoad(llvm::LoadInst &Load, unsigned Depth);
  /// The stores of L that each failed iteration repeats (isRepeated).
  llvm::ArrayRef<llvm::StoreInst *> repeatedStores();
  void visitCall(llvm::CallBase &Call, unsigned Depth);
  void visitAddress(llvm::Instruction &Access, llvm::Value *Address,
                    unsigned Depth);
  bool visitGivers(const llvm::Value &Object, unsigned Depth);
  void visitOperands(llvm::Instruction &Access,
                     llvm::ArrayRef<llvm::Value *> Operands);
  void addAccess(llvm::Instruction &Access, const Causes &Where);
  Causes &found() { return Searches.back()->Found; }

  const llvm::Loop &L;
  const llvm::DominatorTree &DT;
  VariableFacts &Variables;
  bool CallsArePolls = false, TurnsArePolls = false;
  std::optional<llvm::SmallVector<llvm::StoreInst *, 0>> Repeated;
  llvm::SmallVector<Step, 16> Steps;
  llvm::SmallVector<std::unique_ptr<Search>, 4> Searches;
  /// For each access, the causes of its address. Computed once per loop, and
  /// null while the search is computing them: if the search then reaches the
  /// access again, its address depends on the value that it reads, as in p =
  /// p->next.
  llvm::DenseMap<llvm::Instruction *, std::unique_ptr<Causes>> Addresses;
};

} // namespace vfriendly

#endif
