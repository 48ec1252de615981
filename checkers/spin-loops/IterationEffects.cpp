//===- IterationEffects.cpp - What the expressions of one iteration do ----===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/spin-loops/IterationWalker.h"

#include "checkers/common/ClangVersions.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"

using namespace clang;

namespace vfriendly::tidy {

std::optional<uint64_t> constantOf(const Expr *Value, const Frame *In,
                                   const LoopFacts &Facts, bool IsReadFirst) {
  while (Value) {
    auto *Ref = dyn_cast<DeclRefExpr>(Value->IgnoreParenImpCasts());
    auto *Parm = Ref ? dyn_cast<ParmVarDecl>(Ref->getDecl()) : nullptr;
    const Frame *Owner = Parm ? frameOf(*Parm, In) : nullptr;
    const Expr *Argument = Owner ? Owner->Arguments.lookup(Parm) : nullptr;
    if (!Argument || (!IsReadFirst && Facts.Writes.contains({Parm, Owner})))
      break;
    Value = Argument;
    In = Owner->Caller;
  }
  // The assignment `gate = 1` first converts 1 to an _Atomic type. The
  // conversion is no constant expression, so the operand 1 is evaluated.
  if (Value && Value->getType()->isAtomicType())
    Value = Value->IgnoreImpCasts();
  Expr::EvalResult Result;
  if (!Value || Value->isValueDependent() ||
      !Value->EvaluateAsInt(Result, Facts.Context) ||
      Result.Val.getInt().getBitWidth() > 64)
    return std::nullopt;
  return static_cast<uint64_t>(Result.Val.getInt().getSExtValue());
}

bool IterationWalker::visitChildren(const Stmt *S, Context &C) {
  for (const Stmt *Child : S->children()) {
    if (!Child)
      continue;
    auto *E = dyn_cast<Expr>(Child);
    if (!E || !visit(E, C))
      return false;
  }
  return true;
}

/// Records an effect that may mean that the loop is no wait. Returns false if
/// the effect cannot be accepted. If the effect is in a called function, the
/// whole call then counts as the effect; if it is in the loop's own function,
/// the loop is no wait.
bool IterationWalker::doubt(Doubt::Kind What, const Stmt *Site,
                            const Context &C, const Expr *LValue) {
  bool NeedsGuard = What == Doubt::Other;
  if (NeedsGuard && (C.InCallee || C.InLoop || C.Under.empty()))
    return false;
  if ((What == Doubt::Call || What == Doubt::Store) && C.InCallee)
    return false;
  // A count in an inner loop is not a statistic of the wait but the purpose of
  // the inner loop.
  if (What == Doubt::Count && C.InLoop)
    return false;
  // Maximum number of effects that may mean that the loop is no wait.
  if (Facts.Doubts.size() == 12)
    return false;
  // Ignores guards inside an inner loop, such as its bound: they do not make
  // the effect rare.
  Guards Under = C.Under;
  if (C.InLoop)
    Under.truncate(C.AroundLoop);
  Facts.Doubts.push_back({What, Site, C.In, std::move(Under), LValue});
  return true;
}

/// Records a value that Site stores to an atomic or volatile object. The reader
/// of a lock may announce and withdraw itself by such stores, also in called
/// functions without a result. Stores in a function with a result are not
/// accepted, because the loop may poll the result.
bool IterationWalker::say(const Stmt *Site, const Expr *Object, bool ByPointer,
                          const Expr *Value, const Context &C) {
  if (C.InLoop ||
      (C.InCallee && !C.In->Function->getReturnType()->isVoidType()))
    return false;
  if (!doubt(Doubt::Publish, Site, C, Object))
    return false;
  Facts.Doubts.back().Said = Value;
  Facts.Doubts.back().ByPointer = ByPointer;
  return true;
}

void IterationWalker::note(const VarDecl *Variable, const Frame *In, Write W) {
  Facts.Writes[{Variable, In}].push_back(std::move(W));
  Written.push_back({Variable, In});
}

bool IterationWalker::store(const Expr *LValue, Write W, Context &C) {
  Place P = placeOf(LValue, C.In);
  if (P.Where == Place::Device)
    return false;
  if (P.Where == Place::Elsewhere) {
    // Records a store to an atomic or volatile object as a published value.
    // Distinguishes stores to plain memory from increments: a repeated store
    // may leave the memory as it is, a repeated increment does not.
    if (isAtomicType(LValue->getType()) ||
        LValue->getType().isVolatileQualified())
      return say(LValue, LValue, /*ByPointer=*/false,
                 W.From == Write::Value ? W.Assigned : nullptr, C);
    return doubt(W.From == Write::Value ? Doubt::Store : Doubt::Count, LValue,
                 C, LValue);
  }
  if (!P.Variable)
    return true; // A temporary.
  W.In = C.In;
  W.Under = C.Under;
  W.EachIteration = W.From == Write::Value && C.Under.empty() && !C.InLoop;
  note(P.Variable, P.In, std::move(W));
  return true;
}

bool IterationWalker::declare(const DeclStmt &Decls, Context &C) {
  for (const Decl *D : Decls.decls()) {
    auto *Variable = dyn_cast<VarDecl>(D);
    if (!Variable)
      continue;
    if (!Variable->hasLocalStorage())
      continue; // A static variable is initialized once, like a global.
    // A local object with a destructor, such as a lock guard, may have effects
    // on other objects.
    if (Variable->needsDestruction(Facts.Context) != QualType::DK_none) {
      if (!doubt(Doubt::Other, &Decls, C))
        return false;
      continue;
    }
    const Expr *Init = Variable->getInit();
    if (!Init)
      continue;
    if (!visit(Init, C))
      return false;
    if (!Variable->getType()->isReferenceType())
      note(Variable, C.In, {Write::Value, Init, C.In, 0, C.Under});
  }
  return true;
}

bool IterationWalker::visit(const Expr *E, Context &C) {
  if (!E)
    return true;
  if (Budget == 0 || Effort == 0)
    return false;
  --Budget;
  --Effort;
  E = E->IgnoreParens();
  if (isLeaf(E))
    return true;

  if (std::optional<AtomicOp> Op = matchAtomicOp(E))
    return visitAtomic(E, *Op, C);
  if (auto *Call = dyn_cast<CallExpr>(E))
    return visitCall(*Call, C);
  if (auto *Construct = dyn_cast<CXXConstructExpr>(E))
    return visitConstruct(*Construct, C);

  if (auto *Op = dyn_cast<BinaryOperator>(E); Op && Op->isAssignmentOp()) {
    if (!visit(Op->getRHS(), C) || !visit(Op->getLHS(), C))
      return false;
    Write W{Op->isCompoundAssignmentOp() ? Write::Itself : Write::Value,
            Op->getRHS()};
    return store(Op->getLHS(), std::move(W), C);
  }
  if (auto *Op = dyn_cast<UnaryOperator>(E); Op && Op->isIncrementDecrementOp())
    return visit(Op->getSubExpr(), C) &&
           store(Op->getSubExpr(), {Write::Itself}, C);
  if (auto *Statements = dyn_cast<StmtExpr>(E))
    return walk(Statements->getSubStmt(), C);
  if (isa<UnaryExprOrTypeTraitExpr>(E))
    return true;
  if (auto *Default = dyn_cast<CXXDefaultArgExpr>(E))
    return visit(Default->getExpr(), C);

  // These expressions may run unknown code, or cannot be resolved yet.
  if (isa<CXXNewExpr, CXXDeleteExpr, LambdaExpr, CXXBindTemporaryExpr,
          BlockExpr>(E))
    return doubt(Doubt::Other, E, C);
  if (isa<CXXThrowExpr, CoroutineSuspendExpr, CXXDependentScopeMemberExpr,
          DependentScopeDeclRefExpr, UnresolvedLookupExpr, UnresolvedMemberExpr,
          CXXUnresolvedConstructExpr, RecoveryExpr, PackExpansionExpr,
          CXXFoldExpr>(E))
    return false;
  // A lambda that is called in place or kept in a variable has only the effects
  // of its body.
  return visitChildren(E, C);
}

bool IterationWalker::visitAtomic(const Expr *E, const AtomicOp &Op,
                                  Context &C) {
  for (const Stmt *Child : E->children())
    if (auto *Operand = dyn_cast_or_null<Expr>(Child))
      if (!isa<ImplicitCastExpr>(Operand) ||
          !Operand->getType()->isFunctionPointerType())
        if (!visit(Operand, C))
          return false;
  switch (Op.Kind) {
  case AtomicKind::Load:
    if (!Op.Result)
      return true;
    break;
  case AtomicKind::Store:
    return say(E, Op.Object, Op.ObjectIsPointer, Op.Value, C);
  case AtomicKind::Other:
    return doubt(Doubt::Other, E, C);
  case AtomicKind::Modify: {
    if (constantOf(Op.Value, C.In, Facts) == 0) // A read.
      break;
    Facts.Rmws.push_back({Op, E, C.In, {}});
    if (!doubt(Doubt::Modify, E, C, Op.Object))
      return false;
    Facts.Doubts.back().RmwIndex = Facts.Rmws.size() - 1;
    return true;
  }
  case AtomicKind::Exchange:
  case AtomicKind::SetBits:
  case AtomicKind::CompareExchange:
    break;
  }
  Facts.Rmws.push_back({Op, E, C.In, {}});
  if (Op.Kind == AtomicKind::Modify)
    Facts.Rmws.back().Op.Kind = AtomicKind::Load;
  if (Op.Result) {
    Place Result = pointeeOf(Op.Result, C.In);
    if (Result.Where != Place::Local)
      return false;
    if (Result.Variable)
      note(Result.Variable, Result.In,
           {Write::ReadModifyWrite, nullptr, C.In,
            static_cast<unsigned>(Facts.Rmws.size() - 1), C.Under});
  }
  if (!Op.ExpectedIsMemory)
    return true;
  // A failed compare-and-exchange writes the value read to the expected
  // operand.
  Place Expected = Op.ExpectedIsPointer ? pointeeOf(Op.Expected, C.In)
                                        : placeOf(Op.Expected, C.In);
  if (Expected.Where != Place::Local)
    return false;
  if (Expected.Variable) {
    Write W{Write::Observed, nullptr, C.In,
            static_cast<unsigned>(Facts.Rmws.size() - 1), C.Under};
    note(Expected.Variable, Expected.In, std::move(W));
  }
  return true;
}

bool IterationWalker::visitConstruct(const CXXConstructExpr &E, Context &C) {
  const CXXConstructorDecl *Constructor = E.getConstructor();
  bool Simple =
      Constructor->isTrivial() ||
      (Constructor->isDefaulted() && Constructor->isCopyOrMoveConstructor()) ||
      Constructor->isConstexpr() || isAtomicRef(E.getType());
  return Simple && visitChildren(&E, C);
}

bool IterationWalker::visitAsm(const GCCAsmStmt &Asm, Context &C) {
  if (Asm.isAsmGoto())
    return false;
  CallEffect Effect = classifyAsm(Asm);
  if (Effect == CallEffect::Other)
    return false;
  if (Effect == CallEffect::Pause)
    Facts.Hints.push_back({CallEffect::Pause, &Asm, C.In});

  const Expr *Memory = nullptr;
  bool MemoryIsPointer = false, IsWritten = false;
  SmallVector<const Expr *, 2> Inputs, Outputs;
  for (unsigned I = 0; I != Asm.getNumOutputs(); ++I) {
    const Expr *Output = Asm.getOutputExpr(I);
    if (!visit(Output, C))
      return false;
    if (StringRef(Asm.getOutputConstraint(I)).contains('m'))
      Memory = Output, IsWritten = true;
    else
      Outputs.push_back(Output);
    if (Asm.isOutputPlusConstraint(I) && Memory != Output)
      Inputs.push_back(Output); // An in-out operand, such as cmpxchg's rax.
  }
  for (unsigned I = 0; I != Asm.getNumInputs(); ++I) {
    const Expr *Input = Asm.getInputExpr(I);
    if (!visit(Input, C))
      return false;
    if (StringRef(Asm.getInputConstraint(I)).contains('m'))
      Memory = Memory ? Memory : Input;
    else if (Input->getType()->isPointerType() && !Memory) {
      Memory = Input;
      MemoryIsPointer = true;
    } else {
      Inputs.push_back(Input);
    }
  }

  if (Effect == CallEffect::AsmStore)
    return IsWritten && Outputs.empty() && Inputs.size() == 1 &&
           say(&Asm, Memory, /*ByPointer=*/false, Inputs.front(), C);
  Write W{Write::Clock};
  bool Adds = Effect == CallEffect::AsmAdd;
  if (Adds || Effect == CallEffect::AsmTry || Effect == CallEffect::AsmLoad) {
    if (!Memory)
      return false;
    AtomicOp Op;
    std::string Text = textOfAsm(Asm);
    Op.Kind =
        Effect == CallEffect::AsmLoad         ? AtomicKind::Load
        : Adds                                ? AtomicKind::Modify
        : StringRef(Text).contains("cmpxchg") ? AtomicKind::CompareExchange
        : StringRef(Text).contains("xchg") || StringRef(Text).contains("bts")
            ? AtomicKind::Exchange
            : AtomicKind::SetBits;
    Op.Object = Memory;
    Op.ObjectIsPointer = MemoryIsPointer;
    if (Adds && Inputs.size() == 1)
      Op.Value = Inputs.front();
    Facts.Rmws.push_back({Op, &Asm, C.In, Inputs});
    if (Adds) {
      if (!doubt(Doubt::Modify, &Asm, C, Memory))
        return false;
      Facts.Doubts.back().RmwIndex = Facts.Rmws.size() - 1;
    }
    W.From = Write::ReadModifyWrite;
    W.RmwIndex = Facts.Rmws.size() - 1;
  }
  for (const Expr *Output : Outputs) {
    Place P = placeOf(Output, C.In);
    if (P.Where != Place::Local || !P.Variable)
      return false;
    W.In = C.In;
    W.Under = C.Under;
    note(P.Variable, P.In, W);
  }
  return true;
}

} // namespace vfriendly::tidy
