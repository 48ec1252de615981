//===- SyncModel.h - Locks, waits and wake-ups of a unit --------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   for (const FunctionSync &F : Model.functions())
//     for (const SyncSite &S : F.Syncs)
//       if (S.Kind == SyncKind::Broadcast) ...
//
// Records what the functions of one translation unit do to locks, conditions
// and threads. Recognizes the operations by their names in POSIX, C11, C++ and
// vfriendly. Functions and classes of the program count by what they do: if a
// function applies an operation to a parameter, to a member of its object or to
// the thread that it returns, each call of it counts as the operation on the
// argument, the object or the result (SyncWrappers.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_COMMON_SYNCMODEL_H
#define VFRIENDLY_CHECKERS_COMMON_SYNCMODEL_H

#include "checkers/common/Loops.h"

#include "clang/AST/Decl.h"
#include "clang/AST/Expr.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallVector.h"

namespace vfriendly::tidy {

enum class SyncKind {
  Lock, ///< Locks a mutex, directly or by a guard object.
  Unlock,
  SpinLock, ///< pthread_spin_lock.
  Wait,
  TimedWait,
  Signal, ///< Wakes one waiter.
  Broadcast,
  CreateThread, ///< Starts a thread, by std::async as well.
  Join,         ///< Waits for its end, or for a future.
  Detach,
  Accept, ///< Accepts a connection: work that arrives from outside.
  Sleep,
  Yield ///< Yields or pauses.
};

/// A synchronization call and the statements around it, the outermost first.
struct SyncSite {
  SyncKind Kind;
  const clang::Expr *Site;
  const clang::FunctionDecl *Function;
  /// The variable or field that is locked, waited on or woken; null if it has
  /// no name.
  const clang::ValueDecl *Object = nullptr;
  /// The parameter to whose structure Object belongs; null if there is none.
  const clang::ParmVarDecl *Owner = nullptr;
  /// The condition that a wait waits for, possibly negated; null if there is
  /// not exactly one.
  const clang::Expr *Predicate = nullptr;
  llvm::SmallVector<const clang::Stmt *, 8> Parents;
  /// The destructor of a created thread's handle joins the thread: a future of
  /// std::async, or a std::jthread.
  bool JoinsItself = false;
  /// Only the name of a function of another file says what it does.
  bool IsByName = false;
};

struct CallSite {
  const clang::CallExpr *Call;
  const clang::FunctionDecl *Callee;
  llvm::SmallVector<const clang::Stmt *, 8> Parents;
};

/// The construction of an object of one of the program's classes.
struct MakeSite {
  const clang::CXXConstructExpr *Made;
  llvm::SmallVector<const clang::Stmt *, 8> Parents;
};

struct FunctionSync {
  const clang::FunctionDecl *Function;
  std::vector<SyncSite> Syncs;
  /// Calls of functions that are not recognized by name.
  std::vector<CallSite> Calls;
  std::vector<MakeSite> Makes;
  /// Calls through pointers.
  std::vector<const clang::CallExpr *> Indirect;
  /// True if a loop contains an atomic operation or assembly.
  bool Polls = false;
  /// True if there is an atomic operation or assembly.
  bool HasAtomics = false;
  /// True if there is a new- or delete-expression, a copy of an object by a
  /// visible constructor or of the standard library, a call through a pointer
  /// or a loop: what may take long without a name.
  bool HasUnnamed = false;
  /// The number of statements and expressions.
  unsigned Nodes = 0;
};

class SyncModel {
public:
  /// Adds the definition of an ordinary function or of a template instance.
  /// Later calls for the same definition have no effect.
  void add(const clang::FunctionDecl &Function);
  /// Completes the model. Must be called after the last add.
  void finish();

  llvm::ArrayRef<FunctionSync> functions() const { return Functions; }
  /// Returns the synchronization in the definition of Function; null if no
  /// definition is visible.
  const FunctionSync *of(const clang::FunctionDecl *Function) const;
  /// Returns true if a call of Function may wait on a condition. Ignores
  /// callees whose definitions are not visible.
  bool mayWait(const clang::FunctionDecl *Function) const;
  /// Returns true if each call of Function that returns has woken a waiter.
  /// Function must wake the waiter itself, or be a short wrapper of a function
  /// that does.
  bool alwaysWakes(const clang::FunctionDecl *Function) const;

private:
  void addWrappers();
  void findWaiters();
  bool wakesWithin(const clang::FunctionDecl *Function, unsigned Depth) const;
  bool searchWakes(const FunctionSync &F, unsigned Depth) const;

  std::vector<FunctionSync> Functions;
  llvm::DenseMap<const clang::FunctionDecl *, size_t> Known;
  /// Definitions that may wait on a condition, by themselves or by calls.
  llvm::DenseSet<const clang::FunctionDecl *> Waiters;
  /// Results of wakesWithin, by definition and depth.
  mutable llvm::DenseMap<std::pair<const clang::FunctionDecl *, unsigned>, bool>
      Wakes;
  bool Finished = false;
};

/// Returns the variable or field that an expression names, through addresses,
/// pointers and elements; null if there is none.
const clang::ValueDecl *objectOf(const clang::Expr *E);

/// Returns the parameter that E leads from: p for `&p->queue.lock`; null for
/// the parameter itself and for all else.
const clang::ParmVarDecl *ownerOf(const clang::Expr *E);

/// Returns the condition of the loop around a wait; null if there is none.
const clang::Expr *predicateOf(llvm::ArrayRef<const clang::Stmt *> Parents);

/// Returns the name of a lock in quotes; "a lock" if Object is null.
std::string nameOf(const clang::ValueDecl *Object);

/// Returns the variable that the innermost declaration among Parents declares;
/// null for a temporary.
const clang::ValueDecl *declaredAt(llvm::ArrayRef<const clang::Stmt *> Parents);

/// Parents are the statements around a new object. Returns the variable, field
/// or container to which the object is assigned or added; null for a temporary.
/// Sets *MayOutlive if something else may keep the object.
const clang::ValueDecl *takenBy(llvm::ArrayRef<const clang::Stmt *> Parents,
                                bool *MayOutlive = nullptr);

/// Returns true for a loop over items that exist before it begins: over a
/// range, or counting up to a bound. A loop that fetches the next item until
/// there is none may wait for each item.
bool isOverKnownItems(const clang::Stmt *Loop);

} // namespace vfriendly::tidy

#endif
