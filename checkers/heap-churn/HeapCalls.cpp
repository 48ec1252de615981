//===- HeapCalls.cpp - What a call means to the heap ----------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/heap-churn/HeapCalls.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"
#include "clang/Basic/Builtins.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringMap.h"

using namespace clang;

namespace vfriendly::tidy {

std::string HeapCall::name() const {
  if (Callee)
    return Callee->getNameAsString();
  if (auto *New = dyn_cast<CXXNewExpr>(Site))
    return New->isArray() ? "new[]" : "new";
  return cast<CXXDeleteExpr>(Site)->isArrayForm() ? "delete[]" : "delete";
}

static const llvm::StringMap<HeapFunction> &namedFunctions() {
  static const llvm::StringMap<HeapFunction> Names = [] {
    constexpr std::nullopt_t None = std::nullopt;
    llvm::StringMap<HeapFunction> Map;
#define HEAP_ALLOCATE(NAME, SIZE, COUNT)                                       \
  Map[#NAME] = {HeapOp::Allocate, None, SIZE, COUNT, true};
#define HEAP_RESIZE(NAME, POINTER, SIZE, COUNT)                                \
  Map[#NAME] = {HeapOp::Resize, POINTER, SIZE, COUNT, true};
#define HEAP_RELEASE(NAME, POINTER)                                            \
  Map[#NAME] = {HeapOp::Release, POINTER, None, None, true};
#include "checkers/heap-churn/HeapNames.def"
    return Map;
  }();
  return Names;
}

const VarDecl *variableOf(const Expr *E) {
  auto *Ref = E ? dyn_cast<DeclRefExpr>(E->IgnoreParenCasts()) : nullptr;
  return Ref ? dyn_cast<VarDecl>(Ref->getDecl()) : nullptr;
}

/// Returns the operand that determines the value of `__builtin_expect(!!(x),
/// 0)` or `(p = f())`.
static const Expr *decisive(const Expr *E) {
  while (true) {
    E = E->IgnoreParenCasts();
    if (auto *Full = dyn_cast<FullExpr>(E))
      E = Full->getSubExpr();
    else if (auto *Call = dyn_cast<CallExpr>(E);
             Call && Call->getBuiltinCallee() == Builtin::BI__builtin_expect)
      E = Call->getArg(0);
    else
      return E;
  }
}

std::optional<bool> nullTest(const Expr *Condition, const VarDecl &Variable,
                             const ASTContext &Context) {
  const Expr *E = decisive(Condition);
  auto Inverse = [&](const Expr *Of) -> std::optional<bool> {
    std::optional<bool> Inner = nullTest(Of, Variable, Context);
    if (!Inner)
      return std::nullopt;
    return !*Inner;
  };
  if (auto *Not = dyn_cast<UnaryOperator>(E);
      Not && Not->getOpcode() == UO_LNot)
    return Inverse(Not->getSubExpr());
  if (auto *Binary = dyn_cast<BinaryOperator>(E)) {
    if (Binary->getOpcode() == BO_Assign)
      return variableOf(Binary->getLHS()) == &Variable
                 ? std::optional<bool>(false)
                 : std::nullopt;
    if (!Binary->isEqualityOp())
      return std::nullopt;
    const Expr *Other = Binary->getLHS(), *Zero = Binary->getRHS();
    auto IsZero = [&](const Expr *Side) {
      return !Side->isValueDependent() &&
             (Side->isNullPointerConstant(const_cast<ASTContext &>(Context),
                                          Expr::NPC_ValueDependentIsNotNull) ||
              (Side->isIntegerConstantExpr(Context) &&
               Side->EvaluateKnownConstInt(Context).isZero()));
    };
    if (!IsZero(Zero))
      std::swap(Other, Zero);
    if (!IsZero(Zero))
      return std::nullopt;
    if (Binary->getOpcode() == BO_NE)
      return nullTest(Other, Variable, Context);
    return Inverse(Other);
  }
  if (variableOf(E) == &Variable)
    return false;
  return std::nullopt;
}

std::optional<HeapCall> HeapCalls::match(const Expr *E) {
  HeapCall Call;
  Call.Site = E;
  if (auto *New = dyn_cast<CXXNewExpr>(E)) {
    // Does not match a class with its own operator new, which usually has its
    // own pool.
    const FunctionDecl *Operator = New->getOperatorNew();
    if (!Operator || isa<CXXMethodDecl>(Operator) ||
        New->getNumPlacementArgs() != 0)
      return std::nullopt;
    if (New->isArray())
      Call.Count = New->getArraySize().value_or(nullptr);
    return Call;
  }
  if (auto *Delete = dyn_cast<CXXDeleteExpr>(E)) {
    const FunctionDecl *Operator = Delete->getOperatorDelete();
    if (Operator && isa<CXXMethodDecl>(Operator))
      return std::nullopt;
    Call.Op = HeapOp::Release;
    Call.Pointer = Delete->getArgument();
    return Call;
  }
  auto *Plain = dyn_cast<CallExpr>(E);
  const FunctionDecl *Callee = Plain ? Plain->getDirectCallee() : nullptr;
  const HeapFunction *Does = Callee ? find(*Callee) : nullptr;
  if (!Does)
    return std::nullopt;
  auto Argument = [&](std::optional<unsigned> I) -> const Expr * {
    return I && *I < Plain->getNumArgs() ? Plain->getArg(*I) : nullptr;
  };
  Call.Op = Does->Op;
  Call.Pointer = Argument(Does->Pointer);
  Call.Size = Argument(Does->Size);
  Call.Count = Argument(Does->Count);
  Call.Callee = Callee;
  if (Call.Op != HeapOp::Allocate && !Call.Pointer)
    return std::nullopt;
  return Call;
}

const HeapFunction *HeapCalls::find(const FunctionDecl &F) {
  const FunctionDecl *Key = F.getCanonicalDecl();
  // The entry is made before the body is examined, so that a recursive call
  // counts as one of an unknown function.
  auto [Place, New] = Known.try_emplace(Key, std::nullopt);
  if (New) {
    std::optional<HeapFunction> Does = classify(F);
    Place = Known.find(Key);
    Place->second = Does;
  }
  return Place->second ? &*Place->second : nullptr;
}

std::optional<HeapFunction> HeapCalls::classify(const FunctionDecl &F) {
  auto *Method = dyn_cast<CXXMethodDecl>(&F);
  if (Method && Method->isVirtual())
    return std::nullopt; // The call may reach another definition.
  const DeclContext *Around = F.getDeclContext()->getRedeclContext();
  if (F.getIdentifier() && (Around->isTranslationUnit() || F.isExternC() ||
                            Around->isStdNamespace())) {
    auto Named = namedFunctions().find(F.getName());
    if (Named != namedFunctions().end())
      return Named->second;
  }
  for (const auto *Owner : F.specific_attrs<OwnershipAttr>()) {
    if (Owner->isTakes() && Owner->args_size() == 1)
      return HeapFunction{HeapOp::Release, Owner->args_begin()->getASTIndex()};
    if (Owner->isReturns())
      return HeapFunction{HeapOp::Allocate};
  }
  if (F.hasAttr<RestrictAttr>() && !F.hasBody()) {
    HeapFunction Does{HeapOp::Allocate};
    if (auto *Size = F.getAttr<AllocSizeAttr>()) {
      Does.Size = Size->getElemSizeParam().getASTIndex();
      if (Size->getNumElemsParam().isValid())
        Does.Count = Size->getNumElemsParam().getASTIndex();
    }
    return Does;
  }
  if (F.isDependentContext() || !F.hasBody())
    return std::nullopt;
  if (F.getReturnType()->isPointerType() && returnsFresh(*F.getDefinition()))
    return HeapFunction{HeapOp::Allocate};
  if (std::optional<unsigned> I = releasedParameter(*F.getDefinition()))
    return HeapFunction{HeapOp::Release, I};
  return std::nullopt;
}

namespace {

/// Calls See for every statement below S, S included, but not for the bodies
/// of lambdas and local classes.
template <typename Fn> void forEach(const Stmt *S, Fn See) {
  if (!S)
    return;
  See(S);
  if (auto *Lambda = dyn_cast<LambdaExpr>(S)) {
    for (const Expr *Init : Lambda->capture_inits())
      forEach(Init, See);
    return;
  }
  for (const Stmt *Child : S->children())
    forEach(Child, See);
}

} // namespace

bool HeapCalls::returnsFresh(const FunctionDecl &F) {
  ASTContext &Context = F.getASTContext();
  llvm::SmallPtrSet<const VarDecl *, 4> Returned;
  bool Fresh = false, Other = false;
  // If any returned value is neither a fresh allocation nor null, the function
  // is no allocator.
  auto Note = [&](const Expr *Value) {
    Value = decisive(Value);
    if (Value->isNullPointerConstant(Context,
                                     Expr::NPC_ValueDependentIsNotNull))
      return;
    std::optional<HeapCall> Call = match(Value);
    if (Call && Call->Op == HeapOp::Allocate)
      Fresh = true;
    else
      Other = true;
  };
  forEach(F.getBody(), [&](const Stmt *S) {
    auto *Return = dyn_cast<ReturnStmt>(S);
    if (!Return || !Return->getRetValue() || Other)
      return;
    const VarDecl *Variable = variableOf(Return->getRetValue());
    if (!Variable)
      Note(Return->getRetValue());
    else if (Variable->hasLocalStorage() && !isa<ParmVarDecl>(Variable))
      Returned.insert(Variable);
    else
      Other = true;
  });
  if (Other || Returned.empty())
    return Fresh && !Other;
  forEach(F.getBody(), [&](const Stmt *S) {
    if (Other)
      return;
    if (auto *Declaration = dyn_cast<DeclStmt>(S)) {
      for (const Decl *D : Declaration->decls())
        if (auto *Variable = dyn_cast<VarDecl>(D);
            Variable && Variable->getInit() && Returned.contains(Variable))
          Note(Variable->getInit());
    } else if (auto *Assign = dyn_cast<BinaryOperator>(S)) {
      if (Assign->isAssignmentOp() &&
          Returned.contains(variableOf(Assign->getLHS())))
        Note(Assign->getRHS());
    } else if (auto *Unary = dyn_cast<UnaryOperator>(S)) {
      if ((Unary->isIncrementDecrementOp() ||
           Unary->getOpcode() == UO_AddrOf) &&
          Returned.contains(variableOf(Unary->getSubExpr())))
        Other = true;
    }
  });
  return Fresh && !Other;
}

static bool hasReturn(const Stmt *S) {
  bool Found = false;
  forEach(S, [&](const Stmt *Part) {
    Found |= isa<ReturnStmt, GotoStmt, BreakStmt, ContinueStmt>(Part);
  });
  return Found;
}

std::optional<unsigned> HeapCalls::releasedParameter(const FunctionDecl &F) {
  const ASTContext &Context = F.getASTContext();
  auto *Body = dyn_cast<CompoundStmt>(F.getBody());
  if (!Body || F.getNumParams() == 0)
    return std::nullopt;
  auto IndexOf = [&](const VarDecl *V) -> std::optional<unsigned> {
    auto *Parameter = dyn_cast_or_null<ParmVarDecl>(V);
    if (!Parameter || !Parameter->getType()->isPointerType())
      return std::nullopt;
    return Parameter->getFunctionScopeIndex();
  };
  // Returns the parameter that S releases, if S releases it whenever it is not
  // null.
  auto ReleaseIn = [&](auto &Self, const Stmt *S) -> std::optional<unsigned> {
    if (auto *If = dyn_cast<IfStmt>(S)) {
      std::optional<unsigned> Inner = Self(Self, If->getThen());
      if (Inner && nullTest(If->getCond(), *F.getParamDecl(*Inner), Context) ==
                       std::optional<bool>(false))
        return Inner;
      return std::nullopt;
    }
    if (auto *Block = dyn_cast<CompoundStmt>(S)) {
      for (const Stmt *Part : Block->body()) {
        if (std::optional<unsigned> Inner = Self(Self, Part))
          return Inner;
        if (hasReturn(Part))
          return std::nullopt;
      }
      return std::nullopt;
    }
    auto *E = dyn_cast<Expr>(S);
    if (!E)
      return std::nullopt;
    if (auto *Full = dyn_cast<FullExpr>(E))
      E = Full->getSubExpr();
    std::optional<HeapCall> Call = match(E->IgnoreParenCasts());
    if (!Call || Call->Op != HeapOp::Release)
      return std::nullopt;
    return IndexOf(variableOf(Call->Pointer));
  };
  std::optional<unsigned> Released;
  const ParmVarDecl *Guarded = nullptr;
  for (const Stmt *Part : Body->body()) {
    if ((Released = ReleaseIn(ReleaseIn, Part)))
      break;
    if (!hasReturn(Part))
      continue;
    // Only `if (!p) return;` may precede the release.
    auto *If = dyn_cast<IfStmt>(Part);
    for (const ParmVarDecl *P : F.parameters())
      if (If && !If->getElse() && P->getType()->isPointerType() &&
          nullTest(If->getCond(), *P, Context) == std::optional(true) &&
          (!Guarded || Guarded == P))
        Guarded = P;
    if (!Guarded)
      return std::nullopt;
  }
  if (!Released || (Guarded && Guarded != F.getParamDecl(*Released)))
    return std::nullopt;
  // The parameter must still have the value that the caller passed.
  bool Written = false;
  const ParmVarDecl *Parameter = F.getParamDecl(*Released);
  forEach(Body, [&](const Stmt *S) {
    if (auto *Assign = dyn_cast<BinaryOperator>(S))
      Written |=
          Assign->isAssignmentOp() && variableOf(Assign->getLHS()) == Parameter;
    else if (auto *Unary = dyn_cast<UnaryOperator>(S))
      Written |= (Unary->isIncrementDecrementOp() ||
                  Unary->getOpcode() == UO_AddrOf) &&
                 variableOf(Unary->getSubExpr()) == Parameter;
  });
  if (Written)
    return std::nullopt;
  return Released;
}

} // namespace vfriendly::tidy
