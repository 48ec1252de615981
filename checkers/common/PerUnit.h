//===- PerUnit.h - Objects that a unit's checks share -----------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_COMMON_PERUNIT_H
#define VFRIENDLY_CHECKERS_COMMON_PERUNIT_H

#include <memory>

namespace vfriendly::tidy {

/// Returns the object of type T that all checks of a translation unit share.
/// The object lives as long as a check holds a pointer to it. clang-tidy
/// creates the checks of a unit together, on one thread, and destroys them
/// together.
template <typename T> std::shared_ptr<T> perUnit() {
  static thread_local std::weak_ptr<T> Current;
  std::shared_ptr<T> Result = Current.lock();
  if (!Result)
    Current = Result = std::make_shared<T>();
  return Result;
}

} // namespace vfriendly::tidy

#endif
