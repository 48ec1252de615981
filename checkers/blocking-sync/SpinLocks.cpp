//===- SpinLocks.cpp - Where spin locks are taken and released ------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/blocking-sync/SpinLocks.h"

#include "checkers/common/AtomicOps.h"
#include "checkers/common/ClangVersions.h"
#include "checkers/common/SourceText.h"
#include "checkers/common/WaitNeutral.h"
#include "passes/analysis/common/NameWords.h"

#include "clang/AST/DeclTemplate.h"
#include "clang/AST/ExprCXX.h"
#include "clang/Basic/SourceManager.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace clang;

namespace vfriendly::tidy {

/// Maximum depth of calls that are followed: an atomic operation, its wrapper,
/// the lock, and the lock's wrapper.
static constexpr unsigned MaxDepth = 4;

/// Maximum number of statements and expressions of a function that is examined
/// for taking a lock. A longer function does other work.
static constexpr unsigned MaxNodes = 200;

bool runsOnce(const Stmt &Loop, const ASTContext &Context) {
  auto *Do = dyn_cast<DoStmt>(&Loop);
  bool Again = true;
  return Do && !Do->getCond()->isValueDependent() &&
         Do->getCond()->EvaluateAsBooleanCondition(Again, Context) && !Again;
}

/// Returns true if a loop's body only passes time: it changes nothing and calls
/// only hints.
static bool onlyPasses(const Stmt *Body) {
  bool Only = true;
  if (Body)
    forEachStmt(Body, [&](const Stmt *S, ArrayRef<const Stmt *>) {
      auto *Call = dyn_cast<CallExpr>(S);
      const FunctionDecl *Callee = Call ? Call->getDirectCallee() : nullptr;
      auto *Binary = dyn_cast<BinaryOperator>(S);
      auto *Unary = dyn_cast<UnaryOperator>(S);
      Only &= !(Binary && Binary->isAssignmentOp()) &&
              !(Unary && Unary->isIncrementDecrementOp()) &&
              !(Call && (!Callee ||
                         (!Callee->getBuiltinID() &&
                          classifyCall(*Call, *Callee) == CallEffect::Other)));
    });
  return Only;
}

bool SpinLocks::polls(const Stmt &Loop, unsigned Depth,
                      const ASTContext &Context, const ValueDecl **Object) {
  if (runsOnce(Loop, Context))
    return false;
  bool Found = false;
  const Stmt *Body = loopBody(&Loop);
  auto Find = [&](const ValueDecl *Lock) {
    Found = true;
    if (Object)
      *Object = Lock;
  };
  forEachStmt(&Loop, [&](const Stmt *S, ArrayRef<const Stmt *>) {
    if (Found)
      return;
    WordChange Change = changeOf(S, Context);
    if (Change.Is == WordChange::Set && Change.IsConstant)
      return Find(Change.Object);
    auto *Call = dyn_cast<CallExpr>(S);
    if (Call && Change.Is == WordChange::None &&
        of(*Call, Depth + 1) == SpinOp::Try)
      Find(lockOf(*Call));
  });
  // Readers and writers count themselves in one word: they add, and look at the
  // sum. A loop that shares out work does so, too, but its body works.
  if (const Expr *Condition = loopCondition(&Loop);
      !Found && Condition && onlyPasses(Body))
    forEachStmt(Condition, [&](const Stmt *S, ArrayRef<const Stmt *>) {
      WordChange Change = changeOf(S, Context);
      if (!Found && Change.Is == WordChange::Add)
        Find(Change.Object);
    });
  // A loop that waits does little else. What it calls besides is a hint, or
  // counts polls.
  unsigned Calls = 0;
  if (Found && Body)
    forEachStmt(Body, [&](const Stmt *S, ArrayRef<const Stmt *>) {
      auto *Call = dyn_cast<CallExpr>(S);
      Calls +=
          Call && Call->getDirectCallee() &&
          !Call->getDirectCallee()->getBuiltinID() &&
          classifyCall(*Call, *Call->getDirectCallee()) == CallEffect::Other;
    });
  return Found && Calls <= 4;
}

const ValueDecl *SpinLocks::lockOf(const CallExpr &Call) {
  if (auto *Member = dyn_cast<CXXMemberCallExpr>(&Call))
    return objectOf(Member->getImplicitObjectArgument());
  for (const Expr *Arg : Call.arguments())
    if (Arg->getType()->isPointerType() || Arg->isLValue())
      if (const ValueDecl *Object = objectOf(Arg))
        return Object;
  return nullptr;
}

bool waitsForTurn(const Stmt &Loop, const ValueDecl **Object) {
  const Expr *Condition = loopCondition(&Loop);
  if (!Condition || !onlyPasses(loopBody(&Loop)))
    return false;
  bool Found = false;
  forEachStmt(Condition, [&](const Stmt *S, ArrayRef<const Stmt *>) {
    auto *E = dyn_cast<Expr>(S);
    std::optional<AtomicOp> Op = E ? matchAtomicOp(E) : std::nullopt;
    auto *Cast = dyn_cast<ImplicitCastExpr>(S);
    const Expr *Read = nullptr;
    if (Op && Op->Kind == AtomicKind::Load)
      Read = Op->Object;
    else if (Cast && Cast->getCastKind() == CK_LValueToRValue &&
             Cast->getSubExpr()->getType().isVolatileQualified())
      Read = Cast->getSubExpr();
    if (Read && !Found) {
      Found = true;
      *Object = objectOf(Read);
    }
  });
  return Found;
}

/// Returns true if S sets a field or what a pointer leads to a constant.
static const ValueDecl *clearedBy(const Stmt *S, const ASTContext &Context) {
  auto *Assign = dyn_cast<BinaryOperator>(S);
  if (!Assign || Assign->getOpcode() != BO_Assign ||
      !isa<MemberExpr, UnaryOperator>(Assign->getLHS()->IgnoreParens()) ||
      !isConstant(Assign->getRHS(), Context))
    return nullptr;
  return objectOf(Assign->getLHS());
}

SpinOp SpinLocks::byBody(const FunctionDecl &Definition, unsigned Depth) {
  const FunctionSync *F = Model->of(&Definition);
  if (!F || F->Nodes > MaxNodes)
    return SpinOp::None;
  const ASTContext &Context = Definition.getASTContext();
  llvm::SmallPtrSet<const ValueDecl *, 4> Taken, Released, Stored;
  bool Tries = false, Counts = false;
  auto TakeCall = [&](const CallExpr &Call) {
    SpinOp Op = of(Call, Depth + 1);
    Tries |= Op == SpinOp::Try;
    if (Op == SpinOp::Acquire || Op == SpinOp::Release)
      (Op == SpinOp::Acquire ? Taken : Released).insert(lockOf(Call));
  };
  for (const CallSite &C : F->Calls)
    TakeCall(*C.Call);
  for (const CallExpr *Call : F->Indirect)
    TakeCall(*Call);
  for (const SyncSite &S : F->Syncs)
    if (S.Kind == SyncKind::SpinLock &&
        of(calleeOf(S.Site), Depth + 1) == SpinOp::Acquire)
      Taken.insert(S.Object);
  // Without changes of its own, it is what it calls. A name that says so makes
  // releases of what is else a counter, or a field.
  bool MayRelease = Taken.empty() && namesRelease(identifierOf(&Definition));
  const Stmt *Taking = nullptr;
  if (F->HasAtomics || Tries || MayRelease)
    forEachStmt(Definition.getBody(), [&](const Stmt *S,
                                          ArrayRef<const Stmt *> Parents) {
      if (isLoop(S)) {
        const ValueDecl *Object = nullptr;
        if (polls(*S, Depth, Context, &Object)) {
          Taken.insert(Object);
          Taking = Taking ? Taking : S;
        }
        if (Counts && waitsForTurn(*S, &Object))
          Taken.insert(Object);
        return;
      }
      WordChange Change = changeOf(S, Context);
      bool InPoll = llvm::is_contained(Parents, Taking);
      switch (Change.Is) {
      case WordChange::Set:
        if (Change.Polls)
          Taken.insert(Change.Object);
        else if (MayRelease && Change.IsConstant)
          Released.insert(Change.Object);
        Tries = true;
        break;
      case WordChange::Add:
        Counts = true;
        // What is added to the lock is subtracted to release it.
        if (!InPoll && (MayRelease || Taken.contains(Change.Object)))
          Released.insert(Change.Object);
        break;
      case WordChange::Store:
        Stored.insert(Change.Object);
        break;
      case WordChange::None:
        if (const ValueDecl *Cleared =
                MayRelease ? clearedBy(S, Context) : nullptr)
          Stored.insert(Cleared);
        break;
      }
    });
  // A lock may note who has taken it.
  for (const ValueDecl *Object : Stored)
    if (Taken.empty() || Taken.contains(Object))
      Released.insert(Object);
  auto LeavesOut = [](const auto &Some, const auto &Others) {
    return llvm::any_of(
        Some, [&](const ValueDecl *V) { return !Others.contains(V); });
  };
  bool Takes = LeavesOut(Taken, Released), Lets = LeavesOut(Released, Taken);
  if (!Taken.empty() || !Released.empty())
    return Takes == Lets ? SpinOp::None
           : Takes       ? SpinOp::Acquire
                         : SpinOp::Release;
  return Tries ? SpinOp::Try : SpinOp::None;
}

SpinOp SpinLocks::of(const FunctionDecl *Callee, unsigned Depth) {
  if (!Callee)
    return SpinOp::None;
  auto [Where, IsNew] =
      Known.try_emplace(Callee->getCanonicalDecl(), SpinOp::None);
  if (!IsNew)
    return Where->second;
  SpinOp Op = spinOpByName(identifierOf(Callee));
  auto *Method = dyn_cast<CXXMethodDecl>(Callee);
  if (Op == SpinOp::None && Method &&
      namesSpin(identifierOf(Method->getParent())))
    Op = spinOpOfMethod(identifierOf(Method));
  const FunctionDecl *Definition = nullptr;
  if (Op == SpinOp::None && !Callee->isDefined())
    Op = spinOpByArgument(*Callee);
  if (Op == SpinOp::None && Depth < MaxDepth &&
      !isa<CXXConstructorDecl>(Callee) && Callee->isDefined(Definition) &&
      !Definition->isDependentContext() &&
      !Callee->getASTContext().getSourceManager().isInSystemHeader(
          Definition->getLocation()))
    Op = byBody(*Definition, Depth);
  return Known[Callee->getCanonicalDecl()] = Op;
}

const FunctionDecl *functionOf(const CallExpr &Call) {
  if (const FunctionDecl *Callee = Call.getDirectCallee())
    return Callee;
  if (Call.isTypeDependent())
    return nullptr;
  auto *Pointer = dyn_cast_or_null<VarDecl>(objectOf(Call.getCallee()));
  const Expr *Init = Pointer && !isa<ParmVarDecl>(Pointer)
                         ? Pointer->getAnyInitializer()
                         : nullptr;
  return dyn_cast_or_null<FunctionDecl>(objectOf(Init));
}

SpinOp SpinLocks::of(const CallExpr &Call, unsigned Depth) {
  const FunctionDecl *Callee = functionOf(Call);
  if (!Callee)
    return spinOpByName(identifierOf(objectOf(Call.getCallee())));
  SpinOp Op = of(Callee, Depth);
  auto *Member = dyn_cast<CXXMemberCallExpr>(&Call);
  if (Op == SpinOp::Acquire || Op == SpinOp::Release || !Member)
    return Op;
  SpinOp Named = spinOpOfMethod(identifierOf(Callee));
  return Named != SpinOp::None &&
                 isDeclaredSpin(Member->getImplicitObjectArgument())
             ? Named
             : Op;
}

/// Returns the value that Definition returns last, if it is constant.
static std::optional<bool> lastResult(const FunctionDecl &Definition,
                                      const ASTContext &Context) {
  // An alias has no body.
  auto *Body = dyn_cast_or_null<CompoundStmt>(Definition.getBody());
  auto *Last = Body && !Body->body_empty()
                   ? dyn_cast<ReturnStmt>(Body->body_back())
                   : nullptr;
  Expr::EvalResult Value;
  const Expr *Returned = Last ? Last->getRetValue() : nullptr;
  if (!Returned || Returned->isValueDependent() ||
      !Returned->EvaluateAsInt(Value, Context))
    return std::nullopt;
  return Value.Val.getInt() != 0;
}

Success SpinLocks::whenTaken(const CallExpr &Call) {
  const FunctionDecl *Callee = Call.getDirectCallee();
  QualType Result = Call.getType();
  if (!Callee || !Result->isIntegerType())
    return Success::Always;
  if (identifierOf(Callee).starts_with("pthread_"))
    return Success::Zero;
  const FunctionDecl *Definition = nullptr;
  if (Callee->isDefined(Definition)) {
    std::optional<bool> Last =
        lastResult(*Definition, Definition->getASTContext());
    return !Last ? Success::Always : *Last ? Success::NonZero : Success::Zero;
  }
  return Result->isBooleanType() || of(Call) == SpinOp::Try ? Success::NonZero
                                                            : Success::Zero;
}

bool SpinLocks::takes(const CallExpr &Call) {
  SpinOp Op = of(Call);
  // Functions of any kind try something. Those that are called so try a lock.
  return Op == SpinOp::Acquire ||
         (Op == SpinOp::Try && Call.getDirectCallee() &&
          spinOpByName(identifierOf(Call.getDirectCallee())) == Op &&
          whenTaken(Call) != Success::Always);
}

bool SpinLocks::isGuard(const CXXRecordDecl *Class) {
  if (!Class || !Class->getIdentifier() || !Class->hasDefinition())
    return false;
  auto [Where, IsNew] = Guards.try_emplace(Class->getCanonicalDecl(), false);
  if (!IsNew)
    return Where->second;
  bool Is = false;
  if (isOfStd(*Class)) {
    auto *Instance = dyn_cast<ClassTemplateSpecializationDecl>(Class);
    if (Instance &&
        llvm::is_contained(
            {"lock_guard", "unique_lock", "scoped_lock", "shared_lock"},
            Class->getName()) &&
        Instance->getTemplateArgs().size() > 0) {
      const TemplateArgument &First = Instance->getTemplateArgs()[0];
      if (First.getKind() == TemplateArgument::Pack && First.pack_size() == 1)
        Is = isLock(First.pack_begin()->getAsType()->getAsCXXRecordDecl());
      else if (First.getKind() == TemplateArgument::Type)
        Is = isLock(First.getAsType()->getAsCXXRecordDecl());
    }
  } else {
    Is = namesSpinGuard(Class->getName());
    const FunctionDecl *Destructor = Class->getDestructor(), *Definition;
    // Only the destructor's body is examined: that of a guard releases, unless
    // its user must.
    if (!Is && Destructor && Destructor->isDefined(Definition))
      Is = (byBody(*Definition, 1) == SpinOp::Release || hasRelease(*Class)) &&
           takesInConstructor(*Class);
  }
  return Guards[Class->getCanonicalDecl()] = Is;
}

bool SpinLocks::isLock(const CXXRecordDecl *Class) {
  return Class && llvm::any_of(Class->methods(), [&](const CXXMethodDecl *M) {
           return identifierOf(M) == "lock" && of(M) == SpinOp::Acquire;
         });
}

bool SpinLocks::hasRelease(const CXXRecordDecl &Class) {
  return llvm::any_of(Class.methods(), [&](const CXXMethodDecl *M) {
    return isReleaseOfGuard(identifierOf(M)) && of(M) == SpinOp::Release;
  });
}

bool SpinLocks::takesInConstructor(const CXXRecordDecl &Class) {
  return llvm::any_of(Class.ctors(), [&](const CXXConstructorDecl *C) {
    const FunctionDecl *Definition = nullptr;
    return C->getNumParams() > 0 && !C->isCopyOrMoveConstructor() &&
           C->isDefined(Definition) && !Definition->isDependentContext() &&
           byBody(*Definition, 1) == SpinOp::Acquire;
  });
}

} // namespace vfriendly::tidy
