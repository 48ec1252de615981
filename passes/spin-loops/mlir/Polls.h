//===- Polls.h - Effects of an MLIR loop's iteration ------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_SPINLOOPS_MLIR_POLLS_H
#define VFRIENDLY_PASSES_SPINLOOPS_MLIR_POLLS_H

#include "passes/analysis/waits/Facts.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <functional>

namespace vfriendly::vf {

/// One read of memory that a loop repeats: a load, or a compare-and-swap that
/// ends the loop when it succeeds.
struct PolledRead {
  mlir::Operation *Op = nullptr;
  mlir::Value Address;
  mlir::ValueRange Indices;
  /// The result of the load; null for a compare-and-swap.
  mlir::Value Seen;
};

/// Gathers the facts about a loop, for the judge of passes/analysis. Call visit
/// for all operations, then addExit and addCarried, then judge.
class LoopFacts {
public:
  using ArgumentTest = llvm::function_ref<bool(mlir::BlockArgument)>;

  /// IsInvariant returns true if a value is defined outside the loop.
  explicit LoopFacts(std::function<bool(mlir::Value)> IsInvariant)
      : IsInvariant(std::move(IsInvariant)) {}

  void visit(mlir::Operation &Op);

  /// Adds an exit by Condition. Changes returns true if an argument of a block
  /// differs between iterations.
  void addExit(mlir::Value Condition, ArgumentTest Changes);

  /// Adds an argument to which an iteration passes the value Next, which is
  /// null if the branch computes it.
  void addCarried(mlir::BlockArgument Argument, mlir::Value Next);

  /// Returns the reason why the loop is not rewritten, or an empty string if it
  /// is a proved wait with one poll. Sets Found to the first poll if the loop
  /// only polls.
  llvm::StringRef judge(PolledRead &Found) const;

private:
  template <typename Predicate> bool reaches(mlir::Value V, Predicate Is) const;

  std::function<bool(mlir::Value)> IsInvariant;
  llvm::SmallVector<PolledRead, 1> Polls;
  Facts Of;
  bool HasWait = false;
  /// True if an iteration computes a value from that of the one before it.
  bool Carries = false;
};

/// The stores to global symbols of a module. They end the waits that poll these
/// symbols.
class SymbolStores {
public:
  explicit SymbolStores(mlir::ModuleOp Module);

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
