//===- HeapFacts.cpp - Heap functions of other units ----------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/heap-churn/HeapFacts.h"

#include "checkers/heap-churn/Cold.h"
#include "checkers/heap-churn/HeapWrappers.h"
#include "checkers/heap-churn/Lifetimes.h"

#include "checkers/common/SourceText.h"
#include "passes/analysis/common/NameWords.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/Basic/SourceManager.h"

using namespace clang;

namespace vfriendly::tidy {

static constexpr std::pair<HeapOp, StringRef> Words[] = {
    {HeapOp::Allocate, "allocate"},
    {HeapOp::Resize, "resize"},
    {HeapOp::Release, "release"},
    {HeapOp::None, "none"}};

static StringRef wordFor(HeapOp Op) {
  return llvm::find_if(Words, [&](auto &Each) { return Each.first == Op; })
      ->second;
}

/// Returns true if F may be defined in a unit of the program.
static bool isOfProgram(const FunctionDecl &F) {
  return !F.getBuiltinID() &&
         !F.getASTContext().getSourceManager().isInSystemHeader(
             F.getLocation());
}

bool isOfOtherUnit(const FunctionDecl &F) {
  return !F.hasBody() && F.isExternallyVisible() && isOfProgram(F);
}

static bool passesPointers(const FunctionDecl &F) {
  return F.getReturnType()->isPointerType() ||
         llvm::any_of(F.parameters(), [](const ParmVarDecl *P) {
           return P->getType()->isPointerType();
         });
}

/// Maximum number of functions around one another that are looked into.
static constexpr unsigned MaxDepth = 4;

/// Returns true if no call of F can get to the heap: all functions that it
/// calls are in this unit, or builtin ones that are none of the heap's.
static bool isWithoutHeap(const FunctionDecl &F, HeapCalls &Heap,
                          unsigned Depth = 0) {
  const Stmt *Body = F.getBody();
  bool IsWithout = Body && Depth < MaxDepth;
  forEachStmtAndLambda(Body, [&](const Stmt *S, ArrayRef<const Stmt *>) {
    IsWithout &= !isa<CXXNewExpr, CXXDeleteExpr, CXXConstructExpr>(S);
    auto *Call = dyn_cast<CallExpr>(S);
    if (!Call || !IsWithout)
      return;
    const FunctionDecl *Callee = Call->getDirectCallee();
    IsWithout =
        Callee && !Heap.find(*Callee) &&
        (Callee->getBuiltinID() || isWithoutHeap(*Callee, Heap, Depth + 1));
  });
  return IsWithout;
}

static void tell(StringRef Kind, const std::string &Name,
                 const HeapFunction &Does, ProgramFacts &Program) {
  llvm::json::Object Fact{{Kind, Name}, {"op", wordFor(Does.Op)}};
  for (auto [Part, Index] : {std::pair("pointer", Does.Pointer),
                             {"size", Does.Size},
                             {"count", Does.Count}})
    if (Index)
      Fact[Part] = *Index;
  Program.tell(std::move(Fact));
}

/// Returns true if the function that is passed F calls it once or seldom, by
/// the name of F: it begins or ends something, or is what a thread runs.
static bool isSeldomCallback(const FunctionDecl &F) {
  static const llvm::StringSet<> Words{
      "open",       "close",        "start",   "stop",   "create",
      "destroy",    "delete",       "free",    "new",    "load",
      "unload",     "save",         "run",     "main",   "loop",
      "thread",     "worker",       "cleanup", "exit",   "quit",
      "connect",    "register",     "attach",  "detach", "connected",
      "disconnect", "disconnected", "release", "reset",  "once"};
  return isColdFunction(F) || hasWord(identifierOf(&F), Words);
}

/// Returns true if other programs, or units that nobody asks, may call F for
/// each item of their work, by its name.
static bool isOfItems(const FunctionDecl &F) {
  static const llvm::StringSet<> Words{
      "on",          "handle",     "process",  "encode",  "decode",
      "parse",       "write",      "read",     "send",    "recv",
      "receive",     "render",     "draw",     "compute", "calc",
      "calculate",   "eval",       "evaluate", "score",   "predict",
      "add",         "push",       "append",   "insert",  "find",
      "lookup",      "compare",    "match",    "format",  "escape",
      "convert",     "transform",  "filter",   "next",    "step",
      "dispatch",    "deliver",    "publish",  "notify",  "forward",
      "compress",    "decompress", "hash",     "verify",  "serialize",
      "deserialize", "resample"};
  return F.isExternallyVisible() && !F.isMain() && !isSeldomCallback(F) &&
         hasWord(identifierOf(&F), Words);
}

/// Returns true if Callee calls what it is passed once, or in another thread.
static bool callsOnce(const FunctionDecl *Callee) {
  if (auto *Constructor = dyn_cast_or_null<CXXConstructorDecl>(Callee))
    return identifierOf(Constructor->getParent()).contains("thread");
  std::string Name = identifierOf(Callee).lower();
  return llvm::any_of(
      ArrayRef<StringRef>{"thread", "thrd", "atexit", "on_exit", "once",
                          "async", "fork", "signal", "sigaction"},
      [&](StringRef Word) { return StringRef(Name).contains(Word); });
}

void tellCallbacks(const Stmt *Root, const ASTContext &Context,
                   ProgramFacts &Program) {
  llvm::SmallPtrSet<const Expr *, 16> NotPassed;
  llvm::SmallPtrSet<const FunctionDecl *, 8> Told;
  forEachStmtAndLambda(Root, [&](const Stmt *S, ArrayRef<const Stmt *>) {
    if (auto *Call = dyn_cast<CallExpr>(S))
      NotPassed.insert(Call->getCallee()->IgnoreParenImpCasts());
    ArrayRef<const Expr *> Given;
    if (auto *Call = dyn_cast<CallExpr>(S))
      Given = {Call->getArgs(), Call->getNumArgs()};
    else if (auto *Made = dyn_cast<CXXConstructExpr>(S))
      Given = {Made->getArgs(), Made->getNumArgs()};
    if (callsOnce(calleeOf(S)))
      for (const Expr *Each : Given) {
        Each = Each->IgnoreUnlessSpelledInSource()->IgnoreParenCasts();
        if (auto *Address = dyn_cast<UnaryOperator>(Each))
          Each = Address->getSubExpr()->IgnoreParenCasts();
        NotPassed.insert(Each);
      }
    auto *Ref = dyn_cast<DeclRefExpr>(S);
    auto *F = Ref ? dyn_cast<FunctionDecl>(Ref->getDecl()) : nullptr;
    auto *Method = dyn_cast_or_null<CXXMethodDecl>(F);
    if (!F || NotPassed.contains(Ref) || !isOfProgram(*F) ||
        F->isOverloadedOperator() ||
        (Method && Method->getParent()->isLambda()) || isSeldomCallback(*F) ||
        !Told.insert(F->getCanonicalDecl()).second)
      return;
    std::string Name = ProgramFacts::nameOf(*F);
    if (Name.empty())
      return;
    llvm::json::Object Fact{{"loop", Name}, {"passed", true}};
    ProgramFacts::addPlace(Fact, Ref->getExprLoc(), Context.getSourceManager());
    Program.tell(std::move(Fact));
  });
}

/// Records that a call of what F overrides may be one of F.
static void tellOverridden(const FunctionDecl &F, const std::string &Name,
                           ProgramFacts &Program) {
  auto *Method = dyn_cast<CXXMethodDecl>(&F);
  if (!Method)
    return;
  for (const CXXMethodDecl *Base : Method->overridden_methods())
    if (std::string Above = ProgramFacts::nameOf(*Base); !Above.empty())
      Program.tell(llvm::json::Object{{"calls", std::move(Above)},
                                      {"to", llvm::json::Array{Name}}});
}

void tellHeap(FunctionView &View, ProgramFacts &Program) {
  const FunctionDecl &F = View.Function;
  tellCallbacks(F.getBody(), View.Context, Program);
  tellOverridden(F, ProgramFacts::nameOf(F), Program);
  tellEnds(View, Program);
  if (F.isExternallyVisible() && passesPointers(F))
    if (std::string Name = ProgramFacts::nameOf(F); !Name.empty()) {
      if (const HeapFunction *Does = View.Heap.find(F))
        tell("heap", Name, *Does, Program);
      else if (promiseOf(F) && isWithoutHeap(F, View.Heap))
        tell("heap", Name, {HeapOp::None}, Program);
    }
  llvm::SmallPtrSet<const FunctionDecl *, 8> Asked, Looped, Called;
  llvm::json::Array To;
  forEachStmtAndLambda(F.getBody(), [&](const Stmt *S, ArrayRef<const Stmt *>) {
    auto *Call = dyn_cast<Expr>(S);
    const FunctionDecl *Callee = nullptr;
    if (auto *Made = dyn_cast<CXXConstructExpr>(S))
      Callee = Made->getConstructor();
    else if (auto *Plain = dyn_cast<CallExpr>(S))
      Callee = Plain->getDirectCallee();
    if (!Callee || Callee->isImplicit() || Callee->isDefaulted() ||
        !isOfProgram(*Callee))
      return;
    Callee = Callee->getCanonicalDecl();
    if (Called.insert(Callee).second)
      To.push_back(ProgramFacts::nameOf(*Callee));
    if (isOfOtherUnit(*Callee) && passesPointers(*Callee) &&
        Asked.insert(Callee).second) {
      const HeapFunction *Taken = View.Heap.find(*Callee);
      tell("asks", ProgramFacts::nameOf(*Callee),
           Taken ? *Taken : HeapFunction{HeapOp::None}, Program);
    }
    const Stmt *Loop = View.loopAround(*Call);
    if (!Loop || isCold(Loop, View) || !Looped.insert(Callee).second)
      return;
    llvm::json::Object Fact{{"loop", ProgramFacts::nameOf(*Callee)}};
    if (isDrain(Loop, View))
      Fact["drain"] = true;
    ProgramFacts::addPlace(Fact, Call->getExprLoc(),
                           View.Context.getSourceManager());
    Program.tell(std::move(Fact));
  });
  bool IsOfItems = isOfItems(F);
  if (To.empty() && !IsOfItems)
    return;
  llvm::json::Object Fact{{"calls", ProgramFacts::nameOf(F)},
                          {"to", std::move(To)}};
  if (F.isMain() || isColdFunction(F))
    Fact["seldom"] = true;
  if (isTeardown(F))
    Fact["teardown"] = true;
  if (IsOfItems)
    Fact["items"] = true;
  Program.tell(std::move(Fact));
}

std::optional<HeapFunction> heapOfOtherUnit(const FunctionDecl &F,
                                            const ProgramFacts &Program) {
  if (!Program.knowsAnything() || !isOfOtherUnit(F))
    return std::nullopt;
  const llvm::json::Object *Told =
      Program.about("heap", ProgramFacts::nameOf(F));
  std::optional<StringRef> Word = Told ? Told->getString("op") : std::nullopt;
  auto *Op = llvm::find_if(
      Words, [&](auto &Each) { return Word && Each.second == *Word; });
  if (Op == std::end(Words))
    return std::nullopt;
  HeapFunction Does{Op->first};
  for (auto [Part, Index] : {std::pair("pointer", &Does.Pointer),
                             {"size", &Does.Size},
                             {"count", &Does.Count}})
    if (auto Number = Told->getInteger(Part);
        Number && *Number >= 0 && *Number < F.getNumParams())
      *Index = *Number;
  return Does;
}

} // namespace vfriendly::tidy
