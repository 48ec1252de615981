//===- LoweredUnit.h - The LLVM IR of a translation unit --------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   Unit(perUnit<LoweredUnit>())          // in the constructor of a check
//   Roots.push_back(&F);                  // while functions are matched
//   Unit->add(LoweredUnit::Inlined, *this);
//   if (!Unit->judge(Context)) ...        // at the end of the unit: no IR
//
// Generates LLVM IR for the functions that checks ask for, at most once in a
// unit, so that a check may use the analysis of an LLVM pass.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_COMMON_LOWEREDUNIT_H
#define VFRIENDLY_CHECKERS_COMMON_LOWEREDUNIT_H

#include "checkers/common/FunctionBodies.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/PassManager.h"

#include <string>

namespace llvm {
class DebugLoc;
class Module;
} // namespace llvm

namespace vfriendly::tidy {

/// A place in the source, as debug information describes it. The path File is
/// relative to the working directory of the compilation.
struct LoweredPlace {
  std::string File;
  unsigned Line = 0, Column = 0;
};

/// Returns true if a call of the source was inlined at At, and not the body of
/// an OpenMP task, which clang calls itself. pre: At is set.
bool isInlined(const llvm::DebugLoc &At);

/// Returns the place of an instruction. In code that was inlined, this is the
/// place of the outermost call. Line is 0 if the place is unknown.
LoweredPlace loweredPlaceOf(const llvm::DebugLoc &At);

/// The IR of the functions that one check has asked for.
struct LoweredFunctions {
  llvm::Module &M;
  llvm::FunctionAnalysisManager &FAM;
  /// Returns the declaration of a function; null if it has none in the source.
  llvm::function_ref<const clang::FunctionDecl *(const llvm::Function &)>
      DeclOf;
  /// Returns the declaration of one of the check's roots; null for any other
  /// function.
  llvm::function_ref<const clang::FunctionDecl *(const llvm::Function &)>
      RootOf;
};

/// A check that judges IR.
class IrJudge {
public:
  virtual ~IrJudge();

  /// Called before the IR is simplified for this judge, to give declarations
  /// attributes that say what the source knows.
  virtual void tell(const LoweredFunctions &) {}
  /// Called once, after the last function has been matched.
  virtual void judge(const LoweredFunctions &) = 0;

  /// The functions to judge. They are emitted even without a caller, and with
  /// them the definitions that may be inlined into them.
  std::vector<const clang::FunctionDecl *> Roots;
  /// The outermost loops of the roots to judge as written.
  FunctionBodies::LoopSet Loops;
  /// Functions that are emitted, too, for what they say about the values of
  /// variables.
  std::vector<const clang::FunctionDecl *> Beside;
};

class LoweredUnit {
public:
  enum Form {
    AsWritten, ///< Calls are kept; local variables are SSA values.
    Inlined,   ///< Small callees are inlined, and the result is simplified.
  };

  LoweredUnit();
  ~LoweredUnit();

  /// pre: judge() has not been called; Judge outlives that call.
  void add(Form Wanted, IrJudge &Judge);

  /// Generates the IR and calls all judges, unless it has done so before.
  /// Returns false if clang cannot generate IR, for example because the unit
  /// has errors; the judges have then not been called.
  bool judge(clang::ASTContext &Context);

private:
  class Lowering;
  using JudgesByForm = llvm::SmallVector<IrJudge *, 2>[2];
  JudgesByForm Judges;
  std::optional<bool> Done;
};

} // namespace vfriendly::tidy

#endif
