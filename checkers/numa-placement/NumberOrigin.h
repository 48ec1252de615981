//===- NumberOrigin.h - Origins of CPU and thread numbers -------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_NUMAPLACEMENT_NUMBERORIGIN_H
#define VFRIENDLY_CHECKERS_NUMAPLACEMENT_NUMBERORIGIN_H

#include "checkers/numa-placement/UnitValues.h"

#include <optional>

namespace vfriendly::tidy {

/// Where a number that may name a CPU or a thread comes from, the most certain
/// origin first.
enum class Origin {
  Constant, ///< Constants only.
  CpuCount, ///< A number of CPUs, or computed from one and constants.
  Modulo,   ///< The remainder by a number of CPUs or by a constant.
  Counter,  ///< A variable that begins at a constant and is stepped.
  Thread,   ///< The number of a thread, such as omp_get_thread_num().
  Unknown,  ///< At least one of its values is not understood.
  Chosen    ///< Read from text or sched_getcpu, or tested in an affinity set.
};

struct NumberOrigin {
  Origin Kind = Origin::Unknown;
  /// The expression that the number comes from: the use of the counter, the
  /// constant, or the remainder.
  Site At;
  /// The counter, if the Kind is Counter.
  const clang::VarDecl *Counter = nullptr;
  /// True if the number is multiplied, divided or masked, so that neighbouring
  /// threads do not use neighbouring elements.
  bool IsScaled = false;
};

/// Finds the origin of numbers by the values that variables are given in the
/// translation unit.
///
///   NumberOrigins Origins(Values, Context);
///   if (Origins.of(Site).Kind == Origin::Counter) ...
class NumberOrigins {
public:
  NumberOrigins(const UnitValues &Values, const clang::ASTContext &Context);

  NumberOrigin of(const Site &Number);

private:
  NumberOrigin ofOperator(const clang::BinaryOperator &Binary,
                          const Site &Number);
  NumberOrigin ofCall(const clang::CallExpr &Call, const Site &Number);
  NumberOrigin ofName(const clang::ValueDecl &Name, const Site &Use);
  NumberOrigin ofPointee(const Site &Pointer);
  NumberOrigin ofValues(const UnitValues::ValueRefs &Given,
                        const clang::ValueDecl &Of, const Site &Use);
  NumberOrigin join(NumberOrigin A, NumberOrigin B) const;
  bool isOfStart(const clang::Expr *Object, unsigned Depth = 0) const;
  bool isTested(const clang::VarDecl &Variable, const Site &Use) const;

  /// A test whether an affinity set contains the number in Variable.
  struct Test {
    const clang::VarDecl *Variable;
    Site At;
  };

  const UnitValues &Values;
  const clang::ASTContext &Context;
  std::vector<Test> Tests;
  /// The variables whose origin is being examined. The search ends where a
  /// variable depends on itself.
  llvm::SmallVector<const clang::ValueDecl *, 8> Open;
};

/// An expansion of CPU_SET, CPU_CLR or CPU_ISSET, or their forms with a size,
/// as glibc writes them.
struct CpuSetUse {
  enum { Add, Remove, Test } Kind;
  const clang::Expr *Cpu;
  const clang::Expr *Set;
};
std::optional<CpuSetUse> matchCpuSetUse(const clang::Stmt &S);

} // namespace vfriendly::tidy

#endif
