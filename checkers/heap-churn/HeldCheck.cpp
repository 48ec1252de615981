//===- HeldCheck.cpp - vfriendly-heap-churn-held --------------------------===//
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
#include "checkers/heap-churn/Induction.h"
#include "checkers/heap-churn/Retention.h"

#include "llvm/ADT/StringSet.h"

using namespace clang;

namespace vfriendly::tidy {

/// Returns true if F may block its thread.
static bool blocks(const FunctionDecl &F) {
  static const llvm::StringSet<> Names{
      "sleep",        "usleep",  "nanosleep",  "poll",     "select",
      "accept",       "read",    "recv",       "recvfrom", "recvmsg",
      "wait",         "waitpid", "epoll_wait", "sem_wait", "pthread_cond_wait",
      "pthread_join", "system",  "fgets",      "getline",  "fread"};
  return Names.contains(identifierOf(&F)) && F.isExternC();
}

/// Returns true if S, a part of Phase, allocates, waits, or calls an unknown
/// function in a loop of its own.
static bool takesLong(const Stmt *S, const Stmt *Phase, bool InLoop,
                      FunctionView &View) {
  if (auto *E = dyn_cast<Expr>(S)) {
    std::optional<HeapCall> Call = View.Heap.match(E);
    if (Call)
      return Call->Op != HeapOp::Release;
    auto *Plain = dyn_cast<CallExpr>(E);
    const FunctionDecl *Callee = Plain ? Plain->getDirectCallee() : nullptr;
    if (Callee && blocks(*Callee))
      return true;
    if (InLoop && Plain && callsUnknown(Plain))
      return true;
  }
  InLoop |= isLoop(S) && S != Phase;
  return llvm::any_of(S->children(), [&](const Stmt *Child) {
    return Child && takesLong(Child, Phase, InLoop, View);
  });
}

/// Returns a loop in S that takes long; null if there is none. Loops that only
/// clean up do not count.
static const Stmt *longPhaseIn(const Stmt *S, FunctionView &View) {
  if (isLoop(S))
    return takesLong(S, S, false, View) ? S : nullptr;
  if (!isa<CompoundStmt>(S))
    return nullptr;
  for (const Stmt *Child : S->children())
    if (Child)
      if (const Stmt *Found = longPhaseIn(Child, View))
        return Found;
  return nullptr;
}

void HeapChurnHeldCheck::inspect(FunctionView &View) {
  if (View.loops().empty())
    return;
  for (const HeapCall &Release : View.calls()) {
    if (Release.Op != HeapOp::Release)
      continue;
    const VarDecl *Owner = variableOf(Release.Pointer);
    if (!Owner || !Owner->hasLocalStorage() || isa<ParmVarDecl>(Owner))
      continue;
    // Requires that the call that releases the block is a statement of its own,
    // and the last use of the block.
    const Stmt *Statement = Release.Site;
    while (View.parent(Statement) && isa<Expr>(View.parent(Statement)))
      Statement = View.parent(Statement);
    auto *Block = dyn_cast_or_null<CompoundStmt>(View.parent(Statement));
    if (!Block || !View.writesOf(*Owner))
      continue;
    const HeapCall *Allocation = nullptr;
    bool Kept = false;
    const Stmt *LastUse = nullptr;
    for (const DeclRefExpr *Ref : View.refs(*Owner)) {
      if (View.isWithin(Ref, Release.Site))
        continue;
      const Stmt *Part = View.partOf(*Block, Ref);
      Kept |= !Part || mayBeKept(*Ref, View);
      if (Part && (!LastUse || LastUse->getBeginLoc() < Part->getBeginLoc()))
        LastUse = Part;
    }
    for (const HeapCall &Call : View.calls())
      if (Call.Op == HeapOp::Allocate && View.ownerOf(*Call.Site) == Owner &&
          View.partOf(*Block, Call.Site)) {
        Allocation = &Call;
        const Stmt *Part = View.partOf(*Block, Call.Site);
        if (!LastUse || LastUse->getBeginLoc() < Part->getBeginLoc())
          LastUse = Part;
      }
    if (Kept || !Allocation)
      continue;
    auto From = llvm::find(Block->body(), LastUse),
         To = llvm::find(Block->body(), Statement);
    if (From == Block->body_end() || To <= From)
      continue;
    const Stmt *Phase = nullptr;
    for (++From; From < To && !Phase; ++From)
      Phase = longPhaseIn(*From, View);
    if (!Phase || isCold(Phase, View) ||
        !claim(Release.Site->getExprLoc(), View))
      continue;
    report(Release.Site->getExprLoc(),
           "'" + Owner->getName() +
               "' is held during a loop that does not use it",
           "release it before the loop")
        << releaseEarlier(Release, *Phase, *Block, View);
    diag(Phase->getBeginLoc(), "the loop", DiagnosticIDs::Note);
  }
}

} // namespace vfriendly::tidy
