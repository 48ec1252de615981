//===- Summaries.h - What called functions do -------------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Answers by a function's body whether a waiting loop may call it, and what the
// call does:
//
//   Summaries Callees(Summaries::Inline);
//   CalleeEffects Does;
//   if (Callees.add(Call, /*Locals=*/0, Does) && Does.ReadsMarked) ...
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_ANALYSIS_WAITS_SUMMARIES_H
#define VFRIENDLY_PASSES_ANALYSIS_WAITS_SUMMARIES_H

#include "passes/analysis/common/CallEffects.h"

#include "llvm/ADT/DenseMap.h"

#include <optional>

namespace llvm {
class CallBase;
class Function;
class Instruction;
class Value;
} // namespace llvm

namespace vfriendly {

/// Maximum number of instructions of a function that is looked into.
/// libstdc++'s compare_exchange has a case for each pair of memory orders,
/// about 200 instructions before constants are folded; other conditions are
/// smaller.
inline constexpr unsigned MaxCalleeInstructions = 300;
/// Maximum depth of calls. A member function of a class, its std::atomic base
/// and the helpers of that base take 4 levels; wrappers around wrappers may
/// take twice as many.
inline constexpr unsigned MaxCallDepth = 8;

/// A set of the first 32 parameters of a function; bit N stands for number N.
using ParameterSet = uint32_t;

/// Returns true if the author and the linker let F be inlined.
bool mayInline(const llvm::Function &F);

/// What a function does that a waiting loop may call.
struct CalleeEffects {
  /// True if it adds to memory that other threads may read.
  bool Adds = false;
  /// True if it has other effects, too, but also a path from its entry to its
  /// end that reads memory and has none: it tries something, and the path is
  /// that of a failed try. The other members describe such paths.
  bool Tries = false;
  /// True if it reads memory, and memory that the program marks as shared
  /// (isMarkedAccess).
  bool Reads = false, ReadsMarked = false;
  bool ReadsClock = false;
  /// The strongest hint that it gives, as a step of a back-off does: None,
  /// Pause, Yield or Sleep.
  CallEffect Hint = CallEffect::None;

  CalleeEffects &operator|=(const CalleeEffects &Other);
};

class Summaries {
public:
  enum Use {
    Inline, ///< Describes functions that may be inlined.
    Record  ///< Describes what callers in other units may rely on: exact
            ///< definitions that change no memory, and read none of a device.
  };
  explicit Summaries(Use For) : For(For) {}

  /// Returns what F does, if the parameters in Locals point to local variables
  /// of the loop's function; nullopt if it has another effect on each path.
  std::optional<CalleeEffects> of(llvm::Function &F, ParameterSet Locals,
                                  unsigned Depth = 0);
  /// Adds what Call does to Does, what its caller does. Returns false if a
  /// waiting loop may not make the call.
  bool add(llvm::CallBase &Call, ParameterSet Locals, CalleeEffects &Does,
           unsigned Depth = 0);

private:
  bool mayDescribe(const llvm::Function &F) const;
  bool add(llvm::Instruction &I, ParameterSet Locals, CalleeEffects &Does,
           unsigned Depth);

  Use For;
  llvm::DenseMap<std::pair<llvm::Function *, ParameterSet>,
                 std::optional<CalleeEffects>>
      Known;
};

/// Returns true if a store to the address V is known to write a local variable
/// of the loop's function or of its thread: one of the executing function, or
/// one to which a parameter in Locals points.
bool isLocalStore(const llvm::Value *V, ParameterSet Locals);

} // namespace vfriendly

#endif
