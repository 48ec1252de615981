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

using namespace clang;

namespace vfriendly::tidy {

/// Maximum depth of calls that are followed: an atomic operation, its wrapper,
/// the lock, and the lock's wrapper.
static constexpr unsigned MaxDepth = 4;

/// Maximum number of statements and expressions of a function that is examined
/// for taking a lock. A longer function does other work.
static constexpr unsigned MaxNodes = 200;

static bool isOneOf(StringRef Word, std::initializer_list<StringRef> Words) {
  return llvm::is_contained(Words, Word);
}

static bool namesSpin(ArrayRef<std::string> Words) {
  // PostgreSQL's are called s_lock.
  return llvm::any_of(Words,
                      [](StringRef W) {
                        return W == "spin" || W.starts_with("spinlock") ||
                               W.starts_with("spinunlock") || W == "slock";
                      }) ||
         (Words.size() == 2 && Words[0] == "s" &&
          StringRef(Words[1]).ends_with("lock"));
}

bool isReleaseOfGuard(StringRef Name) {
  return Name.equals_insensitive("unlock") ||
         Name.equals_insensitive("leave") || Name.equals_insensitive("release");
}

/// Returns what a function of this name does, if it is about a lock.
static SpinOp opByWords(SmallVectorImpl<std::string> &Words) {
  if (llvm::any_of(Words, [](StringRef W) {
        return isOneOf(W, {"init", "destroy", "try", "trylock", "is", "held",
                           "free", "get", "create", "delete", "owner", "new",
                           "test", "assert", "fini", "alloc", "wait"});
      }))
    return SpinOp::None;
  while (Words.size() > 1 &&
         isOneOf(Words.back(), {"irqsave", "irqrestore", "irq", "bh", "tm",
                                "nested", "np", "explicit"}))
    Words.pop_back();
  bool IsUndone = // csoundSpinUnLock, ss_spinunlock
      StringRef(Words.back()).ends_with("unlock") ||
      (Words.size() > 1 && Words[Words.size() - 2] == "un");
  if (IsUndone || Words.back() == "release")
    return SpinOp::Release;
  return isOneOf(Words.back(), {"lock", "acquire", "spinlock"})
             ? SpinOp::Acquire
             : SpinOp::None;
}

/// Most names are rejected here, without allocation.
static bool maybeLocks(StringRef Name) {
  return Name.contains_insensitive("lock") ||
         Name.contains_insensitive("acquire") ||
         Name.contains_insensitive("release");
}

SpinOp spinOpByName(StringRef Name) {
  if (!maybeLocks(Name))
    return SpinOp::None;
  SmallVector<std::string, 4> Words = wordsOf(Name);
  return namesSpin(Words) ? opByWords(Words) : SpinOp::None;
}

/// Returns true for a lock that says how long its waiters spin: it has a word
/// that threads change at the same time, and a field with that name.
static bool hasSpinField(QualType Lock) {
  const RecordDecl *Record = Lock.isNull() ? nullptr : Lock->getAsRecordDecl();
  if (!Record || !Record->isCompleteDefinition())
    return false;
  bool Shared = false, Spins = false;
  for (const FieldDecl *Field : Record->fields()) {
    QualType T = Field->getType();
    if (T->isPointerType())
      T = T->getPointeeType();
    Shared |= T.isVolatileQualified() || isAtomicType(T);
    Spins |= namesSpin(wordsOf(identifierOf(Field)));
  }
  return Shared && Spins;
}

/// Returns what a function of another unit does to its argument, if that is a
/// lock which is spun on.
static SpinOp opByArgument(const FunctionDecl &Callee) {
  if (Callee.getNumParams() == 0 || !maybeLocks(identifierOf(&Callee)) ||
      !hasSpinField(Callee.getParamDecl(0)->getType()->getPointeeType()))
    return SpinOp::None;
  SmallVector<std::string, 4> Words = wordsOf(identifierOf(&Callee));
  return opByWords(Words);
}

/// Returns what a method of this name does, if its class is a spin lock: lock,
/// wr_lock, unlock_shared.
static SpinOp methodByName(StringRef Name) {
  if (Name.equals_insensitive("lock") || Name.equals_insensitive("acquire"))
    return SpinOp::Acquire;
  if (Name.equals_insensitive("unlock") || Name.equals_insensitive("release"))
    return SpinOp::Release;
  if (!Name.contains_insensitive("lock"))
    return SpinOp::None;
  SpinOp Op = SpinOp::None;
  for (StringRef Word : wordsOf(Name))
    if (Word == "lock" || Word == "unlock")
      Op = Word == "lock" ? SpinOp::Acquire : SpinOp::Release;
    else if (!isOneOf(Word, {"rd", "wr", "read", "write", "shared", "exclusive",
                             "reader", "writer", "r", "w", "s", "x"}))
      return SpinOp::None;
  return Op;
}

/// Returns true if the type by which E was declared is called a spin lock.
static bool isDeclaredSpin(const Expr *E) {
  auto *Named = E->IgnoreParenImpCasts()->getType()->getAs<TypedefType>();
  return Named && namesSpin(wordsOf(Named->getDecl()->getName()));
}

bool isConstant(const Expr *E, const ASTContext &Context) {
  E = E->IgnoreParenCasts();
  if (E->isValueDependent())
    return false;
  Expr::EvalResult Value;
  return E->EvaluateAsInt(Value, Context);
}

/// Returns true for an operation that can take a lock: it sets the object to a
/// constant, or exchanges a constant for something.
static bool maySet(const AtomicOp &Op, const ASTContext &Context) {
  if (Op.Kind != AtomicKind::Exchange && Op.Kind != AtomicKind::SetBits &&
      Op.Kind != AtomicKind::CompareExchange)
    return false;
  if (!Op.Value || isConstant(Op.Value, Context))
    return true;
  const ValueDecl *Expected = objectOf(Op.Expected);
  auto *Variable = dyn_cast_or_null<VarDecl>(Expected);
  if (Variable && Variable->hasLocalStorage() && Variable->getInit())
    return isConstant(Variable->getInit(), Context);
  return Op.Expected && isConstant(Op.Expected, Context);
}

/// Returns true if assembly exchanges memory with a register. Polls is set if
/// it goes on until it has got what it wants.
static bool exchanges(const GCCAsmStmt &Asm, bool &Polls) {
  std::string Text = textOfAsm(Asm);
  Polls = StringRef(Text).contains("pause") || StringRef(Text).contains("rep");
  return StringRef(Text).contains("xchg") || StringRef(Text).contains("bts");
}

const ValueDecl *changedBy(const GCCAsmStmt &Asm) {
  const ValueDecl *Object = nullptr;
  for (unsigned I = 0; I < Asm.getNumOutputs(); ++I)
    if (std::string(Asm.getOutputConstraint(I)).find('m') !=
        std::string::npos) {
      if (Object)
        return nullptr;
      Object = objectOf(Asm.getOutputExpr(I));
    }
  return Object;
}

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
    auto *E = dyn_cast<Expr>(S);
    if (Found || !E)
      return;
    if (std::optional<AtomicOp> Op = matchAtomicOp(E)) {
      if (maySet(*Op, Context))
        Find(objectOf(Op->Object));
      return;
    }
    auto *Call = dyn_cast<CallExpr>(E);
    if (Call && of(*Call, Depth + 1) == SpinOp::Try)
      Find(lockOf(*Call));
  });
  // Readers and writers count themselves in one word: they add, and look at the
  // sum. A loop that shares out work does so, too, but its body works.
  if (const Expr *Condition = loopCondition(&Loop);
      !Found && Condition && onlyPasses(Body))
    forEachStmt(Condition, [&](const Stmt *S, ArrayRef<const Stmt *>) {
      if (Found)
        return;
      if (auto *Asm = dyn_cast<GCCAsmStmt>(S)) {
        if (const ValueDecl *Lock = changedBy(*Asm))
          Find(Lock);
      } else if (auto *E = dyn_cast<Expr>(S)) {
        std::optional<AtomicOp> Op = matchAtomicOp(E);
        if (Op && Op->Kind == AtomicKind::Modify)
          Find(objectOf(Op->Object));
      }
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

SpinOp SpinLocks::byBody(const FunctionDecl &Definition, unsigned Depth) {
  const FunctionSync *F = Model->of(&Definition);
  if (!F || F->Nodes > MaxNodes)
    return SpinOp::None;
  const ASTContext &Context = Definition.getASTContext();
  bool Takes = false, Releases = false, Tries = false, Counts = false;
  for (const CallSite &C : F->Calls) {
    SpinOp Op = of(*C.Call, Depth + 1);
    Takes |= Op == SpinOp::Acquire;
    Releases |= Op == SpinOp::Release;
    Tries |= Op == SpinOp::Try;
  }
  for (const SyncSite &S : F->Syncs)
    Takes |= S.Kind == SyncKind::SpinLock &&
             of(calleeOf(S.Site), Depth + 1) == SpinOp::Acquire;
  // Without atomic operations of its own, it is what it calls.
  const ValueDecl *Taken = nullptr;
  const Stmt *Taking = nullptr;
  if (F->HasAtomics || Tries)
    forEachStmt(Definition.getBody(), [&](const Stmt *S,
                                          ArrayRef<const Stmt *> Parents) {
      // What is added to the lock is subtracted to release it.
      auto Change = [&](const ValueDecl *Object) {
        Releases |=
            Taken && Object == Taken && !llvm::is_contained(Parents, Taking);
      };
      if (isLoop(S)) {
        if (polls(*S, Depth, Context, Taking ? nullptr : &Taken)) {
          Takes = true;
          Taking = Taking ? Taking : S;
        }
        const Expr *Condition = loopCondition(S);
        if (Condition && Counts)
          forEachStmt(Condition, [&](const Stmt *Below,
                                     ArrayRef<const Stmt *>) {
            auto *E = dyn_cast<Expr>(Below);
            std::optional<AtomicOp> Op = E ? matchAtomicOp(E) : std::nullopt;
            Takes |= Op && Op->Kind == AtomicKind::Load; // A ticket lock.
          });
      } else if (auto *Asm = dyn_cast<GCCAsmStmt>(S)) {
        bool Polls = false;
        if (exchanges(*Asm, Polls))
          (Polls ? Takes : Tries) = true;
        else
          Change(changedBy(*Asm));
      } else if (auto *E = dyn_cast<Expr>(S)) {
        std::optional<AtomicOp> Op = matchAtomicOp(E);
        if (!Op)
          return;
        if (Op->Kind == AtomicKind::Modify) {
          Counts = true;
          Change(objectOf(Op->Object));
        }
        Releases |= Op->Kind == AtomicKind::Store;
        // The value may be an argument of the caller's.
        Tries |= Op->Kind == AtomicKind::Exchange ||
                 Op->Kind == AtomicKind::SetBits ||
                 Op->Kind == AtomicKind::CompareExchange;
      }
    });
  if (Takes || Releases)
    return Takes == Releases ? SpinOp::None
           : Takes           ? SpinOp::Acquire
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
      namesSpin(wordsOf(identifierOf(Method->getParent()))))
    Op = methodByName(identifierOf(Method));
  const FunctionDecl *Definition = nullptr;
  if (Op == SpinOp::None && !Callee->isDefined())
    Op = opByArgument(*Callee);
  if (Op == SpinOp::None && Depth < MaxDepth &&
      !isa<CXXConstructorDecl>(Callee) && Callee->isDefined(Definition) &&
      !Definition->isDependentContext() &&
      !Callee->getASTContext().getSourceManager().isInSystemHeader(
          Definition->getLocation()))
    Op = byBody(*Definition, Depth);
  return Known[Callee->getCanonicalDecl()] = Op;
}

SpinOp SpinLocks::of(const CallExpr &Call, unsigned Depth) {
  SpinOp Op = of(Call.getDirectCallee(), Depth);
  auto *Member = dyn_cast<CXXMemberCallExpr>(&Call);
  if (Op == SpinOp::Acquire || Op == SpinOp::Release || !Member)
    return Op;
  SpinOp Named = methodByName(identifierOf(Call.getDirectCallee()));
  return Named != SpinOp::None &&
                 isDeclaredSpin(Member->getImplicitObjectArgument())
             ? Named
             : Op;
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
        isOneOf(Class->getName(),
                {"lock_guard", "unique_lock", "scoped_lock"}) &&
        Instance->getTemplateArgs().size() > 0) {
      const TemplateArgument &First = Instance->getTemplateArgs()[0];
      if (First.getKind() == TemplateArgument::Pack && First.pack_size() == 1)
        Is = isLock(First.pack_begin()->getAsType()->getAsCXXRecordDecl());
      else if (First.getKind() == TemplateArgument::Type)
        Is = isLock(First.getAsType()->getAsCXXRecordDecl());
    }
  } else {
    SmallVector<std::string, 4> Words = wordsOf(Class->getName());
    Is = namesSpin(Words) &&
         isOneOf(Words.back(), {"holder", "guard", "locker"});
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
