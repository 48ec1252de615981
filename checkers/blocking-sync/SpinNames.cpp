//===- SpinNames.cpp - Spin locks by the names of functions ---------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/blocking-sync/SpinNames.h"

#include "checkers/common/AtomicOps.h"
#include "checkers/common/SourceText.h"
#include "passes/analysis/common/NameWords.h"

using namespace clang;

namespace vfriendly::tidy {

using Words = SmallVector<std::string, 4>;

static bool isOneOf(StringRef Word, std::initializer_list<StringRef> Any) {
  return llvm::is_contained(Any, Word);
}

static bool nameSpin(const Words &In) {
  // PostgreSQL's are called s_lock.
  return llvm::any_of(In,
                      [](StringRef W) {
                        return W == "spin" || W == "slock" ||
                               W.contains("spinlock") ||
                               W.contains("spinunlock") ||
                               W.contains("spintrylock");
                      }) ||
         (In.size() == 2 && In[0] == "s" && StringRef(In[1]).ends_with("lock"));
}

bool namesSpin(StringRef Name) { return nameSpin(wordsOf(Name)); }

bool namesSpinGuard(StringRef Name) {
  Words In = wordsOf(Name);
  return nameSpin(In) && isOneOf(In.back(), {"holder", "guard", "locker"});
}

bool namesRelease(StringRef Name) {
  return llvm::any_of(wordsOf(Name), [](StringRef W) {
    return W.ends_with("unlock") || isOneOf(W, {"release", "leave"});
  });
}

bool isReleaseOfGuard(StringRef Name) {
  return Name.equals_insensitive("unlock") ||
         Name.equals_insensitive("leave") || Name.equals_insensitive("release");
}

/// Returns what a function of this name does, if it is about a lock. The verb
/// is the first word or the last: acquireSpinLock, spin_lock_acquire.
static SpinOp opByWords(Words In) {
  bool Tries = false, Releases = false;
  StringRef Before;
  for (StringRef W : In) {
    if (isOneOf(W, {"init", "destroy", "is", "held", "free", "get", "create",
                    "delete", "owner", "new", "test", "assert", "fini", "alloc",
                    "wait"}))
      return SpinOp::None;
    Tries |= W == "try" || W.ends_with("trylock");
    Releases |= W.ends_with("unlock") || W == "release" || W == "leave" ||
                (Before == "un" && W == "lock"); // csoundSpinUnLock
    Before = W;
  }
  if (Releases)
    return Tries ? SpinOp::None : SpinOp::Release;
  while (In.size() > 1 &&
         isOneOf(In.back(), {"irqsave", "irqrestore", "irq", "bh", "tm",
                             "nested", "np", "explicit"}))
    In.pop_back();
  if (isOneOf(In.front(), {"acquire", "lock", "enter"}) ||
      isOneOf(In.back(), {"lock", "acquire", "enter", "trylock"}) ||
      StringRef(In.back()).ends_with("spinlock") ||
      StringRef(In.back()).ends_with("spintrylock"))
    return Tries ? SpinOp::Try : SpinOp::Acquire;
  return SpinOp::None;
}

/// Most names are rejected here, without allocation.
static bool maybeLocks(StringRef Name) {
  for (StringRef Part : {"lock", "acquire", "release", "enter", "leave"})
    if (Name.contains_insensitive(Part))
      return true;
  return false;
}

SpinOp spinOpByName(StringRef Name) {
  if (!maybeLocks(Name))
    return SpinOp::None;
  Words In = wordsOf(Name);
  return nameSpin(In) ? opByWords(std::move(In)) : SpinOp::None;
}

/// Returns true for a lock that says how long its waiters spin: it has a word
/// that threads change at the same time, and a field with that name.
static bool hasSpinField(QualType Lock) {
  const RecordDecl *Record = Lock.isNull() ? nullptr : Lock->getAsRecordDecl();
  if (!Record || !Record->isCompleteDefinition())
    return false;
  bool Shared = false, Spins = false;
  for (const FieldDecl *Field : Record->fields()) {
    QualType T = Field->getType();
    if (T->isPointerType())
      T = T->getPointeeType();
    Shared |= T.isVolatileQualified() || isAtomicType(T);
    Spins |= namesSpin(identifierOf(Field));
  }
  return Shared && Spins;
}

SpinOp spinOpByArgument(const FunctionDecl &Callee) {
  if (Callee.getNumParams() == 0 || !maybeLocks(identifierOf(&Callee)))
    return SpinOp::None;
  QualType First = Callee.getParamDecl(0)->getType();
  auto *Named = First->getPointeeType().isNull()
                    ? First->getAs<TypedefType>()
                    : First->getPointeeType()->getAs<TypedefType>();
  const RecordDecl *Record =
      First->getPointeeOrArrayElementType()->getAsRecordDecl();
  if (!(Named && namesSpin(identifierOf(Named->getDecl()))) &&
      !(Record && namesSpin(identifierOf(Record))) &&
      !hasSpinField(First->getPointeeType()))
    return SpinOp::None;
  return opByWords(wordsOf(identifierOf(&Callee)));
}

SpinOp spinOpOfMethod(StringRef Name) {
  if (Name.equals_insensitive("lock") || Name.equals_insensitive("acquire") ||
      Name.equals_insensitive("enter"))
    return SpinOp::Acquire;
  if (isReleaseOfGuard(Name))
    return SpinOp::Release;
  if (!Name.contains_insensitive("lock"))
    return SpinOp::None;
  SpinOp Op = SpinOp::None;
  bool Tries = false;
  for (StringRef Word : wordsOf(Name))
    if (Word == "lock" || Word == "unlock")
      Op = Word == "lock" ? SpinOp::Acquire : SpinOp::Release;
    else if (Word == "try")
      Tries = true;
    else if (!isOneOf(Word, {"rd", "wr", "read", "write", "shared", "exclusive",
                             "reader", "writer", "r", "w", "s", "x"}))
      return SpinOp::None;
  return Tries && Op == SpinOp::Acquire ? SpinOp::Try : Op;
}

bool isDeclaredSpin(const Expr *E) {
  auto *Named = E->IgnoreParenImpCasts()->getType()->getAs<TypedefType>();
  return Named && namesSpin(Named->getDecl()->getName());
}

} // namespace vfriendly::tidy
