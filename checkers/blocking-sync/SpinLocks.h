//===- SpinLocks.h - Where spin locks are taken and released ----*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   for (const SpinSite &S : Locks.sitesOf(F, Context)) ...
//
// A spin lock is a lock whose waiters poll. A function, macro or class takes or
// releases one by its name (pthread_spin_lock, SpinLockAcquire, SpinLockHolder)
// or by what it does: it polls an atomic object until it has set the object to
// a constant, and returns. Where in an expression the call stands makes no
// difference: if a branch tests the result, the lock is held on one side.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_BLOCKINGSYNC_SPINLOCKS_H
#define VFRIENDLY_CHECKERS_BLOCKINGSYNC_SPINLOCKS_H

#include "checkers/blocking-sync/SpinNames.h"
#include "checkers/blocking-sync/WordChanges.h"
#include "checkers/common/SyncModel.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "llvm/ADT/DenseMap.h"

#include <map>

namespace vfriendly::tidy {

/// The result of a function that takes a lock, if it has taken it.
enum class Success { Always, Zero, NonZero };

/// A place that takes or releases a spin lock.
struct SpinSite {
  SpinSite(SpinOp Op, const clang::Stmt *Site, const clang::ValueDecl *Object)
      : Op(Op), Site(Site), Object(Object) {}

  SpinOp Op;
  /// The call, the construction of a guard, the open-coded loop or store, or
  /// the first statement of a macro's expansion.
  const clang::Stmt *Site;
  /// The variable or field that is locked; null if it has no name.
  const clang::ValueDecl *Object;
  /// A guard: it holds the lock to the end of its scope.
  bool IsGuard = false;
  /// If Site comes from a macro that takes or releases, where that is used.
  clang::SourceLocation Macro;
  /// Of a guard.
  llvm::SmallVector<const clang::Stmt *, 0> Parents;
  Success When = Success::Always;
};

/// Returns true for `do ... while (0)`.
bool runsOnce(const clang::Stmt &Loop, const clang::ASTContext &Context);

/// Returns true if Loop does nothing until a word, which it stores in *Object,
/// has changed. After an addition, that is the turn of a ticket.
bool waitsForTurn(const clang::Stmt &Loop, const clang::ValueDecl **Object);

/// Returns the function that Call calls, directly or by a variable that is set
/// to it where it is defined; null if that is not known.
const clang::FunctionDecl *functionOf(const clang::CallExpr &Call);

class SpinLocks {
public:
  /// Records the use of a macro for which spinOpByName returns Op. pre: Where
  /// is in a file.
  void addMacro(clang::SourceLocation Where, SpinOp Op) { Macros[Where] = Op; }
  /// Must be called before the functions below.
  void use(const SyncModel &Of) { Model = &Of; }
  /// Returns true if F may take a spin lock. Fast: most functions do not.
  bool mayTake(const FunctionSync &F, const clang::ASTContext &Context);
  /// Returns what F takes and releases, in the order of the text.
  std::vector<SpinSite> sitesOf(const FunctionSync &F,
                                const clang::ASTContext &Context);
  /// Returns what a call of Callee does to the lock that is its argument or its
  /// object.
  SpinOp of(const clang::FunctionDecl *Callee, unsigned Depth = 0);
  /// The same, for a lock that may be declared as a spin lock by its type only,
  /// and for calls through pointers that are set once or have telling names.
  SpinOp of(const clang::CallExpr &Call, unsigned Depth = 0);
  /// Returns true if Call takes a lock, or does if its result says so.
  bool takes(const clang::CallExpr &Call);
  /// Returns true if Call returns a guard that holds a lock.
  bool returnsGuard(const clang::CallExpr &Call) {
    return Call.getType()->isRecordType() &&
           isGuard(Call.getType()->getAsCXXRecordDecl());
  }
  /// Returns true for a class that takes a spin lock in its constructor and
  /// releases it in its destructor, or has a method for that.
  bool isGuard(const clang::CXXRecordDecl *Class);

private:
  SpinOp byBody(const clang::FunctionDecl &Definition, unsigned Depth);
  /// pre: takes(Call).
  Success whenTaken(const clang::CallExpr &Call);
  /// Returns true if Loop goes on until it has set an atomic object, which it
  /// stores in *Object unless Object is null.
  bool polls(const clang::Stmt &Loop, unsigned Depth,
             const clang::ASTContext &Context, const clang::ValueDecl **Object);
  /// Returns the lock that a call takes or releases.
  static const clang::ValueDecl *lockOf(const clang::CallExpr &Call);
  bool isLock(const clang::CXXRecordDecl *Class);
  bool hasRelease(const clang::CXXRecordDecl &Class);
  bool takesInConstructor(const clang::CXXRecordDecl &Class);

  /// Returns true if a call in F may try to take a lock.
  bool mayTry(const FunctionSync &F, unsigned Depth);

  const SyncModel *Model = nullptr;
  using MacroUses = std::map<clang::SourceLocation, SpinOp>;
  MacroUses Macros;
  llvm::iterator_range<MacroUses::const_iterator>
  macrosIn(const FunctionSync &F, const clang::ASTContext &Context) const;
  llvm::DenseMap<const clang::FunctionDecl *, SpinOp> Known;
  llvm::DenseMap<const clang::CXXRecordDecl *, bool> Guards;
};

} // namespace vfriendly::tidy

#endif
