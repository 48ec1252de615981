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
#include "checkers/heap-churn/RoundPairs.h"

#include "llvm/ADT/StringSwitch.h"

using namespace clang;

namespace vfriendly::tidy {

namespace {
enum class SystemCall { None, Advise, Protect, Unmap, Shrink, Trim };
} // namespace

/// The advice that takes pages away: MADV_DONTNEED, _FREE, _REMOVE, _COLD,
/// _PAGEOUT, _DONTNEED_LOCKED, as Linux numbers them on all its machines.
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
  SystemCall Kind =
      llvm::StringSwitch<SystemCall>(Callee->getName())
          .Case("madvise", SystemCall::Advise)
          .Cases({"mprotect", "pkey_mprotect"}, SystemCall::Protect)
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

/// Does the loop run until the call succeeds?
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
  // `while (result == -1 && errno == EAGAIN)`
  llvm::SmallPtrSet<const VarDecl *, 4> Tested;
  variablesOf(Condition, Tested);
  const VarDecl *Result = View.ownerOf(Call);
  return Result && Tested.contains(Result);
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

void ShootdownCallsCheck::inspect(FunctionView &View) {
  if (View.loops().empty())
    return;
  SmallVector<const CallExpr *, 4> Calls;
  callsIn(View.Function.getBody(), Calls, View.Context);
  for (const CallExpr *Call : Calls) {
    const Stmt *Loop = View.loopAround(*Call);
    if (!Loop || isCold(Loop, View) || retries(*Call, Loop, View) ||
        !isRepeated(Call, View) || !claim(Call->getExprLoc(), View))
      continue;
    StringRef Name = Call->getDirectCallee()->getName();
    report(Call->getExprLoc(), "loop calls '" + Name + "' in its rounds",
           systemCallOf(*Call, View.Context) == SystemCall::Advise
               ? "one call over all of the range, or one process_madvise with "
                 "a vector, interrupts them once"
               : "one call over all of the range interrupts them once")
        << oneCall(*Call, View);
  }
}

} // namespace vfriendly::tidy
