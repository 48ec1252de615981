//===- CallEffects.h - Calls and assembly in a waiting loop -----*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the pass and the check know of a call by its name, and of inline
// assembly by its text. LLVMSupport only: both libraries compile it.
//
//   CallEffect E = effectOfAsm("lock; xchgl %0, %1", {.HasMemory = true});
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_COMMON_CALLEFFECTS_H
#define VFRIENDLY_PASSES_COMMON_CALLEFFECTS_H

#include "llvm/ADT/StringRef.h"

namespace vfriendly {

enum class CallEffect {
  None,     ///< Computes its result from its operands, or nothing at all.
  Pause,    ///< The CPU's spin hint.
  Yield,    ///< Gives the CPU to another runnable thread.
  Sleep,    ///< Gives the CPU up for a time.
  Clock,    ///< Reads a clock.
  Local,    ///< Touches the calling thread's own state only.
  TryLock,  ///< Tries to take a lock the caller cannot see into.
  AsmLoad,  ///< Inline assembly that reads its memory operand.
  AsmTry,   ///< Inline assembly that tries an idempotent read-modify-write.
  AsmAdd,   ///< Inline assembly that adds to memory: an effect each time.
  AsmStore, ///< Inline assembly that writes memory, and nothing else.
  Other     ///< Anything else: only its body, if it has one, can tell.
};

/// Returns true if Effect says that the caller waits.
inline bool isHint(CallEffect Effect) {
  return Effect == CallEffect::Pause || Effect == CallEffect::Yield ||
         Effect == CallEffect::Sleep;
}

/// Returns the effect of the library function Name (mangled, as in object
/// files); Other if WaitNeutral.def does not list it.
CallEffect effectOfLibraryFunction(llvm::StringRef Name);

/// The properties of a statement of inline assembly besides its text.
struct AsmOperands {
  bool HasMemory = false;    ///< Exactly one object in memory.
  bool WritesMemory = false; ///< That object is an output.
  bool HasPointer = false; ///< A register points to an object: `(%0)`, `[%0]`.
  bool HasResult = false;  ///< Writes a register.
  bool IsOpaque = false;   ///< Several objects in memory: no telling which.
};

/// Classifies inline assembly. Text may spell operands as the source does or
/// as the IR does.
CallEffect effectOfAsm(llvm::StringRef Text, AsmOperands Has);

/// How an AsmAdd changes memory.
struct AsmSum {
  bool Subtracts; ///< The operand, or 1.
  bool ByOne;     ///< inc and dec have no operand.
};

/// Returns how the assembly changes memory. pre: effectOfAsm(Text) is AsmAdd.
AsmSum sumOfAsm(llvm::StringRef Text);

} // namespace vfriendly

#endif
