//===- MonitorCheck.cpp - vfriendly-blocking-sync-monitor -----------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/blocking-sync/Checks.h"

#include "checkers/common/SourceText.h"

#include "clang/AST/DeclCXX.h"
#include "clang/AST/ExprCXX.h"
#include "llvm/ADT/MapVector.h"

using namespace clang;

namespace vfriendly::tidy {

/// Minimum number of locked methods for a report. A queue class has three
/// locked methods, and its lock cannot be split.
static constexpr unsigned ManyMethods = 4;

/// Returns the lock that a method holds from its first statement to its end, by
/// a guard; null if it holds none.
static const ValueDecl *heldThroughout(const FunctionSync &F) {
  auto *Body = dyn_cast_or_null<CompoundStmt>(F.Function->getBody());
  if (!Body || Body->size() < 2)
    return nullptr;
  for (const SyncSite &S : F.Syncs) {
    if (S.Kind == SyncKind::Unlock || S.Kind == SyncKind::Wait ||
        S.Kind == SyncKind::TimedWait)
      return nullptr;
    if (S.Kind == SyncKind::Lock && isa<CXXConstructExpr>(S.Site) &&
        llvm::is_contained(S.Parents, Body->body_front()))
      return S.Object;
  }
  return nullptr;
}

/// Returns true if the call passes PTHREAD_MUTEX_RECURSIVE as a constant.
static bool isRecursiveKind(const CallExpr &Call, const ASTContext &Context) {
  Expr::EvalResult Value;
  return Call.getNumArgs() == 2 && !Call.getArg(1)->isValueDependent() &&
         Call.getArg(1)->EvaluateAsInt(Value, Context) &&
         Value.Val.getInt() == 1;
}

/// Returns true if F initializes a mutex that its caller passes: a wrapper of
/// pthread_mutex_init, whose caller wants the lock to be recursive.
static bool initializesForCaller(const FunctionSync &F) {
  return llvm::any_of(F.Calls, [](const CallSite &C) {
    return identifierOf(C.Callee) == "pthread_mutex_init" &&
           C.Call->getNumArgs() == 2 &&
           isa_and_nonnull<ParmVarDecl>(objectOf(C.Call->getArg(0)));
  });
}

/// Returns the class that declares a field, or the function that declares a
/// local variable; for any other declaration, the declaration itself.
static const NamedDecl &around(const ValueDecl &Declared) {
  auto *Around = dyn_cast<NamedDecl>(Declared.getDeclContext());
  if (isa_and_nonnull<CXXRecordDecl, FunctionDecl>(Around))
    return *Around;
  return Declared;
}

void MonitorCheck::inspect(const SyncModel &Model, const ASTContext &Context) {
  constexpr llvm::StringLiteral RecursiveRemedy =
      "take a plain lock in the public functions only";
  auto RecursiveLock = [&](SourceLocation Where, SourceRange Construct,
                           const NamedDecl &In) {
    if (claim(Where, dyn_cast<FunctionDecl>(&In), Context))
      report(Where, Construct, In, "this lock may be taken again by its holder",
             RecursiveRemedy, "all others block while it is preempted");
  };
  llvm::MapVector<const ValueDecl *, unsigned> Holders;
  for (const FunctionSync &F : Model.functions()) {
    for (const CallSite &C : F.Calls)
      if (identifierOf(C.Callee) == "pthread_mutexattr_settype" &&
          isRecursiveKind(*C.Call, Context) && !initializesForCaller(F))
        RecursiveLock(C.Call->getExprLoc(), C.Call->getSourceRange(),
                      *F.Function);
    llvm::SmallPtrSet<const ValueDecl *, 4> Seen;
    for (const SyncSite &S : F.Syncs)
      if (S.Kind == SyncKind::Lock && S.Object && Seen.insert(S.Object).second)
        if (StringRef Class =
                identifierOf(S.Object->getType()->getAsCXXRecordDecl());
            Class == "recursive_mutex" || Class == "recursive_timed_mutex")
          RecursiveLock(S.Object->getLocation(), S.Object->getSourceRange(),
                        around(*S.Object));
    auto *Method = dyn_cast<CXXMethodDecl>(F.Function);
    if (!Method || isa<CXXConstructorDecl, CXXDestructorDecl>(Method))
      continue;
    auto *Field = dyn_cast_or_null<FieldDecl>(heldThroughout(F));
    if (Field && Field->getParent() == Method->getParent())
      ++Holders[Field];
  }
  for (auto [Field, Count] : Holders) {
    auto *Class = cast<CXXRecordDecl>(cast<FieldDecl>(Field)->getParent());
    unsigned Methods =
        llvm::count_if(Class->methods(), [](const CXXMethodDecl *M) {
          return !M->isImplicit() && !M->isStatic() &&
                 !isa<CXXConstructorDecl, CXXDestructorDecl>(M);
        });
    if (Count < ManyMethods || Count < Methods ||
        !claim(Field->getLocation(), nullptr, Context))
      continue;
    report(Field->getLocation(), Field->getSourceRange(), *Class,
           "each of the " + llvm::Twine(Count) + " methods of '" +
               Class->getName() + "' holds '" + Field->getName() +
               "' from beginning to end",
           "hold it only while shared data is used", "all others block");
  }
}

} // namespace vfriendly::tidy
