//===- Kept.cpp - Functions marked vfriendly:keep -------------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/common/Kept.h"

#include "clang/AST/Attr.h"
#include "clang/AST/Decl.h"

using namespace clang;

namespace vfriendly::tidy {

bool isKept(const FunctionDecl &Function) {
  for (const DeclContext *C = &Function; C; C = C->getParent())
    if (auto *F = dyn_cast<FunctionDecl>(C))
      for (const auto *Note : F->specific_attrs<AnnotateAttr>())
        if (Note->getAnnotation() == "vfriendly:keep")
          return true;
  return false;
}

} // namespace vfriendly::tidy
