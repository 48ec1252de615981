//===- ShootdownCallsCheck.cpp - vfriendly-heap-churn-shootdown-calls -----===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/heap-churn/Checks.h"

#include "checkers/common/Loops.h"
#include "checkers/common/SourceText.h"
#include "checkers/heap-churn/Cold.h"
#include "checkers/heap-churn/Fixes.h"
#include "checkers/heap-churn/Induction.h"

#include "llvm/ADT/StringSwitch.h"

using namespace clang;

namespace vfriendly::tidy {

namespace {
enum class SystemCall { None, Advise, Protect, Unmap, Shrink, Trim };
} // namespace

/// Returns true if Advice makes Linux remove or deactivate pages:
/// MADV_DONTNEED, _FREE, _REMOVE, _COLD, _PAGEOUT, _DONTNEED_LOCKED, with the
/// numbers of all architectures but Alpha.
static bool takesAway(int64_t Advice) {
  return llvm::is_contained({4, 8, 9, 20, 21, 24}, Advice);
}

/// Returns true if F is a function of C, or is declared as one.
static bool isGlobalFunction(const FunctionDecl *F) {
  return F && F->getIdentifier() &&
         (F->isExternC() ||
          F->getDeclContext()->getRedeclContext()->isTranslationUnit());
}

static SystemCall systemCallOf(const CallExpr &Call,
                               const ASTContext &Context) {
  const FunctionDecl *Callee = Call.getDirectCallee();
  if (!isGlobalFunction(Callee))
    return SystemCall::None;
  auto Argument = [&](unsigned I) {
    return I < Call.getNumArgs() ? constantOf(Call.getArg(I), Context)
                                 : std::nullopt;
  };
  SystemCall Kind = llvm::StringSwitch<SystemCall>(Callee->getName())
                        .Case("madvise", SystemCall::Advise)
                        .Case("mprotect", SystemCall::Protect)
                        .Case("pkey_mprotect", SystemCall::Protect)
                        .Case("munmap", SystemCall::Unmap)
                        .Case("sbrk", SystemCall::Shrink)
                        .Case("malloc_trim", SystemCall::Trim)
                        .Default(SystemCall::None);
  if (Kind == SystemCall::Advise && !takesAway(Argument(2).value_or(0)))
    return SystemCall::None;
  if (Kind == SystemCall::Shrink) {
    auto *Minus =
        Call.getNumArgs() == 1
            ? dyn_cast<UnaryOperator>(Call.getArg(0)->IgnoreParenImpCasts())
            : nullptr;
    if (!Minus || Minus->getOpcode() != UO_Minus)
      return SystemCall::None;
  }
  return Kind;
}

/// Returns true if Loop repeats Call until Call succeeds: the condition of Loop
/// contains Call or names a variable with its result.
static bool retries(const CallExpr &Call, const Stmt *Loop,
                    const FunctionView &View) {
  const Expr *Condition = loopCondition(Loop);
  if (!Condition || isa<ForStmt>(Loop))
    return false;
  if (View.isWithin(&Call, Condition))
    return true;
  // Handles `while (result == -1 && errno == EAGAIN)`.
  llvm::SmallPtrSet<const VarDecl *, 4> Tested;
  variablesOf(Condition, Tested);
  const VarDecl *Result = View.ownerOf(Call);
  return Result && Tested.contains(Result);
}

/// Returns true if the address that is passed to Call moves in one direction
/// from iteration to iteration, so that one call for the whole range could
/// replace Call.
static bool goesThroughRange(const CallExpr &Call, const Stmt *Loop,
                             const FunctionView &View) {
  const Expr *Address = Call.getArg(0)->IgnoreParenCasts();
  if (auto *Of = dyn_cast<UnaryOperator>(Address);
      Of && Of->getOpcode() == UO_AddrOf)
    if (auto *Element =
            dyn_cast<ArraySubscriptExpr>(Of->getSubExpr()->IgnoreParens()))
      Address = Element->getIdx();
  return directionOf(Address, Loop, View).value_or(0) != 0;
}

/// Returns true if each iteration of Loop maps the memory that Call changes.
static bool isMappedInIteration(const CallExpr &Call, const Stmt *Loop,
                                const FunctionView &View) {
  const VarDecl *Memory = variableOf(Call.getArg(0));
  auto Maps = [&](auto &Self, const Stmt *S) -> bool {
    if (auto *Inner = dyn_cast<CallExpr>(S)) {
      if (identifierOf(calleeOf(Inner)).starts_with("mmap") &&
          View.ownerOf(*Inner) == Memory)
        return true;
    }
    return llvm::any_of(S->children(), [&](const Stmt *Child) {
      return Child && Self(Self, Child);
    });
  };
  return Memory && Maps(Maps, loopBody(Loop));
}

static void callsIn(const Stmt *S, SmallVectorImpl<const CallExpr *> &Found,
                    const ASTContext &Context) {
  if (isa<LambdaExpr>(S))
    return;
  if (auto *Call = dyn_cast<CallExpr>(S))
    if (systemCallOf(*Call, Context) != SystemCall::None)
      Found.push_back(Call);
  for (const Stmt *Child : S->children())
    if (Child)
      callsIn(Child, Found, Context);
}

/// Returns true if fewer system calls could replace Call in Loop. Unrelated
/// mappings need one munmap or mprotect each; programs mostly unmap them when
/// they end.
static bool couldBeFewer(const CallExpr &Call, const Stmt *Loop,
                         const FunctionView &View) {
  switch (systemCallOf(Call, View.Context)) {
  case SystemCall::Protect:
  case SystemCall::Unmap:
    return goesThroughRange(Call, Loop, View) ||
           isMappedInIteration(Call, Loop, View);
  default:
    return true;
  }
}

/// Minimum number of iterations from one call to the next in a loop that calls
/// seldom: a shootdown takes a few microseconds, so that a hundredth of it is
/// less than an allocation.
static constexpr int64_t SeldomEvery = 100;

/// Returns true if a branch of Loop on a counter makes Call at most in every
/// hundredth iteration: `if (++n % 1000 == 0)`, `if (++n > 1000)`.
static bool isSeldom(const CallExpr &Call, const Stmt *Loop,
                     const FunctionView &View) {
  bool Seldom = false;
  forEachStmt(loopBody(Loop), [&](const Stmt *S, ArrayRef<const Stmt *>) {
    auto *If = dyn_cast<IfStmt>(S);
    if (!If || !View.isWithin(&Call, If->getThen()))
      return;
    auto *Compare =
        dyn_cast<BinaryOperator>(If->getCond()->IgnoreParenImpCasts());
    if (!Compare || !Compare->isComparisonOp())
      return;
    const Expr *Left = Compare->getLHS()->IgnoreParenImpCasts();
    const Expr *Limit = Compare->getRHS();
    if (auto *Modulo = dyn_cast<BinaryOperator>(Left);
        Modulo && Modulo->getOpcode() == BO_Rem &&
        Compare->getOpcode() == BO_EQ) {
      Left = Modulo->getLHS()->IgnoreParenImpCasts();
      Limit = Modulo->getRHS();
    } else if (Compare->getOpcode() != BO_GT && Compare->getOpcode() != BO_GE &&
               Compare->getOpcode() != BO_EQ) {
      return;
    }
    auto *Step = dyn_cast<UnaryOperator>(Left);
    Seldom |= Step && Step->isIncrementOp() &&
              constantOf(Limit, View.Context).value_or(0) >= SeldomEvery;
  });
  return Seldom;
}

/// Returns true if an execution of Statement may leave the function, unless
/// only the arguments decide that, as in `if (!size) return;`. Other returns
/// may make the rest of the function rare: `if (++n < 1000) return;`.
static bool mayLeave(const Stmt *Statement) {
  bool Leaves = false;
  forEachStmt(Statement, [&](const Stmt *S, ArrayRef<const Stmt *> Parents) {
    if (!isa<ReturnStmt, GotoStmt>(S))
      return;
    bool ByArguments = false;
    for (const Stmt *P : Parents)
      if (auto *If = dyn_cast<IfStmt>(P)) {
        ByArguments = true;
        forEachStmt(If->getCond(), [&](const Stmt *E, ArrayRef<const Stmt *>) {
          auto *Ref = dyn_cast<DeclRefExpr>(E);
          ByArguments &=
              !isa<CallExpr, MemberExpr>(E) &&
              (!Ref || isa<ParmVarDecl, EnumConstantDecl>(Ref->getDecl()));
        });
      }
    Leaves |= !ByArguments;
  });
  return Leaves;
}

/// Returns true if a statement among Parents may skip what is in it.
static bool isConditional(const Stmt *S) {
  auto *Logical = dyn_cast<BinaryOperator>(S);
  return isa<IfStmt, SwitchStmt, AbstractConditionalOperator, CXXTryStmt,
             LambdaExpr>(S) ||
         (Logical && Logical->isLogicalOp());
}

/// Returns true if Kind costs about the same wherever it is called. A function
/// that unmaps or protects a range mostly has another range in each call.
static bool isWide(SystemCall Kind) {
  return Kind == SystemCall::Advise || Kind == SystemCall::Shrink ||
         Kind == SystemCall::Trim;
}

/// Returns the destructor that runs when what S declares or deletes ends; null
/// if none does, or if only the run decides which.
static const FunctionDecl *destructorOf(const Stmt *S,
                                        const ASTContext &Context) {
  const CXXRecordDecl *Class = nullptr;
  if (auto *Declaration = dyn_cast<DeclStmt>(S)) {
    auto *Variable = Declaration->isSingleDecl()
                         ? dyn_cast<VarDecl>(Declaration->getSingleDecl())
                         : nullptr;
    if (Variable && Variable->hasLocalStorage() &&
        Variable->needsDestruction(Context) == QualType::DK_cxx_destructor)
      Class =
          Variable->getType()->getBaseElementTypeUnsafe()->getAsCXXRecordDecl();
  } else if (auto *Delete = dyn_cast<CXXDeleteExpr>(S)) {
    Class = Delete->getDestroyedType().isNull()
                ? nullptr
                : Delete->getDestroyedType()->getAsCXXRecordDecl();
    if (Class && Class->hasDefinition() && Class->getDestructor() &&
        Class->getDestructor()->isVirtual() && !Class->isEffectivelyFinal())
      return nullptr;
  }
  return Class && Class->hasDefinition() ? Class->getDestructor() : nullptr;
}

/// Records what View's function calls, for finish.
void ShootdownCallsCheck::inspectCallees(FunctionView &View) {
  auto *Body = dyn_cast_or_null<CompoundStmt>(View.Function.getBody());
  if (!Body)
    return;
  bool IsSure = true;
  Surely &Of = Known[View.Function.getCanonicalDecl()];
  for (const Stmt *Top : Body->body()) {
    IsSure &= !mayLeave(Top) || isa<ReturnStmt>(Top);
    forEachStmt(Top, [&](const Stmt *S, ArrayRef<const Stmt *> Parents) {
      auto *Call = dyn_cast<CallExpr>(S);
      const FunctionDecl *Callee =
          Call ? Call->getDirectCallee() : destructorOf(S, View.Context);
      if (!Callee)
        return;
      const Stmt *Loop = View.loopAround(*S);
      SystemCall Kind =
          Call ? systemCallOf(*Call, View.Context) : SystemCall::None;
      if (Loop) {
        auto At = llvm::find(Parents, Loop);
        if (Kind == SystemCall::None && At != Parents.end() &&
            llvm::none_of(ArrayRef<const Stmt *>(At, Parents.end()),
                          isConditional) &&
            !isCold(Loop, View) && !isRetry(Loop, View) &&
            !(Call && retries(*Call, Loop, View)) && View.isRepeated(S))
          LoopCalls.push_back({Call ? Call->getExprLoc() : S->getBeginLoc(),
                               &View.Function, Callee->getCanonicalDecl()});
      } else if (IsSure && llvm::none_of(Parents, isConditional)) {
        if (isWide(Kind)) {
          Of.SystemCalls.push_back(Call);
          In[Call] = &View.Function;
        } else if (Kind == SystemCall::None) {
          Of.Callees.push_back(Callee->getCanonicalDecl());
        }
      }
    });
    if (!IsSure)
      return;
  }
}

void ShootdownCallsCheck::collect(
    const Surely &Of, unsigned Depth,
    SmallVectorImpl<const CallExpr *> &Found) const {
  Found.append(Of.SystemCalls.begin(), Of.SystemCalls.end());
  for (const FunctionDecl *Callee : Of.Callees)
    if (auto Where = Known.find(Callee); Depth > 1 && Where != Known.end())
      collect(Where->second, Depth - 1, Found);
}

static constexpr llvm::StringLiteral Cost =
    "each call interrupts every CPU of the process";

void ShootdownCallsCheck::finish(ASTContext &) {
  for (const LoopCall &Each : LoopCalls) {
    auto Callee = Known.find(Each.Callee);
    if (Callee == Known.end())
      continue;
    SmallVector<const CallExpr *, 2> Found;
    collect(Callee->second, 2, Found);
    for (const CallExpr *Call : Found) {
      FunctionView &View = lookAgain(*In.lookup(Call));
      if (!claim(Call->getExprLoc(), View))
        continue;
      report(Call->getExprLoc(),
             "a loop in '" + Each.In->getNameAsString() + "' calls '" +
                 Call->getDirectCallee()->getName().str() +
                 "' in its iterations, through '" +
                 Each.Callee->getNameAsString() + "'",
             "call it once after the loop", Cost);
      diag(Each.Where, "called here", DiagnosticIDs::Note);
    }
  }
}

/// Reports limits below glibc's defaults: with a low M_TRIM_THRESHOLD each free
/// at the end of the heap is a system call, and with a low M_MMAP_THRESHOLD
/// each free of a block above it.
void ShootdownCallsCheck::reportLowLimits(FunctionView &View) {
  static constexpr int64_t Default = 128 * 1024; // Of both, mallopt(3).
  forEachStmt(View.Function.getBody(), [&](const Stmt *S,
                                           ArrayRef<const Stmt *>) {
    auto *Call = dyn_cast<CallExpr>(S);
    const FunctionDecl *Callee = calleeOf(Call);
    if (!isGlobalFunction(Callee) || Callee->getName() != "mallopt" ||
        Call->getNumArgs() != 2)
      return;
    std::optional<int64_t> Which = constantOf(Call->getArg(0), View.Context),
                           Limit = constantOf(Call->getArg(1), View.Context);
    // The numbers of M_TRIM_THRESHOLD and M_MMAP_THRESHOLD in malloc.h. A
    // negative limit is that of a size_t, and switches trimming off.
    if (!Which || !Limit || (*Which != -1 && *Which != -3) || *Limit < 0 ||
        *Limit >= Default || !claim(Call->getExprLoc(), View))
      return;
    report(Call->getExprLoc(),
           Twine("'mallopt' lowers ") +
               (*Which == -1 ? "M_TRIM_THRESHOLD" : "M_MMAP_THRESHOLD") +
               " to " + Twine(*Limit) + " bytes",
           "leave the default", HeapCost);
  });
}

void ShootdownCallsCheck::inspect(FunctionView &View) {
  if (!mentions(View.Context, {"madvise", "mprotect", "pkey_mprotect", "munmap",
                               "sbrk", "malloc_trim", "mallopt"}))
    return;
  reportLowLimits(View);
  inspectCallees(View);
  if (View.loops().empty())
    return;
  SmallVector<const CallExpr *, 4> Calls;
  callsIn(View.Function.getBody(), Calls, View.Context);
  for (const CallExpr *Call : Calls) {
    const Stmt *Loop = View.loopAround(*Call);
    if (!Loop || isCold(Loop, View) || retries(*Call, Loop, View) ||
        isSeldom(*Call, Loop, View) || !couldBeFewer(*Call, Loop, View) ||
        !View.isRepeated(Call) || !claim(Call->getExprLoc(), View))
      continue;
    StringRef Name = Call->getDirectCallee()->getName();
    report(Call->getExprLoc(), "loop calls '" + Name + "' in its iterations",
           "one call for all interrupts them once", Cost)
        << oneCall(*Call, View);
  }
}

} // namespace vfriendly::tidy
