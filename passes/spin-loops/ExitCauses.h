//===- ExitCauses.h - What an exit of a loop depends on ---------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_SPINLOOPS_EXITCAUSES_H
#define VFRIENDLY_PASSES_SPINLOOPS_EXITCAUSES_H

#include "passes/spin-loops/SpinLoopAnalysis.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"

#include <memory>

namespace vfriendly {

/// What a value computed in a loop depends on.
struct Causes {
  /// Accesses to memory that other threads may write, at an invariant address.
  llvm::SmallSetVector<llvm::Instruction *, 4> Polls;
  /// Polls that only compute the address of another one: p in `while
  /// (!p->flag)`.
  llvm::SmallSetVector<llvm::Instruction *, 4> Pointers;
  /// Polls whose address depends on an inner loop, so that each iteration polls
  /// several words.
  llvm::SmallSetVector<llvm::Instruction *, 4> Varying;
  /// The loop's own progress: a counter, its own variables.
  bool Own = false;
  /// The progress of an inner loop, which restarts in each iteration of this
  /// loop.
  bool Inner = false;
  /// Progress that repeats: i = (i + 1) % n.
  bool Rotates = false;
  /// Memory whose address depends on progress that repeats: the loop polls
  /// several words in turn.
  bool InTurn = false;
  bool Clock = false;
  /// Memory at an address that changes from iteration to iteration.
  bool Walks = false;

  bool isNothing() const { return Polls.empty() && !ofItself(); }
  bool onlyOthers() const { return !Polls.empty() && !ofItself(); }

private:
  bool ofItself() const { return Own || Rotates || InTurn || Clock || Walks; }
};

/// Collects causes by following operands from uses to definitions within one
/// loop. Generated code has use-def chains of any length, so this is done with
/// an explicit stack, not by recursion.
class CauseCollector {
public:
  CauseCollector(const llvm::Loop &L, const llvm::DominatorTree &DT,
                 VariableFacts &Variables)
      : L(L), DT(DT), Variables(Variables) {}

  /// pre: V belongs to L's function. A value defined outside L has no causes.
  Causes collect(llvm::Value *V);

  /// From now on the result of a call with unknown effects is a poll if its
  /// arguments are invariant. Without this it counts as progress of the loop.
  void takeCallsAsPolls() { CallsArePolls = true; }

private:
  /// The state of a search backwards through operands for all that one value
  /// depends on, or the address of one access.
  struct Walk {
    /// The access, or null.
    llvm::Instruction *Access;
    Causes Found;
    llvm::SmallPtrSet<llvm::Instruction *, 16> Visited;
    /// Instructions being visited, outermost first, with the number of
    /// computing instructions on the path to each. If the path returns to one
    /// with a higher number, the value depends on its own previous value.
    llvm::SmallVector<std::pair<llvm::Instruction *, unsigned>, 16> Open;
  };
  struct Step {
    enum { Visit, Close, Finish } Kind;
    llvm::Value *V = nullptr;
    unsigned Depth = 0;
  };

  /// Starts a search. Its last step, Finish, adds what it found to the search
  /// around it.
  void begin(llvm::Instruction *Access, llvm::ArrayRef<llvm::Value *> From);
  void push(llvm::ArrayRef<llvm::Value *> Next, unsigned Depth);
  void visit(llvm::Value *V, unsigned Depth);
  void visitPhi(llvm::PHINode &Phi, unsigned Depth);
  void visitLoad(llvm::LoadInst &Load, unsigned Depth);
  void visitCall(llvm::CallBase &Call, unsigned Depth);
  void visitAddress(llvm::Instruction &Access, llvm::Value *Address,
                    unsigned Depth);
  void visitOperands(llvm::Instruction &Access,
                     llvm::ArrayRef<llvm::Value *> Operands);
  void addAccess(llvm::Instruction &Access, const Causes &Where);
  Causes &found() { return Walks.back()->Found; }

  const llvm::Loop &L;
  const llvm::DominatorTree &DT;
  VariableFacts &Variables;
  bool CallsArePolls = false;
  llvm::SmallVector<Step, 16> Steps;
  llvm::SmallVector<std::unique_ptr<Walk>, 4> Walks;
  /// The causes of each access's address, computed once per loop. Null while
  /// they are being computed: a second visit then means that the loop follows
  /// pointers.
  llvm::DenseMap<llvm::Instruction *, std::unique_ptr<Causes>> Addresses;
};

/// Returns true if another thread may write what Address points to. False for
/// locals that do not escape, constants and thread-local variables.
bool mayBeShared(const llvm::Value *Address);

/// Returns true if Address is a constant, which may be a device register but no
/// object of the program.
bool isDeviceAddress(const llvm::Value *Address);

} // namespace vfriendly

#endif
