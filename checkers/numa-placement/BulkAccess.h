//===- BulkAccess.h - Arrays that loops traverse ----------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_NUMAPLACEMENT_BULKACCESS_H
#define VFRIENDLY_CHECKERS_NUMAPLACEMENT_BULKACCESS_H

#include "checkers/numa-placement/ThreadCount.h"

namespace vfriendly::tidy {

/// Which threads execute a part of a function.
enum class Team {
  Callers, ///< The threads that call the function.
  All,     ///< All threads of an OpenMP region or a parallel algorithm, or
           ///< those that a call starts.
  One      ///< One thread of a team: single, master, masked.
};

/// What a function does to arrays, in the order of the source.
struct BulkEvent {
  enum {
    Write, ///< A loop, a library function or a vector's size writes elements.
    Read,  ///< A loop reads elements.
    Call   ///< The function calls Callee, or starts threads with it.
  } Kind = Write;
  Team By = Team::Callers;
  Site At;
  /// The array, or the pointer or vector that holds its address; null for a
  /// Call.
  const clang::ValueDecl *Array = nullptr;
  /// The outermost loop whose counter chooses the element; null if the counter
  /// is a parallel algorithm's. The call or declaration that writes all
  /// elements, if no loop of the function does.
  const clang::Stmt *Loop = nullptr;
  /// The bytes that are written or read, 0 if that is not known.
  uint64_t Bytes = 0;
  /// True if a work-sharing loop uses each element many times: all threads read
  /// the whole array, as jW in the example, or an inner loop repeats the
  /// access, as with iN, and only one loop chooses the element. Such a table is
  /// small compared with the other data.
  ///   #pragma omp parallel for
  ///   for (i = 0; i < rows; i++)
  ///     for (j = 0; j < columns; j++)
  ///       d[i][j] = J[iN[i]][j] - J[i][jW[j]];
  bool IsReused = false;
  /// The number of tables of pointers between Array and the elements: 1 for
  /// `rows[i][j]` of pointers rows[i]. Each row is an object of its own.
  unsigned Rows = 0;
  /// True if the write depends on elements of the array, which another write
  /// has set before: x[i] += y, x[i] = max(x[i], y).
  bool IsUpdate = false;
  /// True if the write sets all bytes to zero, from the first element on.
  bool IsZero = false;
  /// The function that is called; null if Pointer leads to it.
  const clang::FunctionDecl *Callee = nullptr;
  const clang::Expr *Pointer = nullptr;
  llvm::SmallVector<const clang::Expr *, 4> Arguments;
};

/// Returns true if F has directives that only make sense in a team, outside of
/// any region: a team calls it, if it is not known who does.
bool isForTeam(const clang::FunctionDecl &F);

/// Lists the reads and writes of array elements by the loops of Function, the
/// library functions and vectors in it that write whole arrays, and its calls.
/// The index of such an element contains a variable that a loop around the
/// access changes. Ignores arrays that have an element for each thread.
std::vector<BulkEvent> bulkEvents(const clang::FunctionDecl &Function,
                                  const UnitValues &Values,
                                  ThreadCounts &Counts,
                                  const clang::ASTContext &Context);

} // namespace vfriendly::tidy

#endif
