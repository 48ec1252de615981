//===- ProgramFacts.cpp - What units tell about each other ----------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/common/ProgramFacts.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/Decl.h"
#include "clang/AST/Mangle.h"
#include "clang/Basic/SourceManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

using namespace clang;

namespace vfriendly::tidy {

static std::string keyOf(StringRef Kind, StringRef Name) {
  return (Kind + " " + Name).str();
}

ProgramFacts::ProgramFacts() {
  std::error_code Failed;
  if (auto Path = llvm::sys::Process::GetEnv("VF_FACTS")) {
    Out = std::make_unique<llvm::raw_fd_ostream>(*Path, Failed,
                                                 llvm::sys::fs::OF_Append);
    if (Failed)
      Out = nullptr;
  }
  auto Path = llvm::sys::Process::GetEnv("VF_INDEX");
  auto Buffer = Path ? llvm::MemoryBuffer::getFile(*Path)
                     : std::make_error_code(std::errc::invalid_argument);
  if (!Buffer)
    return;
  SmallVector<StringRef, 0> Lines;
  (*Buffer)->getBuffer().split(Lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef Line : Lines) {
    llvm::Expected<llvm::json::Value> Fact = llvm::json::parse(Line);
    llvm::json::Object *Record = Fact ? Fact->getAsObject() : nullptr;
    if (!Fact)
      consumeError(Fact.takeError());
    if (!Record)
      continue;
    for (StringRef Kind : {"heap"})
      if (auto Name = Record->getString(Kind)) {
        Known[keyOf(Kind, *Name)] = std::move(*Record);
        break;
      }
  }
}

ProgramFacts::~ProgramFacts() {
  if (Out)
    Out->clear_error(); // A full disk: the tool does without these facts.
}

void ProgramFacts::tell(llvm::json::Object Fact) {
  *Out << llvm::json::Value(std::move(Fact)) << '\n';
}

static std::pair<StringRef, unsigned> decompose(SourceLocation Where,
                                                const SourceManager &SM) {
  auto [File, Offset] = SM.getDecomposedExpansionLoc(Where);
  OptionalFileEntryRef Entry = SM.getFileEntryRefForID(File);
  return {Entry ? Entry->getFileEntry().tryGetRealPathName() : "", Offset};
}

void ProgramFacts::addPlace(llvm::json::Object &Fact, SourceLocation Where,
                            const SourceManager &SM) {
  auto [File, Offset] = decompose(Where, SM);
  Fact["file"] = File;
  Fact["offset"] = Offset;
}

std::string ProgramFacts::placeOf(SourceLocation Where,
                                  const SourceManager &SM) {
  auto [File, Offset] = decompose(Where, SM);
  return (File + ":" + Twine(Offset)).str();
}

const llvm::json::Object *ProgramFacts::about(StringRef Kind,
                                              StringRef Name) const {
  auto Found = Known.find(keyOf(Kind, Name));
  return Found == Known.end() ? nullptr : &Found->second;
}

std::string ProgramFacts::nameOf(const NamedDecl &D) {
  if (auto *Field = dyn_cast<FieldDecl>(&D)) {
    const RecordDecl *In = Field->getParent();
    std::string Name = In->getQualifiedNameAsString();
    if (!In->getIdentifier()) {
      const TypedefNameDecl *Typedef = In->getTypedefNameForAnonDecl();
      if (!Typedef)
        return "";
      Name = Typedef->getQualifiedNameAsString();
    }
    return Name + "::" + Field->getNameAsString();
  }
  if (!isa<FunctionDecl, VarDecl>(D) ||
      cast<DeclaratorDecl>(D).getDeclContext()->isDependentContext())
    return "";
  std::string Name = ASTNameGenerator(D.getASTContext()).getName(&D);
  return Name.empty() || D.isExternallyVisible() ? Name : "static:" + Name;
}

std::string ProgramFacts::conditionOfLoop(const FunctionDecl &F) const {
  std::string Name =
      areWanted() && F.isExternallyVisible() && !F.isMain() ? nameOf(F) : "";
  return Name.empty() ? "" : condition("loop", Name);
}

std::string ProgramFacts::conditionOfNearLoop(const FunctionDecl &F) const {
  std::string Name = areWanted() && !F.isMain() ? nameOf(F) : "";
  return Name.empty() ? "" : condition("near-loop", Name);
}

} // namespace vfriendly::tidy
