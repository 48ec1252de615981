//===- BulkAccess.cpp - Arrays that loops traverse ------------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/numa-placement/BulkAccess.h"

#include "checkers/common/Counting.h"
#include "checkers/common/Loops.h"
#include "checkers/common/SourceText.h"
#include "checkers/common/WaitNeutral.h"
#include "checkers/numa-placement/ArrayFlows.h"
#include "checkers/numa-placement/ElementAccess.h"
#include "checkers/numa-placement/LibraryFills.h"
#include "checkers/numa-placement/ZeroFill.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtOpenMP.h"
#include "clang/Basic/SourceManager.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/MathExtras.h"

using namespace clang;

namespace vfriendly::tidy {

namespace {

/// Maximum number of iterations in which a loop may access the same element.
/// With more, or with an unknown number, the array counts as a reused table.
/// Loops over coordinates or neighbours have fewer iterations, and their array
/// may be the largest of the program.
constexpr uint64_t MaxRepeats = 64;

/// Smallest page size of the supported architectures, in bytes. If an element
/// is at least a page in size and a loop writes only a small member of each,
/// most pages are not written by this loop, but first by the threads.
constexpr uint64_t PageSize = 4096;

/// Maximum number of lambdas of a function that call each other by name.
constexpr unsigned MaxLambdas = 3;

class Lister {
public:
  Lister(const FunctionDecl &In, const UnitValues &Values, ThreadCounts &Counts,
         const ASTContext &Context)
      : In(In), Values(Values), Counts(Counts), Context(Context) {}

  void visit(const Stmt *S, ArrayRef<const Stmt *> Around) {
    Parents = Around;
    if (auto *Call = dyn_cast<CallExpr>(S))
      call(*Call);
    if (auto *Declaration = dyn_cast<DeclStmt>(S))
      for (const Decl *D : Declaration->decls())
        if (auto *Variable = dyn_cast<VarDecl>(D);
            Variable && Variable->getInit())
          fill(constructedFill(*Variable, Variable->getInit(), Context),
               *Variable->getInit(), *S);
    if (auto *Made = dyn_cast<CXXConstructExpr>(S);
        Made && Made->getConstructor()->isUserProvided())
      callOf(*Made, *Made->getConstructor(),
             {Made->getArgs(), Made->getNumArgs()});
    auto *E = dyn_cast<Expr>(S);
    // For a[i][j] the whole expression is the access, and not its part a[i].
    if (E && elementIn(E) && !isPartOfElement(Parents))
      access(*E);
  }

  /// Adds the writes of a constructor before its body.
  void initialize(const CXXConstructorDecl &Constructor) {
    for (const CXXCtorInitializer *Each : Constructor.inits())
      if (Each->isMemberInitializer() && Each->isWritten())
        fill(constructedFill(*Each->getMember(), Each->getInit(), Context),
             *stripped(Each->getInit()), *Each->getInit());
  }

  std::vector<BulkEvent> Events;
  /// The lambdas of In that a team calls by the name of a variable.
  llvm::SmallPtrSet<const CXXRecordDecl *, 4> TeamLambdas;

private:
  /// Notes the lambdas that Call, made by a team, calls or passes on.
  void noteLambdas(const CallExpr &Call, const FunctionDecl &Callee) {
    auto *Method = dyn_cast<CXXMethodDecl>(&Callee);
    if (Method && Method->getParent()->isLambda() && team() == Team::All)
      TeamLambdas.insert(Method->getParent());
    if (!isParallelAlgorithm(Call) && !Values.callsInThreads(&Callee))
      return;
    for (const Expr *Argument : Call.arguments()) {
      const CXXRecordDecl *Class = Argument->getType()->getAsCXXRecordDecl();
      if (Class && Class->isLambda() && isa<DeclRefExpr>(stripped(Argument)))
        TeamLambdas.insert(Class);
    }
  }

  /// Returns which threads execute the visited statement, judged by Parents,
  /// the statements around it.
  Team team() const {
    Team By = Team::Callers;
    for (const Stmt *S : Parents) {
      if (auto *Directive = dyn_cast<OMPExecutableDirective>(S)) {
        OpenMPDirectiveKind Kind = Directive->getDirectiveKind();
        if (isOpenMPParallelDirective(Kind) ||
            isOpenMPTargetExecutionDirective(Kind) ||
            isOpenMPTaskingDirective(Kind))
          By = Team::All;
        else if (isa<OMPSingleDirective, OMPMasterDirective,
                     OMPMaskedDirective>(S))
          By = Team::One;
      } else if (auto *Call = dyn_cast<CallExpr>(S)) {
        if (isParallelAlgorithm(*Call) ||
            Values.callsInThreads(Call->getDirectCallee()))
          InAlgorithm = Call;
      } else if (auto *Lambda = dyn_cast<LambdaExpr>(S);
                 Lambda &&
                 (TeamLambdas.contains(Lambda->getLambdaClass()) ||
                  isUnderStart(S) ||
                  (InAlgorithm && llvm::is_contained(Parents, InAlgorithm))))
        By = Team::All;
    }
    return By;
  }
  /// Returns true unless Start starts one thread only.
  static bool startsSeveral(const Site &Start) {
    return innermostLoop(Start.Parents) != nullptr;
  }
  bool isUnderStart(const Stmt *) const {
    return llvm::any_of(Values.threadStarts(), [&](const Site &Start) {
      return llvm::is_contained(Parents, Start.E) && startsSeveral(Start);
    });
  }

  void call(const CallExpr &Call) {
    const FunctionDecl *Callee = Call.getDirectCallee();
    if (!Callee) {
      BulkEvent &Event = add(BulkEvent::Call, team(), Call);
      Event.Pointer = Call.getCallee();
      Event.Arguments.append(Call.arg_begin(), Call.arg_end());
      return;
    }
    noteLambdas(Call, *Callee);
    if (hasParallelPolicy(Call)) {
      // v.begin(), v.end()
      for (const Expr *Argument : Call.arguments()) {
        auto *Begin = dyn_cast<CXXMemberCallExpr>(stripped(Argument));
        if (identifierOf(calleeOf(Begin)) == "begin")
          if (const ValueDecl *Array =
                  rootOf(Begin->getImplicitObjectArgument()))
            add(BulkEvent::Write, Team::All, Call).Array = Array;
      }
      return;
    }
    for (const Site &Start : Values.threadStarts())
      if (Start.E == &Call && Call.getNumArgs() == 4 && startsSeveral(Start))
        if (auto *Entry =
                dyn_cast_or_null<FunctionDecl>(rootOf(Call.getArg(2)))) {
          BulkEvent &Event = add(BulkEvent::Call, Team::All, Call);
          Event.Callee = Entry;
          Event.Arguments.push_back(Call.getArg(3));
          return;
        }
    fill(libraryFill(Call, *Callee, Context), Call, Call);
    callOf(Call, *Callee, {Call.getArgs(), Call.getNumArgs()});
  }

  void callOf(const Expr &Call, const FunctionDecl &Callee,
              ArrayRef<const Expr *> Arguments) {
    if (Context.getSourceManager().isInSystemHeader(Callee.getLocation()))
      return;
    BulkEvent &Event = add(BulkEvent::Call, team(), Call);
    Event.Callee = &Callee;
    Event.Arguments.append(Arguments.begin(), Arguments.end());
  }

  std::optional<uint64_t> constant(const Expr *E) const {
    std::optional<int64_t> Value = constantOf(E, Context);
    return Value && *Value >= 0 ? std::optional<uint64_t>(*Value)
                                : std::nullopt;
  }

  /// Adds a write of all elements of an array, by the statement Writer or, if
  /// the array grows, by the loop around it.
  void fill(const LibraryFill &Fill, const Expr &E, const Stmt &Writer) {
    const Stmt *By = Fill.IsGrowth ? innermostLoop(Parents) : &Writer;
    if (BulkEvent *Event = By ? wrote(Fill, E, *By) : nullptr)
      Event->IsZero = Fill.IsZero;
  }

  /// Adds the write that Fill is, by the statement Writer. Returns null if the
  /// array is ignored.
  BulkEvent *wrote(const LibraryFill &Fill, const Expr &E, const Stmt &Writer) {
    if (!Fill.Array)
      return nullptr;
    const Expr *Count = Fill.Count;
    QualType Element = elementOf(Fill.Array->getType());
    // Elements that own memory are tables of other arrays, unless the fill
    // gives them their memory.
    if (Element.isNull() || Element->isAnyPointerType() ||
        (Element.isDestructedType() &&
         !(Fill.HasValue && isOfStdClass(Element, {"vector"}))) ||
        Element->isIncompleteType() || Element->isFunctionType() ||
        (Count && Counts.contains(site(*Count))))
      return nullptr;
    BulkEvent &Event = add(BulkEvent::Write, team(), E);
    Event.Array = Fill.Array;
    Event.Loop = &Writer;
    if (Count && !Element.isDestructedType())
      Event.Bytes = llvm::SaturatingMultiply<uint64_t>(
          constant(Count).value_or(0),
          Fill.Size ? Fill.Size
                    : Context.getTypeSizeInChars(Element).getQuantity());
    return &Event;
  }

  /// Returns the type of the elements of an array, a vector or the memory that
  /// a pointer points to; null if T is another type.
  QualType elementOf(QualType T) const {
    T = T.getNonReferenceType();
    if (T->isPointerType())
      T = T->getPointeeType();
    else if (isOfStdClass(T, {"vector", "array"}))
      return cast<ClassTemplateSpecializationDecl>(T->getAsCXXRecordDecl())
          ->getTemplateArgs()[0]
          .getAsType();
    return Context.getBaseElementType(T);
  }

  Site site(const Expr &E) const {
    return {&E, &In, {Parents.begin(), Parents.end()}};
  }

  BulkEvent &add(decltype(BulkEvent::Kind) Kind, Team By, const Expr &E) {
    BulkEvent Event;
    Event.Kind = Kind;
    Event.By = By;
    Event.At = site(E);
    Events.push_back(std::move(Event));
    return Events.back();
  }

  /// Returns the loop around the visited access that changes Variable; null if
  /// no such loop exists.
  const Stmt *loopOf(const VarDecl &Variable) const {
    for (const Stmt *S : llvm::reverse(Parents)) {
      auto *For = dyn_cast<ForStmt>(S);
      if (For && For->getInc() && names(For->getInc(), Variable))
        return S;
    }
    for (const Stmt *S : llvm::reverse(Parents))
      if (isLoop(S) &&
          llvm::any_of(Values.valuesOf(Variable), [&](const GivenValue *Value) {
            return llvm::is_contained(Value->At.Parents, S);
          }))
        return S;
    return nullptr;
  }
  static bool names(const Stmt *S, const VarDecl &Variable) {
    bool Found = false;
    forEachStmt(S, [&](const Stmt *Below, ArrayRef<const Stmt *>) {
      auto *Ref = dyn_cast<DeclRefExpr>(Below);
      Found |= Ref && Ref->getDecl() == &Variable;
    });
    return Found;
  }
  /// Returns true if Variable is the parameter of a lambda that a parallel
  /// algorithm calls with its index.
  bool isOfAlgorithm(const VarDecl &Variable) const {
    auto *Parameter = dyn_cast<ParmVarDecl>(&Variable);
    auto *Method = Parameter
                       ? dyn_cast<CXXMethodDecl>(Parameter->getDeclContext())
                       : nullptr;
    return Method && Method->getParent()->isLambda() && team() == Team::All;
  }

  /// Returns true if an iteration of Loop is about one of the threads.
  bool isOverThreads(const Stmt &Loop) {
    const BinaryOperator *Condition = comparisonOf(&Loop);
    return Condition && Condition->isRelationalOp() &&
           Counts.contains(site(*Condition->getRHS()));
  }

  using Variables = llvm::SmallPtrSet<const VarDecl *, 8>;

  /// Adds to Loops those loops around the visited access on which the value of
  /// S depends: loops that change a variable of S, and loops on which the
  /// assigned values or the bounds of these loops depend.
  void collectLoops(const Stmt *S, SmallVectorImpl<const Stmt *> &Loops,
                    Variables &Seen) const {
    if (!S)
      return;
    forEachStmt(S, [&](const Stmt *Below, ArrayRef<const Stmt *>) {
      auto *Ref = dyn_cast<DeclRefExpr>(Below);
      auto *Variable = Ref ? dyn_cast<VarDecl>(Ref->getDecl()) : nullptr;
      if (!Variable || !Seen.insert(Variable).second)
        return;
      const Stmt *Loop = loopOf(*Variable);
      if (!Loop)
        return;
      if (!llvm::is_contained(Loops, Loop))
        Loops.push_back(Loop);
      for (const GivenValue *Value : Values.valuesOf(*Variable))
        if (llvm::is_contained(Value->At.Parents, Loop))
          collectLoops(Value->At.E, Loops, Seen);
      if (auto *For = dyn_cast<ForStmt>(Loop)) {
        collectLoops(For->getInit(), Loops, Seen);
        collectLoops(For->getCond(), Loops, Seen);
      }
    });
  }

  /// Returns true if the threads of a work-sharing loop access the same element
  /// many times (BulkEvent::IsReused). The index depends only on the loops in
  /// Choosing. Another loop repeats the access if it is the work-sharing loop,
  /// or is inside that loop and may have more than MaxRepeats iterations. A
  /// loop up to an element of an array, as over the neighbours of a node, has
  /// few.
  bool isReused(ArrayRef<const Stmt *> Choosing) const {
    const Stmt *Shared = nullptr; // The work-sharing loop.
    bool IsNext = false, Repeats = false;
    for (const Stmt *S : Parents) {
      if (auto *Directive = dyn_cast<OMPExecutableDirective>(S)) {
        IsNext = isOpenMPWorksharingDirective(Directive->getDirectiveKind());
        Repeats = false;
        Shared = nullptr;
      }
      if (!isLoop(S))
        continue;
      bool Chooses = llvm::is_contained(Choosing, S);
      if (std::exchange(IsNext, false)) {
        Shared = S;
        Repeats = !Chooses;
      } else if (Shared && !Chooses && !hasElement(loopCondition(S))) {
        uint64_t Times = iterationsOf(S, Context).value_or(0);
        Repeats |= !Times || Times > MaxRepeats;
      }
    }
    // A matrix is as large as the other data, however often it is used.
    return Shared && Repeats && Choosing.size() < 2;
  }

  static bool hasElement(const Expr *E) {
    bool Found = false;
    forEachStmt(E, [&](const Stmt *S, ArrayRef<const Stmt *>) {
      auto *Below = dyn_cast<Expr>(S);
      Found |= Below && elementIn(Below);
    });
    return Found;
  }

  void access(const Expr &Whole) {
    // A table of pointers is ignored: it is small compared with the memory that
    // the pointers lead to.
    if (Whole.getType()->isPointerType())
      return;
    // Goes from the expression a[i][j] to a.
    SmallVector<const Stmt *, 4> Loops, Choosing;
    Variables Seen;
    bool IsOfAlgorithm = false;
    unsigned Rows = 0;
    const Expr *Base = &Whole;
    for (bool IsFirst = true;; IsFirst = false) {
      Base = stripped(Base);
      std::optional<ArrayElement> At = elementIn(Base);
      if (!At)
        break;
      if (!IsFirst && Base->getType()->isPointerType())
        ++Rows;
      else if (!IsFirst && !Base->getType()->isArrayType() &&
               !isOfStdClass(Base->getType(), {"vector", "array"}))
        return;
      Base = At->Base;
      collectLoops(At->Index, Choosing, Seen);
      forEachStmt(At->Index, [&](const Stmt *S, ArrayRef<const Stmt *>) {
        auto *Ref = dyn_cast<DeclRefExpr>(S);
        auto *Variable = Ref ? dyn_cast<VarDecl>(Ref->getDecl()) : nullptr;
        if (!Variable)
          return;
        IsOfAlgorithm |= isOfAlgorithm(*Variable);
        if (const Stmt *Loop = loopOf(*Variable);
            Loop && !llvm::is_contained(Loops, Loop))
          Loops.push_back(Loop);
      });
    }
    const ValueDecl *Array = wholeArray(Base);
    if (isa<CallExpr>(Base) && Base->getType()->isPointerType()) {
      SmallVector<ArrayPath, 2> Returned = pathsOf(Base, Values);
      if (Returned.size() == 1 && !Returned.front().IsAddress) {
        Array = Returned.front().Root;
        Rows += Returned.front().Rows;
      }
    }
    collectLoops(Base, Choosing, Seen); // A pointer to a part of the array.
    if (!Array || isStorage(*Array) || (Loops.empty() && !IsOfAlgorithm))
      return;
    if (Loops.size() == 1 && isOverThreads(*Loops.front()))
      return;
    const Expr *Written = writtenPart(Whole, Parents);
    if (!Written && (isLentRow(Whole, Parents) || isInput(Parents)))
      Written = &Whole;
    if (Written && sizeOf(Whole) >= PageSize && sizeOf(*Written) < PageSize)
      return;
    BulkEvent &Event =
        add(Written ? BulkEvent::Write : BulkEvent::Read, team(), Whole);
    Event.Array = Array;
    Event.Rows = Rows;
    Event.IsUpdate = Written && !isInput(Parents) && isUpdate(*Array);
    Event.IsZero = Written == &Whole && Loops.size() == 1 &&
                   isZeroFill(Parents, *Loops.front(), Context);
    Event.IsReused = !IsOfAlgorithm && isReused(Choosing);
    uint64_t Bytes = sizeOf(Whole);
    for (const Stmt *S : Parents)
      if (llvm::is_contained(Loops, S)) {
        if (!Event.Loop)
          Event.Loop = S;
        Bytes *= iterationsOf(S, Context).value_or(0);
      }
    Event.Bytes = IsOfAlgorithm ? 0 : Bytes;
  }

  /// Returns true if the assignment around the visited element reads elements
  /// of Array.
  bool isUpdate(const ValueDecl &Array) const {
    for (const Stmt *S : llvm::reverse(Parents)) {
      if (isa<UnaryOperator>(S))
        return true;
      auto *Assign = dyn_cast<BinaryOperator>(S);
      if (!Assign)
        continue;
      bool Reads = Assign->isCompoundAssignmentOp();
      forEachStmt(Assign->getRHS(),
                  [&](const Stmt *Below, ArrayRef<const Stmt *>) {
                    auto *E = dyn_cast<Expr>(Below);
                    Reads |= E && elementIn(E) && rootOf(E) == &Array;
                  });
      return Reads;
    }
    return false;
  }

  uint64_t sizeOf(const Expr &E) const {
    return E.getType()->isIncompleteType()
               ? 0
               : Context.getTypeSizeInChars(E.getType()).getQuantity();
  }

  const FunctionDecl &In;
  const UnitValues &Values;
  ThreadCounts &Counts;
  const ASTContext &Context;
  ArrayRef<const Stmt *> Parents;
  mutable const Stmt *InAlgorithm = nullptr;
};

} // namespace

bool isForTeam(const FunctionDecl &F) {
  bool Found = false;
  forEachStmt(F.getBody(), [&](const Stmt *S, ArrayRef<const Stmt *> Parents) {
    auto *Directive = dyn_cast<OMPExecutableDirective>(S);
    Found |=
        Directive &&
        (isa<OMPBarrierDirective, OMPMasterDirective, OMPMaskedDirective>(S) ||
         (isOpenMPWorksharingDirective(Directive->getDirectiveKind()) &&
          !isOpenMPParallelDirective(Directive->getDirectiveKind()))) &&
        llvm::none_of(Parents, [](const Stmt *P) {
          return isa<OMPExecutableDirective>(P);
        });
  });
  return Found;
}

std::vector<BulkEvent> bulkEvents(const FunctionDecl &Function,
                                  const UnitValues &Values,
                                  ThreadCounts &Counts,
                                  const ASTContext &Context) {
  // A lambda that a team calls may be written above the call.
  llvm::SmallPtrSet<const CXXRecordDecl *, 4> Known;
  for (unsigned Left = MaxLambdas;; --Left) {
    Lister Into(Function, Values, Counts, Context);
    Into.TeamLambdas = Known;
    if (auto *Constructor = dyn_cast<CXXConstructorDecl>(&Function))
      Into.initialize(*Constructor);
    forEachStmtAndLambda(Function.getBody(),
                         [&](const Stmt *S, ArrayRef<const Stmt *> Parents) {
                           Into.visit(S, Parents);
                         });
    if (!Left || Into.TeamLambdas.size() == Known.size())
      return std::move(Into.Events);
    Known = Into.TeamLambdas;
  }
}

} // namespace vfriendly::tidy
