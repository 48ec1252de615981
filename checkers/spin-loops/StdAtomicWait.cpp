//===- StdAtomicWait.cpp - Fix-its with std::atomic's wait ----------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/spin-loops/StdAtomicWait.h"

#include "checkers/spin-loops/LoopEdit.h"
#include "checkers/spin-loops/WaitCall.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/ExprCXX.h"
#include "clang/Basic/SourceManager.h"

using namespace clang;

namespace vfriendly::tidy {

/// Returns true for a body with only hints, which a blocking wait replaces.
static bool onlyHints(const Stmt *Body, const SpinLoop &Spin) {
  if (isa<NullStmt>(Body))
    return true;
  if (auto *Block = dyn_cast<CompoundStmt>(Body))
    return llvm::all_of(Block->body(), [&](const Stmt *Child) {
      return onlyHints(Child, Spin);
    });
  auto *E = dyn_cast<Expr>(Body);
  auto *Call = E ? dyn_cast<CallExpr>(E->IgnoreParenCasts()) : nullptr;
  const Frame *Callee =
      Call ? Spin.Facts->Calls.lookup({Call, Spin.Facts->root()}) : nullptr;
  return llvm::any_of(Spin.Facts->Hints, [&](const Hint &H) {
    return H.Site == Body || (Call && H.Site == Call) ||
           (Callee && H.In == Callee);
  });
}

/// Returns the polling member call: `x.load(order)`, or the conversion in `x ==
/// 1`.
static const CXXMemberCallExpr *pollingCall(const Poll &P) {
  auto *Call = dyn_cast_or_null<CXXMemberCallExpr>(P.Access);
  if (!Call || !isAtomicType(P.Type) || P.Type->isAtomicType())
    return nullptr;
  const CXXRecordDecl *Record = P.Type->getAsCXXRecordDecl();
  // An atomic_ref has no fix: it no longer exists when another thread has to
  // notify it.
  return Record && Record->getName() != "atomic_ref" ? Call : nullptr;
}

/// Returns `, std::memory_order_acquire`, with the memory order of the loop's
/// read.
static std::string orderText(const CXXMemberCallExpr &Call,
                             const ASTContext &Context) {
  if (isa<CXXConversionDecl>(Call.getMethodDecl()) || Call.getNumArgs() == 0 ||
      isa<CXXDefaultArgExpr>(Call.getArg(0)))
    return "";
  return ", " + textOf(Call.getArg(0), Context);
}

static bool replaceLoop(const SpinLoop &Spin, const std::string &Text,
                        Fix &Plan) {
  const ASTContext &Context = Spin.Facts->Context;
  SourceLocation Begin = Spin.Shape.keyword();
  SourceLocation End = endOfStatement(Spin.Shape.Statement, Context);
  if (Begin.isMacroID() || End.isInvalid())
    return false;
  Plan.Hints.push_back(FixItHint::CreateReplacement(
      CharSourceRange::getCharRange(Begin, End), Text));
  return true;
}

/// Returns true for a loop that ends at the first value for which its condition
/// fails.
static bool waitForOther(const SpinLoop &Spin, const CXXMemberCallExpr &Call,
                         const std::string &Object, Fix &Plan) {
  const ASTContext &Context = Spin.Facts->Context;
  std::string Read = isa<CXXConversionDecl>(Call.getMethodDecl())
                         ? Object + ".load()"
                         : textOf(&Call, Context);
  std::string Condition = textOf(Spin.Shape.Condition, Context);
  std::string Polled = textOf(&Call, Context);
  if (Read.empty() || Condition.empty() || Polled.empty() ||
      Spin.Shape.Condition->getBeginLoc().isMacroID())
    return false;
  const SourceManager &SM = Context.getSourceManager();
  unsigned At = SM.getFileOffset(Call.getBeginLoc()) -
                SM.getFileOffset(Spin.Shape.Condition->getBeginLoc());
  if (At + Polled.size() > Condition.size())
    return false;
  Condition.replace(At, Polled.size(), "vf_seen");
  std::string Indent = indentAt(Spin.Shape.keyword(), Context).str();
  return replaceLoop(Spin,
                     "for (auto vf_seen = " + Read + "; " + Condition +
                         "; vf_seen = " + Read + ")\n" + Indent + "  " +
                         Object + ".wait(vf_seen);",
                     Plan);
}

Fix planStdAtomicWait(const SpinLoop &Spin, const LoopSite &Site,
                      TuUses &Uses) {
  const ASTContext &Context = Spin.Facts->Context;
  const Poll *P = Spin.uniquePoll();
  if (!Context.getLangOpts().CPlusPlus20 || !P || Spin.Counts ||
      Spin.ReadsClock || Spin.Polls.size() != 1 ||
      !isa<WhileStmt>(Spin.Shape.Statement) ||
      !onlyHints(Spin.Shape.Body.front(), Spin))
    return {};
  const CXXMemberCallExpr *Call = pollingCall(*P);
  bool IsPointer = false;
  std::string Object = objectText(Spin, *P, IsPointer);
  if (!Call || P->In != Spin.Facts->root() || Object.empty() || IsPointer)
    return {};
  // An automatic variable has no fix: the waiter may return, which ends the
  // variable's life, between the write and the notify.
  if (P->At.Where == Place::Local ||
      (P->At.Variable && P->At.Variable->hasLocalStorage()))
    return {};
  auto Writes = findWrites(Spin, *P, Uses);
  if (!Writes || Writes->empty())
    return {};
  auto Notify = [&](const WriteSite &W) {
    return textOf(W.LValue, Context) + ".notify_all();";
  };
  // Each fix must be correct alone: if another fix adds the notifies, this loop
  // is fixed by the next run, which finds them in place.
  if (llvm::any_of(*Writes, [&](const WriteSite *W) {
        return Uses.Notified.contains(W->Access) &&
               !isFollowedBy(*W, Notify(*W), Context);
      }))
    return {};

  Fix Plan;
  if (P->Tries) {
    // A failed test-and-set leaves the flag set: the value to wait on.
    const Expr *Stored = P->Tries->Op.Value;
    bool Value = true;
    bool Flag =
        P->Tries->Op.Kind == AtomicKind::Exchange &&
        Spin.Shape.Condition->IgnoreParenImpCasts() == Call &&
        (!Stored ||
         (Stored->getType()->isBooleanType() && !Stored->isValueDependent() &&
          Stored->EvaluateAsBooleanCondition(Value, Context) && Value));
    LoopEdit Edit(Spin, Site);
    if (!Flag ||
        !Edit.waitInBody(Object + ".wait(true, std::memory_order_relaxed)",
                         /*HasValue=*/false))
      return {};
    Plan.Hints = Edit.take();
  } else if (std::string Held = heldValue(Spin, *P, /*Spelt=*/true);
             !Held.empty()) {
    if (!replaceLoop(
            Spin, Object + ".wait(" + Held + orderText(*Call, Context) + ");",
            Plan))
      return {};
  } else if (!waitForOther(Spin, *Call, Object, Plan)) {
    return {};
  }
  for (const WriteSite *W : *Writes)
    addAfterWrite(*W, Notify(*W), Uses, Context, Plan.Hints);
  return Plan;
}

} // namespace vfriendly::tidy
