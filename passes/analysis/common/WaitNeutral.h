//===- WaitNeutral.h - Effects of calls in waiting loops --------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   switch (classifyCall(Call).Effect) { case CallEffect::Pause: ... }
//
// Tells whether a loop that makes this call may still be a wait, and what the
// call is for such a loop: a spin hint, the reading of a clock, or a poll.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_ANALYSIS_COMMON_WAITNEUTRAL_H
#define VFRIENDLY_PASSES_ANALYSIS_COMMON_WAITNEUTRAL_H

#include "passes/analysis/common/CallEffects.h"

#include <string>

namespace llvm {
class CallBase;
class Function;
class Instruction;
class Value;
} // namespace llvm

namespace vfriendly {

struct CallClass {
  CallEffect Effect;
  /// The address that AsmLoad, AsmTry, AsmAdd and AsmStore access; null for
  /// other effects.
  llvm::Value *Address = nullptr;
};

/// Classifies Call, without inspecting the callee's body.
CallClass classifyCall(const llvm::CallBase &Call);

/// Returns true if I accesses memory that the program marks as shared: by an
/// atomic or volatile access, by assembly, or by a trylock.
bool isMarkedAccess(const llvm::Instruction &I);

/// Function attribute of a declaration. Its value is the effect that the
/// summary file records for the function, as returned by wordFor
/// (FunctionSummaries.h).
inline constexpr llvm::StringLiteral SummaryAttribute = "vf.effect";

/// Function attribute by which the clang-tidy check says what the name of a
/// function tells in the source. Its value is the number of a CallEffect.
inline constexpr llvm::StringLiteral SourceAttribute = "vf.source-effect";

/// Attribute of a call by a pointer. Its value is the name that the pointer has
/// in the source.
inline constexpr llvm::StringLiteral CalledNameAttribute = "vf.called-name";

/// Attribute of a call that is not inlined although its callee's body is seen:
/// the callee has a path without effects that reads memory which the program
/// marks as shared (ConditionExposer).
inline constexpr llvm::StringLiteral TryAttribute = "vf.try";

/// Returns the function that Call calls if its effect is known from the summary
/// file only; null otherwise.
const llvm::Function *summarizedCallee(const llvm::CallBase &Call);

/// Returns the callee's name in the source, without namespace or class; for a
/// function pointer, the variable's name. Empty if there is none.
std::string calledName(const llvm::CallBase &Call);

/// Returns true if Call constructs, assigns or destroys an object of a C++
/// class and has only addresses of local variables as arguments, besides
/// constants: it passes on what another call has returned.
bool passesObjectOn(const llvm::CallBase &Call);

/// Returns true if Call constructs or destroys a local object of a C++ class.
bool beginsOrEndsObject(const llvm::CallBase &Call);

/// Returns true if F is a destructor of a C++ class.
bool isDestructor(const llvm::Function &F);

/// Returns true if Object, an underlying object, is a local variable of the
/// function or the memory for its result.
bool isLocalObject(const llvm::Value &Object);

/// Returns the effect that the name of the callee suggests: Pause, Sleep,
/// Clock, Reads, TryLock, Lock, or Other. It leaves a doubt, so the loop keeps
/// its iterations; a loop that works but for a TryLock or Lock by name is only
/// reported (Effect::ByName), and others may yield between iterations.
CallEffect promisedEffect(const llvm::CallBase &Call);

} // namespace vfriendly

#endif
