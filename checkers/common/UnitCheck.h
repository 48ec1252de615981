//===- UnitCheck.h - Checks of a whole translation unit ---------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_COMMON_UNITCHECK_H
#define VFRIENDLY_CHECKERS_COMMON_UNITCHECK_H

#include "checkers/common/PerUnit.h"
#include "vfriendly/Catalogue.h"

#include "clang-tidy/ClangTidyCheck.h"
#include "llvm/ADT/DenseSet.h"

namespace vfriendly::tidy {

class EachFunction;

/// The base class of checks that inspect a translation unit after all of its
/// functions are known.
class UnitCheck : public clang::tidy::ClangTidyCheck {
public:
  UnitCheck(llvm::StringRef Name, clang::tidy::ClangTidyContext *Context,
            const Feature &Of);
  ~UnitCheck() override;
  void registerMatchers(clang::ast_matchers::MatchFinder *Finder) override;
  void
  check(const clang::ast_matchers::MatchFinder::MatchResult &Result) override;
  void onEndOfTranslationUnit() override;

protected:
  /// Called for each definition of an ordinary function or a template instance
  /// outside of system headers; not called for templates themselves.
  virtual void add(const clang::FunctionDecl &Function) = 0;
  /// Called once, after the last call of add; not called if there was none.
  virtual void finish(clang::ASTContext &Context) = 0;

  /// Returns true on the first call for a place that may be reported. Places in
  /// system headers and in functions marked `vfriendly:keep` may not. Instances
  /// of a template share one place.
  bool claim(clang::SourceLocation Where, const clang::FunctionDecl *In,
             const clang::ASTContext &Context);

  /// Emits a diagnostic: what was seen, what it costs in a virtual machine,
  /// what to do, and the page of the guideline. Construct is the report's
  /// extent, in the function or class In.
  clang::DiagnosticBuilder report(clang::SourceLocation Where,
                                  clang::SourceRange Construct,
                                  const clang::NamedDecl &In,
                                  const llvm::Twine &Seen,
                                  llvm::StringRef Remedy, llvm::StringRef Cost);

private:
  const Feature &Of;
  std::shared_ptr<EachFunction> Functions;
  clang::ASTContext *Context = nullptr;
  llvm::DenseSet<clang::SourceLocation> Claimed;
};

/// The base class of a family of checks which inspect one model of the unit.
/// Model has the functions add(FunctionDecl) and finish().
template <typename Model, const Feature &Family>
class ModelCheck : public UnitCheck {
public:
  ModelCheck(llvm::StringRef Name, clang::tidy::ClangTidyContext *Context)
      : UnitCheck(Name, Context, Family), Shared(perUnit<Model>()) {}

protected:
  /// Inspects the unit. Called once, when all functions are known.
  virtual void inspect(const Model &Of, const clang::ASTContext &Context) = 0;

private:
  void add(const clang::FunctionDecl &Function) final { Shared->add(Function); }
  void finish(clang::ASTContext &Context) final {
    Shared->finish();
    inspect(*Shared, Context);
  }

  std::shared_ptr<Model> Shared; ///< By all checks of the unit.
};

} // namespace vfriendly::tidy

#endif
