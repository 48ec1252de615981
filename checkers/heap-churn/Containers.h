//===- Containers.h - Containers of the standard library --------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_HEAPCHURN_CONTAINERS_H
#define VFRIENDLY_CHECKERS_HEAPCHURN_CONTAINERS_H

#include "clang/AST/Type.h"

namespace vfriendly::tidy {

/// Returns `vector` for a std::vector, and so on; empty for types outside of
/// std.
llvm::StringRef stdKindOf(clang::QualType Type);

/// Returns the kind of Type, or of the first class of std that it inherits
/// from: a string with methods of the program's own.
llvm::StringRef kindOf(clang::QualType Type);

/// Returns true if Type is a container of threads or futures: their creation
/// costs far more than the container's memory, and thread-per-task reports it.
bool holdsThreads(clang::QualType Type);

/// Returns true for containers that allocate each element, or a few, on its
/// own.
bool isOfNodes(llvm::StringRef Kind);

/// Returns true for containers that allocate before the first element comes, in
/// libstdc++: a map of blocks and one block.
bool allocatesEmpty(llvm::StringRef Kind);

/// Returns true for streams that write to a string or read one.
bool isStringStream(llvm::StringRef Kind);

} // namespace vfriendly::tidy

#endif
