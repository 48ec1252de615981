//===- CopyBody.h - A second body within the same module --------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// CloneFunction gives the copy a DISubprogram of its own, with scopes and
// variables that belong to it. If the blocks of such a copy move back into the
// function, or if the copy is erased, the module's debug information is
// invalid. The copies made here share all metadata with the function that they
// were made from:
//
//   ValueToValueMapTy Map;
//   Function *Copy = copyWithBody(F, ".trial", Map);
//   ...
//   Copy->eraseFromParent();
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_PREPARE_COPYBODY_H
#define VFRIENDLY_PASSES_PREPARE_COPYBODY_H

#include "llvm/IR/Function.h"
#include "llvm/Transforms/Utils/ValueMapper.h"

namespace vfriendly {

/// Adds an internal function to F's module that has F's type, attributes and
/// body, and maps F's arguments, blocks and instructions to its own. The copy
/// has no DISubprogram; its instructions have the locations, scopes and
/// variables of F's. Only identifiers of assignments (DIAssignID) are new,
/// because they link the instructions of one function. The caller erases the
/// copy before another pass runs. pre: F has a body.
llvm::Function *copyWithBody(llvm::Function &F, llvm::StringRef Suffix,
                             llvm::ValueToValueMapTy &Map);

} // namespace vfriendly

#endif
