//===- IterationCalls.cpp - What the calls of one iteration do ------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/spin-loops/IterationWalker.h"

#include "passes/common/TellingNames.h"

#include "clang/AST/Attr.h"
#include "clang/AST/DeclCXX.h"

using namespace clang;

namespace vfriendly::tidy {

/// Maximum call depth of a poll: accessor, wrapper, std::atomic's member.
static constexpr unsigned MaxDepth = 5;

bool IterationWalker::visitNeutralCall(const CallExpr &Call, CallEffect Effect,
                                       Context &C) {
  if (Effect == CallEffect::Pause || Effect == CallEffect::Yield ||
      Effect == CallEffect::Sleep)
    Facts.Hints.push_back({Effect, &Call, C.In});
  for (const Expr *Argument : Call.arguments()) {
    if (!visit(Argument, C))
      return false;
    if (Effect == CallEffect::None || !Argument->getType()->isPointerType() ||
        Argument->getType()->getPointeeType().isConstQualified())
      continue;
    // Records that the call writes the object that Argument points to, as
    // clock_gettime(…, &now) writes now.
    Place P = pointeeOf(Argument, C.In);
    if (P.Where == Place::Local && P.Variable)
      note(P.Variable, P.In,
           {Effect == CallEffect::Clock ? Write::Clock : Write::Itself, nullptr,
            C.In, 0, C.Under});
  }
  auto *Member = dyn_cast<CXXMemberCallExpr>(&Call);
  return !Member || visit(Member->getImplicitObjectArgument(), C);
}

IterationWalker::Mark IterationWalker::mark() const {
  return {static_cast<unsigned>(Facts.Rmws.size()),
          static_cast<unsigned>(Facts.Hints.size()),
          static_cast<unsigned>(Facts.Doubts.size()),
          static_cast<unsigned>(Facts.InnerConditions.size()),
          static_cast<unsigned>(Written.size()),
          Budget};
}

void IterationWalker::takeBack(const Mark &M) {
  Facts.Rmws.truncate(M.Rmws);
  Facts.Hints.truncate(M.Hints);
  Facts.Doubts.truncate(M.Doubts);
  Facts.InnerConditions.truncate(M.Inner);
  while (Written.size() != M.Written) {
    auto Last = Facts.Writes.find(Written.pop_back_val());
    Last->second.pop_back();
    if (Last->second.empty())
      Facts.Writes.erase(Last);
  }
  Budget = M.Budget;
}

/// Returns the name of the called function, or of the pointer by which it is
/// called.
static StringRef calleeName(const CallExpr &Call) {
  auto *D = dyn_cast_or_null<NamedDecl>(Call.getCalleeDecl());
  return D && D->getIdentifier() ? D->getName() : StringRef();
}

/// Returns the hint that a name suggests; Other if none.
static CallEffect hintOf(NameTells Tells) {
  switch (Tells) {
  case NameTells::Pauses:
    return CallEffect::Pause;
  case NameTells::Delays:
    return CallEffect::Sleep;
  default:
    return CallEffect::Other;
  }
}

/// Handles the call of a function that has effects or is opaque. Returns false
/// if the walker has to give up.
bool IterationWalker::visitUnknownCall(const CallExpr &Call, Context &C,
                                       bool IsAlwaysUnseen) {
  EndedUnseen = false;
  // Gives up on a call in a template whose callee is known only in instances of
  // the template.
  if (Call.isInstantiationDependent())
    return false;
  NameTells Tells = whatNameTells(calleeName(Call));
  if (CallEffect Effect = hintOf(Tells); Effect != CallEffect::Other)
    return doubt(Doubt::Telling, &Call, C) && visitNeutralCall(Call, Effect, C);
  bool ReadsClock = Tells == NameTells::ReadsClock;
  if (!doubt(ReadsClock ? Doubt::Telling : Doubt::Call, &Call, C)) {
    EndedUnseen = IsAlwaysUnseen && !ReadsClock;
    return false;
  }
  Facts.Unseen.insert({&Call, C.In});
  for (const Expr *Argument : Call.arguments())
    if (!visit(Argument, C))
      return false;
  auto *Member = dyn_cast<CXXMemberCallExpr>(&Call);
  return !Member || visit(Member->getImplicitObjectArgument(), C);
}

bool IterationWalker::visitCall(const CallExpr &Call, Context &C) {
  const FunctionDecl *Callee = Call.getDirectCallee();
  if (!Callee)
    return visitUnknownCall(Call, C, /*IsAlwaysUnseen=*/true);
  if (Callee->isNoReturn())
    return true; // Control does not come back to the loop.
  // Rejects loops that already call what the fix-its of this check insert: they
  // wait in the runtime.
  if (llvm::is_contained({"vf_spin_wait", "vf_spin_backoff", "vf_spin_budget",
                          "vf_spin_wait_bounded"},
                         calleeName(Call)))
    return false;
  CallEffect Effect = classifyCall(Call, *Callee);
  if (Effect != CallEffect::Other && Effect != CallEffect::TryLock)
    return visitNeutralCall(Call, Effect, C);

  auto *Method = dyn_cast<CXXMethodDecl>(Callee);
  auto *Member = dyn_cast<CXXMemberCallExpr>(&Call);
  if (Method && Method->isVirtual() && !Method->hasAttr<FinalAttr>() &&
      !Method->getParent()->hasAttr<FinalAttr>()) {
    auto *Named =
        Member ? dyn_cast<MemberExpr>(Member->getCallee()->IgnoreParens())
               : nullptr;
    if (!Named || !Named->hasQualifier())
      return visitUnknownCall(Call, C, /*IsAlwaysUnseen=*/true);
  }

  // Visits the body of a trylock function if it is visible, because the body
  // tells more than the function's name. If the body has a doubtful effect,
  // this effect is assumed to happen only when the lock is taken, and the call
  // is classified by the function's name.
  bool Tries = Effect == CallEffect::TryLock;
  if (!Tries || (Callee->isDefined() && !isOfStd(*Callee))) {
    Mark Before = mark();
    if (visitBody(Call, *Callee, C) &&
        (!Tries || Facts.Doubts.size() == Before.Doubts)) {
      // If the body contains no spin hint, the name of the function may still
      // tell that the function is a spin hint.
      CallEffect Told = hintOf(whatNameTells(calleeName(Call)));
      if (Told != CallEffect::Other && Facts.Hints.size() == Before.Hints)
        Facts.Hints.push_back({Told, &Call, C.In});
      return true;
    }
    takeBack(Before);
    Facts.Calls.erase({&Call, C.In});
  }
  if (Tries)
    return visitNeutralCall(Call, CallEffect::TryLock, C);
  const FunctionDecl *Definition = nullptr;
  return visitUnknownCall(Call, C,
                          !Callee->getBody(Definition) ||
                              Callee->isVariadic() ||
                              Facts.Functions.CallsUnseen.contains(Definition));
}

bool IterationWalker::visitBody(const CallExpr &Call,
                                const FunctionDecl &Callee, Context &C) {
  const FunctionDecl *Definition = nullptr;
  const Stmt *Body = Callee.getBody(Definition);
  if (!Body || Callee.isVariadic() || C.In->Depth >= MaxDepth ||
      Facts.Functions.CallsUnseen.contains(Definition))
    return false;
  for (const Frame *F = C.In; F; F = F->Caller)
    if (F->Function == Definition)
      return false;

  Facts.Frames.emplace_back();
  Frame &Inner = Facts.Frames.back();
  Inner.Function = Definition;
  Inner.Caller = C.In;
  Inner.Depth = C.In->Depth + 1;
  ArrayRef<const Expr *> Arguments(Call.getArgs(), Call.getNumArgs());
  if (auto *Member = dyn_cast<CXXMemberCallExpr>(&Call)) {
    Inner.Object = Member->getImplicitObjectArgument();
    if (!visit(Inner.Object, C))
      return false;
  } else if (auto *Method = dyn_cast<CXXMethodDecl>(Definition);
             Method && !Method->isStatic() && isa<CXXOperatorCallExpr>(Call)) {
    Inner.Object = Arguments.front();
    Arguments = Arguments.drop_front();
    if (!Method->getParent()->isLambda() && !visit(Inner.Object, C))
      return false;
  }
  for (auto [Parm, Argument] : llvm::zip(Definition->parameters(), Arguments)) {
    if (!visit(Argument, C))
      return false;
    Inner.Arguments[Parm] = Argument;
  }
  Facts.Calls[{&Call, C.In}] = &Inner;

  Context InCallee;
  InCallee.In = &Inner;
  InCallee.Under = C.Under;
  InCallee.BreakLeaves = InCallee.ContinueRepeats = false;
  InCallee.InCallee = true;
  InCallee.InLoop = C.InLoop;
  InCallee.AroundLoop = C.AroundLoop;
  EndedUnseen = false;
  if (walk(Body, InCallee))
    return true;
  if (EndedUnseen)
    Facts.Functions.CallsUnseen.insert(Definition);
  return false;
}

} // namespace vfriendly::tidy
