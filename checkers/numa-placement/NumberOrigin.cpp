//===- NumberOrigin.cpp - Origins of CPU and thread numbers ---------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/numa-placement/NumberOrigin.h"

#include "checkers/common/Loops.h"
#include "checkers/common/SourceText.h"
#include "checkers/common/WaitNeutral.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"
#include "clang/Basic/SourceManager.h"
#include "llvm/ADT/StringSwitch.h"

using namespace clang;

namespace vfriendly::tidy {

std::optional<CpuSetUse> matchCpuSetUse(const Stmt &S) {
  // Recognizes glibc's expansion of CPU_SET: ({ size_t __cpu = (cpu); __cpu / 8
  // < size ? set->__bits[...] |= ... : 0; })
  auto *Whole = dyn_cast<StmtExpr>(&S);
  const CompoundStmt *Body = Whole ? Whole->getSubStmt() : nullptr;
  if (!Body || Body->size() != 2 || !S.getBeginLoc().isMacroID())
    return std::nullopt;
  auto *Declaration = dyn_cast<DeclStmt>(Body->body_front());
  auto *Cpu = Declaration && Declaration->isSingleDecl()
                  ? dyn_cast<VarDecl>(Declaration->getSingleDecl())
                  : nullptr;
  if (identifierOf(Cpu) != "__cpu" || !Cpu->getInit())
    return std::nullopt;
  CpuSetUse Found{CpuSetUse::Test, Cpu->getInit(), nullptr};
  forEachStmt(Body->body_back(), [&](const Stmt *Part, ArrayRef<const Stmt *>) {
    if (auto *Binary = dyn_cast<BinaryOperator>(Part)) {
      if (Binary->getOpcode() == BO_OrAssign)
        Found.Kind = CpuSetUse::Add;
      else if (Binary->getOpcode() == BO_AndAssign)
        Found.Kind = CpuSetUse::Remove;
    }
    auto *Member = dyn_cast<MemberExpr>(Part);
    if (Member && !Found.Set && Member->getMemberDecl()->getName() == "__bits")
      Found.Set = Member->getBase();
  });
  return Found.Set ? std::optional(Found) : std::nullopt;
}

/// Returns the variable that E names, possibly with an offset.
static const VarDecl *variableIn(const Expr *E) {
  const VarDecl *Found = nullptr;
  forEachStmt(E, [&](const Stmt *S, ArrayRef<const Stmt *>) {
    if (auto *Ref = dyn_cast<DeclRefExpr>(S); Ref && !Found)
      Found = dyn_cast<VarDecl>(Ref->getDecl());
  });
  return Found;
}

NumberOrigins::NumberOrigins(const UnitValues &Values,
                             const ASTContext &Context)
    : Values(Values), Context(Context) {
  for (const FunctionDecl *F : Values.functions())
    forEachStmtAndLambda(F->getBody(), [&](const Stmt *S,
                                           ArrayRef<const Stmt *> Parents) {
      const Expr *Tested = nullptr;
      if (auto Use = matchCpuSetUse(*S); Use && Use->Kind == CpuSetUse::Test)
        Tested = Use->Cpu;
      if (auto *Call = dyn_cast<CallExpr>(S)) {
        if (Call->getNumArgs() == 2 &&
            llvm::is_contained({"numa_bitmask_isbitset", "hwloc_bitmap_isset"},
                               identifierOf(calleeOf(Call))))
          Tested = Call->getArg(1);
      }
      if (const VarDecl *Variable = Tested ? variableIn(Tested) : nullptr)
        Tests.push_back(
            {Variable, {cast<Expr>(S), F, {Parents.begin(), Parents.end()}}});
    });
}

bool NumberOrigins::isTested(const VarDecl &Variable, const Site &Use) const {
  const SourceManager &SM = Context.getSourceManager();
  return llvm::any_of(Tests, [&](const Test &T) {
    return T.Variable == &Variable && T.At.In == Use.In &&
           SM.isBeforeInTranslationUnit(
               SM.getExpansionLoc(T.At.E->getBeginLoc()),
               SM.getExpansionLoc(Use.E->getBeginLoc()));
  });
}

/// Returns true if Object names a variable with the argument that
/// pthread_create or a similar call passed to the thread.
bool NumberOrigins::isOfStart(const Expr *Object, unsigned Depth) const {
  // Maximum number of variables to follow: the parameter, a variable that holds
  // the parameter cast to another type, and a copy of this variable.
  constexpr unsigned MaxDepth = 3;
  const ValueDecl *Root = rootOf(Object);
  UnitValues::ValueRefs Given = Root && Depth < MaxDepth
                                    ? Values.valuesOf(*Root)
                                    : UnitValues::ValueRefs();
  return llvm::any_of(Given, [&](const GivenValue *Value) {
    return Value->StartsThread ||
           (Given.size() == 1 && Value->Kind == GivenValue::Assigned &&
            isOfStart(Value->At.E, Depth + 1));
  });
}

/// Returns the origin of a number that is computed from two numbers with the
/// origins A and B, or is one of the two numbers: of A and B, the less certain
/// origin.
NumberOrigin NumberOrigins::join(NumberOrigin A, NumberOrigin B) const {
  NumberOrigin Result = A.Kind >= B.Kind ? A : B;
  Result.IsScaled = A.IsScaled || B.IsScaled;
  return Result;
}

NumberOrigin NumberOrigins::of(const Site &Number) {
  const Expr *E = stripped(Number.E);
  if (!E || E->isValueDependent())
    return {};
  Site At = Number;
  At.E = E;
  Expr::EvalResult Result;
  if (E->getType()->isIntegralOrEnumerationType() &&
      E->EvaluateAsInt(Result, Context))
    return {Origin::Constant, At};
  if (auto *Ref = dyn_cast<DeclRefExpr>(E))
    return ofName(*Ref->getDecl(), At);
  if (auto *Member = dyn_cast<MemberExpr>(E)) {
    NumberOrigin Found = ofName(*Member->getMemberDecl(), At);
    if (Found.Kind == Origin::Counter && isOfStart(Member->getBase()))
      Found.Kind = Origin::Thread;
    return Found;
  }
  if (auto *Binary = dyn_cast<BinaryOperator>(E))
    return ofOperator(*Binary, At);
  if (auto *Choice = dyn_cast<ConditionalOperator>(E)) {
    Site Yes = At, No = At;
    Yes.E = Choice->getTrueExpr();
    No.E = Choice->getFalseExpr();
    return join(of(Yes), of(No));
  }
  if (auto *Unary = dyn_cast<UnaryOperator>(E)) {
    At.E = Unary->getSubExpr();
    if (Unary->getOpcode() == UO_Deref)
      return ofPointee(At);
    return Unary->isIncrementDecrementOp() ? of(At) : NumberOrigin();
  }
  if (auto *Element = dyn_cast<ArraySubscriptExpr>(E)) {
    At.E = Element->getBase();
    return ofPointee(At);
  }
  if (auto *Call = dyn_cast<CallExpr>(E))
    return ofCall(*Call, At);
  return {};
}

/// Size of cpu_set_t in bits. If m is smaller than this, `n % m` is assumed to
/// be the remainder by the number of CPUs; otherwise it only keeps n within the
/// set.
static constexpr unsigned CpuSetSize = 1024;

NumberOrigin NumberOrigins::ofOperator(const BinaryOperator &Binary,
                                       const Site &Number) {
  Site Left = Number, Right = Number;
  Left.E = Binary.getLHS();
  Right.E = Binary.getRHS();
  if (Binary.getOpcode() == BO_Comma)
    return of(Right);
  if (Binary.isAssignmentOp() || Binary.isComparisonOp() ||
      Binary.isLogicalOp() || Binary.isPtrMemOp())
    return {};
  NumberOrigin L = of(Left), R = of(Right);
  L.IsScaled |= !Binary.isAdditiveOp();
  if (Binary.getOpcode() != BO_Rem || L.Kind == Origin::Chosen)
    return join(L, R);
  Expr::EvalResult Divisor;
  bool IsSmall = Binary.getRHS()->EvaluateAsInt(Divisor, Context) &&
                 Divisor.Val.getInt().ult(CpuSetSize);
  if (R.Kind == Origin::CpuCount || IsSmall)
    return {Origin::Modulo, Number, nullptr, true};
  return R.Kind == Origin::Chosen ? R : L;
}

NumberOrigin NumberOrigins::ofCall(const CallExpr &Call, const Site &Number) {
  const FunctionDecl *Callee = Call.getDirectCallee();
  if (!Callee || !Callee->getIdentifier())
    return {};
  StringRef Name = Callee->getName();
  if ((Name == "max" || Name == "min") && isOfStd(*Callee) &&
      Call.getNumArgs() == 2) {
    Site A = Number, B = Number;
    A.E = Call.getArg(0);
    B.E = Call.getArg(1);
    return join(of(A), of(B));
  }
  if (Name == "sysconf" && Call.getNumArgs() == 1) {
    // 83 and 84 are _SC_NPROCESSORS_CONF and _SC_NPROCESSORS_ONLN of glibc and
    // musl.
    Expr::EvalResult What;
    bool IsCount = Call.getArg(0)->EvaluateAsInt(What, Context) &&
                   (What.Val.getInt() == 83 || What.Val.getInt() == 84);
    return {IsCount ? Origin::CpuCount : Origin::Unknown, Number};
  }
  auto Kind = llvm::StringSwitch<Origin>(Name)
                  .Case("get_nprocs", Origin::CpuCount)
                  .Case("get_nprocs_conf", Origin::CpuCount)
                  .Case("hardware_concurrency", Origin::CpuCount)
                  .Case("omp_get_num_procs", Origin::CpuCount)
                  .Case("omp_get_max_threads", Origin::CpuCount)
                  .Case("omp_get_num_threads", Origin::CpuCount)
                  .Case("omp_get_thread_num", Origin::Thread)
                  .Case("omp_get_ancestor_thread_num", Origin::Thread)
                  .Case("sched_getcpu", Origin::Chosen)
                  .Case("atoi", Origin::Chosen)
                  .Case("atol", Origin::Chosen)
                  .Case("strtol", Origin::Chosen)
                  .Case("strtoul", Origin::Chosen)
                  .Case("stoi", Origin::Chosen)
                  .Case("stol", Origin::Chosen)
                  .Case("stoul", Origin::Chosen)
                  .Case("strtoll", Origin::Chosen)
                  .Case("strtoull", Origin::Chosen)
                  .Case("fetch_add", Origin::Counter)
                  .Case("__sync_fetch_and_add", Origin::Counter)
                  .Case("__sync_add_and_fetch", Origin::Counter)
                  .Case("__atomic_fetch_add", Origin::Counter)
                  .Case("__atomic_add_fetch", Origin::Counter)
                  .Default(Origin::Unknown);
  return {Kind, Number};
}

NumberOrigin NumberOrigins::ofName(const ValueDecl &Name, const Site &Use) {
  if (auto *Variable = dyn_cast<VarDecl>(&Name))
    if (isTested(*Variable, Use))
      return {Origin::Chosen, Use};
  return ofValues(Values.valuesOf(Name), Name, Use);
}

/// Returns true for an array with initial values that other units cannot write.
static bool isConstantTable(const ValueDecl &Array) {
  auto *Variable = dyn_cast<VarDecl>(&Array);
  return Variable && Variable->getType()->isArrayType() &&
         Variable->hasGlobalStorage() && Variable->getAnyInitializer() &&
         (!Variable->isExternallyVisible() ||
          Variable->getType().isConstQualified());
}

/// Returns the origin of the numbers to which Pointer, a pointer or an array,
/// points.
NumberOrigin NumberOrigins::ofPointee(const Site &Pointer) {
  const Expr *E = stripped(Pointer.E);
  Site At = Pointer;
  if (auto *Address = dyn_cast<UnaryOperator>(E);
      Address && Address->getOpcode() == UO_AddrOf) {
    At.E = Address->getSubExpr();
    return of(At);
  }
  if (auto *Offset = dyn_cast<BinaryOperator>(E);
      Offset && Offset->isAdditiveOp()) {
    At.E = Offset->getLHS();
    return ofPointee(At);
  }
  auto *Root = dyn_cast_or_null<ValueDecl>(rootOf(E));
  if (!Root || !isa<DeclRefExpr, MemberExpr>(E))
    return {};
  UnitValues::ValueRefs Elements = Values.elementsOf(*Root);
  if (Elements.empty() && isConstantTable(*Root))
    return {Origin::Constant, Pointer};
  if (!Elements.empty() || Root->getType()->isArrayType())
    return ofValues(Elements, *Root, Pointer);
  // Examines the numbers to which the values of the pointer point.
  if (llvm::is_contained(Open, Root))
    return {};
  Open.push_back(Root);
  std::optional<NumberOrigin> Found;
  for (const GivenValue *Value : Values.valuesOf(*Root)) {
    NumberOrigin Next = Value->Kind == GivenValue::Assigned
                            ? ofPointee(Value->At)
                            : NumberOrigin();
    if (Value->StartsThread && Next.Kind == Origin::Counter)
      Next.Kind = Origin::Thread;
    Found = Found ? join(*Found, Next) : Next;
  }
  Open.pop_back();
  return Found.value_or(NumberOrigin());
}

/// Returns true for a negative constant, which programs use for "no CPU".
static bool isNegative(const Expr &E, const ASTContext &Context) {
  Expr::EvalResult Result;
  return E.getType()->isIntegralOrEnumerationType() && !E.isValueDependent() &&
         E.EvaluateAsInt(Result, Context) && Result.Val.getInt().isNegative();
}

NumberOrigin NumberOrigins::ofValues(const UnitValues::ValueRefs &Given,
                                     const ValueDecl &Of, const Site &Use) {
  if (llvm::is_contained(Open, &Of))
    return {};
  Open.push_back(&Of);
  bool IsStepped = false;
  std::optional<NumberOrigin> Found;
  auto *Variable = dyn_cast<VarDecl>(&Of);
  // Begins with the initial value of a global or static variable: Given
  // contains only values that functions assign.
  if (Variable && Variable->hasGlobalStorage() &&
      !Variable->getType()->isArrayType()) {
    const Expr *Initial = Variable->getAnyInitializer();
    if (!Initial || !isNegative(*Initial, Context))
      Found = {Origin::Constant, Use};
    if (Given.empty() && !Variable->getType().isConstQualified())
      Found.reset(); // Another unit assigns it a value.
  }
  for (const GivenValue *Value : Given) {
    if (Value->Kind == GivenValue::Stepped) {
      IsStepped = true;
      continue;
    }
    if (Value->Kind == GivenValue::Assigned &&
        isNegative(*Value->At.E, Context))
      continue;
    NumberOrigin Next =
        Value->Kind == GivenValue::Assigned ? of(Value->At) : NumberOrigin();
    // The counter of a loop that creates threads numbers the threads: each
    // thread gets a different value.
    if (Value->StartsThread && Next.Kind == Origin::Counter)
      Next.Kind = Origin::Thread;
    Found = Found ? join(*Found, Next) : Next;
  }
  Open.pop_back();
  if (!Found)
    return {};
  if (IsStepped &&
      (Found->Kind == Origin::Constant || Found->Kind == Origin::CpuCount))
    return {Origin::Counter, Use, Variable};
  // A variable that starts at the number of the thread and is then increased or
  // decreased has an unknown origin, because the variable also takes the
  // numbers of other threads.
  if (IsStepped && Found->Kind == Origin::Thread)
    return {};
  return *Found;
}

} // namespace vfriendly::tidy
