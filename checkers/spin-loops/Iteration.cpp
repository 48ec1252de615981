//===- Iteration.cpp - What an iteration contains -------------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/spin-loops/Iteration.h"

#include "checkers/common/ClangVersions.h"
#include "checkers/common/Counting.h"
#include "checkers/common/Loops.h"
#include "checkers/spin-loops/Candidates.h"
#include "passes/analysis/common/TellingNames.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/ExprCXX.h"

using namespace clang;

namespace vfriendly::tidy {

/// Maximum number of statements and expressions that are visited, so that a
/// large function that is called in a loop costs little.
static constexpr unsigned MaxNodes = 4000;

/// Maximum call depth of a poll: accessor, wrapper, std::atomic's member.
static constexpr unsigned MaxDepth = 5;

Iteration::Iteration(const LoopShape &Shape, const FunctionDecl &Function,
                     Escapes &Escaping)
    : Context(Function.getASTContext()), Escaping(Escaping), Shape(Shape),
      Budget(MaxNodes) {
  Frames.emplace_back();
  Frames.back().Function = &Function;
  Shape.forEachPart([&](const Stmt *S) { visit(S, root()); });
  bool Value = true;
  if (Shape.backJump())
    Exits.push_back(std::nullopt); // Control falls out of the last statement.
  else if (Shape.Condition &&
           (Shape.Condition->isValueDependent() ||
            !Shape.Condition->EvaluateAsBooleanCondition(Value, Context) ||
            !Value))
    Exits.push_back(Exit{Shape.Condition, false});
  for (const Stmt *S : Shape.Body)
    findExits(S, /*BreakLeaves=*/true);
}

/// Returns true if S is, or ends with, a statement that leaves the loop and is
/// always reached.
static bool alwaysLeaves(const Stmt *S) {
  if (auto *Block = dyn_cast_or_null<CompoundStmt>(S))
    return !Block->body_empty() && alwaysLeaves(Block->body_back());
  return S && isa<BreakStmt, ReturnStmt>(S);
}

void Iteration::findExits(const Stmt *S, bool BreakLeaves) {
  if (!S || isa<Expr>(S))
    return;
  auto *If = dyn_cast<IfStmt>(S);
  bool IsInBody = If && BreakLeaves && !If->getElse() &&
                  alwaysLeaves(If->getThen()) &&
                  llvm::none_of(Shape.Body, hasContinue);
  if (IsInBody) {
    const Stmt *Body = Shape.Body.front();
    auto *Block = dyn_cast<CompoundStmt>(Body);
    IsInBody = Body == S || (Block && llvm::is_contained(Block->body(), S));
  }
  if (IsInBody) {
    Exits.push_back(Exit{If->getCond(), true});
    return;
  }
  auto *Goto = dyn_cast<GotoStmt>(S);
  if (isa<ReturnStmt, IndirectGotoStmt, CXXThrowExpr>(S) ||
      (isa<BreakStmt>(S) && BreakLeaves) ||
      (Goto && Goto->getLabel() != Shape.Head))
    Exits.push_back(std::nullopt);
  BreakLeaves &= !isLoop(S) && !isa<SwitchStmt>(S);
  for (const Stmt *Child : S->children())
    findExits(Child, BreakLeaves);
}

const Rmw *Iteration::findRmw(const Stmt *Site, const Frame *In) const {
  for (const Rmw &R : Rmws)
    if (R.Site == Site && R.In == In)
      return &R;
  return nullptr;
}

bool Iteration::isHintCall(const Stmt *S) const {
  auto *E = dyn_cast<Expr>(S);
  const Stmt *Bare = E ? E->IgnoreParenCasts() : S;
  if (auto *Full = dyn_cast<ExprWithCleanups>(Bare))
    Bare = Full->getSubExpr();
  auto *Call = dyn_cast<CallExpr>(Bare);
  const Frame *Callee = Call ? Calls.lookup({Call, root()}) : nullptr;
  return llvm::any_of(Hints, [&](const Hint &H) {
    auto *Site = dyn_cast<Expr>(H.Site);
    if (Bare == (Site ? Site->IgnoreParenCasts() : H.Site))
      return true;
    for (const Frame *F = H.In; Callee && F; F = F->Caller)
      if (F == Callee)
        return true;
    return false;
  });
}

void Iteration::visitStore(const Expr *LValue, const Frame *In) {
  auto *Ref = dyn_cast<DeclRefExpr>(LValue->IgnoreParenCasts());
  auto *Variable = Ref ? dyn_cast<VarDecl>(Ref->getDecl()) : nullptr;
  if (In == root() && Variable && Variable->hasLocalStorage())
    Written.insert(Variable);
}

void Iteration::visit(const Stmt *S, const Frame *In) {
  if (!S || isLeaf(S) || isa<UnaryExprOrTypeTraitExpr, LambdaExpr>(S))
    return;
  if (Budget == 0)
    return;
  --Budget;
  if (auto *E = dyn_cast<Expr>(S)) {
    if (std::optional<AtomicOp> Op = matchAtomicOp(E)) {
      if (Op->Kind != AtomicKind::Load && Op->Kind != AtomicKind::Store &&
          Op->Kind != AtomicKind::Other)
        Rmws.push_back({*Op, E, In});
      if (Op->ExpectedIsMemory)
        visitStore(Op->Expected, In);
    } else if (auto *Call = dyn_cast<CallExpr>(E)) {
      visitCall(*Call, In);
    } else if (auto *Op = dyn_cast<BinaryOperator>(E)) {
      if (Op->isAssignmentOp())
        visitStore(Op->getLHS(), In);
    } else if (auto *Op = dyn_cast<UnaryOperator>(E)) {
      if (Op->isIncrementDecrementOp())
        visitStore(Op->getSubExpr(), In);
    }
  } else if (auto *Asm = dyn_cast<GCCAsmStmt>(S)) {
    visitAsm(*Asm, In);
  } else if (auto *Decls = dyn_cast<DeclStmt>(S); Decls && In == root()) {
    for (const Decl *D : Decls->decls())
      if (auto *Variable = dyn_cast<VarDecl>(D))
        Written.insert(Variable);
  }
  for (const Stmt *Child : S->children())
    visit(Child, In);
}

void Iteration::visitCall(const CallExpr &Call, const Frame *In) {
  const FunctionDecl *Callee = Call.getDirectCallee();
  CallEffect Effect = Callee ? classifyCall(Call, *Callee) : CallEffect::Other;
  if (isHint(Effect))
    Hints.push_back({Effect, &Call, In});
  if (Effect != CallEffect::Other && Effect != CallEffect::TryLock)
    return;
  if (Callee && Callee->getIdentifier())
    CallsRuntime |=
        llvm::is_contained({"vf_spin_wait", "vf_spin_backoff", "vf_spin_budget",
                            "vf_spin_wait_bounded"},
                           Callee->getName());
  size_t Before = Hints.size();
  if (Callee)
    enter(Call, In);
  auto *Named = dyn_cast_or_null<NamedDecl>(Call.getCalleeDecl());
  if (!Named || !Named->getIdentifier() || Hints.size() != Before)
    return;
  switch (whatNameTells(Named->getName())) {
  case NameTells::Pauses:
    Hints.push_back({CallEffect::Pause, &Call, In});
    break;
  case NameTells::Delays:
    Hints.push_back({CallEffect::Sleep, &Call, In});
    break;
  default:
    break;
  }
}

const Frame *Iteration::enter(const CallExpr &Call, const Frame *In) {
  const FunctionDecl *Definition = nullptr;
  const Stmt *Body = Call.getDirectCallee()->getBody(Definition);
  auto *Method = dyn_cast<CXXMethodDecl>(Call.getDirectCallee());
  if (!Body || Definition->isVariadic() || In->Depth >= MaxDepth ||
      (Method && Method->isVirtual()))
    return nullptr;
  for (const Frame *F = In; F; F = F->Caller)
    if (F->Function == Definition)
      return nullptr;

  Frames.emplace_back();
  Frame &Inner = Frames.back();
  Inner.Function = Definition;
  Inner.Caller = In;
  Inner.Depth = In->Depth + 1;
  ArrayRef<const Expr *> Arguments(Call.getArgs(), Call.getNumArgs());
  if (auto *Member = dyn_cast<CXXMemberCallExpr>(&Call)) {
    Inner.Object = Member->getImplicitObjectArgument();
  } else if (isa_and_nonnull<CXXMethodDecl>(Definition) &&
             !cast<CXXMethodDecl>(Definition)->isStatic() &&
             isa<CXXOperatorCallExpr>(Call)) {
    Inner.Object = Arguments.front();
    Arguments = Arguments.drop_front();
  }
  for (auto [Parm, Argument] : llvm::zip(Definition->parameters(), Arguments))
    Inner.Arguments[Parm] = Argument;
  Calls[{&Call, In}] = &Inner;
  visit(Body, &Inner);
  return &Inner;
}

void Iteration::visitAsm(const GCCAsmStmt &Asm, const Frame *In) {
  CallEffect Effect = classifyAsm(Asm);
  if (Effect == CallEffect::Pause)
    Hints.push_back({CallEffect::Pause, &Asm, In});
  const Expr *Memory = nullptr;
  AtomicOp Op;
  for (unsigned I = 0; I != Asm.getNumOutputs(); ++I) {
    const Expr *Output = Asm.getOutputExpr(I);
    if (StringRef(Asm.getOutputConstraint(I)).contains('m'))
      Memory = Output;
    else
      visitStore(Output, In);
  }
  for (unsigned I = 0; I != Asm.getNumInputs() && !Memory; ++I) {
    const Expr *Input = Asm.getInputExpr(I);
    Op.ObjectIsPointer = Input->getType()->isPointerType() &&
                         !StringRef(Asm.getInputConstraint(I)).contains('m');
    if (Op.ObjectIsPointer ||
        StringRef(Asm.getInputConstraint(I)).contains('m'))
      Memory = Input;
  }
  if (!Memory ||
      (Effect != CallEffect::AsmTry && Effect != CallEffect::AsmLoad &&
       Effect != CallEffect::AsmAdd))
    return;
  Op.Kind = Effect == CallEffect::AsmLoad  ? AtomicKind::Load
            : Effect == CallEffect::AsmAdd ? AtomicKind::Modify
                                           : AtomicKind::Exchange;
  Op.Object = Memory;
  Rmws.push_back({Op, &Asm, In});
}

} // namespace vfriendly::tidy
