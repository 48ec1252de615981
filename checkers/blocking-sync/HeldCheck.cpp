//===- HeldCheck.cpp - vfriendly-blocking-sync-held -----------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A critical section is what lies on a path from where a function takes a lock
// to where it releases the same lock:
//
//   take(l);           A
//   if (error) {       A  in the section
//     log();           B  not in it: no release follows
//     abort();
//   }
//   release(l);        A
//
// A function that takes a lock and never releases it is a wrapper.
//
//===----------------------------------------------------------------------===//

#include "checkers/blocking-sync/Checks.h"

#include "checkers/blocking-sync/HeldFix.h"
#include "checkers/blocking-sync/LockTakers.h"
#include "checkers/blocking-sync/LongCalls.h"
#include "checkers/common/SourceText.h"

#include "clang/AST/ExprCXX.h"
#include "clang/Analysis/CFG.h"
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
    if (Where->second != SpinOp::None)
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

namespace {
/// The critical sections of one function.
class FunctionSections {
public:
  FunctionSections(const FunctionDecl &F, std::vector<SpinSite> Found,
                   const ASTContext &Context)
      : F(F), Context(Context), Sites(std::move(Found)) {
    for (const SpinSite &S : Sites) {
      ByStmt[S.Site] = &S;
      if (S.Macro.isValid())
        forEachStmt(S.Site, [&](const Stmt *Below, ArrayRef<const Stmt *>) {
          ByStmt[Below] = &S;
        });
    }
  }

  ArrayRef<SpinSite> sites() const { return Sites; }

  /// Returns the statements and expressions of the section that begins at Take,
  /// in no particular order.
  std::vector<const Stmt *> from(const SpinSite &Take) {
    return Take.IsGuard ? ofGuard(Take) : ofCall(Take);
  }

  /// Returns true if Loop releases the lock of Take on the way: its section is
  /// one iteration.
  bool releasesIn(const Stmt &Loop, const SpinSite &Take) const {
    bool Found = false;
    forEachStmt(&Loop, [&](const Stmt *S, ArrayRef<const Stmt *>) {
      Found |= releases(S, Take);
    });
    return Found;
  }

  /// Returns the site that S is, or to whose macro it belongs; else null.
  const SpinSite *siteOf(const Stmt *S) const { return ByStmt.lookup(S); }

private:
  std::vector<const Stmt *> ofGuard(const SpinSite &Take);
  std::vector<const Stmt *> ofCall(const SpinSite &Take);
  bool releases(const Stmt *S, const SpinSite &Take) const {
    const SpinSite *Site = siteOf(S);
    return Site && Site->Op == SpinOp::Release && Site->Object == Take.Object;
  }

  const FunctionDecl &F;
  const ASTContext &Context;
  std::vector<SpinSite> Sites;
  llvm::DenseMap<const Stmt *, const SpinSite *> ByStmt;
  std::unique_ptr<CFG> Graph;
};

/// Returns true if S is a call of a method of Guard that releases its lock.
bool letsGo(const Stmt *S, const ValueDecl &Guard) {
  auto *Call = dyn_cast<CXXMemberCallExpr>(S);
  return Call && isReleaseOfGuard(identifierOf(Call->getMethodDecl())) &&
         objectOf(Call->getImplicitObjectArgument()) == &Guard;
}

/// Returns true if a statement before S, in one of the blocks around it,
/// releases the lock of Guard.
bool isAfterRelease(const Stmt *S, ArrayRef<const Stmt *> Parents,
                    const ValueDecl &Guard) {
  for (const Stmt *Parent : llvm::reverse(Parents)) {
    if (auto *Block = dyn_cast<CompoundStmt>(Parent))
      for (const Stmt *Before : Block->body()) {
        if (Before == S)
          break;
        if (letsGo(Before, Guard))
          return true;
      }
    S = Parent;
  }
  return false;
}
} // namespace

std::vector<const Stmt *> FunctionSections::ofGuard(const SpinSite &Take) {
  std::vector<const Stmt *> Section;
  const ValueDecl *Guard = declaredAt(Take.Parents);
  const CompoundStmt *Scope = nullptr;
  const Stmt *Declaration = Take.Site;
  for (const Stmt *S : llvm::reverse(Take.Parents)) {
    if ((Scope = dyn_cast<CompoundStmt>(S)))
      break;
    Declaration = S;
  }
  if (!Guard || !Scope)
    return Section;
  auto Where = llvm::find(Scope->body(), Declaration);
  if (Where == Scope->body_end())
    return Section;
  for (++Where; Where != Scope->body_end() && !letsGo(*Where, *Guard); ++Where)
    forEachStmt(*Where, [&](const Stmt *S, ArrayRef<const Stmt *> Parents) {
      if (!endsProgram(Parents) && !isAfterRelease(S, Parents, *Guard))
        Section.push_back(S);
    });
  return Section;
}

std::vector<const Stmt *> FunctionSections::ofCall(const SpinSite &Take) {
  std::vector<const Stmt *> Section;
  if (llvm::none_of(Sites, [&](const SpinSite &S) {
        return S.Op == SpinOp::Release && S.Object == Take.Object;
      }))
    return Section;
  if (!Graph) {
    CFG::BuildOptions Options;
    Options.setAllAlwaysAdd();
    Graph = CFG::buildCFG(&F, F.getBody(), const_cast<ASTContext *>(&Context),
                          Options);
    if (!Graph)
      return Section;
  }
  // What lies in each block that can be reached after Take, up to a release.
  struct Part {
    std::vector<const Stmt *> Stmts;
    bool Ends = false; ///< By a release.
  };
  llvm::MapVector<const CFGBlock *, Part> Parts;
  SmallVector<const CFGBlock *, 16> Work;
  auto Scan = [&](const CFGBlock &Block, size_t From, Part &Into) {
    for (size_t I = From; I < Block.size(); ++I) {
      std::optional<CFGStmt> Element = Block[I].getAs<CFGStmt>();
      if (!Element)
        continue;
      if (releases(Element->getStmt(), Take)) {
        Into.Ends = true;
        return;
      }
      if (siteOf(Element->getStmt()) != &Take)
        Into.Stmts.push_back(Element->getStmt());
    }
    // A loop is no element of its blocks.
    if (const Stmt *Loop = Block.getTerminatorStmt(); Loop && isLoop(Loop))
      Into.Stmts.push_back(Loop);
    for (const CFGBlock *Next : Block.succs())
      if (Next && !Parts.count(Next))
        Work.push_back(Next);
  };
  bool TakesInLoop = isLoop(Take.Site);
  Part First;
  const CFGBlock *Start = nullptr;
  for (const CFGBlock *Block : *Graph) {
    for (size_t I = Block->size(); I-- > 0 && !Start;)
      if (std::optional<CFGStmt> Element = (*Block)[I].getAs<CFGStmt>())
        if (!TakesInLoop && siteOf(Element->getStmt()) == &Take) {
          Start = Block;
          Scan(*Block, I + 1, First);
        }
    // A loop that takes the lock is the terminator of the block that decides
    // whether it goes on.
    if (TakesInLoop && !Start && Block->getTerminatorStmt() == Take.Site &&
        Block->succ_size() == 2 && *std::next(Block->succ_begin())) {
      Start = Block;
      Work.push_back(*std::next(Block->succ_begin()));
    }
    if (Start)
      break;
  }
  while (!Work.empty()) {
    const CFGBlock *Block = Work.pop_back_val();
    if (!Parts.count(Block)) {
      Part Whole;
      Parts.insert({Block, Part()});
      Scan(*Block, 0, Whole);
      Parts[Block] = std::move(Whole);
    }
  }
  // Keeps the blocks after which a release follows.
  llvm::DenseSet<const CFGBlock *> Held;
  for (bool Changed = true; Changed;) {
    Changed = false;
    for (auto &[Block, Each] : Parts)
      if (!Held.contains(Block) &&
          (Each.Ends || llvm::any_of(Block->succs(), [&](const CFGBlock *B) {
             return B && Held.contains(B);
           })))
        Changed = Held.insert(Block).second;
  }
  if (First.Ends ||
      (Start && llvm::any_of(Start->succs(), [&](const CFGBlock *B) {
         return B && Held.contains(B);
       })))
    Section = std::move(First.Stmts);
  for (auto &[Block, Each] : Parts)
    if (Held.contains(Block))
      Section.insert(Section.end(), Each.Stmts.begin(), Each.Stmts.end());
  return Section;
}

/// Maximum number of calls that a report names.
static constexpr size_t MaxNotes = 3;

class HeldCheck::Sections {
public:
  Sections(HeldCheck &Check, const SyncModel &Model, const ASTContext &Context)
      : Check(Check), Model(Model), Context(Context),
        Calls(Check.Locks, Context) {}

  void inspect(const FunctionSync &F) {
    if (!Check.Locks.mayTake(F, Context) ||
        // A lock's own functions.
        Check.Locks.of(F.Function) == SpinOp::Acquire)
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
    FunctionSections In(*F.Function, std::move(Sites), Context);
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
    if (Long != LongIn.end() && !In.siteOf(S) &&
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
