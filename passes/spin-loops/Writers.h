//===- Writers.h - Writes that may end a wait -------------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stores are matched with waits by the form of their addresses: the same
// global, the same field of the same structure, or memory that is known only by
// a pointer. A wrong match costs a load and a branch. If the writer of a wait
// is not matched, the wait ends late; the runtime notices late wake-ups and
// then no longer relies on notifies. Only certain matches (surelyMatch) change
// how memory is accessed: plain stores become release stores.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_SPINLOOPS_WRITERS_H
#define VFRIENDLY_PASSES_SPINLOOPS_WRITERS_H

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/MemoryLocation.h"
#include "llvm/IR/Instructions.h"

#include <optional>
#include <tuple>

namespace vfriendly {

/// What is known of a memory location from the code that accesses it.
struct Location {
  /// The global variable that contains the location, or null.
  const llvm::GlobalVariable *Global = nullptr;
  /// Bytes from the start of the global or the pointer; nullopt for a variable
  /// index.
  std::optional<int64_t> Offset;
  /// The structure of which the location is a field according to the address
  /// computation, or null.
  const llvm::StructType *Struct = nullptr;
  std::optional<int64_t> StructOffset;
  /// The structure according to the access's TBAA tag, or null. The tag remains
  /// when the address computation no longer names the structure.
  const llvm::Metadata *Tag = nullptr;
  int64_t TagOffset = 0;
  uint64_t Size = 0;
  /// True if the access is neither volatile nor atomic.
  bool Plain = false;

  /// Returns true if the global, the structure field or the TBAA tag of the
  /// location is known.
  bool isNamed() const { return Global || Struct || Tag; }
};

/// Returns the memory that I, a store or an atomic read-modify-write, writes;
/// nullopt if it is another instruction.
std::optional<llvm::MemoryLocation> writtenBy(const llvm::Instruction &I);

/// Returns what is known of the memory at Address. pre: Access reads or writes
/// Size bytes at Address, or calls a function that does.
Location locate(const llvm::Instruction &Access, const llvm::Value *Address,
                uint64_t Size, bool Plain);

/// Returns true if the two locations may be the same memory.
bool mayMatch(const Location &A, const Location &B);
/// Returns true if A and B are the same variable, or the same field of the same
/// structure type.
bool surelyMatch(const Location &A, const Location &B);

/// An instruction that may end a wait: a store, atomicrmw, cmpxchg, inline
/// assembly that writes, or a call of a function that writes through the
/// parameter for which an address is passed.
struct Writer {
  llvm::Instruction *I;
  /// The operand of I that is the address. A rewrite of a loop may replace the
  /// operand, if I follows the loop and the address is computed in it.
  unsigned Operand;

  llvm::Value *address() const { return I->getOperand(Operand); }
};

/// The key that a writer notifies (WaitCall.h): Fixed, or if Fixed is null the
/// written address minus Distance.
struct NotifyKey {
  llvm::Constant *Fixed = nullptr;
  int64_t Distance = 0;

  bool operator==(const NotifyKey &Other) const {
    return Fixed == Other.Fixed && Distance == Other.Distance;
  }
};

/// Memory that a loop polls.
struct Awaited {
  Location Where;
  /// True if the wait calls the runtime, so that a notify can wake it.
  bool Blocks;
  NotifyKey Key;
};

/// All writers of a module, collected once.
class Writers {
public:
  /// Tries are the writes by which waiting loops try to take a lock. They do
  /// not end a wait, so they do not count as writers.
  Writers(llvm::Module &M,
          const llvm::SmallPtrSetImpl<const llvm::Instruction *> &Tries);

  /// Returns true if any writer may end a wait for the memory at Where.
  bool anyFor(const Location &Where) const;
  /// Returns true if any writer certainly writes the memory at Where.
  bool anySurelyFor(const Location &Where) const;
  /// Returns true if nothing in the program writes what Address points into: a
  /// variable that is local to the module, and all uses of which are loads.
  bool isOnlyRead(const llvm::Value &Address);

  /// Returns true if no code but the module's writers for Where can write the
  /// memory there: it is in a variable that is local to the module, and whose
  /// address is only used to access it. Where it is not known, code that does
  /// not notify may end the wait.
  static bool isClosed(const Location &Where);

  struct Outcome {
    /// For each wait, in the order of Waits: true if every writer in the module
    /// that may end the wait notifies, and at least one of these is in a
    /// function that the linker cannot replace by a copy from another file.
    llvm::SmallVector<bool, 0> Covered;
    llvm::SmallSetVector<llvm::Function *, 4> Changed;
  };
  /// Makes each writer that may end one of Waits notify, and each plain store
  /// that certainly ends a plain wait a release store. Writers in functions for
  /// which MayChange returns false are not changed.
  Outcome
  instrument(llvm::ArrayRef<Awaited> Waits,
             llvm::function_ref<bool(const llvm::Function &)> MayChange);

private:
  /// What a function writes through one of its parameters.
  struct Setter {
    unsigned Param;
    uint64_t Size;
  };
  /// The writers with equal locations.
  struct Group {
    Location Where;
    llvm::SmallVector<Writer, 1> Members;
    llvm::SmallVector<NotifyKey, 1> Notifies;
    bool Releases = false;
    /// Valid after instrument. AnyLoud is true if a writer in Members notifies,
    /// AnySilent if a writer in Members does not.
    bool AnyLoud = false, AnySilent = false;
  };

  std::optional<Setter> asSetter(llvm::Function &F, unsigned Depth);
  void visit(llvm::Instruction &I);
  void add(llvm::Instruction &I, llvm::Value *Address, uint64_t Size,
           bool Plain);
  void instrument(Group &G, const Writer &W, bool MayChange,
                  llvm::SmallSetVector<llvm::Function *, 4> &Changed);

  /// The common properties of two locations that may match: a base (a global, a
  /// tag, a structure, or null for any pointer), the size, and the offset from
  /// that base.
  using Key = std::tuple<const void *, uint64_t, int64_t>;
  /// Returns the keys under which Index has a writer of Where or, if OfWait is
  /// set, those under which it has the writers that may end a wait for Where.
  static llvm::SmallVector<Key, 4> keysOf(const Location &Where, bool OfWait);
  /// Calls Each for the groups that may match Where, until Each returns true.
  /// Returns false if no call of Each returns true.
  bool anyMatch(const Location &Where,
                llvm::function_ref<bool(unsigned)> Each) const;

  llvm::Module &M;
  llvm::SmallVector<Group, 0> Groups;
  /// All that is known of a location, as a key: GroupOf maps a LocationId to an
  /// index of Groups.
  using LocationId = std::tuple<const void *, const void *, const void *,
                                int64_t, int64_t, int64_t, uint64_t, unsigned>;
  static LocationId idOf(const Location &Where);
  llvm::DenseMap<LocationId, unsigned> GroupOf;
  llvm::DenseMap<Key, llvm::SmallVector<unsigned, 1>> Index;
  llvm::DenseMap<llvm::Function *, std::optional<Setter>> Setters;
  /// For each object that a store writes, the result of mayBeShared. Cached,
  /// because mayBeShared walks all uses of a local variable.
  llvm::DenseMap<const llvm::Value *, bool> Shared;
  llvm::DenseMap<const llvm::GlobalVariable *, bool> OnlyRead;
};

} // namespace vfriendly

#endif
