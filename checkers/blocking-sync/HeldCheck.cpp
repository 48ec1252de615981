//===- HeldCheck.cpp - vfriendly-blocking-sync-held -----------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reports what may take long in the critical sections of spin locks
// (CriticalSections.h), and where no spin lock may be taken (LockTakers.h).
//
//===----------------------------------------------------------------------===//

#include "checkers/blocking-sync/Checks.h"

#include "checkers/blocking-sync/CriticalSections.h"
#include "checkers/blocking-sync/HeldFix.h"
#include "checkers/blocking-sync/LockTakers.h"
#include "checkers/blocking-sync/LongCalls.h"
#include "checkers/common/SourceText.h"

#include "clang/AST/ExprCXX.h"
#include "clang/Lex/PPCallbacks.h"
#include "clang/Lex/Preprocessor.h"

using namespace clang;

namespace vfriendly::tidy {

namespace {
/// Records the uses of macros that take or release a spin lock.
class MacroUses : public PPCallbacks {
public:
  MacroUses(SpinLocks &Locks) : Locks(Locks) {}
  void MacroExpands(const Token &Name, const MacroDefinition &,
                    SourceRange Range, const MacroArgs *) override {
    if (!Range.getBegin().isFileID())
      return;
    const IdentifierInfo *Identifier = Name.getIdentifierInfo();
    auto [Where, IsNew] = Known.try_emplace(Identifier, SpinOp::None);
    if (IsNew)
      Where->second = spinOpByName(Identifier->getName());
    if (Where->second == SpinOp::Acquire || Where->second == SpinOp::Release)
      Locks.addMacro(Range.getBegin(), Where->second);
  }

private:
  SpinLocks &Locks;
  llvm::DenseMap<const IdentifierInfo *, SpinOp> Known;
};

/// What a report says about a kind of call.
struct Words {
  StringRef Does, Remedy;
};
} // namespace

static Words wordsFor(const LongCall &Long) {
  switch (Long.Kind) {
  case LongKind::Memory:
    return {"allocates or releases memory",
            "do it before the lock or after the release"};
  case LongKind::Pages:
    return {"may touch fresh pages",
            "touch them outside or populate them before"};
  case LongKind::System:
    return {"enters the kernel", "move it out of the section"};
  case LongKind::Command:
    return {"commands a device", "move it out of the section"};
  case LongKind::Output:
    return {"writes or logs", "move it out of the section"};
  case LongKind::Sleep:
    return {"sleeps or yields", "release the lock before or use vf_mutex"};
  case LongKind::Wait:
    return {"waits", "release the lock before or use vf_mutex"};
  case LongKind::Callback:
    return {Long.Inside ? "calls through a pointer"
                        : "is called through a pointer",
            "call it after the release"};
  case LongKind::Loop:
    return {Long.Inside ? "repeats work without a small limit"
                        : "has no small limit",
            "limit what one section does, or take the items out first"};
  case LongKind::Fork:
    return {"copies the process",
            "release the lock before or take it in pthread_atfork"};
  }
  llvm_unreachable("no such kind");
}

void HeldCheck::registerPPCallbacks(const SourceManager &, Preprocessor *Into,
                                    Preprocessor *) {
  Into->addPPCallbacks(std::make_unique<MacroUses>(Locks));
}

/// Maximum number of calls that a report names.
static constexpr size_t MaxNotes = 3;

class HeldCheck::Sections {
public:
  Sections(HeldCheck &Check, const SyncModel &Model, const ASTContext &Context)
      : Check(Check), Model(Model), Context(Context),
        Calls(Check.Locks, Context) {}

  void inspect(const FunctionSync &F) {
    if (!Check.Locks.mayTake(F, Context))
      return;
    // Most functions that take a lock call nothing long.
    if (!mayTakeLong(F))
      return;
    std::vector<SpinSite> Sites = Check.Locks.sitesOf(F, Context);
    if (llvm::none_of(
            Sites, [](const SpinSite &S) { return S.Op == SpinOp::Acquire; }))
      return;
    LongIn.clear();
    forEachStmt(F.Function->getBody(),
                [&](const Stmt *S, ArrayRef<const Stmt *>) {
                  if (std::optional<LongCall> Long = Calls.match(S))
                    LongIn.try_emplace(S, std::move(*Long));
                });
    if (LongIn.empty())
      return;
    FunctionSections In(F, std::move(Sites), Context);
    for (const SpinSite &Take : In.sites())
      if (Take.Op == SpinOp::Acquire)
        inspect(F, Take, In);
  }
  void inspectTakers();

private:
  /// Returns false only if Calls.match returns nothing for each part of F. Does
  /// not walk its body.
  bool mayTakeLong(const FunctionSync &F) {
    return F.HasUnnamed || !F.Syncs.empty() ||
           llvm::any_of(F.Makes,
                        [&](const MakeSite &M) {
                          return Calls.match(M.Made).has_value();
                        }) ||
           llvm::any_of(F.Calls, [&](const CallSite &C) {
             return Calls.match(C.Call).has_value();
           });
  }
  void inspect(const FunctionSync &F, const SpinSite &Take,
               FunctionSections &In);

  HeldCheck &Check;
  const SyncModel &Model;
  const ASTContext &Context;
  LongCalls Calls;
  /// What may take long in the function that is inspected.
  llvm::DenseMap<const Stmt *, LongCall> LongIn;
};

void HeldCheck::Sections::inspect(const FunctionSync &F, const SpinSite &Take,
                                  FunctionSections &In) {
  const SourceManager &SM = Context.getSourceManager();
  std::vector<LongCall> Found;
  llvm::DenseSet<SourceLocation> Seen;
  for (const Stmt *S : In.from(Take)) {
    auto Long = LongIn.find(S);
    const SpinSite *Site = In.siteOf(S);
    if (Long != LongIn.end() && !(Site && Site->Op == SpinOp::Acquire) &&
        !(Long->second.Kind == LongKind::Loop && isLoop(S) &&
          In.releasesIn(*S, Take)) &&
        Seen.insert(SM.getExpansionLoc(S->getBeginLoc())).second)
      Found.push_back(Long->second);
  }
  SourceLocation Where = SM.getExpansionLoc(Take.Site->getBeginLoc());
  if (Found.empty() || !Check.claim(Where, F.Function, Context))
    return;
  llvm::sort(Found, [&](const LongCall &A, const LongCall &B) {
    return SM.isBeforeInTranslationUnit(A.Site->getBeginLoc(),
                                        B.Site->getBeginLoc());
  });
  const LongCall &First = Found.front();
  Words Say = wordsFor(First);
  {
    DiagnosticBuilder Report =
        Check.report(Where, Take.Site->getSourceRange(), *F.Function,
                     "holds " + nameOf(Take.Object) + " while " + First.What +
                         " " + Say.Does,
                     Say.Remedy, "all waiters poll meanwhile");
    for (const FixItHint &Fix :
         moveOut(Found, Take, In.sites(), *F.Function, Context))
      Report << Fix;
  }
  for (const LongCall &Long : ArrayRef(Found).take_front(MaxNotes)) {
    Check.diag(Long.Site->getBeginLoc(), "%0 %1 here", DiagnosticIDs::Note)
        << Long.What << wordsFor(Long).Does;
    if (Long.Inside)
      Check.diag(Long.Inside->getBeginLoc(), "by %0", DiagnosticIDs::Note)
          << Long.InsideWhat;
  }
}

void HeldCheck::Sections::inspectTakers() {
  for (const LockTaker &Taker : findLockTakers(Model, Check.Locks, Context)) {
    SourceLocation Where = Context.getSourceManager().getExpansionLoc(
        Taker.Take.Site->getBeginLoc());
    const FunctionDecl &In = *Taker.Function->Function;
    if (!Check.claim(Where, &In, Context))
      continue;
    auto Report = [&](StringRef Who, StringRef Cost, StringRef Remedy) {
      Check.report(Where, Taker.Take.Site->getSourceRange(), In,
                   "takes " + nameOf(Taker.Take.Object) + " in " + Who, Remedy,
                   Cost);
    };
    switch (Taker.Kind) {
    case TakerKind::Handler:
      Report("a signal handler",
             "it polls for ever if it interrupts the holder",
             "block the signal while the lock is held");
      break;
    case TakerKind::Child:
      Report("the child of a fork",
             "it polls for ever if another thread held it",
             "take it in a handler of pthread_atfork");
      break;
    case TakerKind::RealTime:
      Report("a thread of real-time priority",
             "it polls for ever on the CPU that the holder waits for",
             "use a mutex with PTHREAD_PRIO_INHERIT");
      break;
    }
  }
}

void HeldCheck::inspect(const SyncModel &Model, const ASTContext &Context) {
  Locks.use(Model);
  Sections All(*this, Model, Context);
  All.inspectTakers();
  for (const FunctionSync &F : Model.functions())
    All.inspect(F);
}

} // namespace vfriendly::tidy
