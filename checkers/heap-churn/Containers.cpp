//===- Containers.cpp - Containers of the standard library ---------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/heap-churn/Containers.h"

#include "checkers/common/SourceText.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclTemplate.h"

using namespace clang;

namespace vfriendly::tidy {

StringRef stdKindOf(QualType Type) {
  auto *Record = Type.isNull()
                     ? nullptr
                     : Type.getNonReferenceType()->getAsCXXRecordDecl();
  return Record && Record->isInStdNamespace() ? identifierOf(Record) : "";
}

StringRef kindOf(QualType Type) {
  StringRef Kind = stdKindOf(Type);
  const CXXRecordDecl *Class =
      Kind.empty() ? Type->getAsCXXRecordDecl() : nullptr;
  if (!Class || !Class->hasDefinition() || Class->isDependentContext())
    return Kind;
  for (const CXXBaseSpecifier &Base : Class->bases())
    if (StringRef Inherited = stdKindOf(Base.getType()); !Inherited.empty())
      return Inherited;
  return Kind;
}

bool holdsThreads(QualType Type) {
  auto *Class = dyn_cast_or_null<ClassTemplateSpecializationDecl>(
      Type->getAsCXXRecordDecl());
  if (!Class || Class->getTemplateArgs().size() == 0 ||
      Class->getTemplateArgs()[0].getKind() != TemplateArgument::Type)
    return false;
  StringRef Element = stdKindOf(Class->getTemplateArgs()[0].getAsType());
  return Element == "thread" || Element == "jthread" || Element == "future" ||
         Element == "shared_future";
}

bool isOfNodes(StringRef Kind) {
  return llvm::is_contained(
      {"deque", "list", "forward_list", "set", "multiset", "map", "multimap",
       "unordered_set", "unordered_multiset", "unordered_map",
       "unordered_multimap", "queue", "stack", "priority_queue"},
      Kind);
}

bool allocatesEmpty(StringRef Kind) {
  return llvm::is_contained({"deque", "queue", "stack"}, Kind);
}

bool isStringStream(StringRef Kind) { return Kind.ends_with("stringstream"); }

} // namespace vfriendly::tidy
