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
#include "checkers/numa-placement/ElementAccess.h"
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
        if (auto *Variable = dyn_cast<VarDecl>(D))
          construct(*Variable, Variable->getInit(), *S);
    if (auto *Made = dyn_cast<CXXConstructExpr>(S);
        Made && Made->getConstructor()->isUserProvided())
      callOf(*Made, *Made->getConstructor(),
             {Made->getArgs(), Made->getNumArgs()});
    auto *E = dyn_cast<Expr>(S);
    bool IsElement = isa<ArraySubscriptExpr>(S);
    if (auto *Operator = dyn_cast<CXXOperatorCallExpr>(S))
      IsElement |= isElementOfVector(*Operator);
    // For a[i][j] the whole expression is the access, and not its part a[i].
    if (E && IsElement && !isPartOfElement(Parents))
      access(*E);
  }

  /// Adds the writes of a constructor before its body.
  void initialize(const CXXConstructorDecl &Constructor) {
    for (const CXXCtorInitializer *Each : Constructor.inits())
      if (Each->isMemberInitializer() && Each->isWritten())
        construct(*Each->getMember(), Each->getInit(), *Each->getInit());
  }

  std::vector<BulkEvent> Events;

private:
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
      } else if (isa<LambdaExpr>(S) &&
                 (isUnderStart(S) ||
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
    if (!Callee)
      return;
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
    fill(Call, *Callee);
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

  /// Returns the array that From, the first argument of a function that fills
  /// memory, is the begin of: a, &a[0], v.data() or v.begin(); null if none.
  const ValueDecl *beginOf(const Expr *From) const {
    From = stripped(From);
    if (auto *Begin = dyn_cast<CXXMemberCallExpr>(From)) {
      return llvm::is_contained({"begin", "data"},
                                identifierOf(Begin->getMethodDecl()))
                 ? wholeArray(Begin->getImplicitObjectArgument())
                 : nullptr;
    }
    if (auto *Address = dyn_cast<UnaryOperator>(From);
        Address && Address->getOpcode() == UO_AddrOf) {
      std::optional<ArrayElement> First =
          elementIn(stripped(Address->getSubExpr()));
      if (!First || constant(First->Index) != 0)
        return nullptr;
      From = First->Base;
    }
    return wholeArray(From);
  }
  /// Returns the variable or field that E names; null if it is another
  /// expression.
  static const ValueDecl *wholeArray(const Expr *E) {
    E = stripped(E);
    // (*x)[i], where the caller gets the array by x.
    if (auto *Target = dyn_cast<UnaryOperator>(E);
        Target && Target->getOpcode() == UO_Deref)
      E = stripped(Target->getSubExpr());
    return isa<DeclRefExpr, MemberExpr>(E) ? rootOf(E) : nullptr;
  }

  std::optional<uint64_t> constant(const Expr *E) const {
    std::optional<int64_t> Value = constantOf(E, Context);
    return Value && *Value >= 0 ? std::optional<uint64_t>(*Value)
                                : std::nullopt;
  }

  /// Adds the write of a function of the C or C++ library that sets all
  /// elements of an array.
  void fill(const CallExpr &Call, const FunctionDecl &Callee) {
    StringRef Name = identifierOf(&Callee);
    if (Name.empty())
      return;
    unsigned Arguments = Call.getNumArgs();
    if (auto *Member = dyn_cast<CXXMemberCallExpr>(&Call)) {
      const Expr *Vector = Member->getImplicitObjectArgument();
      // The loop in which it grows writes it.
      const Stmt *Loop = innermostLoop(Parents);
      if (Loop && (Name == "push_back" || Name == "emplace_back") &&
          isOfStdClass(Vector->getType(), {"vector"}))
        wrote(wholeArray(Vector), Call, *Loop, nullptr);
      if (((Name == "assign" && Arguments == 2) ||
           (Name == "resize" && Arguments != 0)) &&
          Call.getArg(0)->getType()->isIntegerType() &&
          isOfStdClass(Vector->getType(), {"vector"}))
        wrote(wholeArray(Vector), Call, Call, Call.getArg(0));
      return;
    }
    if ((Name == "memset" && Arguments == 3) ||
        (Name == "bzero" && Arguments == 2)) {
      if (BulkEvent *Event = wrote(beginOf(Call.getArg(0)), Call, Call,
                                   Call.getArg(Arguments - 1), 1))
        Event->IsZero = Arguments == 2 || isZero(*Call.getArg(1), Context);
    } else if ((Name == "memcpy" || Name == "memmove") && Arguments == 3)
      wrote(beginOf(Call.getArg(0)), Call, Call, Call.getArg(2), 1);
    else if (Name == "fread" && Arguments == 4)
      wrote(beginOf(Call.getArg(0)), Call, Call, nullptr);
    else if (isOfStd(Callee) && Name == "copy" && Arguments == 3)
      wrote(beginOf(Call.getArg(2)), Call, Call, nullptr);
    else if (isOfStd(Callee) && Name == "fill_n" && Arguments == 3)
      wrote(beginOf(Call.getArg(0)), Call, Call, Call.getArg(1));
    else if (isOfStd(Callee) && (Name == "fill" || Name == "iota") &&
             Arguments == 3)
      wrote(beginOf(Call.getArg(0)), Call, Call, nullptr);
  }

  /// Adds the write of `std::vector<double> v(n)`, a variable or a member.
  void construct(const ValueDecl &Vector, const Expr *Init,
                 const Stmt &Declaration) {
    auto *Made =
        dyn_cast_or_null<CXXConstructExpr>(Init ? stripped(Init) : Init);
    if (Made && Made->getNumArgs() && !Made->isListInitialization() &&
        Made->getArg(0)->getType()->isIntegerType() &&
        isOfStdClass(Vector.getType(), {"vector"}))
      wrote(&Vector, *Made, Declaration, Made->getArg(0));
  }

  /// Adds a write of all elements of Array, or of `Count` elements of `Size`
  /// bytes, by the statement Writer. Returns null if the array is ignored.
  BulkEvent *wrote(const ValueDecl *Array, const Expr &E, const Stmt &Writer,
                   const Expr *Count, uint64_t Size = 0) {
    if (!Array)
      return nullptr;
    QualType Element = elementOf(Array->getType());
    // Elements that own memory are tables of other arrays.
    if (Element.isNull() || Element->isAnyPointerType() ||
        Element.isDestructedType() || Element->isIncompleteType() ||
        Element->isFunctionType() || (Count && Counts.contains(site(*Count))))
      return nullptr;
    BulkEvent &Event = add(BulkEvent::Write, team(), E);
    Event.Array = Array;
    Event.Loop = &Writer;
    if (Count)
      Event.Bytes = llvm::SaturatingMultiply<uint64_t>(
          constant(Count).value_or(0),
          Size ? Size : Context.getTypeSizeInChars(Element).getQuantity());
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

  /// Returns the number of iterations, or one or two more, of a loop that
  /// counts from 0 or 1 up to a constant; 0 if the number is not known.
  uint64_t iterations(const Stmt *Loop) const {
    auto *For = dyn_cast<ForStmt>(Loop);
    auto *Condition =
        For ? dyn_cast_or_null<BinaryOperator>(For->getCond()) : nullptr;
    std::optional<uint64_t> Bound;
    if (Condition && Condition->isRelationalOp())
      Bound = constant(Condition->getRHS());
    return Bound ? *Bound + 1 : 0;
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
  /// or is inside that loop and may have more than MaxRepeats iterations.
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
      } else if (Shared && !Chooses) {
        uint64_t Times = iterations(S);
        Repeats |= !Times || Times > MaxRepeats;
      }
    }
    return Shared && Repeats;
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
    const Expr *Base = &Whole;
    for (bool IsFirst = true;; IsFirst = false) {
      Base = stripped(Base);
      std::optional<ArrayElement> At = elementIn(Base);
      if (!At)
        break;
      // Ignores an access through a table of pointers to rows: each row is an
      // object of its own.
      if (!IsFirst && !Base->getType()->isArrayType())
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
    if (!Array || (Loops.empty() && !IsOfAlgorithm))
      return;
    if (Loops.size() == 1 && isOverThreads(*Loops.front()))
      return;
    const Expr *Written = writtenPart(Whole, Parents);
    if (!Written && isLentRow(Whole, Parents))
      Written = &Whole;
    if (Written && sizeOf(Whole) >= PageSize && sizeOf(*Written) < PageSize)
      return;
    BulkEvent &Event =
        add(Written ? BulkEvent::Write : BulkEvent::Read, team(), Whole);
    Event.Array = Array;
    Event.IsZero = Written == &Whole && Loops.size() == 1 &&
                   isZeroFill(Parents, *Loops.front(), Context);
    Event.IsReused = !IsOfAlgorithm && isReused(Choosing);
    uint64_t Bytes = sizeOf(Whole);
    for (const Stmt *S : Parents)
      if (llvm::is_contained(Loops, S)) {
        if (!Event.Loop)
          Event.Loop = S;
        Bytes *= iterations(S);
      }
    Event.Bytes = IsOfAlgorithm ? 0 : Bytes;
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

std::vector<BulkEvent> bulkEvents(const FunctionDecl &Function,
                                  const UnitValues &Values,
                                  ThreadCounts &Counts,
                                  const ASTContext &Context) {
  Lister Into(Function, Values, Counts, Context);
  if (auto *Constructor = dyn_cast<CXXConstructorDecl>(&Function))
    Into.initialize(*Constructor);
  forEachStmtAndLambda(Function.getBody(),
                       [&](const Stmt *S, ArrayRef<const Stmt *> Parents) {
                         Into.visit(S, Parents);
                       });
  return std::move(Into.Events);
}

} // namespace vfriendly::tidy
