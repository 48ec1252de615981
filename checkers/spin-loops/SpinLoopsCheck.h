//===- SpinLoopsCheck.h - vfriendly-spin-loops ------------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_SPINLOOPS_SPINLOOPSCHECK_H
#define VFRIENDLY_CHECKERS_SPINLOOPS_SPINLOOPSCHECK_H

#include "checkers/common/EachFunction.h"
#include "checkers/common/SleepClaims.h"
#include "checkers/spin-loops/BlocksAfter.h"
#include "checkers/spin-loops/Candidates.h"
#include "checkers/spin-loops/FixIts.h"
#include "checkers/spin-loops/LoweredWaits.h"

#include "clang-tidy/ClangTidyCheck.h"
#include "clang-tidy/utils/IncludeInserter.h"
#include "llvm/ADT/DenseSet.h"

namespace vfriendly::tidy {

/// Finds loops that wait by polling memory and makes them give up the CPU when
/// the wait gets long.
///
/// Reports what is polled and how, and what that costs in a virtual machine,
/// and offers a fix in the style that the option Style names: `pause`,
/// `spin-then-block` (default) or `std-atomic-wait`. The default takes
/// `std-atomic-wait` where that is possible. See guidelines/spin-loops.md.
class SpinLoopsCheck : public clang::tidy::ClangTidyCheck {
public:
  SpinLoopsCheck(llvm::StringRef Name, clang::tidy::ClangTidyContext *Context);
  void storeOptions(clang::tidy::ClangTidyOptions::OptionMap &Opts) override;
  void registerPPCallbacks(const clang::SourceManager &SM,
                           clang::Preprocessor *PP,
                           clang::Preprocessor *ModuleExpanderPP) override;
  void registerMatchers(clang::ast_matchers::MatchFinder *Finder) override;
  void
  check(const clang::ast_matchers::MatchFinder::MatchResult &Result) override;
  void onEndOfTranslationUnit() override;

private:
  class IncludeRecorder;
  /// A function with loops that may wait.
  struct Candidate {
    const clang::FunctionDecl *Function;
    std::vector<WrittenLoop> Loops;
  };

  /// Returns true if Inserter puts an #include into File where C++ allows it.
  /// Inserter puts it beside the other #includes of File, or at the beginning
  /// if it has seen none. But in a unit of a named module, an #include must
  /// follow `module;` and precede the module declaration, and the #includes of
  /// an imported unit are not seen.
  bool canInclude(const clang::ASTContext &Context, clang::FileID File) const;

  struct WaitIn {
    const clang::FunctionDecl *Function;
    const LoweredWait *Wait;
    std::unique_ptr<WrittenWait> Spin;
  };

  void visitFunction(const clang::FunctionDecl &Function);
  /// Adds the waits of a function to Waits.
  void findWaits(const Candidate &In);
  /// Returns true if vfriendly-blocking-sync-sleep-poll decides on this wait.
  bool isReportedAtSleep(const WrittenWait &Spin);
  /// Replaces a wait in an instance of a template by the one in the template,
  /// if the template's own text shows what is polled.
  void preferTemplate(WaitIn &Found) const;
  void reportForms(const Candidate &In);
  /// Returns true if the loop may be reported, and has not been before.
  bool claim(const LoopShape &Shape, const clang::SourceManager &SM);
  void report(const WrittenWait &Spin, const clang::FunctionDecl &Function);
  /// Emits the report and returns its fix.
  Fix reportWithFix(const WrittenWait &Spin, const LoopSite &Site);

  std::shared_ptr<EachFunction> Each;
  std::shared_ptr<SleepClaims> Sleeps;
  std::shared_ptr<FunctionBodies> Bodies;
  std::string StyleName;
  FixStyle Style = FixStyle::SpinThenBlock;
  clang::tidy::utils::IncludeInserter Inserter;
  /// The last #include of the main file; invalid if there is none.
  clang::SourceLocation LastInclude;
  TuUses Uses;
  BlocksAfter Blocks;
  StateNames Names;
  Escapes Escaping;
  Candidates May;
  LoweredWaits Lowered;
  /// All functions of which code can be generated.
  std::vector<const clang::FunctionDecl *> Definitions;
  std::vector<Candidate> Functions;
  /// Functions of which no code is generated: templates.
  std::vector<Candidate> Templates;
  std::vector<WaitIn> Waits;
  /// Loops that were examined in an instance of their template, and those that
  /// are proved waits in some instances only.
  llvm::DenseSet<clang::SourceLocation> Examined, Varying;
  /// Locations of reported loops: a template and its instances share one.
  llvm::DenseSet<clang::SourceLocation> Reported;
  /// True if the note on how to link libvfrt has been emitted.
  bool SaidRuntime = false;
  /// Bodies that have been visited.
  llvm::DenseSet<const clang::Stmt *> Visited;
};

} // namespace vfriendly::tidy

#endif
