//===- LoopAllocationCheck.cpp - vfriendly-heap-churn-loop-allocation -----===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/heap-churn/Checks.h"

#include "checkers/common/SourceText.h"
#include "checkers/heap-churn/Cold.h"
#include "checkers/heap-churn/Fixes.h"
#include "checkers/heap-churn/HeapFacts.h"
#include "checkers/heap-churn/IterationLocals.h"

#include "clang/AST/ASTContext.h"
#include "clang/Basic/SourceManager.h"

using namespace clang;

namespace vfriendly::tidy {

static constexpr llvm::StringLiteral AllocatesItself =
    " allocates and releases memory in each iteration of a loop";
static constexpr llvm::StringLiteral KeepObject =
    "reuse one object for all iterations";

static constexpr llvm::StringLiteral KeepForCalls =
    "keep it from one call to the next, or let the caller pass it";

static constexpr llvm::StringLiteral CopiesInVain =
    " is copied in each iteration of a loop, and the copy is only read";

/// Returns true if F is the body of a lambda.
static bool isLambda(const FunctionDecl &F) {
  auto *Method = dyn_cast<CXXMethodDecl>(&F);
  return Method && Method->getParent()->isLambda();
}

/// Returns what keeps the memory of Local from one iteration to the next.
static StringRef remedyFor(const IterationLocal &Local) {
  if (Local.IsReadOnlyCopy)
    return "refer to the original, or assign to a vector that keeps its memory";
  if (Local.IsReturned)
    return "let the function fill one that is declared before the loop";
  if (Local.Kind.ends_with("_ptr"))
    return KeepObject;
  if (Local.Kind.ends_with("stringstream"))
    return "declare it before the loop, and empty it by str and clear";
  if (Local.Kind == "vector" || Local.Kind == "basic_string")
    return "declare it before the loop, so that it keeps its memory";
  return "use a sorted vector that is declared before the loop, or a memory "
         "resource that keeps the nodes";
}

/// Returns true if the loop retries with a larger size: `n *= 2`. Such a loop
/// seldom iterates.
static bool triesWithMore(const HeapCall &Call, const Stmt *Loop,
                          const FunctionView &View) {
  for (const Expr *Size : {Call.Size, Call.Count})
    if (const VarDecl *Variable = variableOf(Size))
      if (std::optional<StmtSet> Writes = View.writesOf(*Variable))
        for (const Stmt *Write : *Writes) {
          auto *Assign = dyn_cast<BinaryOperator>(Write);
          if (Assign && View.isWithin(Assign, Loop) &&
              (Assign->getOpcode() == BO_MulAssign ||
               Assign->getOpcode() == BO_ShlAssign ||
               Assign->getOpcode() == BO_AddAssign))
            return true;
        }
  return false;
}

/// Returns the expression at Place, a place in debug information: preferably a
/// heap call of kind Op, then any call, then any other expression. An
/// expression inside a macro is at the place where the macro is used, and a
/// macro's argument, since LLVM 22, where it is written.
static const Expr *expressionAt(const LoweredPlace &Place, HeapOp Op,
                                const FunctionView &View) {
  const SourceManager &SM = View.Context.getSourceManager();
  auto IsAt = [&](SourceLocation Where) {
    PresumedLoc At = SM.getPresumedLoc(Where);
    return At.isValid() && At.getLine() == Place.Line &&
           At.getColumn() == Place.Column && At.getFilename() == Place.File;
  };
  auto IsThere = [&](const Expr &E) {
    SourceLocation Where = E.getExprLoc();
    return IsAt(SM.getExpansionLoc(Where)) ||
           (Where.isMacroID() && IsAt(SM.getFileLoc(Where)));
  };
  for (const HeapCall &Call : View.calls())
    if (Call.Op == Op && IsThere(*Call.Site))
      return Call.Site;
  const Expr *Call = nullptr, *Other = nullptr;
  // The body of a lambda is a function of its own.
  forEachStmt(View.Function.getBody(),
              [&](const Stmt *S, ArrayRef<const Stmt *>) {
                auto *E = dyn_cast<Expr>(S);
                bool IsCall = isa<CallExpr, CXXConstructExpr>(S);
                if (E && !(IsCall ? Call : Other) && IsThere(*E))
                  (IsCall ? Call : Other) = E;
              });
  return Call ? Call : Other;
}

/// Returns true if Site is a part of what was reported.
bool LoopAllocationCheck::isReported(const Stmt *Site,
                                     const FunctionView &View) const {
  for (const Stmt *S = Site; S; S = View.parent(S)) {
    auto *Declaration = dyn_cast<DeclStmt>(S);
    if (Reported.contains(S) ||
        (Declaration && llvm::any_of(Declaration->decls(), [&](const Decl *D) {
           return Reported.contains(D);
         })))
      return true;
  }
  return false;
}

/// Reports the block that a function makes and its caller, at Site, releases,
/// in the function: it does more than to allocate, so that what is to be
/// changed is there. Returns false if there is no such function in sight.
bool LoopAllocationCheck::reportMaker(const Expr &Site, HeapCalls &Heap,
                                      StringRef Often, StringRef Remedy) {
  const FunctionDecl *Maker = calleeOf(&Site);
  Maker = Maker ? Maker->getDefinition() : nullptr;
  if (!Maker || !Maker->getBody() || Maker->isDependentContext())
    return false;
  FunctionView Inner(*Maker, Heap);
  if (!Maker->getReturnType()->isPointerType())
    return isLongCall(Inner); // The block is its own.
  auto Made = llvm::find_if(Inner.calls(), [](const HeapCall &Each) {
    return Each.Op == HeapOp::Allocate;
  });
  if (Inner.loops().empty() || Made == Inner.calls().end())
    return false;
  SourceLocation Where = Made->Site->getExprLoc();
  if (!claim(Where, lookAgain(*Maker)))
    return true;
  report(Where,
         "the result of '" + Maker->getNameAsString() +
             "' is allocated and released" + Often,
         Remedy);
  diag(Site.getExprLoc(), "the caller releases it here", DiagnosticIDs::Note);
  return true;
}

void LoopAllocationCheck::reportBlock(const LoweredBlock &Block) {
  FunctionView &View = lookAgain(*Block.In);
  const Expr *Site = expressionAt(Block.Allocated, HeapOp::Allocate, View);
  const Stmt *Loop = Site ? View.loopAround(*Site) : nullptr;
  if (!Loop || isCold(Loop, View) || isRetry(Loop, View))
    return;
  if (isReported(Site, View))
    return;
  auto Call = llvm::find_if(
      View.calls(), [&](const HeapCall &Each) { return Each.Site == Site; });
  bool IsHeapCall = Call != View.calls().end();
  if ((IsHeapCall && triesWithMore(*Call, Loop, View)) ||
      !claim(Site->getExprLoc(), View) ||
      reportMaker(*Site, View.Heap, " in each iteration of a loop",
                  "let it fill what the caller keeps for all iterations"))
    return;
  const VarDecl *Owner = View.ownerOf(*Site);
  bool IsObject = Owner && Owner->getType()->isRecordType();
  if (Owner && !IsObject && !Owner->getType()->isPointerType())
    Owner = nullptr; // Not the block but, for example, an error code.
  std::string By = IsHeapCall ? Call->name()
                              : identifierOf(calleeOf(Site)).str(),
              What = Owner ? ("'" + Owner->getName() + "'").str() : "memory";
  if (IsObject)
    report(Site->getExprLoc(), What + AllocatesItself, KeepObject);
  else
    report(Site->getExprLoc(),
           What + " is allocated " + (By.empty() ? "here" : "by '" + By + "'") +
               " and released in each iteration of a loop",
           "allocate before the loop")
        << (IsHeapCall ? hoistBuffer(*Call, View) : FixHints());
  if (const Expr *Released =
          expressionAt(Block.Released, HeapOp::Release, View))
    if (Released->getExprLoc() != Site->getExprLoc())
      diag(Released->getExprLoc(), "released here", DiagnosticIDs::Note);
}

/// Returns a call of F in a loop of View's function that is not cold; null if
/// there is none.
static const CallExpr *loopedCall(const FunctionDecl &F,
                                  const FunctionView &View) {
  const CallExpr *Found = nullptr;
  forEachStmt(View.Function.getBody(), [&](const Stmt *S,
                                           ArrayRef<const Stmt *>) {
    auto *Call = dyn_cast<CallExpr>(S);
    const FunctionDecl *Callee = Call ? Call->getDirectCallee() : nullptr;
    if (Found || !Callee || Callee->getCanonicalDecl() != F.getCanonicalDecl())
      return;
    const Stmt *Loop = View.loopAround(*Call);
    if (Loop && !isCold(Loop, View) && !isRetry(Loop, View))
      Found = Call;
  });
  return Found;
}

/// Returns a call of F in F itself: it visits a tree. Null if there is none.
static const CallExpr *recursionIn(const FunctionDecl &F) {
  const CallExpr *Found = nullptr;
  forEachStmt(F.getBody(), [&](const Stmt *S, ArrayRef<const Stmt *>) {
    const FunctionDecl *Callee = calleeOf(S);
    if (Callee && isa<CallExpr>(S) &&
        Callee->getCanonicalDecl() == F.getCanonicalDecl())
      Found = cast<CallExpr>(S);
  });
  return Found;
}

/// Returns a loop that calls F: in this unit, or, as a condition, anywhere,
/// with a function between them; nothing if there can be none, or if F seldom
/// runs.
std::optional<LoopAllocationCheck::HotCaller>
LoopAllocationCheck::loopThatCalls(const FunctionDecl &F) {
  if (isColdFunction(F) || F.isMain())
    return std::nullopt;
  for (const FunctionDecl *Each : Lowered.loopingCallers(F))
    if (Each != &F)
      if (const CallExpr *Call = loopedCall(F, lookAgain(*Each)))
        return HotCaller{Call, ""};
  if (const CallExpr *Again = recursionIn(F))
    return HotCaller{Again, ""};
  std::string Condition = Program->conditionOfNearLoop(F);
  if (Condition.empty())
    return std::nullopt;
  return HotCaller{nullptr, Condition};
}

std::string LoopAllocationCheck::inEachCall(const FunctionDecl &F,
                                            const HotCaller &Caller) {
  return " in each call of " +
         (isLambda(F) ? "a lambda" : "'" + F.getNameAsString() + "'") +
         (Caller.Call
              ? (isLambda(F) ? " that a loop calls" : ", which a loop calls")
              : "");
}

void LoopAllocationCheck::noteCaller(SourceLocation Where,
                                     const HotCaller &Caller) {
  if (Caller.Call)
    diag(Caller.Call->getExprLoc(), "called in a loop here",
         DiagnosticIDs::Note);
  else
    diag(Where, Caller.Condition, DiagnosticIDs::Note);
}

/// Reports a block that each call of a function allocates and releases, if a
/// loop calls the function.
void LoopAllocationCheck::reportOfCall(const LoweredBlock &Block) {
  std::optional<HotCaller> Caller = loopThatCalls(*Block.In);
  if (!Caller)
    return;
  FunctionView &View = lookAgain(*Block.In);
  if (isLongCall(View))
    return;
  const Expr *Site = expressionAt(Block.Allocated, HeapOp::Allocate, View);
  if (!Site || isa<CXXConstructExpr>(Site) || View.loopAround(*Site) ||
      isReported(Site, View) || !claim(Site->getExprLoc(), View))
    return;
  if (reportMaker(*Site, View.Heap, inEachCall(*Block.In, *Caller),
                  KeepForCalls))
    return noteCaller(Site->getExprLoc(), *Caller);
  const VarDecl *Owner = View.ownerOf(*Site);
  bool IsNamed = Owner && Owner->getType()->isPointerType();
  report(Site->getExprLoc(),
         (IsNamed ? "'" + Owner->getName() + "'" : Twine("memory")) +
             " is allocated and released" + inEachCall(*Block.In, *Caller),
         KeepForCalls);
  noteCaller(Site->getExprLoc(), *Caller);
}

/// Reports an object that calls fill and empty.
void LoopAllocationCheck::reportPair(const FunctionDecl &In,
                                     const OwnerPair &Pair) {
  std::optional<HotCaller> Caller;
  if (!Pair.Loop && !(Caller = loopThatCalls(In)))
    return;
  FunctionView &View = lookAgain(In);
  SourceLocation Where =
      Pair.Empty ? Pair.Fill->getExprLoc() : Pair.Object->getLocation();
  if (Reported.contains(Pair.Object) || !claim(Where, View))
    return;
  std::string Text = "'" + Pair.Object->getNameAsString() + "'";
  Text += Pair.Empty
              ? " gets memory by '" + identifierOf(calleeOf(Pair.Fill)).str() +
                    "', and '" + identifierOf(calleeOf(Pair.Empty)).str() +
                    "' releases it,"
              : " allocates and releases memory";
  Text += Pair.Loop ? " in each iteration of a loop" : inEachCall(In, *Caller);
  report(Where, Text,
         Pair.Loop ? StringRef(KeepObject) : StringRef(KeepForCalls));
  if (Pair.Empty)
    diag(Pair.Empty->getExprLoc(), "released here", DiagnosticIDs::Note);
  if (Caller)
    noteCaller(Where, *Caller);
  for (const auto &[Kind, Name] : Pair.If)
    diag(Where, ProgramFacts::condition(Kind, Name), DiagnosticIDs::Note);
}

/// Reports the locals that each call of F allocates and destroys, if a loop
/// calls it.
void LoopAllocationCheck::reportLocals(const FunctionDecl &F) {
  std::optional<HotCaller> Caller;
  // Another view may have taken its place meanwhile.
  for (const VarDecl *Variable : SmallVector<const VarDecl *, 16>(
           lookAgain(F).locals().begin(), lookAgain(F).locals().end())) {
    std::optional<IterationLocal> Local =
        findIterationLocal(*Variable, lookAgain(F), true);
    if (!Local || (!Caller && !(Caller = loopThatCalls(F))))
      continue;
    FunctionView &View = lookAgain(F);
    if (isLongCall(View) || !claim(Variable->getLocation(), View))
      continue;
    Reported.insert(Variable);
    Reported.insert(Local->Allocates);
    report(Variable->getLocation(),
           "'" + Variable->getName() + "' allocates and releases memory" +
               inEachCall(F, *Caller),
           KeepForCalls);
    diag(Local->Allocates->getExprLoc(), "allocates here", DiagnosticIDs::Note);
    noteCaller(Variable->getLocation(), *Caller);
  }
}

/// Reports an object that F takes again and again, and that other functions
/// end, by what the program's units tell of them.
void LoopAllocationCheck::reportLifetime(const FunctionDecl &F,
                                         const TakenObject &Object) {
  FunctionView &View = lookAgain(F);
  SourceLocation Where = Object.Site->getExprLoc();
  std::string Caller = Object.Loop ? "" : Program->conditionOfNearLoop(F);
  if ((!Object.Loop && Caller.empty()) || isReported(Object.Site, View) ||
      !claim(Where, View))
    return;
  report(Where,
         "'" + Object.Key + "' is allocated" +
             (Object.Loop ? std::string(" in each iteration of a loop")
                          : inEachCall(F, {})) +
             ", and another function releases it soon",
         "keep the released ones for the next, or put it into what holds it");
  if (!Object.Loop)
    diag(Where, Caller, DiagnosticIDs::Note);
  diag(Where,
       ProgramFacts::condition("lives",
                               ProgramFacts::nameOf(F) + " " + Object.Key),
       DiagnosticIDs::Note);
}

/// Records the functions that tables of the unit hold.
static void tellTables(const DeclContext &In, const ASTContext &Context,
                       ProgramFacts &Program) {
  for (const Decl *D : In.decls()) {
    if (auto *Inner = dyn_cast<DeclContext>(D);
        Inner && isa<NamespaceDecl, LinkageSpecDecl>(D))
      tellTables(*Inner, Context, Program);
    auto *Table = dyn_cast<VarDecl>(D);
    if (Table && Table->getInit() && !Table->getType()->isDependentType() &&
        !Context.getSourceManager().isInSystemHeader(Table->getLocation()))
      tellCallbacks(Table->getInit(), Context, Program);
  }
}

void LoopAllocationCheck::finish(ASTContext &Context) {
  if (Program->areWanted())
    tellTables(*Context.getTranslationUnitDecl(), Context, *Program);
  if (!Lowered.run(Context, Program->areWanted())) {
    const SourceManager &SM = Context.getSourceManager();
    diag(SM.getLocForStartOfFile(SM.getMainFileID()),
         "loops that allocate were not examined, as no code can be generated "
         "for this file");
    return;
  }
  for (const FunctionDecl *Each : Inspected)
    if (askable() || !Lowered.loopingCallers(*Each).empty()) {
      if (Context.getLangOpts().CPlusPlus)
        reportLocals(*Each);
      for (OwnerPair &Pair : pairsOfCalls(lookAgain(*Each), *Owned, askable()))
        Pairs.push_back({Each, std::move(Pair)});
    }
  for (const LoweredBlock &Each : Lowered.Blocks)
    if (Each.IsOfCall)
      reportOfCall(Each);
    else
      reportBlock(Each);
  for (const auto &[In, Pair] : Pairs)
    reportPair(*In, Pair);
  for (const auto &[In, Object] : Taken)
    reportLifetime(*In, Object);
}

void LoopAllocationCheck::inspect(FunctionView &View) {
  Lowered.consider(View.Function, View.Heap);
  if (!Owned)
    Owned.emplace(View.Heap);
  if (Program->areWanted()) {
    tellHeap(View, *Program);
    Owned->tell(View.Function, *Program);
    if (!isColdFunction(View.Function) && !View.Function.isMain() &&
        !opensFile(View) && !ProgramFacts::nameOf(View.Function).empty())
      for (TakenObject &Each : takenObjects(View))
        Taken.push_back({&View.Function, std::move(Each)});
  }
  Inspected.push_back(&View.Function);
  for (OwnerPair &Pair : pairsOfLoops(View, *Owned, askable()))
    if (!isCold(Pair.Loop, View) && !isRetry(Pair.Loop, View))
      Pairs.push_back({&View.Function, std::move(Pair)});
  if (!View.Context.getLangOpts().CPlusPlus)
    return;
  if (View.loops().empty())
    return;
  for (const VarDecl *Variable : View.locals()) {
    std::optional<IterationLocal> Local = findIterationLocal(*Variable, View);
    if (!Local || isSeldom(Local->Loop, View) || isRetry(Local->Loop, View))
      continue;
    std::string Condition;
    if (isCold(Local->Loop, View) && !recursionIn(View.Function)) {
      Condition = Program->conditionOfNearLoop(View.Function);
      if (Condition.empty())
        continue;
    }
    if (!claim(Variable->getLocation(), View))
      continue;
    Reported.insert(Variable);
    Reported.insert(Local->Allocates);
    report(Variable->getLocation(),
           "'" + Variable->getName() + "'" +
               (Local->IsReadOnlyCopy ? CopiesInVain : AllocatesItself),
           remedyFor(*Local))
        << hoistLocal(*Local, View);
    diag(Local->Allocates->getExprLoc(), "allocates here", DiagnosticIDs::Note);
    if (!Condition.empty())
      diag(Variable->getLocation(), Condition, DiagnosticIDs::Note);
  }
}

} // namespace vfriendly::tidy
