//===- ParallelFix.cpp - Makes a serial fill parallel ---------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/numa-placement/ParallelFix.h"

#include "checkers/common/Counting.h"
#include "checkers/common/Loops.h"
#include "checkers/common/SourceText.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtOpenMP.h"
#include "clang/Basic/SourceManager.h"
#include "llvm/ADT/FoldingSet.h"

using namespace clang;

namespace vfriendly::tidy {

bool isNewBlock(const Expr *E) {
  E = stripped(E);
  if (auto *New = dyn_cast_or_null<CXXNewExpr>(E))
    return !New->getNumPlacementArgs();
  return llvm::is_contained(
      {"malloc", "calloc", "aligned_alloc", "memalign", "valloc"},
      identifierOf(calleeOf(E)));
}

bool isAllocation(const Expr *E) {
  const FunctionDecl *Callee = calleeOf(stripped(E));
  return isNewBlock(E) ||
         (Callee && Callee->getReturnType()->isPointerType() &&
          StringRef(identifierOf(Callee)).lower().find("alloc") !=
              std::string::npos &&
          identifierOf(Callee) != "alloca");
}

namespace {

/// `for (T i = From; i < To; i += Step)`.
struct PlainLoop {
  const VarDecl *Counter = nullptr;
  const Expr *From = nullptr, *To = nullptr;
  BinaryOperatorKind Compare = BO_LT;
  int64_t Step = 0;
  const Stmt *Body = nullptr;
};

bool names(const Expr *E, const VarDecl *Variable) {
  auto *Ref = dyn_cast_or_null<DeclRefExpr>(stripped(E));
  return Ref && Ref->getDecl() == Variable;
}

std::optional<PlainLoop> plainLoop(const Stmt *S, const ASTContext &Context,
                                   bool OwnCounter) {
  auto *For = dyn_cast_or_null<ForStmt>(S);
  auto *Compare =
      For ? dyn_cast_or_null<BinaryOperator>(For->getCond()) : nullptr;
  if (!Compare || !Compare->isRelationalOp() || !For->getInc())
    return std::nullopt;
  PlainLoop L;
  CountBegin Begin = beginOf(For->getInit());
  if (!OwnCounter || isa_and_nonnull<DeclStmt>(For->getInit()))
    L.Counter = dyn_cast_or_null<VarDecl>(Begin.Counter);
  L.From = Begin.Value;
  if (!L.Counter || !L.From || !L.Counter->getType()->isIntegerType() ||
      !names(Compare->getLHS(), L.Counter))
    return std::nullopt;
  L.To = Compare->getRHS();
  L.Compare = Compare->getOpcode();
  L.Body = For->getBody();
  if (auto *Unary = dyn_cast<UnaryOperator>(stripped(For->getInc()));
      Unary && Unary->isIncrementDecrementOp() &&
      names(Unary->getSubExpr(), L.Counter))
    L.Step = Unary->isIncrementOp() ? 1 : -1;
  else if (auto *Adds = dyn_cast<BinaryOperator>(stripped(For->getInc()));
           Adds && Adds->getOpcode() == BO_AddAssign &&
           names(Adds->getLHS(), L.Counter))
    L.Step = constantOf(Adds->getRHS(), Context).value_or(0);
  else
    return std::nullopt;
  bool IsUp = L.Compare == BO_LT || L.Compare == BO_LE;
  if (L.Step == 0 || IsUp != (L.Step > 0))
    return std::nullopt;
  return L;
}

/// Returns true if two bounds are spelled alike and name the same variables.
bool isSame(const Expr *A, const Expr *B, const ASTContext &Context) {
  llvm::FoldingSetNodeID IdA, IdB;
  stripped(A)->Profile(IdA, Context, /*Canonical=*/true);
  stripped(B)->Profile(IdB, Context, /*Canonical=*/true);
  return IdA == IdB;
}

class Independence {
public:
  Independence(const PlainLoop &Loop, const UnitValues &Values,
               const ASTContext &Context)
      : Loop(Loop), Values(Values), Context(Context) {}

  bool holds() {
    return scalar(Loop.From) && scalar(Loop.To) && statement(Loop.Body) &&
           llvm::all_of(Reads, [&](const Access &Read) {
             return Read.IsOwn || !llvm::is_contained(Written, Read.Array);
           });
  }

private:
  struct Access {
    const VarDecl *Array;
    bool IsOwn; ///< True if the index is the counter: [i].
  };

  bool statement(const Stmt *S) {
    if (auto *Block = dyn_cast<CompoundStmt>(S))
      return llvm::all_of(Block->body(),
                          [&](const Stmt *Part) { return statement(Part); });
    if (isa<ForStmt>(S)) {
      auto Inner = plainLoop(S, Context, /*OwnCounter=*/true);
      if (!Inner)
        return false;
      return scalar(Inner->From) && scalar(Inner->To) && statement(Inner->Body);
    }
    auto *E = dyn_cast<Expr>(S);
    auto *Assigns = dyn_cast_or_null<BinaryOperator>(E ? stripped(E) : nullptr);
    if (!Assigns || !Assigns->isAssignmentOp())
      return false;
    std::optional<Access> Target = element(Assigns->getLHS());
    if (!Target || !Target->IsOwn)
      return false;
    Written.push_back(Target->Array);
    return value(Assigns->getRHS());
  }

  /// Returns the array that the element belongs to if each iteration has an
  /// element of its own; nothing if elements of two iterations may overlap.
  std::optional<Access> element(const Expr *E) {
    E = stripped(E);
    if (!E->getType()->isArithmeticType() || E->getType().isVolatileQualified())
      return std::nullopt;
    bool IsOwn = false;
    while (auto *Subscript = dyn_cast<ArraySubscriptExpr>(E)) {
      if (!value(Subscript->getIdx()))
        return std::nullopt;
      // The first subscript of x[i][j] is visited last, so that at the end
      // IsOwn tells whether the first subscript is the counter. A counter that
      // is cast to a narrower type does not count: two iterations could then
      // use the same element.
      auto *Index =
          dyn_cast<DeclRefExpr>(Subscript->getIdx()->IgnoreParenImpCasts());
      IsOwn = Index && Index->getDecl() == Loop.Counter;
      E = stripped(Subscript->getBase());
      if (isa<ArraySubscriptExpr>(E) && !E->getType()->isArrayType())
        return std::nullopt;
    }
    auto *Ref = dyn_cast<DeclRefExpr>(E);
    auto *Array = Ref ? dyn_cast<VarDecl>(Ref->getDecl()) : nullptr;
    if (!Array || !isOfAllThreads(*Array) || !isBlock(*Array))
      return std::nullopt;
    return Access{Array, IsOwn};
  }

  /// Returns true if no other variable points to the memory of Array.
  bool isBlock(const VarDecl &Array) const {
    if (Array.getType()->isConstantArrayType())
      return true;
    if (!Array.getType()->isPointerType() || isa<ParmVarDecl>(Array) ||
        Array.isExternallyVisible())
      return false;
    UnitValues::ValueRefs Given = Values.valuesOf(Array);
    const Expr *Initial =
        Array.hasGlobalStorage() ? Array.getAnyInitializer() : nullptr;
    auto IsFresh = [&](const Expr *E) {
      return isNewBlock(E) ||
             E->isNullPointerConstant(const_cast<ASTContext &>(Context),
                                      Expr::NPC_ValueDependentIsNotNull);
    };
    return (Given.empty() ? Initial && IsFresh(Initial)
                          : (!Initial || IsFresh(Initial))) &&
           llvm::all_of(Given, [&](const GivenValue *Value) {
             return Value->Kind == GivenValue::Assigned && IsFresh(Value->At.E);
           });
  }

  static bool isOfAllThreads(const VarDecl &Variable) {
    return Variable.getTLSKind() == VarDecl::TLS_None &&
           !Variable.hasAttr<OMPThreadPrivateDeclAttr>() &&
           !Variable.getType()->isReferenceType() &&
           !Variable.getType().isVolatileQualified() &&
           !Variable.getType()->isAtomicType();
  }

  /// Returns true if E has no side effect and reads only scalars.
  bool scalar(const Expr *E) { return pure(E, /*Elements=*/false); }
  bool value(const Expr *E) { return pure(E, /*Elements=*/true); }

  bool pure(const Expr *E, bool Elements) {
    E = stripped(E);
    if (isa<IntegerLiteral, FloatingLiteral, CharacterLiteral,
            CXXBoolLiteralExpr, UnaryExprOrTypeTraitExpr>(E))
      return true;
    if (auto *Ref = dyn_cast<DeclRefExpr>(E)) {
      if (isa<EnumConstantDecl>(Ref->getDecl()))
        return true;
      auto *Variable = dyn_cast<VarDecl>(Ref->getDecl());
      return Variable && Variable->getType()->isArithmeticType() &&
             isOfAllThreads(*Variable);
    }
    if (auto *Unary = dyn_cast<UnaryOperator>(E))
      return (Unary->getOpcode() == UO_Minus || Unary->getOpcode() == UO_Plus ||
              Unary->getOpcode() == UO_Not || Unary->getOpcode() == UO_LNot) &&
             pure(Unary->getSubExpr(), Elements);
    if (auto *Binary = dyn_cast<BinaryOperator>(E))
      return !Binary->isAssignmentOp() && !Binary->isPtrMemOp() &&
             Binary->getOpcode() != BO_Comma &&
             pure(Binary->getLHS(), Elements) &&
             pure(Binary->getRHS(), Elements);
    if (auto *Choice = dyn_cast<ConditionalOperator>(E))
      return pure(Choice->getCond(), Elements) &&
             pure(Choice->getTrueExpr(), Elements) &&
             pure(Choice->getFalseExpr(), Elements);
    if (!Elements || !isa<ArraySubscriptExpr>(E))
      return false;
    std::optional<Access> Read = element(E);
    if (Read)
      Reads.push_back(*Read);
    return Read.has_value();
  }

  const PlainLoop &Loop;
  const UnitValues &Values;
  const ASTContext &Context;
  SmallVector<const VarDecl *, 4> Written;
  SmallVector<Access, 4> Reads;
};

} // namespace

/// Returns the loop of Use if OpenMP gives each thread one block of its
/// iterations. The default schedule of GNU's and LLVM's runtimes does this,
/// too. Returns null if the loop is divided in another way, or is not parallel.
static const Stmt *blockwiseLoop(const BulkEvent &Use) {
  for (const Stmt *S : Use.At.Parents) {
    auto *Directive = dyn_cast<OMPExecutableDirective>(S);
    if (!Directive || !Directive->hasAssociatedStmt() ||
        Directive->getRawStmt() != Use.Loop ||
        !isOpenMPWorksharingDirective(Directive->getDirectiveKind()))
      continue;
    for (const OMPClause *Clause : Directive->clauses())
      if (auto *Schedule = dyn_cast<OMPScheduleClause>(Clause))
        if (Schedule->getScheduleKind() != OMPC_SCHEDULE_static ||
            Schedule->getChunkSize())
          return nullptr;
    return Use.Loop;
  }
  return nullptr;
}

ParallelFix parallelFix(const BulkEvent &Fill, const BulkEvent &Use,
                        const UnitValues &Values, const ASTContext &Context) {
  const SourceManager &SM = Context.getSourceManager();
  auto *For = dyn_cast_or_null<ForStmt>(Fill.Loop);
  if (!isLoop(Fill.Loop))
    return {{}, "a library function fills it"};
  auto Filled = plainLoop(For, Context, /*OwnCounter=*/true);
  if (!Filled)
    return {{}, "the loop is not of the form `for (int i = a; i < b; i++)`"};
  auto Used = plainLoop(blockwiseLoop(Use), Context, /*OwnCounter=*/false);
  if (!Used)
    return {{}, "the loop that uses it has no static schedule"};
  if (!isSame(Filled->From, Used->From, Context) ||
      !isSame(Filled->To, Used->To, Context) ||
      Filled->Compare != Used->Compare || Filled->Step != Used->Step)
    return {{}, "the loop that uses it has other bounds"};
  if (!Independence(*Filled, Values, Context).holds())
    return {{}, "its iterations may depend on each other"};
  const FunctionDecl &In = *Fill.At.In;
  SourceLocation Begin = For->getBeginLoc();
  // Does not insert a parallel region into another OpenMP region: some regions,
  // such as those of `simd`, must not contain one.
  bool IsWithin = llvm::any_of(Fill.At.Parents, [](const Stmt *S) {
    return isa<LambdaExpr, OMPExecutableDirective>(S);
  });
  if (Begin.isMacroID() || For->getEndLoc().isMacroID() ||
      !SM.isInMainFile(Begin) || !hasRoomBefore(Begin, Context) ||
      hasDirective(For->getSourceRange(), Context) || IsWithin ||
      In.isTemplateInstantiation() || In.isConstexpr() ||
      Fill.By != Team::Callers)
    return {{}, "no directive can be inserted here"};
  return {{FixItHint::CreateInsertion(
              Begin, "#pragma omp parallel for schedule(static)\n" +
                         indentAt(Begin, Context).str())},
          ""};
}

} // namespace vfriendly::tidy
