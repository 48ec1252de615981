//===- FixIts.cpp - Makes a spin loop give up the CPU ---------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/spin-loops/FixIts.h"

#include "checkers/spin-loops/Budget.h"
#include "checkers/spin-loops/LoopEdit.h"
#include "checkers/spin-loops/StdAtomicWait.h"
#include "checkers/spin-loops/WaitCall.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/ExprCXX.h"
#include "clang/Basic/TargetInfo.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/TargetParser/Triple.h"

using namespace clang;

namespace vfriendly::tidy {

std::optional<FixStyle> parseStyle(StringRef Name) {
  return llvm::StringSwitch<std::optional<FixStyle>>(Name)
      .Case("pause", FixStyle::Pause)
      .Case("spin-then-block", FixStyle::SpinThenBlock)
      .Case("std-atomic-wait", FixStyle::StdAtomicWait)
      .Default(std::nullopt);
}

std::string StateNames::next(const FunctionDecl &Function) {
  const ASTContext &Context = Function.getASTContext();
  if (In != &Function)
    Used = 0;
  In = &Function;
  for (;;) {
    std::string Name = "vf_state";
    if (Used++ != 0)
      Name += std::to_string(Used);
    if (Context.Idents.find(Name) == Context.Idents.end())
      return Name;
  }
}

/// Returns true for a template instance, whose text cannot be edited by itself.
static bool isInstance(const FunctionDecl &Function) {
  return Function.getTemplateInstantiationPattern() != nullptr;
}

static Fix planPause(const WrittenWait &Spin, const LoopSite &Site) {
  if (Spin.Pauses || Spin.Yields)
    return {};
  const llvm::Triple &Target = Spin.Does.Context.getTargetInfo().getTriple();
  if (!Target.isX86() && !Target.isAArch64())
    return {};
  LoopEdit Edit(Spin, Site);
  StringRef Hint = Target.isX86() ? "_mm_pause()" : "__builtin_arm_isb(15)";
  if (!Edit.waitInBody(Hint, /*HasValue=*/false))
    return {};
  return {Edit.take(), Target.isX86() ? "<immintrin.h>" : ""};
}

/// Returns true if S contains a return, break or goto that is in no loop inside
/// S.
static bool leavesDirectly(const Stmt *S) {
  if (!S || isa<ForStmt, WhileStmt, DoStmt, CXXForRangeStmt, LambdaExpr>(S))
    return false;
  return isa<ReturnStmt, BreakStmt, GotoStmt>(S) ||
         llvm::any_of(S->children(), leavesDirectly);
}

/// Returns true if E is in the condition of an `if` in S, and no branch of this
/// `if` directly contains a return, break or goto: for example, ncpu in `if
/// (ncpu > 1) for (...) if (try()) return;`.
static bool stepsAside(const Stmt *S, const Expr *E) {
  if (!S)
    return false;
  if (auto *If = dyn_cast<IfStmt>(S);
      If && !leavesDirectly(If->getThen()) && !leavesDirectly(If->getElse()) &&
      anyPart(If->getCond(), [E](auto *Part) { return Part == E; }))
    return true;
  return llvm::any_of(S->children(),
                      [&](const Stmt *Child) { return stepsAside(Child, E); });
}

/// Makes the reads of a wait on plain memory atomic. Other conditions stay as
/// they are.
static bool makeAtomic(const WrittenWait &Spin, LoopEdit &Edit) {
  const ASTContext &Context = Spin.Does.Context;
  llvm::SmallPtrSet<const Expr *, 4> Done;
  for (const WrittenPoll &P : Spin.Polls) {
    if (!P.isPlain() || !Done.insert(P.Access).second ||
        llvm::any_of(Spin.Shape.Body,
                     [&](const Stmt *S) { return stepsAside(S, P.Access); }))
      continue;
    auto *Read = dyn_cast_or_null<CastExpr>(P.Access);
    if (!Read || Read->getCastKind() != CK_LValueToRValue ||
        P.In != Spin.Does.root())
      return false;
    const Expr *LValue = Read->getSubExpr();
    QualType T = LValue->getType();
    bool Scalar =
        T->isPointerType() || (T->isIntegerType() && !T->isEnumeralType());
    if (!Scalar || T.isConstQualified() || LValue->refersToBitField() ||
        Context.getTypeSize(T) > 64)
      return false;
    if (auto *Ref = dyn_cast<DeclRefExpr>(LValue->IgnoreParens()))
      if (auto *Variable = dyn_cast<VarDecl>(Ref->getDecl());
          Variable && Variable->getStorageClass() == SC_Register)
        return false;
    std::string Text = textOf(LValue, Context);
    if (Text.empty() || LValue->getBeginLoc().isMacroID() ||
        LValue->getEndLoc().isMacroID())
      return false;
    Edit.add(FixItHint::CreateReplacement(LValue->getSourceRange(),
                                          "__atomic_load_n(&" + Text +
                                              ", __ATOMIC_ACQUIRE)"));
  }
  return true;
}

/// Adds a call of vf_spin_notify_if_waiting after each write in Wait.Writes.
static void notifyWriters(const WaitCall &Wait, const ASTContext &Context,
                          TuUses &Uses, Fix &Plan) {
  for (const WriteSite *W : Wait.Writes)
    addAfterWrite(
        *W, "vf_spin_notify_if_waiting(&" + textOf(W->LValue, Context) + ");",
        Uses, Context, Plan.Hints);
}

static Fix planBounded(const WrittenWait &Spin, const LoopSite &Site,
                       TuUses &Uses, StateNames &Names) {
  Fix Plan;
  std::optional<Budget> Count = planBudget(Spin, Site, Plan.WhyNot);
  if (!Count)
    return Plan;
  WaitCall Wait = planWait(Spin, Uses, &Count->End);
  Wait.NoSleep = false; // The count limits how long the runtime sleeps.
  if (Count->IsVolatile && !Wait.Notified) {
    Plan.WhyNot = "the word is volatile, and other files may write it: it may "
                  "be a device register";
    return Plan;
  }
  std::string State = Names.next(Site.Function);
  LoopEdit Edit(Spin, Site);
  Edit.keepHints();
  std::string Call = Count->Assignment + "vf_spin_budget(" +
                     (Wait.Address.empty() ? "0" : Wait.Address) + ", " +
                     (Wait.Observed.empty() ? "0" : Wait.Observed) + ", &" +
                     State + ", " + Wait.how() + ", " + Count->Left + ")";
  if (!Edit.declareBefore("VF_SPIN_BUDGET(" + State + ");") ||
      !Edit.waitInBody(Call, /*HasValue=*/false)) {
    Names.giveBack();
    Plan.WhyNot = "its text cannot be changed here";
    return Plan;
  }
  Plan = {Edit.take(), "vfriendly/spin_wait.h"};
  notifyWriters(Wait, Spin.Does.Context, Uses, Plan);
  return Plan;
}

static Fix planSpinThenBlock(const WrittenWait &Spin, const LoopSite &Site,
                             TuUses &Uses, StateNames &Names) {
  if (Spin.Counts)
    return planBounded(Spin, Site, Uses, Names);
  LoopEdit Edit(Spin, Site);
  if (!makeAtomic(Spin, Edit))
    return {};
  const ASTContext &Context = Spin.Does.Context;
  WaitCall Wait = planWait(Spin, Uses);
  std::string State = Names.next(Site.Function);
  std::string Call = State + " = " + Wait.textWith(State);
  if (!Edit.declareBefore("uint64_t " + State + " = 0;") ||
      !Edit.waitInBody(Call, /*HasValue=*/true)) {
    Names.giveBack();
    return {};
  }
  Fix Plan{Edit.take(), "vfriendly/spin_wait.h"};
  notifyWriters(Wait, Context, Uses, Plan);
  return Plan;
}

Fix planFix(FixStyle Style, const WrittenWait &Spin, const LoopSite &Site,
            TuUses &Uses, StateNames &Names) {
  if (Spin.Sleeps || Spin.IsSplit || !Spin.Doubt.empty() ||
      isInstance(Site.Function))
    return {};
  if (Spin.Shape.keyword().isMacroID())
    return {{}, "", Spin.Counts ? "the loop is written in a macro" : ""};

  // Gives no fix for a loop around a loop that waits: the fix belongs to the
  // inner loop, which has a report of its own.
  if (Spin.HoldsWait)
    return {};

  // The pass also only inserts the CPU's spin hint there.
  if (Style != FixStyle::Pause && Uses.entersStrictSeccomp(Spin.Does.Context))
    return {{},
            "",
            "the file enters seccomp's strict mode, in which the "
            "kernel ends a thread that yields or sleeps"};

  switch (Style) {
  case FixStyle::Pause:
    return planPause(Spin, Site);
  case FixStyle::SpinThenBlock:
  case FixStyle::StdAtomicWait:
    break;
  }
  // C++20's own wait needs neither a header nor a library of ours.
  Fix Plan = planStdAtomicWait(Spin, Site, Uses);
  if (Style == FixStyle::SpinThenBlock && Plan.Hints.empty() &&
      Plan.WhyNot.empty())
    return planSpinThenBlock(Spin, Site, Uses, Names);
  return Plan;
}

} // namespace vfriendly::tidy
