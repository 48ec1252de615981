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

/// Everything inside a loop that one value is computed from.
struct Causes {
  /// Accesses to memory that others may write, at an address that stays.
  llvm::SmallSetVector<llvm::Instruction *, 4> Polls;
  /// Polls that only tell where another one is: p in `while (!p->flag)`.
  llvm::SmallSetVector<llvm::Instruction *, 4> Pointers;
  /// Polls whose address moves with a loop inside this one: of several places.
  llvm::SmallSetVector<llvm::Instruction *, 4> Varying;
  /// The loop's own progress: a counter, its own variables.
  bool Own = false;
  /// The progress of a loop inside, which begins anew in each iteration.
  bool Inner = false;
  /// Progress that comes back to where it was: i = (i + 1) % n.
  bool Rotates = false;
  /// Memory at an address that rotates so: each of several places in turn.
  bool InTurn = false;
  bool Clock = false;
  /// Memory at an address that moves from iteration to iteration.
  bool Walks = false;

  bool isNothing() const { return Polls.empty() && !ofItself(); }
  bool onlyOthers() const { return !Polls.empty() && !ofItself(); }

private:
  bool ofItself() const { return Own || Rotates || InTurn || Clock || Walks; }
};

/// Collects causes by walking operands backwards, within one loop. Generated
/// code has chains of any length, so the walk keeps its own stack.
class CauseCollector {
public:
  CauseCollector(const llvm::Loop &L, const llvm::DominatorTree &DT,
                 VariableFacts &Variables)
      : L(L), DT(DT), Variables(Variables) {}

  /// pre: V is of L's function. Causes of a value from outside L are empty.
  Causes collect(llvm::Value *V);

  /// From now on the result of a call that does not show its effects is a poll,
  /// as far as its operands stay; before, it is the loop's own progress.
  void takeCallsAsPolls() { CallsArePolls = true; }

private:
  /// The walk from one value, or from the operands that tell where an access
  /// looks.
  struct Walk {
    /// The access, or null.
    llvm::Instruction *Access;
    Causes Found;
    llvm::SmallPtrSet<llvm::Instruction *, 16> Visited;
    /// Instructions being visited, outermost first, with the number of
    /// computing instructions passed on the way to them: coming back with more
    /// means that the value evolves by itself.
    llvm::SmallVector<std::pair<llvm::Instruction *, unsigned>, 16> Open;
  };
  struct Step {
    enum { Visit, Close, Finish } Kind;
    llvm::Value *V = nullptr;
    unsigned Depth = 0;
  };

  /// Starts a walk, whose result comes with the step Finish.
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
  /// What the place of each access depends on, looked at once a loop. Null
  /// while that is being found out: coming back then means that the loop
  /// follows pointers.
  llvm::DenseMap<llvm::Instruction *, std::unique_ptr<Causes>> Addresses;
};

/// Returns true if another thread may write what Address points to. False for
/// locals that do not escape, constants and thread-local variables.
bool mayBeShared(const llvm::Value *Address);

/// A constant address: a device register, or nothing of ours.
bool isDeviceAddress(const llvm::Value *Address);

} // namespace vfriendly

#endif
