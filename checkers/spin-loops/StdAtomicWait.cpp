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
static bool onlyHints(const Stmt *Body, const WrittenWait &Spin) {
  if (isa<NullStmt>(Body))
    return true;
  if (auto *Block = dyn_cast<CompoundStmt>(Body))
    return llvm::all_of(Block->body(), [&](const Stmt *Child) {
      return onlyHints(Child, Spin);
    });
  return Spin.Does.isHintCall(Body);
}

/// Returns the member call that reads the polled std::atomic: `x.load(order)`,
/// or the conversion in `x == 1`.
static const CXXMemberCallExpr *pollingCall(const WrittenPoll &P) {
  auto *Call = dyn_cast_or_null<CXXMemberCallExpr>(P.Access);
  if (!Call || !isAtomicType(P.Type) || P.Type->isAtomicType())
    return nullptr;
  const CXXRecordDecl *Record = P.Type->getAsCXXRecordDecl();
  // An atomic_ref gets no fix: the atomic_ref no longer exists when another
  // thread has to notify the waiter.
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

static bool replaceLoop(const WrittenWait &Spin, const std::string &Text,
                        Fix &Plan) {
  const ASTContext &Context = Spin.Does.Context;
  SourceLocation Begin = Spin.Shape.keyword();
  SourceLocation End = endOfStatement(Spin.Shape.Statement, Context);
  if (Begin.isMacroID() || End.isInvalid())
    return false;
  Plan.Hints.push_back(FixItHint::CreateReplacement(
      CharSourceRange::getCharRange(Begin, End), Text));
  return true;
}

/// Plans the fix for a loop that ends as soon as the polled object has a value
/// for which the loop's condition is false. Returns false if the text of the
/// loop cannot be edited.
static bool waitForOther(const WrittenWait &Spin, const CXXMemberCallExpr &Call,
                         const std::string &Object, Fix &Plan) {
  const ASTContext &Context = Spin.Does.Context;
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

/// Returns true if the unit includes a header whose functions map memory that
/// processes share.
static bool mapsMemory(const ASTContext &Context) {
  return llvm::any_of(
      llvm::ArrayRef<StringRef>{"mmap", "shmat", "shared_memory_object"},
      [&](StringRef Name) {
        return Context.Idents.find(Name) != Context.Idents.end();
      });
}

Fix planStdAtomicWait(const WrittenWait &Spin, const LoopSite &Site,
                      TuUses &Uses) {
  const ASTContext &Context = Spin.Does.Context;
  const WrittenPoll *P = Spin.uniquePoll();
  if (!Context.getLangOpts().CPlusPlus20 || !P || Spin.Counts ||
      Spin.ReadsClock || Spin.Polls.size() != 1 ||
      !isa<WhileStmt>(Spin.Shape.Statement) ||
      !onlyHints(Spin.Shape.Body.front(), Spin))
    return {};
  const CXXMemberCallExpr *Call = pollingCall(*P);
  bool IsPointer = false;
  std::string Object = objectText(Spin, *P, IsPointer);
  if (!Call || P->In != Spin.Does.root() || Object.empty() || IsPointer)
    return {};
  // A local variable with automatic storage gets no fix: the waiter may return
  // between another thread's write and notify_all, and then the variable no
  // longer exists.
  if (P->At.Where == Place::Local ||
      (P->At.Variable && P->At.Variable->hasLocalStorage()))
    return {};
  // Memory behind a pointer may be shared with another process, whose
  // notify_all would not wake the waiter: std::atomic's wait works within one
  // process.
  if (!P->At.Variable && mapsMemory(Context))
    return {};
  auto Writes = findWrites(Spin, *P, Uses);
  if (!Writes || Writes->empty())
    return {};
  auto Notify = [&](const WriteSite &W) {
    return textOf(W.LValue, Context) + ".notify_all();";
  };
  // Each fix must be correct alone. If a fix for another loop adds the
  // notify_all calls, this loop gets its fix in the next run of the check,
  // which finds the calls in place.
  if (llvm::any_of(*Writes, [&](const WriteSite *W) {
        return Uses.Notified.contains(W->Access) &&
               !isFollowedBy(*W, Notify(*W), Context);
      }))
    return {{}, "", "another loop's fix notifies at the same write; run again"};

  Fix Plan;
  if (P->Tries) {
    // A test-and-set that fails leaves the flag set, so the waiter waits while
    // the flag is true.
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
