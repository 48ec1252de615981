//===- IdleEffects.cpp - What statements do beside looking ----------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/blocking-sync/IdleEffects.h"

#include "checkers/common/AtomicOps.h"
#include "checkers/common/Counting.h"
#include "checkers/common/SourceText.h"
#include "checkers/common/WaitNeutral.h"
#include "passes/analysis/common/NameWords.h"
#include "passes/analysis/common/TellingNames.h"

#include "clang/AST/Attr.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/ExprCXX.h"

using namespace clang;

namespace vfriendly::tidy {

/// Maximum number of calls between a statement and what is done for it.
static constexpr unsigned MaxDepth = 3;

const VarDecl *localIn(const Expr *E) {
  while (E) {
    E = E->IgnoreParenCasts();
    if (auto *Member = dyn_cast<MemberExpr>(E); Member && !Member->isArrow()) {
      E = Member->getBase();
    } else if (auto *Element = dyn_cast<ArraySubscriptExpr>(E)) {
      const Expr *Base = Element->getBase()->IgnoreParenImpCasts();
      if (!Base->getType()->isArrayType())
        return nullptr;
      E = Base;
    } else {
      break;
    }
  }
  auto *Ref = dyn_cast_or_null<DeclRefExpr>(E);
  auto *Variable = Ref ? dyn_cast<VarDecl>(Ref->getDecl()) : nullptr;
  return Variable && Variable->hasLocalStorage() &&
                 !Variable->getType()->isReferenceType()
             ? Variable
             : nullptr;
}

bool isErrno(const Stmt *S) {
  StringRef Name = identifierOf(calleeOf(S));
  return Name == "__errno_location" || Name == "__error";
}

/// Returns true for a name that asks a question: is_ready, hasData, getCount.
static bool namesQuestion(StringRef Name) {
  SmallVector<std::string, 4> Words = wordsOf(Name);
  return llvm::any_of(Words, [](StringRef W) {
    return llvm::is_contained({"is", "has", "have", "are", "was", "can",
                               "empty", "size", "count", "pending", "running",
                               "alive", "ready", "done", "finished", "stopped",
                               "busy"},
                              W);
  });
}

static bool hasStringArgument(const CallExpr &Call) {
  return llvm::any_of(Call.arguments(), [](const Expr *Argument) {
    return isa<clang::StringLiteral>(Argument->IgnoreParenImpCasts());
  });
}

/// Returns true for printf and its like, and for logging functions.
static bool prints(const CallExpr &Call, const FunctionDecl &Callee) {
  if (auto *Operator = dyn_cast<CXXOperatorCallExpr>(&Call))
    return Operator->getOperator() == OO_LessLess;
  StringRef Name = identifierOf(&Callee);
  return Callee.hasAttr<FormatAttr>() || Name == "puts" || Name == "putchar" ||
         Name == "fputs" || Name == "fputc" || Name == "fflush" ||
         Name == "perror" || Name == "syslog" ||
         (Callee.isVariadic() && hasStringArgument(Call));
}

/// Returns true if Call only fills memory that its first argument points to,
/// and that is a local variable.
static bool onlyFillsLocal(const CallExpr &Call, StringRef Name) {
  if (!llvm::is_contained({"memset", "memcpy", "memmove", "bzero", "strcpy",
                           "strncpy", "snprintf", "sprintf", "strerror_r"},
                          Name) ||
      Call.getNumArgs() == 0)
    return false;
  const Expr *To = Call.getArg(0)->IgnoreParenCasts();
  if (auto *Address = dyn_cast<UnaryOperator>(To);
      Address && Address->getOpcode() == UO_AddrOf)
    To = Address->getSubExpr();
  return localIn(To) && (To != Call.getArg(0)->IgnoreParenCasts() ||
                         To->getType()->isArrayType());
}

IdleEffect IdleEffects::effectOfMethod(const CallExpr &Call,
                                       const CXXMethodDecl &Method) {
  const Expr *Object = nullptr;
  if (auto *Member = dyn_cast<CXXMemberCallExpr>(&Call))
    Object = Member->getImplicitObjectArgument();
  else if (Call.getNumArgs() > 0)
    Object = Call.getArg(0);
  if (isOfStd(Method)) {
    if (Method.isConst() || Method.isStatic() || !Object || localIn(Object) ||
        Object->IgnoreParenCasts()->isPRValue())
      return IdleEffect::Looks;
    return llvm::is_contained({"begin", "end", "front", "back", "top", "at",
                               "find", "get", "rdbuf", "value"},
                              identifierOf(&Method)) ||
                   (isa<CXXOperatorCallExpr>(Call) &&
                    !cast<CXXOperatorCallExpr>(Call).isAssignmentOp() &&
                    Method.getOverloadedOperator() != OO_PlusPlus &&
                    Method.getOverloadedOperator() != OO_MinusMinus)
               ? IdleEffect::Looks
               : IdleEffect::Works;
  }
  return Method.isConst() ? IdleEffect::Looks : IdleEffect::Asks;
}

IdleEffect IdleEffects::effectOfBody(const FunctionDecl &Callee) {
  const FunctionSync *F = Model.of(&Callee);
  auto *Method = dyn_cast<CXXMethodDecl>(&Callee);
  if (!F || (Method && Method->isVirtual()))
    return IdleEffect::Asks;
  if (Depth == MaxDepth)
    return IdleEffect::Asks;
  const std::pair At(F->Function, Depth);
  if (auto Where = Known.find(At); Where != Known.end())
    return Where->second;
  ++Depth;
  IdleEffect Most = IdleEffect::None;
  forEachStmt(
      F->Function->getBody(), [&](const Stmt *S, ArrayRef<const Stmt *>) {
        IdleEffect Does = Most == IdleEffect::Works ? Most : effectOf(S, *F);
        // A read of the callee's arguments is none of shared memory, but
        // pointers lead to it.
        auto *Member = dyn_cast<MemberExpr>(S);
        auto *Ref = dyn_cast<DeclRefExpr>(S);
        auto *Variable = Ref ? dyn_cast<VarDecl>(Ref->getDecl()) : nullptr;
        if (Does == IdleEffect::None &&
            ((Member && isa<FieldDecl>(Member->getMemberDecl()) &&
              !localIn(Member)) ||
             (Variable && Variable->hasGlobalStorage() &&
              !Variable->getType().isConstQualified())))
          Does = IdleEffect::Looks;
        Most = std::max(Most, Does);
      });
  --Depth;
  // A getter that takes a lock looks.
  if (Most == IdleEffect::Locks)
    Most = IdleEffect::Looks;
  // One whose name asks, and of which a part is not visible.
  if (Most == IdleEffect::Asks && namesQuestion(identifierOf(&Callee)) &&
      !Callee.getReturnType()->isVoidType())
    Most = IdleEffect::Looks;
  if (Most >= IdleEffect::Prints)
    Most = IdleEffect::Asks;
  return Known[At] = Most;
}

IdleEffect IdleEffects::effectOfCall(const CallExpr &Call,
                                     const FunctionSync &F) {
  for (const SyncSite &S : F.Syncs)
    if (S.Site == &Call)
      switch (S.Kind) {
      case SyncKind::Lock:
      case SyncKind::Unlock:
      case SyncKind::SpinLock:
        // A function that is given the lock may do more with it.
        return Model.of(Call.getDirectCallee()) &&
                       effectOfBody(*Call.getDirectCallee()) == IdleEffect::Asks
                   ? IdleEffect::Asks
                   : IdleEffect::Locks;
      case SyncKind::Sleep:
      case SyncKind::Yield:
        return IdleEffect::None;
      case SyncKind::Accept:
        return IdleEffect::Asks;
      default:
        return IdleEffect::Works;
      }
  if (std::optional<AtomicOp> Op = matchAtomicOp(&Call))
    switch (Op->Kind) {
    case AtomicKind::Load:
      return IdleEffect::Looks;
    case AtomicKind::Store:
      return IdleEffect::None;
    case AtomicKind::Exchange:
    case AtomicKind::CompareExchange:
      return IdleEffect::Tries;
    default:
      return Op->Value && constantOf(Op->Value, Context) == 0
                 ? IdleEffect::Looks
                 : IdleEffect::Works;
    }
  const FunctionDecl *Callee = Call.getDirectCallee();
  if (!Callee)
    return IdleEffect::Asks;
  switch (classifyCall(Call, *Callee)) {
  case CallEffect::Other:
    break;
  case CallEffect::Clock:
    return IdleEffect::Clock;
  case CallEffect::TryLock:
    return IdleEffect::Tries;
  case CallEffect::Lock:
    return IdleEffect::Locks;
  default:
    return IdleEffect::None;
  }
  StringRef Name = identifierOf(Callee);
  if (onlyFillsLocal(Call, Name) || isa<UserDefinedLiteral>(Call))
    return IdleEffect::None;
  if (prints(Call, *Callee))
    return IdleEffect::Prints;
  if (Callee->hasAttr<PureAttr>() || Callee->hasAttr<ConstAttr>() ||
      llvm::is_contained({"memcmp", "strcmp", "strncmp", "strcasecmp", "strlen",
                          "strstr", "strchr", "strerror"},
                         Name))
    return IdleEffect::Looks;
  switch (whatNameTells(Name)) {
  case NameTells::ReadsClock:
    return IdleEffect::Clock;
  case NameTells::ReadsWord:
    return IdleEffect::Looks;
  default:
    break;
  }
  // instance() of a class gives the object that is asked.
  if (Call.getNumArgs() == 0 && !isa<CXXMemberCallExpr>(Call) &&
      (Callee->getReturnType()->isPointerType() ||
       Callee->getReturnType()->isReferenceType()) &&
      isa<CXXMethodDecl>(Callee))
    return IdleEffect::Looks;
  if (auto *Method = dyn_cast<CXXMethodDecl>(Callee);
      Method && (isOfStd(*Method) || !Method->isDefined())) {
    IdleEffect Does = effectOfMethod(Call, *Method);
    return Does == IdleEffect::Asks && namesQuestion(Name) &&
                   !Callee->getReturnType()->isVoidType()
               ? IdleEffect::Looks
               : Does;
  }
  if (isOfStd(*Callee))
    return IdleEffect::None;
  IdleEffect Does = effectOfBody(*Callee);
  return Does == IdleEffect::Asks && !Model.of(Callee) && namesQuestion(Name) &&
                 !Callee->getReturnType()->isVoidType()
             ? IdleEffect::Looks
             : Does;
}

IdleEffect IdleEffects::effectOf(const Stmt *S, const FunctionSync &F) {
  if (auto *Call = dyn_cast<CallExpr>(S))
    return effectOfCall(*Call, F);
  if (isa<AtomicExpr>(S)) {
    std::optional<AtomicOp> Op = matchAtomicOp(cast<Expr>(S));
    return !Op || Op->Kind == AtomicKind::Load ? IdleEffect::Looks
           : Op->Kind == AtomicKind::Store     ? IdleEffect::None
           : Op->Kind == AtomicKind::Exchange ||
                   Op->Kind == AtomicKind::CompareExchange
               ? IdleEffect::Tries
               : IdleEffect::Works;
  }
  if (isa<CXXConstructExpr>(S)) {
    for (const SyncSite &Site : F.Syncs)
      if (Site.Site == S)
        return Site.Kind == SyncKind::Lock ? IdleEffect::Locks
                                           : IdleEffect::Works;
    return IdleEffect::None;
  }
  if (isa<CXXNewExpr, CXXDeleteExpr>(S))
    return IdleEffect::Works;
  if (auto *Asm = dyn_cast<GCCAsmStmt>(S))
    switch (classifyAsm(*Asm)) {
    case CallEffect::Other:
      return IdleEffect::Works;
    case CallEffect::AsmTry:
    case CallEffect::AsmAdd:
      return IdleEffect::Tries;
    default:
      return IdleEffect::Looks;
    }
  if (auto *Step = dyn_cast<UnaryOperator>(S);
      Step && Step->isIncrementDecrementOp())
    return localIn(Step->getSubExpr()) ? IdleEffect::None : IdleEffect::Works;
  auto *Assign = dyn_cast<BinaryOperator>(S);
  if (!Assign || !Assign->isAssignmentOp() || localIn(Assign->getLHS()))
    return IdleEffect::None;
  // The same value in each iteration, or what an attempt has given.
  Expr::EvalResult Value;
  const Expr *From = Assign->getRHS();
  bool IsConstant = !From->isValueDependent() &&
                    From->EvaluateAsRValue(Value, Context) &&
                    !Value.HasSideEffects;
  return Assign->getOpcode() == BO_Assign &&
                 (IsConstant || isa<CallExpr>(From->IgnoreParenCasts()))
             ? IdleEffect::None
             : IdleEffect::Works;
}

bool IdleEffects::opens(const FunctionDecl &Callee, unsigned Level) {
  StringRef Name = identifierOf(&Callee);
  static constexpr llvm::StringLiteral Opens[] = {
      "open",  "connect", "bind",   "listen", "init",   "create", "make",
      "start", "load",    "login",  "alloc",  "malloc", "fork",   "reconnect",
      "mount", "attach",  "access", "stat",   "exec"};
  SmallVector<std::string, 4> Words = wordsOf(Name);
  if (Name == "socket" ||
      (!namesQuestion(Name) && llvm::any_of(Words, [](StringRef W) {
        return llvm::is_contained(Opens, W) || W.ends_with("open") ||
               W.ends_with("alloc");
      })))
    return true;
  const FunctionSync *F = Level < MaxDepth ? Model.of(&Callee) : nullptr;
  return F && llvm::any_of(F->Calls, [&](const CallSite &C) {
           StringRef Called = identifierOf(C.Callee);
           return Called == "open" || Called == "open64" || Called == "fopen" ||
                  Called == "socket" || opens(*C.Callee, MaxDepth);
         });
}

bool IdleEffects::mayOpen(const CallExpr &Call) {
  const FunctionDecl *Callee = Call.getDirectCallee();
  if (!Callee)
    return false;
  return opens(*Callee, 0);
}

} // namespace vfriendly::tidy
