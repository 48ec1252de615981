//===- Regions.h - Code that several threads execute ------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_ANALYSIS_NUMA_REGIONS_H
#define VFRIENDLY_PASSES_ANALYSIS_NUMA_REGIONS_H

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/PassManager.h"

#include <optional>

namespace vfriendly {

/// Returns the function that Call calls, directly or through casts and aliases,
/// which calls of C++ constructors may use. Returns null for an indirect call
/// and for inline assembly.
llvm::Function *calleeOf(const llvm::CallBase &Call);

/// A call by which one or more threads run Body.
struct Fork {
  llvm::Function *Body;
  /// Operand FirstOperand + i of the call is parameter FirstParameter + i.
  unsigned FirstOperand, FirstParameter;
};

/// Recognizes __kmpc_fork_call, similar functions, and pthread_create.
std::optional<Fork> forkOf(const llvm::CallBase &Call);

enum class Schedule {
  Static, ///< One block of consecutive iterations for each thread.
  Other
};

/// The parallel regions and the call graph of a module.
class Regions {
public:
  Regions(llvm::Module &M, llvm::FunctionAnalysisManager &FAM);

  /// Returns true if the module starts no threads.
  bool empty() const { return Forks.empty(); }

  /// Returns the calls that run F, including those that start threads to run
  /// it.
  llvm::ArrayRef<llvm::CallBase *> callsOf(const llvm::Function &F) const;

  /// Returns true if threads of a region run F, directly or through calls.
  bool isParallel(const llvm::Function &F) const {
    return Parallel.contains(&F);
  }

  /// Returns true if only one thread of a team runs I: `single`, `master` and
  /// `masked` constructs.
  bool isSingle(const llvm::Instruction &I);

  /// Returns the schedule of the worksharing loop around I in its function.
  Schedule scheduleOf(const llvm::Instruction &I);

private:
  /// The calls of the OpenMP runtime in each function.
  struct Constructs {
    llvm::SmallVector<const llvm::CallBase *, 2> Singles, Inits, Ends;
  };

  const Constructs &constructsOf(const llvm::Function &F);
  void findParallel(llvm::Function &Body);

  llvm::FunctionAnalysisManager &FAM;
  llvm::SmallVector<const llvm::CallBase *, 8> Forks;
  llvm::DenseMap<const llvm::Function *, llvm::SmallVector<llvm::CallBase *, 2>>
      Calls;
  llvm::DenseMap<const llvm::Function *, Constructs> Known;
  llvm::SmallPtrSet<const llvm::Function *, 16> Parallel;
};

} // namespace vfriendly

#endif
