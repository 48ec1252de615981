//===- ThreadPerTaskCheck.cpp - vfriendly-blocking-sync-thread-per-task ---===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/blocking-sync/Checks.h"
#include "checkers/blocking-sync/ThreadWork.h"
#include "checkers/common/Counting.h"
#include "checkers/common/PerUnit.h"
#include "checkers/common/ProgramFacts.h"
#include "checkers/common/SourceText.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"

#include <optional>

using namespace clang;

namespace vfriendly::tidy {

/// Returns the factor by which the bound of Loop exceeds the number of CPUs,
/// as in `2 * std::thread::hardware_concurrency()`; 1 if none is visible.
static int64_t threadsPerCpu(const Stmt *Loop, const ASTContext &Context) {
  const BinaryOperator *Condition = comparisonOf(Loop);
  if (!Condition || !Condition->isRelationalOp())
    return 1;
  const Expr *Bound = Condition->getRHS()->IgnoreParenImpCasts();
  if (auto *Ref = dyn_cast<DeclRefExpr>(Bound))
    if (auto *Variable = dyn_cast<VarDecl>(Ref->getDecl());
        Variable && Variable->getAnyInitializer())
      Bound = Variable->getAnyInitializer()->IgnoreParenImpCasts();
  auto *Product = dyn_cast<BinaryOperator>(Bound);
  if (!Product || Product->getOpcode() != BO_Mul)
    return 1;
  for (auto [Factor, Cpus] :
       {std::pair(Product->getLHS(), Product->getRHS()),
        std::pair(Product->getRHS(), Product->getLHS())}) {
    if (llvm::is_contained(
            {"hardware_concurrency", "get_nprocs", "omp_get_num_procs"},
            identifierOf(calleeOf(Cpus->IgnoreParenImpCasts()))))
      if (std::optional<int64_t> Value = smallConstant(Factor, Context))
        return *Value;
  }
  return 1;
}

/// Returns the number of elements of the array, or of the list in braces, that
/// a range loop iterates over; nullopt if it is not known, or if the loop is
/// not the only one that names the list.
static std::optional<int64_t> elementsOf(const CXXForRangeStmt &Loop,
                                         const FunctionDecl &In,
                                         const ASTContext &Context) {
  const Expr *Range = Loop.getRangeInit();
  if (const ConstantArrayType *Array =
          Context.getAsConstantArrayType(Range->getType()))
    return Array->getZExtSize();
  auto *Ref = dyn_cast<DeclRefExpr>(Range->IgnoreParenImpCasts());
  auto *List = Ref ? dyn_cast<VarDecl>(Ref->getDecl()) : nullptr;
  const Expr *Values =
      List && List->hasLocalStorage() ? List->getInit() : Range;
  if (!Values || !In.getBody())
    return std::nullopt;
  std::optional<int64_t> Elements;
  forEachStmt(Values, [&](const Stmt *S, ArrayRef<const Stmt *> Parents) {
    auto *Braces = dyn_cast<InitListExpr>(S);
    if (Braces && !Elements && !Parents.empty() &&
        llvm::any_of(Parents, llvm::IsaPred<CXXStdInitializerListExpr>))
      Elements = Braces->getNumInits();
  });
  unsigned Named = 0;
  forEachStmtAndLambda(In.getBody(),
                       [&](const Stmt *S, ArrayRef<const Stmt *>) {
                         auto *Other = dyn_cast<DeclRefExpr>(S);
                         Named += Other && List && Other->getDecl() == List;
                       });
  return Named <= 1 ? Elements : std::nullopt;
}

/// Maximum number of iterations of a loop around threads that is ignored, such
/// as the repetitions of a measurement.
static constexpr int64_t FewIterations = 16;

/// Returns true if Loop iterates so seldom that threads in it do not matter,
/// like the repetitions of a measurement.
static bool iteratesSeldom(const Stmt *Loop, const ASTContext &Context) {
  return iterationsOf(Loop, Context).value_or(INT64_MAX) <= FewIterations;
}

/// Returns true if the handle of a thread is stored in a field or an array.
/// Even if such a thread is detached, it belongs to a pool whose size the
/// program knows, and not to one task.
static bool isKept(const ValueDecl *Handle) {
  return Handle &&
         (isa<FieldDecl>(Handle) || Handle->getType()->isArrayType() ||
          Handle->getType()->isAnyPointerType());
}

/// Returns true if a name or type tells of threads or CPUs: a loop over these
/// makes a pool.
static bool namesThreads(StringRef Name) {
  std::string Lower = Name.lower();
  return llvm::any_of(
      ArrayRef<StringRef>{"thread", "worker", "core", "cpu", "proc", "consumer",
                          "producer", "pool", "node"},
      [&](StringRef Word) { return StringRef(Lower).contains(Word); });
}

/// Returns the container whose items Loop visits, if the code that creates a
/// thread names the item; null if there is none, or if it holds threads.
static const ValueDecl *itemsOf(const Stmt *Loop, const SyncSite &Create) {
  const ValueDecl *Items = nullptr, *Counter = nullptr;
  if (auto *Range = dyn_cast<CXXForRangeStmt>(Loop)) {
    Items = objectOf(Range->getRangeInit());
    Counter = Range->getLoopVariable();
  } else if (auto *For = dyn_cast<ForStmt>(Loop)) {
    auto *Bound = dyn_cast_or_null<BinaryOperator>(For->getCond());
    auto *Size = Bound && Bound->isComparisonOp()
                     ? dyn_cast<CXXMemberCallExpr>(
                           Bound->getRHS()->IgnoreParenImpCasts())
                     : nullptr;
    if (!Size || identifierOf(Size->getMethodDecl()) != "size")
      return nullptr;
    Items = objectOf(Size->getImplicitObjectArgument());
    Counter = objectOf(Bound->getLHS());
  }
  // Items of a class that starts a thread are threads.
  auto *Starts = dyn_cast<CXXMemberCallExpr>(Create.Site);
  if (Starts && objectOf(Starts->getImplicitObjectArgument()) == Counter)
    return nullptr;
  if (!Items || !Counter || namesThreads(Items->getName()) ||
      namesThreads(Items->getType().getCanonicalType().getAsString()))
    return nullptr;
  bool IsUsed = false;
  forEachStmtAndLambda(Create.Site, [&](const Stmt *S, ArrayRef<const Stmt *>) {
    auto *Ref = dyn_cast<DeclRefExpr>(S);
    IsUsed |= Ref && Ref->getDecl() == Counter;
  });
  return IsUsed ? Items : nullptr;
}

/// Returns true if the code that the new thread runs is visible and does not
/// wait for others or for input: more of these threads than CPUs help nobody.
static bool computes(const SyncSite &Create, const SyncModel &Model,
                     const ASTContext &Context) {
  ThreadWork Work = workOf(Create, Model, Context);
  return Work.IsKnown && !Work.WaitsForOthers && !Work.WaitsOutside;
}

/// Maximum number of tasks, in a loop that is in no other loop, for which a
/// thread each is not reported: a pool would create about as many.
static constexpr int64_t FewTasks = 3;

static bool createsFew(const SyncSite &Create, const Stmt *Loop,
                       const FunctionDecl &In, const ASTContext &Context) {
  auto At = llvm::find(Create.Parents, Loop);
  if (innermostLoop({Create.Parents.begin(), At}))
    return false;
  auto *Range = dyn_cast<CXXForRangeStmt>(Loop);
  return (Range ? elementsOf(*Range, In, Context) : iterationsOf(Loop, Context))
             .value_or(INT64_MAX) <= FewTasks;
}

/// Returns true if a declaration within Loop makes Variable anew in each
/// iteration.
static bool isMadeIn(const Stmt *Loop, const ValueDecl *Variable) {
  auto *Local = dyn_cast_or_null<VarDecl>(Variable);
  if (!Local || !Local->hasLocalStorage() ||
      Local->getType()->isReferenceType() || Local->getType()->isPointerType())
    return false;
  bool Found = false;
  forEachStmt(Loop, [&](const Stmt *S, ArrayRef<const Stmt *>) {
    auto *Declaration = dyn_cast<DeclStmt>(S);
    Found |= Declaration && llvm::is_contained(Declaration->decls(), Variable);
  });
  return Found;
}

/// Returns true if Loop names the handle Variable once, to create a thread: an
/// attribute detaches it.
static bool isForgotten(const ValueDecl &Variable, const Stmt *Loop) {
  unsigned Named = 0;
  forEachStmtAndLambda(Loop, [&](const Stmt *S, ArrayRef<const Stmt *>) {
    auto *Ref = dyn_cast<DeclRefExpr>(S);
    Named += Ref && Ref->getDecl() == &Variable;
  });
  return Named == 1;
}

/// Returns true if Loop counts, as in `while (threads-- > 0)`: it starts a
/// pool.
static bool counts(const Stmt *Loop) {
  bool Found = false;
  if (!loopCondition(Loop))
    return false;
  forEachStmt(loopCondition(Loop), [&](const Stmt *S, ArrayRef<const Stmt *>) {
    auto *Ref = dyn_cast<DeclRefExpr>(S);
    if (!Ref)
      return;
    forEachStmt(Loop, [&](const Stmt *Each, ArrayRef<const Stmt *>) {
      auto *Step = dyn_cast<UnaryOperator>(Each);
      auto *Sum = dyn_cast<CompoundAssignOperator>(Each);
      Found |= (Step && Step->isIncrementDecrementOp() &&
                counterOf(Step->getSubExpr()) == Ref->getDecl()) ||
               (Sum && counterOf(Sum->getLHS()) == Ref->getDecl());
    });
  });
  return Found;
}

/// Returns the container into which Loop moves the handle Variable, as in
/// `threads.push_back(std::move(t))`; Variable itself if it is not moved.
static const ValueDecl *keeperOf(const ValueDecl *Variable, const Stmt *Loop) {
  const ValueDecl *Keeper = Variable;
  forEachStmt(Loop, [&](const Stmt *S, ArrayRef<const Stmt *> Parents) {
    const FunctionDecl *Callee = calleeOf(S);
    if (identifierOf(Callee) == "move" && Callee->isInStdNamespace() &&
        Variable && objectOf(cast<CallExpr>(S)->getArg(0)) == Variable)
      Keeper = takenBy(Parents);
  });
  return Keeper;
}

/// Where the threads of a variable or container are joined.
struct JoinPlace {
  const ValueDecl *Threads;
  SmallVector<const Stmt *, 16> Parents;
  /// The innermost loop or the algorithm that joins each of them.
  const Stmt *Loop;
};

/// Returns the container whose begin() E is.
static const ValueDecl *beginOf(const Expr *E) {
  auto *Call = E ? dyn_cast<CXXMemberCallExpr>(E->IgnoreUnlessSpelledInSource())
                 : nullptr;
  return Call ? objectOf(Call->getImplicitObjectArgument()) : nullptr;
}

/// Returns the variable or container whose threads Join joins: for the variable
/// of a range loop or an iterator, what the loop iterates over.
static const ValueDecl *joinedBy(const SyncSite &Join) {
  for (const Stmt *S : Join.Parents)
    if (auto *Range = dyn_cast<CXXForRangeStmt>(S);
        Range && Range->getLoopVariable() == Join.Object)
      return objectOf(Range->getRangeInit());
  auto *Iterator = dyn_cast_or_null<VarDecl>(Join.Object);
  const ValueDecl *Begin = Iterator ? beginOf(Iterator->getInit()) : nullptr;
  return Begin ? Begin : Join.Object;
}

/// Returns true if Call passes each element to a lambda that joins it, as in
/// `std::for_each(pool.begin(), pool.end(), [](auto &t) { t.join(); })`.
static bool joinsEach(const CallExpr &Call, const SyncModel &Model) {
  const FunctionDecl *Callee = Call.getDirectCallee();
  if (!identifierOf(Callee).starts_with("for_each") ||
      !Callee->isInStdNamespace() || Call.getNumArgs() < 2)
    return false;
  bool Joins = false;
  forEachStmt(Call.getArg(Call.getNumArgs() - 1),
              [&](const Stmt *S, ArrayRef<const Stmt *>) {
                auto *Lambda = dyn_cast<LambdaExpr>(S);
                const FunctionSync *F =
                    Lambda ? Model.of(Lambda->getCallOperator()) : nullptr;
                Joins |= F && F->Function->getNumParams() == 1 &&
                         llvm::any_of(F->Syncs, [&](const SyncSite &Site) {
                           return Site.Kind == SyncKind::Join &&
                                  Site.Object == F->Function->getParamDecl(0);
                         });
              });
  return Joins;
}

static std::vector<JoinPlace> joinsIn(const FunctionSync &F,
                                      const SyncModel &Model) {
  std::vector<JoinPlace> Found;
  for (const SyncSite &S : F.Syncs)
    if (S.Kind == SyncKind::Join)
      Found.push_back({joinedBy(S),
                       {S.Parents.begin(), S.Parents.end()},
                       innermostLoop(S.Parents)});
  forEachStmt(F.Function->getBody(), [&](const Stmt *S,
                                         ArrayRef<const Stmt *> Parents) {
    auto *Call = dyn_cast<CallExpr>(S);
    if (Call && joinsEach(*Call, Model))
      Found.push_back(
          {beginOf(Call->getArg(0)), {Parents.begin(), Parents.end()}, Call});
  });
  return Found;
}

/// Returns the innermost loop around Loop each of whose iterations creates
/// threads in Loop and joins them; null if there is none. Keeper has the
/// handles.
static const Stmt *forksAndJoins(const SyncSite &Create, const Stmt *Loop,
                                 const ValueDecl *Keeper,
                                 ArrayRef<JoinPlace> Joins,
                                 const ASTContext &Context) {
  if (!Keeper)
    return nullptr;
  auto At = llvm::find(Create.Parents, Loop);
  while (const Stmt *Outer = innermostLoop({Create.Parents.begin(), At})) {
    At = llvm::find(Create.Parents, Outer);
    bool Ends = (Create.JoinsItself && isMadeIn(Outer, Keeper)) ||
                llvm::any_of(Joins, [&](const JoinPlace &Join) {
                  return Join.Threads == Keeper &&
                         llvm::is_contained(Join.Parents, Outer) &&
                         !llvm::is_contained(Join.Parents, Loop);
                });
    if (Ends)
      return iteratesSeldom(Outer, Context) ? nullptr : Outer;
  }
  return nullptr;
}

/// Maximum number of calls between the loop and the function that creates
/// threads.
static constexpr unsigned CallDepth = 3;

/// Returns a function of the unit that calls Callee in a loop, by itself or
/// through functions that call it outside of loops; null if none is visible.
static const FunctionDecl *callsInLoop(const FunctionDecl &Callee,
                                       const SyncModel &Model,
                                       const ASTContext &Context,
                                       unsigned Depth = CallDepth) {
  for (const FunctionSync &Caller : Model.functions()) {
    for (const CallSite &Call : Caller.Calls) {
      if (Call.Callee->getCanonicalDecl() != Callee.getCanonicalDecl())
        continue;
      if (const Stmt *Loop = innermostLoop(Call.Parents)) {
        if (!iteratesSeldom(Loop, Context))
          return Caller.Function;
      } else if (Depth > 1) {
        if (const FunctionDecl *Found =
                callsInLoop(*Caller.Function, Model, Context, Depth - 1))
          return Found;
      }
    }
  }
  return nullptr;
}

namespace {
/// A loop that calls a function.
struct LoopOfCalls {
  std::string Says;      ///< For the message.
  std::string Condition; ///< Set if the loop is in another unit, if at all.
};
} // namespace

/// Returns a loop that calls F; nothing if there can be none.
static std::optional<LoopOfCalls> loopThatCalls(const FunctionDecl &F,
                                                const SyncModel &Model,
                                                const ASTContext &Context) {
  if (const FunctionDecl *Caller = callsInLoop(F, Model, Context))
    return LoopOfCalls{"'" + Caller->getNameAsString() + "' calls it in a loop",
                       ""};
  std::string Condition = perUnit<ProgramFacts>()->conditionOfLoop(F);
  if (Condition.empty())
    return std::nullopt;
  return LoopOfCalls{"a loop calls it", Condition};
}

/// Returns the loop that calls F, if each call of F creates a thread at Create,
/// outside of loops, and returns after it has ended; nothing otherwise.
static std::optional<LoopOfCalls> runsByThread(const FunctionSync &F,
                                               const SyncSite &Create,
                                               const SyncModel &Model,
                                               const ASTContext &Context) {
  bool Ends =
      Create.JoinsItself &&
      (!Create.Object || isMadeIn(F.Function->getBody(), Create.Object));
  for (const SyncSite &S : F.Syncs)
    Ends |= S.Kind == SyncKind::Join && S.Object && S.Object == Create.Object &&
            !isa<FieldDecl>(S.Object);
  if (!Ends || workOf(Create, Model, Context).WaitsOutside)
    return std::nullopt;
  return loopThatCalls(*F.Function, Model, Context);
}

void ThreadPerTaskCheck::inspect(const SyncModel &Model,
                                 const ASTContext &Context) {
  static constexpr llvm::StringLiteral Cost =
      "releasing its stack interrupts every CPU of the process";
  static constexpr llvm::StringLiteral Remedy = "keep a pool of threads";
  for (const FunctionSync &F : Model.functions()) {
    if (llvm::none_of(F.Syncs, [](const SyncSite &S) {
          return S.Kind == SyncKind::CreateThread;
        }))
      continue;
    const std::vector<JoinPlace> Joins = joinsIn(F, Model);
    for (const SyncSite &Create : F.Syncs) {
      const Stmt *Loop = Create.Kind == SyncKind::CreateThread
                             ? innermostLoop(Create.Parents)
                             : nullptr;
      if (!Loop) {
        std::optional<LoopOfCalls> Calls;
        if (Create.Kind == SyncKind::CreateThread)
          Calls = runsByThread(F, Create, Model, Context);
        if (!Calls || !claim(Create.Site->getExprLoc(), F.Function, Context))
          continue;
        report(*Create.Site, *Create.Site, *F.Function,
               "each call of '" + F.Function->getNameAsString() +
                   "' creates a thread and waits for its end, and " +
                   Calls->Says,
               Remedy, Cost);
        if (!Calls->Condition.empty())
          diag(Create.Site->getExprLoc(), Calls->Condition,
               DiagnosticIDs::Note);
        continue;
      }
      // Threads that one loop creates and another loop joins are a pool, and so
      // are detached threads whose handles are stored. The thread of a task is
      // joined or detached in the same iteration.
      const ValueDecl *Keeper = keeperOf(Create.Object, Loop);
      bool Ends = Create.JoinsItself &&
                  (!Create.Object ||
                   (Keeper == Create.Object && isMadeIn(Loop, Keeper)));
      bool IsJoinedLater = llvm::any_of(Joins, [&](const JoinPlace &Join) {
        return Join.Loop && Join.Loop != Loop;
      });
      bool Accepts = false, IsJoinedHere = false;
      for (const SyncSite &S : F.Syncs) {
        Accepts |=
            S.Kind == SyncKind::Accept && llvm::is_contained(S.Parents, Loop);
        if (innermostLoop(S.Parents) != Loop)
          continue;
        bool IsSame = S.Object == Create.Object;
        IsJoinedHere |= S.Kind == SyncKind::Join && IsSame && S.Object;
        Ends |=
            S.Kind == SyncKind::Accept ||
            (S.Kind == SyncKind::Detach && IsSame && !isKept(Create.Object)) ||
            (S.Kind == SyncKind::Join && IsSame && S.Object);
      }
      Ends |= Create.Object && isMadeIn(Loop, Create.Object) &&
              !isOverKnownItems(Loop) && !counts(Loop) &&
              isForgotten(*Create.Object, Loop);
      // The threads of one connection after another live as long as these.
      if (Ends && ((Accepts && IsJoinedHere) ||
                   createsFew(Create, Loop, *F.Function, Context)))
        continue;
      const Stmt *Forks =
          Ends ? nullptr : forksAndJoins(Create, Loop, Keeper, Joins, Context);
      // If their number is that of the data, it is no pool.
      const ValueDecl *Items =
          IsJoinedLater && !Ends && !Forks ? itemsOf(Loop, Create) : nullptr;
      // Each call is a region of its own: the threads end before it returns.
      bool IsRegion = !Ends && !Forks && !Items &&
                      llvm::any_of(Joins, [&](const JoinPlace &Join) {
                        return Keeper && Join.Threads == Keeper && Join.Loop &&
                               Join.Loop != Loop;
                      });
      std::optional<LoopOfCalls> Calls;
      if (IsRegion && !workOf(Create, Model, Context).WaitsOutside)
        Calls = loopThatCalls(*F.Function, Model, Context);
      int64_t PerCpu =
          Ends || Forks || Items ? 1 : threadsPerCpu(Loop, Context);
      if (PerCpu > 1 && !computes(Create, Model, Context))
        PerCpu = 1;
      // What is certain comes before what depends on other units.
      if (PerCpu > 1 && Calls && !Calls->Condition.empty())
        Calls.reset();
      if ((!Ends && !Forks && !Items && !Calls && PerCpu < 2) ||
          !claim(Create.Site->getExprLoc(), F.Function, Context))
        continue;
      if (Items)
        report(*Create.Site, *Loop, *F.Function,
               "loop creates a thread for each item of '" + Items->getName() +
                   "'",
               Remedy, Cost);
      else if (Forks)
        report(*Create.Site, *Forks, *F.Function,
               "loop creates threads in each iteration and joins them", Remedy,
               Cost);
      else if (Calls)
        report(*Create.Site, *Loop, *F.Function,
               "each call of '" + F.Function->getNameAsString() +
                   "' creates threads and joins them, and " + Calls->Says,
               Remedy, Cost);
      else if (PerCpu > 1)
        report(*Create.Site, *Loop, *F.Function,
               "loop creates " + Twine(PerCpu) +
                   " threads for each CPU, and these compute",
               "create one for each CPU",
               "threads without a CPU hold up the others");
      else
        report(*Create.Site, *Loop, *F.Function,
               "loop creates a thread for each task", Remedy, Cost);
      if (Calls && !Calls->Condition.empty())
        diag(Create.Site->getExprLoc(), Calls->Condition, DiagnosticIDs::Note);
    }
  }
}

} // namespace vfriendly::tidy
