//===- HoistFix.cpp - Takes an allocation out of a loop -------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/heap-churn/Fixes.h"

#include "checkers/common/SourceText.h"
#include "checkers/heap-churn/HeapCheck.h"
#include "checkers/heap-churn/Hoisting.h"
#include "checkers/heap-churn/Induction.h"
#include "checkers/heap-churn/Retention.h"

#include "clang/AST/ASTContext.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Lex/Lexer.h"

using namespace clang;

namespace vfriendly::tidy {

static void exitsIn(const Stmt *S, SmallVectorImpl<const Stmt *> &Found) {
  if (isa<ReturnStmt, GotoStmt, IndirectGotoStmt, CXXThrowExpr, CoreturnStmt>(
          S))
    Found.push_back(S);
  for (const Stmt *Child : S->children())
    if (Child)
      exitsIn(Child, Found);
}

static std::string nullIn(const FunctionView &View, const HeapCall &Malloc) {
  if (View.Context.getLangOpts().CPlusPlus)
    return View.Context.getLangOpts().CPlusPlus11 ? "nullptr" : "0";
  // <stdlib.h> declares malloc and NULL; a program that declares malloc itself
  // may have no NULL.
  const SourceManager &SM = View.Context.getSourceManager();
  return SM.isInSystemHeader(Malloc.Callee->getLocation()) ? "NULL" : "0";
}

namespace {
/// A local variable that holds the block of an allocation in a loop.
struct IterationPair {
  const HeapCall *Allocation;
  const VarDecl *Owner;
  const Stmt *Loop;
  /// The only call that releases the block; null if other heap calls use Owner.
  const HeapCall *OnlyRelease;
  /// True if Owner is written only by the statement that allocates the block.
  bool IsOnlyWrite;
};

/// The statements that the fix-it moves. Both are statements of the loop's
/// body, so that every iteration executes them.
struct BufferStatements {
  const CompoundStmt *Body;
  const Stmt *Allocate, *Release;
};

/// The edits that differ between a declared and an assigned buffer.
struct AllocationEdit {
  /// Text to insert before the loop.
  std::string Before;
  FixItHint InLoop;
};
} // namespace

static std::optional<IterationPair> findPair(const HeapCall &Allocation,
                                             const FunctionView &View) {
  const VarDecl *Owner = View.ownerOf(*Allocation.Site);
  std::optional<StmtSet> Writes;
  if (Owner)
    Writes = View.writesOf(*Owner);
  if (!Writes)
    return std::nullopt;
  IterationPair Pair{&Allocation, Owner, View.loopAround(*Allocation.Site),
                     nullptr, false};
  Pair.IsOnlyWrite = llvm::all_of(*Writes, [&](const Stmt *Write) {
    return View.isWithin(Allocation.Site, Write);
  });
  unsigned Uses = 0;
  for (const HeapCall &Call : View.calls()) {
    if (Call.Op == HeapOp::Allocate || variableOf(Call.Pointer) != Owner)
      continue;
    ++Uses;
    Pair.OnlyRelease = &Call;
  }
  if (Uses != 1 || Pair.OnlyRelease->Op != HeapOp::Release)
    Pair.OnlyRelease = nullptr;
  return Pair;
}

/// Returns true if the pair is a malloc and a free that are the only writes and
/// frees of the variable. The fix is for malloc only: calloc would have to
/// clear the memory again, strdup to copy again.
static bool isPlainBuffer(const IterationPair &Pair) {
  auto Is = [](const HeapCall &Call, unsigned Builtin) {
    return Call.Callee && Call.Callee->getBuiltinID() == Builtin;
  };
  return Pair.OnlyRelease && Pair.IsOnlyWrite &&
         Is(*Pair.Allocation, Builtin::BImalloc) &&
         Is(*Pair.OnlyRelease, Builtin::BIfree);
}

static std::optional<BufferStatements>
findStatements(const IterationPair &Pair, const FunctionView &View) {
  auto *Body = dyn_cast<CompoundStmt>(loopBody(Pair.Loop));
  if (!Body)
    return std::nullopt;
  const Expr *Free = Pair.OnlyRelease->Site;
  const Stmt *Allocate = View.partOf(*Body, Pair.Allocation->Site),
             *Release = View.partOf(*Body, Free);
  if (!Allocate || !isa_and_nonnull<Expr>(Release) ||
      Release != Free->IgnoreParenCasts() ||
      !isEditable(Allocate->getSourceRange(), View) ||
      !isEditable(Release->getSourceRange(), View))
    return std::nullopt;
  return BufferStatements{Body, Allocate, Release};
}

/// Returns true if Pair.Owner is used in the loop's body only, and its value
/// does not escape there.
static bool staysInBody(const IterationPair &Pair, const BufferStatements &In,
                        const FunctionView &View) {
  return llvm::all_of(View.refs(*Pair.Owner), [&](const DeclRefExpr *Ref) {
    return View.isWithin(Ref, In.Body) &&
           (View.isWithin(Ref, In.Allocate) || !mayBeKept(*Ref, View));
  });
}

/// Returns true if the fix adds no leak. After the fix, the loop may be left
/// where the allocation has failed, so that there is no block, or by an
/// exception between the allocation and the release, which leaks the block
/// without the fix, too.
static bool endsWithoutBlock(const IterationPair &Pair,
                             const BufferStatements &In,
                             const FunctionView &View) {
  SmallVector<const Stmt *, 4> Exits;
  exitsIn(Pair.Loop, Exits);
  for (const Stmt *Exit : Exits)
    if (!View.isWhereNull(Exit, *Pair.Owner))
      return false;
  bool Between = false;
  for (const Stmt *Part : In.Body->body()) {
    Between |= Part == In.Allocate;
    if (!Between && mayNotReturn(Part))
      return false;
    if (Part == In.Release)
      Between = false;
  }
  return llvm::none_of(Pair.Loop->children(), [&](const Stmt *Part) {
    return Part && Part != In.Body && mayNotReturn(Part);
  });
}

/// Plans the fix for `T *p = malloc(n);`: declares p before the loop.
static std::optional<AllocationEdit>
hoistDeclaration(const DeclStmt &Declaration, const VarDecl &Owner,
                 StringRef Null, const FunctionView &View) {
  if (!Declaration.isSingleDecl() || !isOnlyOne(Owner, View) ||
      !isTypeOfFile(Owner) || Owner.getType().isConstQualified() ||
      Owner.isStaticLocal() || Owner.hasAttrs())
    return std::nullopt;
  const ASTContext &Context = View.Context;
  SourceLocation Begin = Declaration.getBeginLoc(),
                 End = endOfStatement(&Declaration, Context),
                 NameEnd = Lexer::getLocForEndOfToken(
                     Owner.getLocation(), 0, Context.getSourceManager(),
                     Context.getLangOpts());
  auto Text = [&](SourceLocation From, SourceLocation To) {
    return Lexer::getSourceText(CharSourceRange::getCharRange(From, To),
                                Context.getSourceManager(),
                                Context.getLangOpts());
  };
  StringRef Declarator = Text(Begin, NameEnd);
  std::string Init = textOf(Owner.getInit(), Context);
  if (Declarator.empty() || Init.empty() || End.isInvalid() ||
      Text(NameEnd, Owner.getInit()->getBeginLoc()).trim() != "=")
    return std::nullopt;
  std::string Name = Owner.getName().str();
  return AllocationEdit{
      (Declarator + " = " + Null + ";\n").str(),
      FixItHint::CreateReplacement(CharSourceRange::getCharRange(Begin, End),
                                   "if (!" + Name + ")\n" +
                                       indentAt(Begin, Context).str() + "  " +
                                       Name + " = " + Init + ";")};
}

/// Plans the fix for `p = malloc(n);`: sets p to null before the loop; nothing
/// reads p outside of the loop.
static std::optional<AllocationEdit> hoistAssignment(const Stmt &Allocate,
                                                     const VarDecl &Owner,
                                                     StringRef Null,
                                                     const FunctionView &View) {
  auto *Assign = dyn_cast<BinaryOperator>(&Allocate);
  if (!Assign || Assign->getOpcode() != BO_Assign ||
      Owner.getType().isVolatileQualified() || isa<ParmVarDecl>(Owner) ||
      !startsLine(Assign->getBeginLoc(), View.Context))
    return std::nullopt;
  SourceLocation Begin = Assign->getBeginLoc();
  return AllocationEdit{
      (Owner.getName() + " = " + Null + ";\n").str(),
      FixItHint::CreateInsertion(Begin, ("if (!" + Owner.getName() + ")\n" +
                                         indentAt(Begin, View.Context) + "  ")
                                            .str())};
}

FixHints hoistBuffer(const HeapCall &Allocation, FunctionView &View) {
  std::optional<IterationPair> Found = findPair(Allocation, View);
  if (!Found)
    return {};
  const IterationPair &Pair = *Found;
  if (!isPlainBuffer(Pair) || !hasRoomAround(Pair.Loop, View) ||
      !isEditable(Pair.Loop->getSourceRange(), View) ||
      !isInvariant(Pair.Allocation->Size, Pair.Loop, View))
    return {};
  std::optional<BufferStatements> In = findStatements(Pair, View);
  if (!In || !staysInBody(Pair, *In, View) ||
      !endsWithoutBlock(Pair, *In, View))
    return {};
  const ASTContext &Context = View.Context;
  SourceLocation Begin = Pair.Loop->getBeginLoc(),
                 After = endOfStatement(Pair.Loop, Context);
  CharSourceRange Old = wholeStatement(In->Release, Context);
  if (After.isInvalid() || Old.isInvalid() || !hasRoomBefore(Begin, Context))
    return {};
  std::string Null = nullIn(View, *Pair.Allocation);
  auto *Declaration = dyn_cast<DeclStmt>(In->Allocate);
  std::optional<AllocationEdit> Edit =
      Declaration ? hoistDeclaration(*Declaration, *Pair.Owner, Null, View)
                  : hoistAssignment(*In->Allocate, *Pair.Owner, Null, View);
  if (!Edit)
    return {};
  std::string Indent = indentAt(Begin, Context).str();
  FixHints Hints;
  Hints.push_back(Edit->InLoop);
  Hints.push_back(FixItHint::CreateInsertion(Begin, Edit->Before + Indent));
  Hints.push_back(FixItHint::CreateRemoval(Old));
  Hints.push_back(FixItHint::CreateInsertion(
      After, "\n" + Indent + textOf(Pair.OnlyRelease->Site, Context) + ";"));
  return Hints;
}

} // namespace vfriendly::tidy
