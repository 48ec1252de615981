//===- ArrayFlows.cpp - Which names lead to the same arrays ---------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/numa-placement/ArrayFlows.h"

#include "checkers/common/ProgramFacts.h"
#include "checkers/common/SourceText.h"
#include "checkers/common/WaitNeutral.h"
#include "checkers/numa-placement/ElementAccess.h"
#include "checkers/numa-placement/ParallelFix.h"

#include "clang/AST/DeclCXX.h"
#include "clang/AST/ExprCXX.h"
#include "clang/Basic/SourceManager.h"
#include <map>
#include <set>
#include <tuple>

using namespace clang;

namespace vfriendly::tidy {

/// Maximum number of functions that return what another returns.
static constexpr unsigned MaxCalls = 3;

namespace {

/// What functions return, by the number of calls around: a dispatcher and what
/// it calls, which calls it again, are asked once.
using ReturnedPaths = std::map<std::pair<const FunctionDecl *, unsigned>,
                               SmallVector<ArrayPath, 2>>;

class Walk {
public:
  Walk(const UnitValues &Values, ReturnedPaths &Known)
      : Values(Values), Known(Known) {}

  void from(const Expr *E, unsigned Rows, unsigned Calls = 0) {
    E = stripped(E);
    if (!E)
      return;
    if (auto *Choice = dyn_cast<ConditionalOperator>(E)) {
      from(Choice->getTrueExpr(), Rows, Calls);
      return from(Choice->getFalseExpr(), Rows, Calls);
    }
    if (auto *Unary = dyn_cast<UnaryOperator>(E)) {
      // *x is what the caller passes by its address, and not a row.
      if (Unary->getOpcode() == UO_AddrOf || Unary->getOpcode() == UO_Deref ||
          Unary->isIncrementDecrementOp())
        from(Unary->getSubExpr(), Rows, Calls);
      return;
    }
    if (std::optional<ArrayElement> Element = elementIn(E))
      return from(Element->Base, Rows + E->getType()->isPointerType(), Calls);
    if (auto *Sum = dyn_cast<BinaryOperator>(E)) {
      if (Sum->isAdditiveOp() && Sum->getType()->isPointerType())
        from(Sum->getLHS()->getType()->isPointerType() ? Sum->getLHS()
                                                       : Sum->getRHS(),
             Rows, Calls);
      return;
    }
    if (auto *Call = dyn_cast<CallExpr>(E))
      return ofCall(*Call, Rows, Calls);
    if (auto *Ref = dyn_cast<DeclRefExpr>(E))
      add({Ref->getDecl(), Rows, isa<FunctionDecl>(Ref->getDecl())});
    else if (auto *Member = dyn_cast<MemberExpr>(E))
      add({Member->getMemberDecl(), Rows});
  }

  SmallVector<ArrayPath, 2> Found;

private:
  void add(const ArrayPath &Path) {
    if (Added.insert({Path.Root, Path.Rows, Path.IsAddress}).second)
      Found.push_back(Path);
  }

  ArrayRef<ArrayPath> returnedBy(const FunctionDecl &Callee, unsigned Calls) {
    auto [Paths, IsNew] = Known.try_emplace({&Callee, Calls});
    if (IsNew) {
      Walk Below(Values, Known);
      for (const GivenValue *Value : Values.returnsOf(Callee))
        Below.from(Value->At.E, 0, Calls);
      Paths->second = std::move(Below.Found);
    }
    return Paths->second;
  }

  void ofCall(const CallExpr &Call, unsigned Rows, unsigned Calls) {
    const FunctionDecl *Callee = Call.getDirectCallee();
    // What is named as an allocator may also return what it has stored.
    if (!Callee || isNewBlock(&Call) ||
        (isAllocation(&Call) && Values.returnsOf(*Callee).empty()))
      return;
    if (isOfStd(*Callee)) {
      auto *Member = dyn_cast<CXXMemberCallExpr>(&Call);
      if (Member && llvm::is_contained({"data", "get", "begin", "at", "front"},
                                       identifierOf(Callee)))
        from(Member->getImplicitObjectArgument(), Rows, Calls);
      else if (isa<CXXOperatorCallExpr>(Call) && isa<CXXMethodDecl>(Callee))
        from(Call.getArg(0), Rows, Calls);
      return;
    }
    // The result of an allocator has no type.
    if (Callee->getReturnType()->isVoidPointerType() || Calls == MaxCalls)
      return;
    // What a function returns of a parameter is what this call passes.
    for (const ArrayPath &Path : returnedBy(*Callee, Calls + 1)) {
      auto *Parameter = dyn_cast<ParmVarDecl>(Path.Root);
      unsigned I = Parameter ? Parameter->getFunctionScopeIndex() : 0;
      I += Parameter && isa<CXXOperatorCallExpr>(Call) &&
           isa<CXXMethodDecl>(Callee);
      if (const Expr *Object = objectOf(Call); Object && isStorage(*Path.Root))
        from(Object, Rows + Path.Rows, Calls + 1);
      else if (auto *Local = dyn_cast<VarDecl>(Path.Root);
               !Local || Local->hasGlobalStorage())
        add({Path.Root, Rows + Path.Rows});
      else if (!Parameter)
        add({Callee, Rows});
      else if (I < Call.getNumArgs())
        from(Call.getArg(I), Rows + Path.Rows, Calls + 1);
    }
    if (Values.returnsOf(*Callee).empty())
      add({Callee, Rows});
  }

  const UnitValues &Values;
  ReturnedPaths &Known;
  std::set<std::tuple<const ValueDecl *, unsigned, bool>> Added;
};

} // namespace

SmallVector<ArrayPath, 2> pathsOf(const Expr *E, const UnitValues &Values) {
  ReturnedPaths Known;
  Walk Paths(Values, Known);
  Paths.from(E, 0);
  return std::move(Paths.Found);
}

std::string ArrayNames::of(const ArrayPath &Path) const {
  auto Base = [&]() -> std::string {
    if (auto *Parameter = dyn_cast<ParmVarDecl>(Path.Root))
      return "#" + std::to_string(Parameter->getFunctionScopeIndex());
    if (auto *Function = dyn_cast<FunctionDecl>(Path.Root)) {
      std::string Name = ProgramFacts::nameOf(*Function);
      return Name.empty() ? Name : Path.IsAddress ? "&" + Name : Name + "()";
    }
    auto *Variable = dyn_cast<VarDecl>(Path.Root);
    if (!Variable || Variable->hasGlobalStorage())
      return ProgramFacts::nameOf(*Path.Root);
    return Variable->getNameAsString() + "@" +
           ProgramFacts::placeOf(Variable->getLocation(), SM);
  };
  std::string Name = Base();
  for (unsigned I = 0; I < Path.Rows && !Name.empty(); ++I)
    Name += "[]";
  return Name;
}

std::string ArrayNames::of(const Expr &E) const {
  SmallVector<ArrayPath, 2> Paths = pathsOf(&E, Values);
  return Paths.empty() ? "" : of(Paths.front());
}

/// Returns true if a pointer or reference of type T may lead to a function or
/// an array of numbers or structures: most others are of texts.
static bool isOfArray(QualType T) {
  while (T->isPointerType() || T->isReferenceType() || T->isArrayType())
    T = T->isArrayType() ? QualType(T->getArrayElementTypeNoTypeQual(), 0)
                         : T->getPointeeType();
  return !T->isCharType() && !T->isVoidType();
}

llvm::DenseMap<const FunctionDecl *, llvm::json::Array>
ArrayNames::flows() const {
  llvm::DenseMap<const FunctionDecl *, llvm::json::Array> Found;
  llvm::DenseMap<const FunctionDecl *, llvm::StringSet<>> Known;
  auto Add = [&](const FunctionDecl *In, const std::string &To,
                 const std::string &From) {
    if (!To.empty() && !From.empty() && To != From &&
        Known[In].insert(To + " " + From).second)
      Found[In].push_back(llvm::json::Array{To, From});
  };
  for (const UnitValues::Flow &Flow : Values.flows()) {
    if (!isOfArray(Flow.From->getType()))
      continue;
    std::string To =
        Flow.To ? of(*Flow.To) : of({Flow.Variable, Flow.IsElement ? 1u : 0u});
    bool IsAddress = false;
    if (auto *Unary = dyn_cast<UnaryOperator>(stripped(Flow.From)))
      IsAddress = Unary->getOpcode() == UO_AddrOf &&
                  Unary->getSubExpr()->getType()->isPointerType();
    for (const ArrayPath &Path : pathsOf(Flow.From, Values)) {
      if (IsAddress) // What is stored through the address is in the pointer.
        Add(Flow.In, of(Path), To);
      else
        Add(Flow.In, To, of(Path));
    }
  }
  for (const FunctionDecl *F : Values.functions())
    if (QualType T = F->getReturnType();
        (T->isPointerType() || T->isReferenceType()) && isOfArray(T))
      for (const GivenValue *Value : Values.returnsOf(*F))
        for (const ArrayPath &Path : pathsOf(Value->At.E, Values))
          Add(F, of({F, 0}), of(Path));
  return Found;
}

} // namespace vfriendly::tidy
