//===- Polls.h - Effects of an MLIR loop's iteration ------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_SPINLOOPS_MLIR_POLLS_H
#define VFRIENDLY_PASSES_SPINLOOPS_MLIR_POLLS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <functional>

namespace vfriendly::vf {

/// One read of memory that a loop repeats: a load, or a compare-and-swap that
/// ends the loop when it succeeds.
struct Poll {
  mlir::Operation *Op = nullptr;
  mlir::Value Address;
  mlir::ValueRange Indices;
  /// The result of the load; null for a compare-and-swap.
  mlir::Value Seen;

  /// True if an earlier run of the pass has already inserted a wait into the
  /// loop.
  bool isWaitAlready() const;
};

/// Decides whether the operations of one iteration only poll.
class Judge {
public:
  /// IsInvariant returns true if a value is defined outside the loop.
  explicit Judge(std::function<bool(mlir::Value)> IsInvariant)
      : IsInvariant(std::move(IsInvariant)) {}

  /// Returns the reason why a wait cannot contain Op, or an empty string if it
  /// can.
  llvm::StringRef visit(mlir::Operation &Op);

  /// Sets Found to the first poll, if there is one. Returns the reason why the
  /// loop is not a wait, or an empty string if it may be one. pre: visit was
  /// called for all operations.
  llvm::StringRef poll(Poll &Found) const;

  /// Returns true if V is computed in the loop from a result of Op.
  bool dependsOn(mlir::Value V, const mlir::Operation &Op) const;

  /// Returns true if V is computed in the loop from an argument of a block that
  /// Which accepts.
  bool
  dependsOnArgument(mlir::Value V,
                    llvm::function_ref<bool(mlir::BlockArgument)> Which) const;

private:
  template <typename Predicate> bool reaches(mlir::Value V, Predicate Is) const;

  std::function<bool(mlir::Value)> IsInvariant;
  llvm::SmallVector<Poll, 1> Polls;
  bool HasWait = false;
};

/// The stores to global symbols of a module. They end the waits that poll these
/// symbols.
class Writers {
public:
  explicit Writers(mlir::ModuleOp Module);

  /// Inserts a notify after each operation that stores to Address. Returns
  /// false, and inserts none, unless Address is a private symbol of the module,
  /// does not escape, and is stored to by code that can call the runtime.
  bool notify(mlir::Value Address);

private:
  struct Uses {
    bool IsPrivate = false;
    bool Escapes = false;
    bool Notifies = false;
    llvm::SmallVector<mlir::Operation *> Stores;
  };
  void addUse(Uses &To, mlir::OpOperand &Use);

  llvm::DenseMap<mlir::StringAttr, Uses> Symbols;
};

} // namespace vfriendly::vf

#endif
