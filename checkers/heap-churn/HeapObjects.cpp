//===- HeapObjects.cpp - Functions that make and end objects --------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   struct buffer *buffer_new(void);    // these two promise one another,
//   void buffer_free(struct buffer *);  // in any unit
//
//===----------------------------------------------------------------------===//

#include "checkers/heap-churn/HeapWrappers.h"

#include "clang/AST/ASTContext.h"
#include "clang/Basic/CharInfo.h"
#include "llvm/ADT/StringExtras.h"

using namespace clang;

namespace vfriendly::tidy {

static constexpr StringRef Makes[] = {"new",  "create", "alloc", "allocate",
                                      "make", "dup",    "clone"};
static constexpr StringRef Ends[] = {"free",    "delete",  "destroy",
                                     "dispose", "release", "dealloc"};

namespace {
/// A word of a name, and where it is.
struct WordAt {
  size_t Begin, Length;
};
} // namespace

/// Returns where Name has one of Words as a word: `new` of buffer_new,
/// newBuffer and bufferNewInit.
static SmallVector<WordAt, 2> findWords(StringRef Name,
                                        ArrayRef<StringRef> Words) {
  SmallVector<WordAt, 2> Found;
  for (size_t Begin = 0; Begin < Name.size();) {
    size_t End = Begin + 1;
    bool IsWord = isLetter(Name[Begin]);
    while (IsWord && End < Name.size() && isLetter(Name[End]) &&
           (!isUppercase(Name[End]) || isUppercase(Name[End - 1])))
      ++End;
    if (IsWord && llvm::is_contained(Words, Name.slice(Begin, End).lower()))
      Found.push_back({Begin, End - Begin});
    Begin = End;
  }
  return Found;
}

/// Returns Word in the case of Like: `Free` like `New`.
static std::string inCaseOf(StringRef Like, StringRef Word) {
  if (Like.size() > 1 && isUppercase(Like[0]) && isUppercase(Like[1]))
    return Word.upper();
  std::string Same = Word.str();
  if (isUppercase(Like[0]))
    Same[0] = llvm::toUpper(Same[0]);
  return Same;
}

/// Returns the structure that T points to, by the name of which functions make
/// it and end it; null if it is none.
static const RecordDecl *objectOf(QualType T) {
  return T->isPointerType() ? T->getPointeeType()->getAsRecordDecl() : nullptr;
}

/// Returns the structure that F makes: it returns a pointer to it.
static const RecordDecl *madeBy(const FunctionDecl &F) {
  QualType Made = F.getReturnType();
  return objectOf(Made) && !Made->getPointeeType().isConstQualified()
             ? objectOf(Made)
             : nullptr;
}

/// Returns the structure that F ends: it gets a pointer to it, or to a variable
/// that has this pointer and is set to null.
static const RecordDecl *endedBy(const FunctionDecl &F) {
  if (F.getNumParams() == 0 || F.isVariadic() ||
      F.getReturnType()->isPointerType())
    return nullptr;
  QualType First = F.getParamDecl(0)->getType();
  const RecordDecl *Object = objectOf(First);
  return Object || !First->isPointerType() ? Object
                                           : objectOf(First->getPointeeType());
}

/// Returns true if the unit declares a function named Name of which Of is
/// Object.
static bool declares(const std::string &Name, const RecordDecl &Object,
                     const RecordDecl *(*Of)(const FunctionDecl &),
                     const FunctionDecl &Beside) {
  ASTContext &Context = Beside.getASTContext();
  auto Identifier = Context.Idents.find(Name);
  if (Identifier == Context.Idents.end())
    return false;
  const DeclContext *In = Beside.getDeclContext()->getRedeclContext();
  return llvm::any_of(In->lookup(DeclarationName(Identifier->second)),
                      [&](const NamedDecl *D) {
                        auto *F = dyn_cast<FunctionDecl>(D);
                        const RecordDecl *Its = F ? Of(*F) : nullptr;
                        return Its && declaresSameEntity(Its, &Object);
                      });
}

/// Returns true if a function with one of Words in place of that at At is of
/// the same object, whatever the name says after it: bufferNewInit,
/// bufferDelete.
static bool hasCounterpart(const FunctionDecl &F, WordAt At,
                           ArrayRef<StringRef> Words, const RecordDecl &Object,
                           const RecordDecl *(*Of)(const FunctionDecl &)) {
  StringRef Name = F.getName(), Before = Name.take_front(At.Begin),
            After = Name.drop_front(At.Begin + At.Length);
  for (StringRef Word : Words) {
    std::string Front =
        (Before + inCaseOf(Name.substr(At.Begin, At.Length), Word)).str();
    if (declares(Front + After.str(), Object, Of, F) ||
        (!Before.empty() && !After.empty() && declares(Front, Object, Of, F)))
      return true;
  }
  return false;
}

std::optional<HeapFunction> promiseOfObjects(const FunctionDecl &F) {
  if (!F.getIdentifier() || isa<CXXMethodDecl>(F))
    return std::nullopt;
  for (const auto &[Op, Own, Others] :
       {std::tuple(HeapOp::Allocate, ArrayRef(Makes), ArrayRef(Ends)),
        std::tuple(HeapOp::Release, ArrayRef(Ends), ArrayRef(Makes))}) {
    bool IsMade = Op == HeapOp::Allocate;
    const RecordDecl *Object = IsMade ? madeBy(F) : endedBy(F);
    if (!Object)
      continue;
    for (WordAt At : findWords(F.getName(), Own))
      if (hasCounterpart(F, At, Others, *Object, IsMade ? endedBy : madeBy))
        return IsMade ? HeapFunction{Op} : HeapFunction{Op, 0};
  }
  return std::nullopt;
}

} // namespace vfriendly::tidy
