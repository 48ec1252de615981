//===- ShootdownCallsCheck.cpp - vfriendly-heap-churn-shootdown-calls -----===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/heap-churn/ShootdownCallsCheck.h"

#include "checkers/heap-churn/Cold.h"
#include "checkers/heap-churn/Induction.h"
#include "checkers/heap-churn/LoopFixes.h"

#include "llvm/ADT/StringSwitch.h"

using namespace clang;

namespace vfriendly::tidy {

namespace {
enum class SystemCall { None, Advise, Protect, Unmap, Shrink, Trim };
} // namespace

/// Returns true if Advice makes Linux remove or deactivate pages:
/// MADV_DONTNEED, _FREE, _REMOVE, _COLD, _PAGEOUT, _DONTNEED_LOCKED, with the
/// numbers of all architectures but Alpha.
static bool takesAway(int64_t Advice) {
  return llvm::is_contained({4, 8, 9, 20, 21, 24}, Advice);
}

static SystemCall systemCallOf(const CallExpr &Call,
                               const ASTContext &Context) {
  const FunctionDecl *Callee = Call.getDirectCallee();
  if (!Callee || !Callee->getIdentifier() ||
      !(Callee->isExternC() ||
        Callee->getDeclContext()->getRedeclContext()->isTranslationUnit()))
    return SystemCall::None;
  auto Argument = [&](unsigned I) {
    return I < Call.getNumArgs() ? constantOf(Call.getArg(I), Context)
                                 : std::nullopt;
  };
  SystemCall Kind = llvm::StringSwitch<SystemCall>(Callee->getName())
                        .Case("madvise", SystemCall::Advise)
                        .Case("mprotect", SystemCall::Protect)
                        .Case("pkey_mprotect", SystemCall::Protect)
                        .Case("munmap", SystemCall::Unmap)
                        .Case("sbrk", SystemCall::Shrink)
                        .Case("malloc_trim", SystemCall::Trim)
                        .Default(SystemCall::None);
  if (Kind == SystemCall::Advise && !takesAway(Argument(2).value_or(0)))
    return SystemCall::None;
  if (Kind == SystemCall::Shrink) {
    auto *Minus =
        Call.getNumArgs() == 1
            ? dyn_cast<UnaryOperator>(Call.getArg(0)->IgnoreParenImpCasts())
            : nullptr;
    if (!Minus || Minus->getOpcode() != UO_Minus)
      return SystemCall::None;
  }
  return Kind;
}

/// Returns true if Loop repeats Call until Call succeeds: the condition of Loop
/// contains Call or names a variable with its result.
static bool retries(const CallExpr &Call, const Stmt *Loop,
                    const FunctionView &View) {
  const Expr *Condition = nullptr;
  if (auto *While = dyn_cast<WhileStmt>(Loop))
    Condition = While->getCond();
  else if (auto *Do = dyn_cast<DoStmt>(Loop))
    Condition = Do->getCond();
  if (!Condition)
    return false;
  if (View.isWithin(&Call, Condition))
    return true;
  // Handles `while (result == -1 && errno == EAGAIN)`.
  llvm::SmallPtrSet<const VarDecl *, 4> Tested;
  variablesOf(Condition, Tested);
  const VarDecl *Result = View.ownerOf(Call);
  return Result && Tested.contains(Result);
}

/// Returns true if the address that is passed to Call moves in one direction
/// from iteration to iteration, so that one call for the whole range could
/// replace Call.
static bool goesThroughRange(const CallExpr &Call, const Stmt *Loop,
                             const FunctionView &View) {
  const Expr *Address = Call.getArg(0)->IgnoreParenCasts();
  if (auto *Of = dyn_cast<UnaryOperator>(Address);
      Of && Of->getOpcode() == UO_AddrOf)
    if (auto *Element =
            dyn_cast<ArraySubscriptExpr>(Of->getSubExpr()->IgnoreParens()))
      Address = Element->getIdx();
  return directionOf(Address, Loop, View).value_or(0) != 0;
}

/// Returns true if each iteration of Loop maps the memory that Call changes.
static bool isMappedInIteration(const CallExpr &Call, const Stmt *Loop,
                                const FunctionView &View) {
  const VarDecl *Memory = variableOf(Call.getArg(0));
  auto Maps = [&](auto &Self, const Stmt *S) -> bool {
    if (auto *Inner = dyn_cast<CallExpr>(S)) {
      const FunctionDecl *Callee = Inner->getDirectCallee();
      if (Callee && Callee->getIdentifier() &&
          Callee->getName().starts_with("mmap") &&
          View.ownerOf(*Inner) == Memory)
        return true;
    }
    return llvm::any_of(S->children(), [&](const Stmt *Child) {
      return Child && Self(Self, Child);
    });
  };
  return Memory && Maps(Maps, loopBody(Loop));
}

static void callsIn(const Stmt *S, SmallVectorImpl<const CallExpr *> &Found,
                    const ASTContext &Context) {
  if (isa<LambdaExpr>(S))
    return;
  if (auto *Call = dyn_cast<CallExpr>(S))
    if (systemCallOf(*Call, Context) != SystemCall::None)
      Found.push_back(Call);
  for (const Stmt *Child : S->children())
    if (Child)
      callsIn(Child, Found, Context);
}

/// Returns true if fewer system calls could replace Call in Loop. Unrelated
/// mappings need one munmap or mprotect each; programs mostly unmap them when
/// they end.
static bool couldBeFewer(const CallExpr &Call, const Stmt *Loop,
                         const FunctionView &View) {
  switch (systemCallOf(Call, View.Context)) {
  case SystemCall::Protect:
  case SystemCall::Unmap:
    return goesThroughRange(Call, Loop, View) ||
           isMappedInIteration(Call, Loop, View);
  default:
    return true;
  }
}

void ShootdownCallsCheck::inspect(FunctionView &View) {
  if (View.loops().empty())
    return;
  SmallVector<const CallExpr *, 4> Calls;
  callsIn(View.Function.getBody(), Calls, View.Context);
  for (const CallExpr *Call : Calls) {
    const Stmt *Loop = View.loopAround(*Call);
    if (!Loop || isCold(Loop, View) || retries(*Call, Loop, View) ||
        !couldBeFewer(*Call, Loop, View) || !View.isRepeated(Call) ||
        !claim(Call->getExprLoc(), View))
      continue;
    StringRef Name = Call->getDirectCallee()->getName();
    bool Advises = systemCallOf(*Call, View.Context) == SystemCall::Advise;
    report(
        Call->getExprLoc(), "loop calls '" + Name + "' in its iterations",
        Advises ? "one call for the whole range, or one process_madvise "
                  "with a vector, interrupts the other CPUs once"
                : "one call for the whole range interrupts the other CPUs once",
        "each call interrupts every CPU of the process, which costs a virtual "
        "machine an exit per CPU")
        << oneCall(*Call, View);
  }
}

} // namespace vfriendly::tidy
