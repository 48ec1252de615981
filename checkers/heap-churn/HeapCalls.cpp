//===- HeapCalls.cpp - Calls that allocate or release ---------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/heap-churn/HeapCalls.h"

#include "checkers/common/PerUnit.h"
#include "checkers/heap-churn/HeapFacts.h"
#include "checkers/heap-churn/HeapWrappers.h"

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

HeapCalls::HeapCalls() : Program(perUnit<ProgramFacts>()) {}
HeapCalls::~HeapCalls() = default;

std::string HeapCall::name() const {
  if (Callee)
    return Callee->getNameAsString();
  if (auto *New = dyn_cast<CXXNewExpr>(Site))
    return New->isArray() ? "new[]" : "new";
  if (auto *Call = dyn_cast<CallExpr>(Site))
    return variableOf(Call->getCallee())->getNameAsString(); // A pointer.
  return cast<CXXDeleteExpr>(Site)->isArrayForm() ? "delete[]" : "delete";
}

static const llvm::StringMap<HeapFunction> &namedFunctions() {
  static const llvm::StringMap<HeapFunction> Names = [] {
    constexpr std::nullopt_t None = std::nullopt;
    llvm::StringMap<HeapFunction> Map;
#define HEAP_ALLOCATE(NAME, SIZE, COUNT)                                       \
  Map[#NAME] = {HeapOp::Allocate, None, SIZE, COUNT};
#define HEAP_RESIZE(NAME, POINTER, SIZE, COUNT)                                \
  Map[#NAME] = {HeapOp::Resize, POINTER, SIZE, COUNT};
#define HEAP_RELEASE(NAME, POINTER)                                            \
  Map[#NAME] = {HeapOp::Release, POINTER, None, None};
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

static bool isNull(const Expr *E) {
  E = E->IgnoreParenCasts();
  auto *Number = dyn_cast<clang::IntegerLiteral>(E);
  return isa<GNUNullExpr, CXXNullPtrLiteralExpr>(E) ||
         (Number && Number->getValue().isZero());
}

std::optional<HeapCall> HeapCalls::match(const Expr *E) {
  HeapCall Call;
  Call.Site = E;
  if (auto *New = dyn_cast<CXXNewExpr>(E)) {
    // Ignores `new` of a class with its own operator new: such a class usually
    // has its own pool.
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
  const VarDecl *Pointer =
      Plain && !Callee ? variableOf(Plain->getCallee()) : nullptr;
  const HeapFunction *Does = Callee    ? find(*Callee)
                             : Pointer ? find(*Pointer)
                                       : nullptr;
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
  if (Call.Op == HeapOp::Resize && isNull(Call.Pointer))
    Call.Op = HeapOp::Allocate; // realloc(NULL, n)
  return Call;
}

const HeapFunction *HeapCalls::find(const FunctionDecl &F) {
  // A function that calls itself is none of these, whatever else it does.
  auto [Place, New] = Known.try_emplace(F.getCanonicalDecl(), nullptr);
  if (!New)
    return Place->second.get();
  std::optional<HeapFunction> Does = classify(F);
  if (!Does)
    return nullptr;
  // classify may have added entries, and so moved this one.
  return (Known[F.getCanonicalDecl()] = std::make_unique<HeapFunction>(*Does))
      .get();
}

const HeapFunction *HeapCalls::find(const VarDecl &Pointer) {
  if (!Pointer.isFileVarDecl() || !Pointer.getIdentifier())
    return nullptr;
  auto [Place, IsNew] = Pointers.try_emplace(Pointer.getName());
  if (IsNew)
    Place->second = promiseOf(Pointer);
  return Place->second ? &*Place->second : nullptr;
}

const HeapFunction *HeapCalls::findPointer(StringRef Name) const {
  auto Found = Pointers.find(Name);
  return Found == Pointers.end() || !Found->second ? nullptr : &*Found->second;
}

/// Maximum number of wrappers around one another that are looked into.
static constexpr unsigned MaxWrapped = 6;

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
  if (std::optional<HeapFunction> Told = heapOfOtherUnit(F, *Program))
    return Told->Op == HeapOp::None ? std::nullopt : Told;
  if (!F.hasBody())
    return promiseOf(F);
  if (Wrapped == MaxWrapped)
    return std::nullopt;
  ++Wrapped;
  std::optional<HeapFunction> Summary = summarizeBody(F, *this);
  --Wrapped;
  return Summary;
}

} // namespace vfriendly::tidy
