//===- Writers.h - Who may end a wait ---------------------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stores are matched with waits by what their addresses look like: the same
// global, the same field of the same structure, or memory known only by a
// pointer. A match too many costs a load and a branch at that store; a match
// that proves wrong costs late wake-ups, which the runtime notices and stops
// relying on. Only the certain matches change how memory is accessed.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_SPINLOOPS_WRITERS_H
#define VFRIENDLY_PASSES_SPINLOOPS_WRITERS_H

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Instructions.h"

#include <optional>

namespace vfriendly {

/// What can be told of a memory location from the code that accesses it.
struct Location {
  /// The global it lies in, or null.
  const llvm::GlobalVariable *Global = nullptr;
  /// Bytes from the start of the global or the pointer; nothing if an index
  /// varies.
  std::optional<int64_t> Offset;
  /// The structure it is a field of, by how its address is computed, or null.
  const llvm::StructType *Struct = nullptr;
  std::optional<int64_t> StructOffset;
  /// The same by the access's TBAA tag, which outlives the types, or null.
  const llvm::Metadata *Tag = nullptr;
  int64_t TagOffset = 0;
  uint64_t Size = 0;
  /// Neither volatile nor atomic.
  bool Plain = false;

  /// Not just memory behind some pointer.
  bool isNamed() const { return Global || Struct || Tag; }
};

/// pre: Access reads or writes Size bytes at Address, or is a call that does.
Location locate(const llvm::Instruction &Access, const llvm::Value *Address,
                uint64_t Size, bool Plain);

/// May the two be the same memory, judged by their looks?
bool mayMatch(const Location &A, const Location &B);
/// Are they the same variable, or the same field of the same structure?
bool surelyMatch(const Location &A, const Location &B);

/// A place in the module that may end a wait.
struct Writer {
  /// A store, atomicrmw or cmpxchg, or a call of a function that writes through
  /// the parameter Address is passed for.
  llvm::Instruction *I;
  llvm::Value *Address;
  Location Where;
  bool Notifies = false;
  bool Releases = false;
};

/// Every store of a module, found once and then asked for each wait.
class Writers {
public:
  /// Tries are accesses that write but end no wait.
  Writers(llvm::Module &M,
          const llvm::SmallPtrSetImpl<const llvm::Instruction *> &Tries);

  /// May any of them end a wait at Where?
  bool anyFor(const Location &Where) const;
  /// Does any of them surely write there?
  bool anySurelyFor(const Location &Where) const;

  /// Notes a wait at Where. Returns true if a writer may end it.
  bool addWait(const Location &Where);

  /// Makes each noted writer notify, and each plain store that surely ends a
  /// wait on plain memory a release store. Returns the functions it changed.
  llvm::SmallVector<llvm::Function *, 4> instrument();

private:
  /// What a function writes through one of its parameters.
  struct Setter {
    unsigned Param;
    uint64_t Size;
  };
  std::optional<Setter> asSetter(llvm::Function &F, unsigned Depth);
  void add(llvm::Instruction &I, llvm::Value *Address, uint64_t Size,
           bool Plain);

  llvm::Module &M;
  llvm::SmallVector<Writer, 0> All;
  llvm::DenseMap<llvm::Function *, std::optional<Setter>> Setters;
  /// mayBeShared of each object stored to, which walks all of a local's uses.
  llvm::DenseMap<const llvm::Value *, bool> Shared;
};

} // namespace vfriendly

#endif
