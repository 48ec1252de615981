//===- Objects.h - Where memory is allocated and used -----------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_ANALYSIS_NUMA_OBJECTS_H
#define VFRIENDLY_PASSES_ANALYSIS_NUMA_OBJECTS_H

#include "passes/analysis/numa/Regions.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/IR/GlobalVariable.h"

#include <set>
#include <vector>

namespace vfriendly {

/// The way in which an instruction uses an object.
struct Access {
  bool Writes = false;
  /// True if the instruction accesses many elements: in a loop, or as a call of
  /// a function such as memset.
  bool IsBulk = false;
  /// True if the accessed address is computed from a loaded value, as in
  /// x[index[i]].
  bool IsIndirect = false;
};

/// An array: a global variable, or the result of one allocation call.
struct Object {
  /// The GlobalVariable, or the CallBase that allocates the object.
  llvm::Value *Root = nullptr;
  /// Accesses in all functions, by instruction.
  llvm::MapVector<const llvm::Instruction *, Access> Accesses;
  /// Values that point to the object, or to pointers to it.
  llvm::SmallPtrSet<const llvm::Value *, 16> Pointers;
  /// True if a pointer to the object is stored where the analysis cannot
  /// follow it: in a table of pointers.
  bool IsLost = false;
  /// True if the object itself is a table of pointers, which is small compared
  /// with the memory that the pointers lead to.
  bool HoldsPointers = false;

  /// Returns true if Call may use the object through a parameter of its callee.
  /// IsPassed is false if the parameters of the function that contains Call do
  /// not lead to the object, because that function was called with another
  /// object.
  bool isPassedBy(const llvm::CallBase &Call, bool IsPassed) const;
};

/// Returns true if the address that the instruction I accesses is computed from
/// a parameter of the function that contains I. The accessed object may then
/// differ between calls of that function.
bool isThroughParameter(const llvm::Instruction &I);
bool isThroughParameter(const llvm::Value *Pointer);

/// Finds all instructions that may access one object, by following pointers to
/// it through variables, captures, members and calls of all functions.
///
/// A Path describes how a pointer leads to the object. If p has the path {8,
/// 16}, *(*(p + 8) + 16) points to the object: each element is the offset in
/// bytes at which the next pointer is stored. The path of a pointer into the
/// object itself is empty. Offsets are exact, so members of a struct are
/// distinguished; elements of an array of pointers are not, and make the object
/// lost.
class PointerFollower {
public:
  PointerFollower(Object &Of, const Regions &Threads,
                  llvm::FunctionAnalysisManager &FAM)
      : Of(Of), Threads(Threads), FAM(FAM) {}

  void run();

private:
  using Path = std::vector<int64_t>;
  using Known = llvm::DenseMap<llvm::Value *, std::set<Path>>;
  using Waiting = std::vector<std::pair<llvm::Value *, Path>>;

  void enter(llvm::Value *V, const Path &To, Known &Set, Waiting &List);
  void add(llvm::Value *V, const Path &To);
  void addLocation(llvm::Value *Pointer, Path To);
  void visitBase(llvm::Value &Base, const Path &To);
  void visitUse(llvm::Use &U, const Path &To);
  void visitCall(llvm::CallBase &Call, llvm::Use &U, const Path &To);
  void visitOffset(llvm::User &Offset, const Path &To);
  void visitStore(llvm::Instruction &Store, llvm::Use &U, const Path &To);
  void noteAccess(const llvm::Instruction &I, const llvm::Value &Pointer,
                  bool Writes, bool IsRange = false);
  const llvm::DataLayout &layout() const;

  Object &Of;
  const Regions &Threads;
  llvm::FunctionAnalysisManager &FAM;
  Known Seen, SeenBases;
  /// Work lists: pointers whose uses have not been visited yet, and bases for
  /// which other pointers have not been searched yet.
  Waiting Worklist, Bases;
  size_t NumSeen = 0;
};

} // namespace vfriendly

#endif
