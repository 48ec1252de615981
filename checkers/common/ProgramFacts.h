//===- ProgramFacts.h - What units tell about each other --------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   std::shared_ptr<ProgramFacts> Program = perUnit<ProgramFacts>();
//   if (Program->areWanted())
//     Program->tell({{"heap", ProgramFacts::nameOf(F)}, {"op", "release"}});
//   if (const llvm::json::Object *Known = Program->about("heap", Name)) ...
//
// A check sees one unit. `vfriendly scan` names a file in VF_FACTS, in which
// the checks record what other units may ask, one JSON object in a line; it
// joins the records of all units (checkers/cli/vfriendly/program.py). A unit
// that the answers concern is examined again with the answers in VF_INDEX.
//
// Without the tool neither is set: nothing is recorded, and nothing is known.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_COMMON_PROGRAMFACTS_H
#define VFRIENDLY_CHECKERS_COMMON_PROGRAMFACTS_H

#include "clang/Basic/SourceLocation.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"

#include <memory>
#include <string>

namespace clang {
class FunctionDecl;
class NamedDecl;
class SourceManager;
} // namespace clang
namespace llvm {
class raw_fd_ostream;
}

namespace vfriendly::tidy {

class ProgramFacts {
public:
  ProgramFacts();
  ~ProgramFacts();

  /// Returns true if the tool asks for facts.
  bool areWanted() const { return Out != nullptr; }

  /// Records a fact. pre: areWanted().
  void tell(llvm::json::Object Fact);

  /// Returns what other units say of the function or variable Name: the record
  /// that has Name as the value of Kind; null if there is none.
  const llvm::json::Object *about(llvm::StringRef Kind,
                                  llvm::StringRef Name) const;

  /// Returns true if about() may return something.
  bool knowsAnything() const { return !Known.empty(); }

  /// Returns the name by which all units know D: its symbol, with `static:`
  /// before it if only its own unit has this D, and for a field
  /// `Structure::field`. Empty if there is none.
  static std::string nameOf(const clang::NamedDecl &D);

  /// Adds to Fact the file and the offset of Where.
  static void addPlace(llvm::json::Object &Fact, clang::SourceLocation Where,
                       const clang::SourceManager &SM);
  /// Returns `FILE:OFFSET`.
  static std::string placeOf(clang::SourceLocation Where,
                             const clang::SourceManager &SM);

  /// Returns the text of a note that says on which record of other units a
  /// diagnostic depends. The tool removes the note, and the diagnostic if no
  /// unit has told Kind of Name.
  static std::string condition(llvm::StringRef Kind, llvm::StringRef Name) {
    return ("vfriendly-if " + Kind + " " + Name).str();
  }

  /// Returns the condition that a loop of another unit calls F; empty if no
  /// unit can tell.
  std::string conditionOfLoop(const clang::FunctionDecl &F) const;
  /// Returns the condition that a loop calls F, itself or by a function between
  /// them. Empty if the tool does not ask for facts.
  std::string conditionOfNearLoop(const clang::FunctionDecl &F) const;

private:
  llvm::StringMap<llvm::json::Object> Known; ///< By "KIND NAME".
  std::unique_ptr<llvm::raw_fd_ostream> Out;
};

} // namespace vfriendly::tidy

#endif
