//===- ArrayObjects.cpp - Which arrays a name stands for ------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/numa-placement/ArrayObjects.h"

#include "checkers/numa-placement/ElementAccess.h"

using namespace clang;

namespace vfriendly::tidy {

/// Maximum number of arrays that a pointer may point to: the two of a step from
/// an old state to a new one, and those of a few kinds of data.
static constexpr unsigned MaxObjects = 4;

ArrayObjects::Objects ArrayObjects::objectsOf(const ValueDecl *Name,
                                              const Bindings &Bound) const {
  Objects Found;
  llvm::SmallPtrSet<const ValueDecl *, 8> Seen;
  if (!collect(Name, Bound, Seen, Found))
    return {};
  return Found.empty() ? Objects{Name} : Found;
}

/// Adds the objects of a name that is not in Seen yet to Found. Returns false
/// if they are not known, or many.
bool ArrayObjects::collect(const ValueDecl *Name, const Bindings &Bound,
                           llvm::SmallPtrSetImpl<const ValueDecl *> &Seen,
                           Objects &Found) const {
  if (!Seen.insert(Name).second)
    return true;
  auto Add = [&](const ValueDecl *Object) {
    if (!llvm::is_contained(Found, Object))
      Found.push_back(Object);
    return Found.size() <= MaxObjects;
  };
  if (auto Known = Bound.find(Name); Known != Bound.end())
    return Known->second && Add(Known->second);
  QualType T = Name->getType();
  if (!(T->isPointerType() || T->isReferenceType()))
    return Add(Name);
  bool IsOther = false;
  for (const GivenValue *Value : Values.valuesOf(*Name)) {
    if (Value->Kind != GivenValue::Assigned)
      continue;
    const ValueDecl *Root = rootOf(Value->At.E);
    if (isLoaded(*Value->At.E))
      return false;
    if (!Root || Root == Name || isa<FunctionDecl>(Root))
      continue; // A new block, null, or an advance such as p = p + 1.
    IsOther = true;
    if (!collect(Root, Bound, Seen, Found))
      return false;
  }
  return IsOther || Add(Name);
}

const ValueDecl *ArrayObjects::objectOf(const ValueDecl *Name,
                                        const Bindings &Bound) const {
  Objects All = objectsOf(Name, Bound);
  return All.size() == 1 ? All.front() : nullptr;
}

} // namespace vfriendly::tidy
