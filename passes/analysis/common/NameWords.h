//===- NameWords.h - The words of a function's name -------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_ANALYSIS_COMMON_NAMEWORDS_H
#define VFRIENDLY_PASSES_ANALYSIS_COMMON_NAMEWORDS_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"

#include <string>

namespace vfriendly {

/// Returns the words of my_yield_cpu, myYieldCPU or MyYield2, in lower case.
llvm::SmallVector<std::string, 4> wordsOf(llvm::StringRef Name);

/// Returns true if one of the words of Name is in Words.
bool hasWord(llvm::StringRef Name, const llvm::StringSet<> &Words);

} // namespace vfriendly

#endif
