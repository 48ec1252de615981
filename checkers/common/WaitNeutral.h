//===- WaitNeutral.h - Effects of calls in waiting loops --------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   if (classifyFunction(*Call->getDirectCallee()) == CallEffect::Pause) ...
//
// Decides by the callee's name alone whether a loop that makes a call may still
// be a wait. passes/analysis/common/WaitNeutral.def, which the passes also use,
// has the names.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_COMMON_WAITNEUTRAL_H
#define VFRIENDLY_CHECKERS_COMMON_WAITNEUTRAL_H

#include "passes/analysis/common/CallEffects.h"

namespace clang {
class CallExpr;
class Decl;
class FunctionDecl;
class GCCAsmStmt;
} // namespace clang

namespace vfriendly::tidy {

/// Returns true if D is declared in namespace std, at any depth.
bool isOfStd(const clang::Decl &D);

CallEffect classifyFunction(const clang::FunctionDecl &Callee);

/// Classifies Call like classifyFunction(Callee), except that a call of select
/// or poll counts as a sleep only if it watches no descriptor.
CallEffect classifyCall(const clang::CallExpr &Call,
                        const clang::FunctionDecl &Callee);

/// Classifies a statement of inline assembly by effectOfAsm, to which it passes
/// the operands of Asm.
CallEffect classifyAsm(const clang::GCCAsmStmt &Asm);

} // namespace vfriendly::tidy

#endif
