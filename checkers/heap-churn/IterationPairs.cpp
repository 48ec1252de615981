//===- IterationPairs.cpp - Memory that lives for one iteration -----------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/heap-churn/IterationPairs.h"

#include "clang/Basic/SourceManager.h"
#include "llvm/ADT/SmallVector.h"

using namespace clang;

namespace vfriendly::tidy {

namespace {

enum class Step { On, Stop, Fail };

/// Walks all paths from Start. See decides at each element whether the path
/// goes on, ends or fails; Take says whether an edge is feasible. Returns false
/// as soon as See fails.
bool goOn(FunctionView::Position Start,
          llvm::function_ref<Step(const Stmt *)> See,
          llvm::function_ref<bool(const CFGBlock &, unsigned)> Take,
          llvm::function_ref<bool(const CFGBlock &)> Leave) {
  llvm::SmallPtrSet<const CFGBlock *, 16> Seen;
  SmallVector<FunctionView::Position, 16> Work{Start};
  while (!Work.empty()) {
    FunctionView::Position At = Work.pop_back_val();
    bool Stopped = false;
    for (unsigned I = At.Index; I < At.Block->size() && !Stopped; ++I) {
      auto Statement = (*At.Block)[I].getAs<CFGStmt>();
      if (!Statement)
        continue;
      switch (See(Statement->getStmt())) {
      case Step::Fail:
        return false;
      case Step::Stop:
        Stopped = true;
        break;
      case Step::On:
        break;
      }
    }
    if (Stopped)
      continue;
    if (At.Block->hasNoReturnElement())
      continue; // The program ends here, or cleanup happens elsewhere.
    if (At.Block->succ_empty() && !Leave(*At.Block))
      return false;
    unsigned N = 0;
    for (const CFGBlock *Next : At.Block->succs()) {
      unsigned Edge = N++;
      if (!Next || !Take(*At.Block, Edge))
        continue;
      if (Seen.insert(Next).second)
        Work.push_back({Next, 0});
    }
  }
  return true;
}

/// Returns the index of the edge on which the variable is null, or 2 if there
/// is none.
unsigned nullEdge(const CFGBlock &Block, const VarDecl &Variable,
                  const ASTContext &Context) {
  if (Block.succ_size() != 2 || !Block.getTerminatorStmt() ||
      isa<SwitchStmt>(Block.getTerminatorStmt()))
    return 2;
  auto *Condition = dyn_cast_or_null<Expr>(Block.getTerminatorCondition());
  if (!Condition)
    return 2;
  std::optional<bool> Test = nullTest(Condition, Variable, Context);
  if (!Test)
    return 2;
  return *Test ? 0 : 1; // The first edge is that of a true condition.
}

} // namespace

/// Returns true if only some iterations of Loop run S.
static bool isConditional(const Stmt *S, const Stmt *Loop,
                          const FunctionView &View) {
  for (; S && S != Loop; S = View.parent(S))
    if (isa<IfStmt, SwitchStmt, AbstractConditionalOperator>(S))
      return true;
  return false;
}

/// Returns true if S runs between two iterations of Loop.
static bool isBetweenIterations(const Stmt *S, const Stmt *Loop,
                                const FunctionView &View) {
  auto IsIn = [&](const Stmt *Part) { return Part && View.isWithin(S, Part); };
  if (auto *For = dyn_cast<ForStmt>(Loop))
    return IsIn(For->getCond()) || IsIn(For->getInc());
  if (auto *While = dyn_cast<WhileStmt>(Loop))
    return IsIn(While->getCond());
  if (auto *Do = dyn_cast<DoStmt>(Loop))
    return IsIn(Do->getCond());
  return IsIn(cast<CXXForRangeStmt>(Loop)->getInc());
}

/// Returns true if Ref is only released, assigned to or compared with null.
static bool isHarmless(const DeclRefExpr &Ref, const VarDecl &Owner,
                       llvm::function_ref<bool(const Stmt *)> IsRelease,
                       const FunctionView &View) {
  for (const Stmt *S = &Ref; auto *E = dyn_cast_or_null<Expr>(S);
       S = View.parent(S)) {
    if (IsRelease(E))
      return true;
    if (auto *Binary = dyn_cast<BinaryOperator>(E))
      return (Binary->isAssignmentOp() &&
              variableOf(Binary->getLHS()) == &Owner) ||
             nullTest(Binary, Owner, View.Context);
    auto *Not = dyn_cast<UnaryOperator>(E);
    if (isa_and_nonnull<IfStmt>(View.parent(E)) ||
        (Not && Not->getOpcode() == UO_LNot))
      return nullTest(E, Owner, View.Context).has_value();
  }
  return false;
}

/// Returns true if the block is used after the loop: the loop then searches for
/// the block that it ends with.
static bool isUsedBehind(const IterationPair &Pair,
                         llvm::function_ref<bool(const Stmt *)> IsRelease,
                         const FunctionView &View) {
  const SourceManager &SM = View.Context.getSourceManager();
  return llvm::any_of(View.refs(*Pair.Owner), [&](const DeclRefExpr *Ref) {
    return SM.isBeforeInTranslationUnit(Pair.Loop->getEndLoc(),
                                        Ref->getExprLoc()) &&
           !isHarmless(*Ref, *Pair.Owner, IsRelease, View);
  });
}

bool isRepeated(const Stmt *S, FunctionView &View) {
  std::optional<FunctionView::Position> At = View.positionOf(S);
  if (!At)
    return false;
  ++At->Index;
  return !goOn(
      *At, [&](const Stmt *Seen) { return Seen == S ? Step::Fail : Step::On; },
      [](const CFGBlock &, unsigned) { return true; },
      [](const CFGBlock &) { return true; });
}

std::optional<IterationPair> findPair(const HeapCall &Allocation,
                                      FunctionView &View) {
  IterationPair Pair;
  Pair.Allocation = &Allocation;
  Pair.Owner = View.ownerOf(*Allocation.Site);
  Pair.Loop = View.loopAround(*Allocation.Site);
  if (!Pair.Owner || !Pair.Loop)
    return std::nullopt;
  // `p = append(p, ...)` uses the old value of p in an unknown way.
  for (const DeclRefExpr *Ref : View.refs(*Pair.Owner))
    if (View.isWithin(Ref, Allocation.Site))
      return std::nullopt;
  llvm::SmallDenseMap<const Stmt *, const HeapCall *, 4> Releases;
  for (const HeapCall &Call : View.calls())
    if (Call.Op == HeapOp::Release && variableOf(Call.Pointer) == Pair.Owner &&
        View.isWithin(Call.Site, Pair.Loop))
      Releases[Call.Site] = &Call;
  if (Releases.empty())
    return std::nullopt;
  // Adds the releases after the loop: each ends a path out of the loop.
  for (const HeapCall &Call : View.calls())
    if (Call.Op == HeapOp::Release && variableOf(Call.Pointer) == Pair.Owner)
      Releases.try_emplace(Call.Site, &Call);
  std::optional<StmtSet> Writes = View.writesOf(*Pair.Owner);
  std::optional<FunctionView::Position> At = View.positionOf(Allocation.Site);
  if (!Writes || !At)
    return std::nullopt;
  auto IsAllocation = [&](const Stmt *Write) {
    return View.isWithin(Allocation.Site, Write);
  };
  auto IsOwn = [&](const Stmt *Write) {
    if (IsAllocation(Write))
      return true;
    // `p = realloc(p, n)` keeps p the owner of the block.
    auto *Assign = dyn_cast<BinaryOperator>(Write);
    if (!Assign)
      return false;
    std::optional<HeapCall> Call =
        View.Heap.match(Assign->getRHS()->IgnoreParenCasts());
    return Call && Call->Op == HeapOp::Resize &&
           variableOf(Call->Pointer) == Pair.Owner;
  };
  if (isUsedBehind(
          Pair, [&](const Stmt *S) { return Releases.contains(S); }, View))
    return std::nullopt;
  llvm::SmallPtrSet<const HeapCall *, 2> Reached;
  bool IsConditional = isConditional(Allocation.Site, Pair.Loop, View);
  ++At->Index;
  bool OnAllWays = goOn(
      *At,
      [&](const Stmt *Seen) {
        if (Seen == Allocation.Site)
          return Step::Fail;
        if (const HeapCall *Release = Releases.lookup(Seen)) {
          Reached.insert(Release);
          return Step::Stop;
        }
        // The block is kept for later iterations, until it must be replaced.
        if (IsConditional && isBetweenIterations(Seen, Pair.Loop, View))
          return Step::Fail;
        return Writes->contains(Seen) && !IsOwn(Seen) ? Step::Fail : Step::On;
      },
      [&](const CFGBlock &Block, unsigned Edge) {
        return nullEdge(Block, *Pair.Owner, View.Context) != Edge;
      },
      [](const CFGBlock &) { return false; });
  if (!OnAllWays)
    return std::nullopt;
  // At least one release must be followed by the allocation.
  for (const HeapCall *Release : Reached) {
    if (!View.isWithin(Release->Site, Pair.Loop))
      continue;
    std::optional<FunctionView::Position> From = View.positionOf(Release->Site);
    ++From->Index;
    bool Left = goOn(
        *From,
        [&](const Stmt *Seen) {
          return Seen == Allocation.Site ? Step::Fail : Step::On;
        },
        [](const CFGBlock &, unsigned) { return true; },
        [](const CFGBlock &) { return true; });
    if (!Left)
      Pair.Releases.push_back(Release);
  }
  if (Pair.Releases.empty())
    return std::nullopt;
  Pair.IsOnlyWrite = llvm::all_of(*Writes, IsAllocation);
  if (llvm::count_if(View.calls(), [&](const HeapCall &Call) {
        return Call.Op != HeapOp::Allocate &&
               variableOf(Call.Pointer) == Pair.Owner;
      }) == 1)
    Pair.OnlyRelease = Pair.Releases.front();
  return Pair;
}

} // namespace vfriendly::tidy
