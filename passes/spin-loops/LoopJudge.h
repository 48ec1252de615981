//===- LoopJudge.h - Classification of a loop as a wait ---------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The implementation of SpinLoopAnalysis. SpinLoopAnalysis.cpp classifies the
// exits of a loop and LoopEffects.cpp its other effects. Doubts.cpp accepts,
// with a doubt, loops that cannot be proved to wait but give a spin hint in
// each iteration. Retries.cpp recognizes lock-free updates, and SpinKinds.cpp
// determines the kind of a wait.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_SPINLOOPS_LOOPJUDGE_H
#define VFRIENDLY_PASSES_SPINLOOPS_LOOPJUDGE_H

#include "passes/common/WaitNeutral.h"
#include "passes/spin-loops/ExitCauses.h"
#include "passes/spin-loops/SpinLoopAnalysis.h"

#include "llvm/IR/Instructions.h"

#include <optional>

namespace vfriendly {

/// One condition of a loop exit. The loop continues if Condition has the value
/// StaysIf.
struct ExitLeaf {
  llvm::Value *Condition;
  bool StaysIf;
};

/// Splits the condition of an exit into parts each of which can end the loop
/// alone: `continue if A && B` into A and B. `continue if A || B` is not split.
llvm::SmallVector<ExitLeaf, 4> leavesOf(llvm::Value *Condition, bool StaysIf);

/// Returns true for a load that is neither atomic nor volatile.
bool isPlainLoad(const llvm::Instruction *I);

/// Maximum number of side effects of a spin loop. A loop with more is taken for
/// work and not examined further, because spin loops have few.
inline constexpr unsigned MaxEffects = 16;

/// Returns true if I, an instruction of L, may have an effect that is visible
/// outside the loop, other than a failed read-modify-write.
bool mayHaveEffect(const llvm::Instruction &I, const llvm::Loop &L,
                   const llvm::LoopInfo &LI);

/// Decides whether one loop is a wait, and of what kind.
class LoopJudge {
public:
  LoopJudge(llvm::Loop &L, llvm::LoopInfo &LI, const llvm::DominatorTree &DT,
            const SpinLoopInfo &Inner, VariableFacts &Variables,
            llvm::DenseMap<const llvm::BasicBlock *, bool> &Counted)
      : L(L), LI(LI), DT(DT), Inner(Inner), Variables(Variables),
        Counted(Counted), Collector(L, DT, Variables) {}

  std::optional<SpinLoop> judge();

private:
  bool judgeExits();
  bool staysIfInterrupted(const llvm::BasicBlock &B,
                          const ExitLeaf &Leaf) const;
  bool isVersionCheck(const llvm::Value *Condition, unsigned Depth = 0) const;
  bool endsUnchanged(const ExitLeaf &Leaf) const;
  Causes guardsOf(llvm::BasicBlock *Exiting);
  void noteCauses(const Causes &C);
  void addPoll(llvm::Instruction &Access, bool OnlyLocates);
  bool isTicketNumber(const llvm::Value *V, unsigned Depth = 0) const;
  bool isInvariant(llvm::Value *V);
  bool isQueueNode(const llvm::Value *Address);
  bool countsBefore(const llvm::BasicBlock &B);
  SpinKind nameKind();
  using EdgeTest = llvm::function_ref<bool(const llvm::BasicBlock *From,
                                           const llvm::BasicBlock *To)>;
  /// Returns true if every iteration passes one of Blocks, or an edge for which
  /// Ends, if given, returns true.
  bool
  everyIterationPasses(const llvm::SmallPtrSetImpl<llvm::BasicBlock *> &Blocks,
                       EdgeTest Ends = nullptr) const;

  // Retries.cpp
  bool takesWhatItWaitedFor() const;
  bool isLeftIfCleared(llvm::Value *V) const;
  bool expectsWhatWasRead(const llvm::Value *Expected,
                          const llvm::Value *Address,
                          const llvm::BasicBlock *At) const;
  bool succeedsAndGoesOn() const;
  bool isGivenUpInside(const llvm::AtomicCmpXchgInst &Exchange) const;
  bool retriesChanged(const llvm::BasicBlock *From,
                      const llvm::BasicBlock *To) const;
  bool retriesOnly();

  // LoopEffects.cpp
  void scanEffects();
  void noteHint(CallEffect Effect);
  bool doesWork();

  // Doubts.cpp
  bool leavesNoTrace() const;
  bool authorSaysItWaits();
  bool everyIterationHints(bool OnlyPauses);
  bool backsOff(const llvm::BasicBlock *From, const llvm::BasicBlock *To,
                const llvm::SmallPtrSetImpl<llvm::BasicBlock *> &Hinting);
  bool hintsItself() const;
  bool excuseEffects();
  bool excuse(llvm::Instruction &Effect);
  bool isRare(llvm::BasicBlock *B);
  bool isOnce(llvm::Value *Condition) const;

  llvm::Loop &L;
  llvm::LoopInfo &LI;
  const llvm::DominatorTree &DT;
  const SpinLoopInfo &Inner;
  VariableFacts &Variables;
  /// Results of countsBefore, by block.
  llvm::DenseMap<const llvm::BasicBlock *, bool> &Counted;
  CauseCollector Collector;

  SpinLoop Found;
  llvm::SmallSetVector<llvm::Instruction *, 4> Accesses, Pointers, Varying;
  llvm::SmallVector<ExitLeaf, 4> Waiting;
  /// Instructions whose effect may be visible outside the loop.
  llvm::SmallVector<llvm::Instruction *, 4> Effects;
  /// The conditions of exits that depend on the loop's own progress.
  llvm::SmallVector<llvm::Value *, 4> OwnConditions;
  bool Walks = false;
  /// True if some exit condition depends on the progress of an inner loop.
  bool Scans = false;
};

} // namespace vfriendly

#endif
