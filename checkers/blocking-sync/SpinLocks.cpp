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
                               W == "slock";
                      }) ||
         (Words.size() == 2 && Words[0] == "s" &&
          StringRef(Words[1]).ends_with("lock"));
}

SpinOp spinOpByName(StringRef Name) {
  // Most names are rejected here, without allocation.
  if (!Name.contains_insensitive("lock") &&
      !Name.contains_insensitive("acquire") &&
      !Name.contains_insensitive("release"))
    return SpinOp::None;
  SmallVector<std::string, 4> Words = wordsOf(Name);
  if (!namesSpin(Words) || llvm::any_of(Words, [](StringRef W) {
        return isOneOf(W, {"init", "destroy", "try", "trylock", "is", "held",
                           "free", "get", "create", "delete", "owner", "new",
                           "test", "assert", "fini", "alloc", "wait"});
      }))
    return SpinOp::None;
  while (Words.size() > 1 &&
         isOneOf(Words.back(), {"irqsave", "irqrestore", "irq", "bh", "tm",
                                "nested", "np", "explicit"}))
    Words.pop_back();
  if (isOneOf(Words.back(), {"unlock", "release"}))
    return SpinOp::Release;
  return isOneOf(Words.back(), {"lock", "acquire", "spinlock"})
             ? SpinOp::Acquire
             : SpinOp::None;
}

/// Returns what a method of this name does, if its class is a spin lock.
static SpinOp methodByName(const CXXMethodDecl &Method) {
  StringRef Name = identifierOf(&Method);
  SpinOp Op =
      Name.equals_insensitive("lock") || Name.equals_insensitive("acquire")
          ? SpinOp::Acquire
      : Name.equals_insensitive("unlock") || Name.equals_insensitive("release")
          ? SpinOp::Release
          : SpinOp::None;
  return Op != SpinOp::None &&
                 namesSpin(wordsOf(identifierOf(Method.getParent())))
             ? Op
             : SpinOp::None;
}

static bool isConstant(const Expr *E, const ASTContext &Context) {
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

bool SpinLocks::polls(const Stmt &Loop, unsigned Depth,
                      const ASTContext &Context, const ValueDecl **Object) {
  bool Found = false;
  const Stmt *Body = loopBody(&Loop);
  forEachStmt(&Loop, [&](const Stmt *S, ArrayRef<const Stmt *>) {
    auto *E = dyn_cast<Expr>(S);
    if (Found || !E)
      return;
    if (std::optional<AtomicOp> Op = matchAtomicOp(E)) {
      Found = maySet(*Op, Context);
      if (Found && Object)
        *Object = objectOf(Op->Object);
      return;
    }
    auto *Call = dyn_cast<CallExpr>(E);
    if (Call && of(Call->getDirectCallee(), Depth + 1) == SpinOp::Try) {
      Found = true;
      if (Object)
        *Object = lockOf(*Call);
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
  auto Call = [&](const FunctionDecl *Callee) {
    SpinOp Op = of(Callee, Depth + 1);
    Takes |= Op == SpinOp::Acquire;
    Releases |= Op == SpinOp::Release;
    Tries |= Op == SpinOp::Try;
  };
  for (const CallSite &C : F->Calls)
    Call(C.Callee);
  for (const SyncSite &S : F->Syncs)
    if (S.Kind == SyncKind::SpinLock)
      Call(calleeOf(S.Site));
  // Without atomic operations of its own, it is what it calls.
  if (F->HasAtomics || Tries)
    forEachStmt(Definition.getBody(), [&](const Stmt *S,
                                          ArrayRef<const Stmt *>) {
      if (isLoop(S)) {
        Takes |= polls(*S, Depth, Context, nullptr);
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
      } else if (auto *E = dyn_cast<Expr>(S)) {
        std::optional<AtomicOp> Op = matchAtomicOp(E);
        if (!Op)
          return;
        Counts |= Op->Kind == AtomicKind::Modify;
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
  if (Op == SpinOp::None && Method)
    Op = methodByName(*Method);
  const FunctionDecl *Definition = nullptr;
  if (Op == SpinOp::None && Depth < MaxDepth &&
      !isa<CXXConstructorDecl>(Callee) && Callee->isDefined(Definition) &&
      !Definition->isDependentContext() &&
      !Callee->getASTContext().getSourceManager().isInSystemHeader(
          Definition->getLocation()))
    Op = byBody(*Definition, Depth);
  return Known[Callee->getCanonicalDecl()] = Op;
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
    // Only the destructor's body is examined: that of a guard releases.
    if (!Is && Destructor && Destructor->isDefined(Definition))
      Is = byBody(*Definition, 1) == SpinOp::Release &&
           takesInConstructor(*Class);
  }
  return Guards[Class->getCanonicalDecl()] = Is;
}

bool SpinLocks::isLock(const CXXRecordDecl *Class) {
  return Class && llvm::any_of(Class->methods(), [&](const CXXMethodDecl *M) {
           return identifierOf(M) == "lock" && of(M) == SpinOp::Acquire;
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

bool SpinLocks::mayTake(const FunctionSync &F, const ASTContext &Context) {
  const SourceManager &SM = Context.getSourceManager();
  SourceRange Body = F.Function->getBody()->getSourceRange();
  auto Macro = Macros.lower_bound(SM.getExpansionLoc(Body.getBegin()));
  for (SourceLocation End = SM.getExpansionLoc(Body.getEnd());
       Macro != Macros.end() && Macro->first < End; ++Macro)
    if (Macro->second == SpinOp::Acquire)
      return true;
  return F.Polls ||
         llvm::any_of(F.Syncs,
                      [&](const SyncSite &S) {
                        auto *Made = dyn_cast<CXXConstructExpr>(S.Site);
                        return S.Kind == SyncKind::SpinLock ||
                               (Made &&
                                isGuard(Made->getConstructor()->getParent()));
                      }) ||
         llvm::any_of(F.Calls,
                      [&](const CallSite &C) {
                        return of(C.Callee) == SpinOp::Acquire;
                      }) ||
         llvm::any_of(F.Makes, [&](const MakeSite &M) {
           return isGuard(M.Made->getConstructor()->getParent());
         });
}

bool SpinLocks::mayTry(const FunctionSync &F, unsigned Depth) {
  return llvm::any_of(F.Calls, [&](const CallSite &C) {
    return of(C.Callee, Depth) == SpinOp::Try;
  });
}

/// Returns the first argument of the macro of which S is the expansion that
/// names a variable or field.
static const ValueDecl *lockInMacro(const Stmt *S, const SourceManager &SM) {
  const ValueDecl *Object = nullptr;
  forEachStmt(S, [&](const Stmt *Below, ArrayRef<const Stmt *>) {
    auto *E = dyn_cast<Expr>(Below);
    if (Object || !E || !SM.isMacroArgExpansion(E->getBeginLoc()))
      return;
    if (E->getType()->isPointerType() || E->isLValue())
      Object = objectOf(E);
  });
  return Object;
}

/// Returns true if the result of Call decides where its function goes on.
static bool isTested(const CallExpr &Call, ArrayRef<const Stmt *> Parents) {
  const Stmt *Below = &Call;
  for (const Stmt *S : llvm::reverse(Parents)) {
    if (auto *If = dyn_cast<IfStmt>(S))
      return If->getCond() == Below;
    if (isLoop(S))
      return loopCondition(S) == Below;
    if (!isa<Expr>(S))
      return false;
    Below = S;
  }
  return false;
}

std::vector<SpinSite> SpinLocks::sitesOf(const FunctionSync &F,
                                         const ASTContext &Context) {
  const SourceManager &SM = Context.getSourceManager();
  std::vector<SpinSite> Sites;
  llvm::DenseSet<SourceLocation> Seen;
  bool MayPoll = F.HasAtomics || mayTry(F, 1);
  const Stmt *Root = F.Function->getBody();
  forEachStmt(Root, [&](const Stmt *S, ArrayRef<const Stmt *> Parents) {
    auto Add = [&](SpinOp Op, const ValueDecl *Object) -> SpinSite & {
      Sites.push_back({Op, S, Object, false, SourceLocation(), {}});
      return Sites.back();
    };
    if (S->getBeginLoc().isMacroID() && !Macros.empty()) {
      SourceLocation Where = SM.getExpansionLoc(S->getBeginLoc());
      if (auto Macro = Macros.find(Where); Macro != Macros.end()) {
        if (Seen.insert(Where).second)
          Add(Macro->second, lockInMacro(S, SM)).Macro = Where;
        return;
      }
    }
    if (isLoop(S)) {
      const ValueDecl *Object = nullptr;
      if (MayPoll && polls(*S, 0, Context, &Object))
        Add(SpinOp::Acquire, Object);
    } else if (auto *Made = dyn_cast<CXXConstructExpr>(S)) {
      if (Made->getNumArgs() > 0 &&
          !Made->getConstructor()->isCopyOrMoveConstructor() &&
          isGuard(Made->getConstructor()->getParent())) {
        SpinSite &Site = Add(SpinOp::Acquire, objectOf(Made->getArg(0)));
        Site.IsGuard = true;
        Site.Parents.assign(Parents.begin(), Parents.end());
      }
    } else if (auto *Call = dyn_cast<CallExpr>(S); Call || isa<AtomicExpr>(S)) {
      if (std::optional<AtomicOp> Op = matchAtomicOp(cast<Expr>(S))) {
        if (Op->Kind == AtomicKind::Store)
          Add(SpinOp::Release, objectOf(Op->Object));
        return;
      }
      SpinOp Op = of(Call->getDirectCallee());
      // A function whose result is tested may have failed to take the lock.
      if ((Op == SpinOp::Acquire && !isTested(*Call, Parents)) ||
          Op == SpinOp::Release)
        Add(Op, lockOf(*Call));
    } else if (auto *Assign = dyn_cast<BinaryOperator>(S);
               Assign && Assign->getOpcode() == BO_Assign) {
      QualType T = Assign->getLHS()->getType();
      if ((T.isVolatileQualified() || isAtomicType(T)) &&
          isConstant(Assign->getRHS(), Context))
        Add(SpinOp::Release, objectOf(Assign->getLHS()));
    }
  });
  return Sites;
}

} // namespace vfriendly::tidy
