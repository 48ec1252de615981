//===- CallEffects.h - Calls and assembly in a waiting loop -----*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Classifies calls in a waiting loop by the name of the library function, and
// inline assembly by its text. The LLVM pass and the clang-tidy check both
// compile this file, so it uses only LLVMSupport.
//
//   CallEffect E = effectOfAsm("lock; xchgl %0, %1", {.HasMemory = true});
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_ANALYSIS_COMMON_CALLEFFECTS_H
#define VFRIENDLY_PASSES_ANALYSIS_COMMON_CALLEFFECTS_H

#include "llvm/ADT/StringRef.h"

#include <optional>

namespace vfriendly {

enum class CallEffect {
  None,     ///< Has no side effect; may compute a result.
  Pause,    ///< The CPU's spin hint.
  Yield,    ///< Gives the CPU to another runnable thread.
  Sleep,    ///< Gives the CPU up for a time.
  Clock,    ///< Reads a clock.
  Local,    ///< Accesses only the calling thread's own state.
  Reads,    ///< Only reads memory, at addresses that the caller may not know.
  TryLock,  ///< Tries to take a library's lock, whose memory is unknown.
  Lock,     ///< Takes or releases a library's lock, its first argument.
  AsmLoad,  ///< Inline assembly that reads its memory operand.
  AsmTry,   ///< Inline assembly: an idempotent read-modify-write.
  AsmAdd,   ///< Inline assembly that adds to memory: not idempotent.
  AsmStore, ///< Inline assembly that writes memory, and nothing else.
  Other     ///< Anything else: unknown unless the callee's body tells.
};

/// Returns true if Effect is a hint that the caller waits: a pause, a yield or
/// a sleep.
inline bool isHint(CallEffect Effect) {
  return Effect == CallEffect::Pause || Effect == CallEffect::Yield ||
         Effect == CallEffect::Sleep;
}

/// Returns the effect of the library function Name (mangled, as in object
/// files); Other if WaitNeutral.def does not list it.
CallEffect effectOfLibraryFunction(llvm::StringRef Name);

/// Returns the word for Effect in a summary file (SummaryFile.h). pre: Effect
/// is None, Pause, Yield, Sleep, Clock, Reads or Other, the effects that a
/// function of another translation unit can have.
llvm::StringRef wordFor(CallEffect Effect);

/// Returns the effect for which wordFor returns Word; nullopt if there is none.
std::optional<CallEffect> effectFor(llvm::StringRef Word);

/// The properties of a statement of inline assembly besides its text.
struct AsmOperands {
  bool HasMemory = false;    ///< Has exactly one memory operand.
  bool WritesMemory = false; ///< The memory operand is an output.
  bool HasPointer = false;   ///< A register holds an address: `(%0)`, `[%0]`.
  bool HasResult = false;    ///< Writes a register.
  bool IsOpaque = false;     ///< Has several different memory operands.
};

/// Classifies inline assembly. Text may name operands as the source does (%0)
/// or as LLVM IR does ($0).
CallEffect effectOfAsm(llvm::StringRef Text, AsmOperands Has);

/// How an AsmAdd changes memory.
struct AsmSum {
  bool Subtracts; ///< Subtracts instead of adding.
  bool ByOne;     ///< The amount is 1, not an operand: inc, dec.
};

/// Returns whether the assembly adds or subtracts, and whether the amount is 1.
/// pre: effectOfAsm(Text) is AsmAdd.
AsmSum sumOfAsm(llvm::StringRef Text);

} // namespace vfriendly

#endif
