//===- Predicates.cpp - Wait predicates and writes to them ----------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/blocking-sync/Predicates.h"

#include "checkers/common/SyncModel.h"

#include "clang/AST/ExprCXX.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/raw_ostream.h"

using namespace clang;

namespace vfriendly::tidy {

/// Returns the field or global variable that an expression without operands
/// names; null for locals and functions.
static const ValueDecl *sharedPlace(const Stmt *S) {
  if (auto *Member = dyn_cast<MemberExpr>(S))
    return dyn_cast<FieldDecl>(Member->getMemberDecl());
  if (auto *Ref = dyn_cast<DeclRefExpr>(S))
    if (auto *Variable = dyn_cast<VarDecl>(Ref->getDecl()))
      return Variable->hasGlobalStorage() ? Variable : nullptr;
  return nullptr;
}

SharedPlaces placesIn(const Expr *E) {
  SharedPlaces Found;
  forEachStmt(E, [&](const Stmt *S, ArrayRef<const Stmt *>) {
    if (const ValueDecl *Place = sharedPlace(S))
      Found.insert(Place);
  });
  return Found;
}

static void writeShape(const Stmt *S, raw_ostream &OS) {
  if (!S)
    return;
  if (auto *E = dyn_cast<Expr>(S))
    S = E->IgnoreParenImpCasts();
  OS << '(' << S->getStmtClass();
  if (auto *Binary = dyn_cast<BinaryOperator>(S))
    OS << ' ' << Binary->getOpcodeStr();
  else if (auto *Unary = dyn_cast<UnaryOperator>(S))
    OS << ' ' << Unary->getOpcode();
  else if (auto *Member = dyn_cast<MemberExpr>(S))
    OS << ' ' << static_cast<const void *>(Member->getMemberDecl());
  else if (auto *Number = dyn_cast<IntegerLiteral>(S))
    OS << ' ' << Number->getValue();
  else if (auto *Ref = dyn_cast<DeclRefExpr>(S)) {
    auto *Variable = dyn_cast<VarDecl>(Ref->getDecl());
    // The shape omits the names of parameters and local variables, because two
    // functions may name the same object differently.
    if (!Variable || Variable->hasGlobalStorage())
      OS << ' ' << static_cast<const void *>(Ref->getDecl());
  }
  for (const Stmt *Child : S->children())
    writeShape(Child, OS);
  OS << ')';
}

std::string predicateShape(const Expr *E) {
  std::string Text;
  llvm::raw_string_ostream OS(Text);
  writeShape(E, OS);
  return Text;
}

bool areCompared(const Expr *E, const ValueDecl *A, const ValueDecl *B) {
  bool Found = false;
  forEachStmt(E, [&](const Stmt *S, ArrayRef<const Stmt *>) {
    auto *Binary = dyn_cast<BinaryOperator>(S);
    if (!Binary || !Binary->isComparisonOp())
      return;
    SharedPlaces Places = placesIn(Binary);
    Found |= Places.contains(A) && Places.contains(B);
  });
  return Found;
}

static bool isOne(const Expr *E, const ASTContext &Context) {
  Expr::EvalResult Value;
  return !E->isValueDependent() && E->EvaluateAsInt(Value, Context) &&
         Value.Val.getInt() == 1;
}

/// Returns true if Right, the right side of an assignment to Place, advances
/// Place by a step: `i = (i + 1) % n` or `i = i + 1`.
static bool stepsItself(const Expr *Right, const ValueDecl *Place,
                        const ASTContext &Context) {
  Right = Right->IgnoreParenImpCasts();
  auto *Binary = dyn_cast<BinaryOperator>(Right);
  if (!Binary)
    return false;
  if (Binary->getOpcode() == BO_Rem)
    return stepsItself(Binary->getLHS(), Place, Context);
  return Binary->getOpcode() == BO_Add && objectOf(Binary->getLHS()) == Place &&
         isOne(Binary->getRHS(), Context);
}

/// Returns true for `if (i == n) i = 0` after a step.
static bool wrapsAround(const BinaryOperator &Assignment,
                        ArrayRef<const Stmt *> Parents, const ValueDecl *Place,
                        const ASTContext &Context) {
  Expr::EvalResult Value;
  if (Assignment.getRHS()->isValueDependent() ||
      !Assignment.getRHS()->EvaluateAsInt(Value, Context) ||
      Value.Val.getInt() != 0)
    return false;
  for (const Stmt *Parent : llvm::reverse(Parents))
    if (auto *If = dyn_cast<IfStmt>(Parent))
      return placesIn(If->getCond()).contains(Place);
  return false;
}

static std::optional<PlaceWrite::Kind>
byOperator(const Stmt *S, ArrayRef<const Stmt *> Parents,
           const ValueDecl *&Place, const ASTContext &Context) {
  if (auto *Unary = dyn_cast<UnaryOperator>(S);
      Unary && Unary->isIncrementDecrementOp()) {
    Place = objectOf(Unary->getSubExpr());
    return Unary->isIncrementOp() ? PlaceWrite::Add : PlaceWrite::Remove;
  }
  auto *Binary = dyn_cast<BinaryOperator>(S);
  if (!Binary || !Binary->isAssignmentOp() ||
      isa<ArraySubscriptExpr>(Binary->getLHS()->IgnoreParenImpCasts()))
    return std::nullopt;
  Place = objectOf(Binary->getLHS());
  if (!Place)
    return std::nullopt;
  if (Binary->getOpcode() == BO_AddAssign && isOne(Binary->getRHS(), Context))
    return PlaceWrite::Add;
  if (Binary->getOpcode() == BO_SubAssign && isOne(Binary->getRHS(), Context))
    return PlaceWrite::Remove;
  if (Binary->getOpcode() == BO_Assign) {
    if (stepsItself(Binary->getRHS(), Place, Context))
      return PlaceWrite::Add;
    if (wrapsAround(*Binary, Parents, Place, Context))
      return std::nullopt;
  }
  return PlaceWrite::Other;
}

static std::optional<PlaceWrite::Kind> byMethod(const CXXMemberCallExpr &Call,
                                                const ASTContext &Context) {
  const CXXMethodDecl *Method = Call.getMethodDecl();
  if (!Method || Method->isConst())
    return std::nullopt;
  StringRef Name =
      Method->getIdentifier() ? Method->getName() : StringRef("operator");
  // An atomic counter.
  if (Call.getNumArgs() > 0 && isOne(Call.getArg(0), Context)) {
    if (Name == "fetch_add")
      return PlaceWrite::Add;
    if (Name == "fetch_sub")
      return PlaceWrite::Remove;
  }
  return llvm::StringSwitch<std::optional<PlaceWrite::Kind>>(Name)
      .Case("push", PlaceWrite::Add)
      .Case("push_back", PlaceWrite::Add)
      .Case("push_front", PlaceWrite::Add)
      .Case("emplace", PlaceWrite::Add)
      .Case("emplace_back", PlaceWrite::Add)
      .Case("emplace_front", PlaceWrite::Add)
      .Case("pop", PlaceWrite::Remove)
      .Case("pop_back", PlaceWrite::Remove)
      .Case("pop_front", PlaceWrite::Remove)
      // Member functions that only read, although some return a reference that
      // could be written through.
      .Case("front", std::nullopt)
      .Case("back", std::nullopt)
      .Case("begin", std::nullopt)
      .Case("end", std::nullopt)
      .Case("size", std::nullopt)
      .Case("empty", std::nullopt)
      .Case("top", std::nullopt)
      .Case("at", std::nullopt)
      .Default(PlaceWrite::Other);
}

SmallVector<PlaceWrite, 4> writesTo(const SharedPlaces &Places,
                                    const Stmt *Body,
                                    const ASTContext &Context) {
  SmallVector<PlaceWrite, 4> Found;
  forEachStmt(Body, [&](const Stmt *S, ArrayRef<const Stmt *> Parents) {
    const ValueDecl *Place = nullptr;
    std::optional<PlaceWrite::Kind> How;
    if (auto *Call = dyn_cast<CXXMemberCallExpr>(S)) {
      Place = objectOf(Call->getImplicitObjectArgument());
      if (Place && Places.contains(Place))
        How = byMethod(*Call, Context);
    } else if (auto *Call = dyn_cast<CXXOperatorCallExpr>(S);
               Call &&
               (Call->isAssignmentOp() || Call->getOperator() == OO_PlusPlus ||
                Call->getOperator() == OO_MinusMinus)) {
      Place = objectOf(Call->getArg(0));
      How = Call->getOperator() == OO_PlusPlus     ? PlaceWrite::Add
            : Call->getOperator() == OO_MinusMinus ? PlaceWrite::Remove
                                                   : PlaceWrite::Other;
    } else {
      How = byOperator(S, Parents, Place, Context);
    }
    if (How && Place && Places.contains(Place))
      Found.push_back({*How, Place, S, {Parents.begin(), Parents.end()}});
  });
  return Found;
}

} // namespace vfriendly::tidy
