//===- LibraryFills.cpp - Arrays that library functions fill --------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/numa-placement/LibraryFills.h"

#include "checkers/common/Counting.h"
#include "checkers/common/SourceText.h"
#include "checkers/common/WaitNeutral.h"
#include "checkers/numa-placement/ElementAccess.h"
#include "checkers/numa-placement/UnitValues.h"
#include "checkers/numa-placement/ZeroFill.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"

using namespace clang;

namespace vfriendly::tidy {

const ValueDecl *wholeArray(const Expr *E) {
  E = stripped(E);
  // (*x)[i], where the caller gets the array by x.
  if (auto *Target = dyn_cast<UnaryOperator>(E);
      Target && Target->getOpcode() == UO_Deref)
    E = stripped(Target->getSubExpr());
  return isa<DeclRefExpr, MemberExpr>(E) ? rootOf(E) : nullptr;
}

/// Returns the array that From, the first argument of a function that fills
/// memory, is the begin of: a, &a[0], v.data() or v.begin(); null if none.
static const ValueDecl *beginOf(const Expr *From, const ASTContext &Context) {
  From = stripped(From);
  if (auto *Begin = dyn_cast<CXXMemberCallExpr>(From))
    return llvm::is_contained({"begin", "data"},
                              identifierOf(Begin->getMethodDecl()))
               ? wholeArray(Begin->getImplicitObjectArgument())
               : nullptr;
  if (auto *Address = dyn_cast<UnaryOperator>(From);
      Address && Address->getOpcode() == UO_AddrOf) {
    std::optional<ArrayElement> First =
        elementIn(stripped(Address->getSubExpr()));
    if (!First || constantOf(First->Index, Context) != 0)
      return nullptr;
    From = First->Base;
  }
  return wholeArray(From);
}

/// Returns true if the elements of a vector that are made from Value, a vector
/// themselves, are not empty.
static bool hasElements(const Expr *Value) {
  auto *Made = dyn_cast<CXXConstructExpr>(stripped(Value));
  return !Made || Made->getNumArgs();
}

static LibraryFill ofMethod(const CXXMemberCallExpr &Call, StringRef Name) {
  const Expr *Vector = Call.getImplicitObjectArgument();
  if (!isOfStdClass(Vector->getType(), {"vector"}))
    return {};
  if (Name == "push_back" || Name == "emplace_back")
    return {wholeArray(Vector), nullptr, 0, false, true};
  unsigned Arguments = Call.getNumArgs();
  bool IsSized = ((Name == "assign" && Arguments == 2) ||
                  (Name == "resize" && Arguments != 0)) &&
                 Call.getArg(0)->getType()->isIntegerType();
  if (!IsSized)
    return {};
  // A loop gives each vector of a vector its memory.
  if (std::optional<ArrayElement> Row = elementIn(stripped(Vector)))
    return {wholeArray(Row->Base), nullptr, 0, false, true, true};
  return {wholeArray(Vector),
          Call.getArg(0),
          0,
          false,
          false,
          Arguments == 2 && hasElements(Call.getArg(1))};
}

static LibraryFill ofOperator(const CXXOperatorCallExpr &Call,
                              const ASTContext &Context) {
  if (Call.getOperator() == OO_Equal && Call.getNumArgs() == 2) {
    const ValueDecl *Vector = wholeArray(Call.getArg(0));
    return Vector ? constructedFill(*Vector, Call.getArg(1), Context)
                  : LibraryFill();
  }
  // std::ranges::fill(v, x)
  auto *Ref = dyn_cast<DeclRefExpr>(stripped(Call.getArg(0)));
  return Call.getOperator() == OO_Call && Call.getNumArgs() == 3 && Ref &&
                 isOfStd(*Ref->getDecl()) &&
                 identifierOf(Ref->getDecl()) == "fill"
             ? LibraryFill{wholeArray(Call.getArg(1))}
             : LibraryFill();
}

LibraryFill libraryFill(const CallExpr &Call, const FunctionDecl &Callee,
                        const ASTContext &Context) {
  if (auto *Operator = dyn_cast<CXXOperatorCallExpr>(&Call))
    return ofOperator(*Operator, Context);
  StringRef Name = identifierOf(&Callee);
  if (Name.empty())
    return {};
  if (auto *Member = dyn_cast<CXXMemberCallExpr>(&Call))
    return ofMethod(*Member, Name);
  unsigned Arguments = Call.getNumArgs();
  auto Begin = [&](unsigned I) { return beginOf(Call.getArg(I), Context); };
  if ((Name == "memset" && Arguments == 3) ||
      (Name == "bzero" && Arguments == 2))
    return {Begin(0), Call.getArg(Arguments - 1), 1,
            Arguments == 2 || isZero(*Call.getArg(1), Context)};
  if ((Name == "memcpy" || Name == "memmove") && Arguments == 3)
    return {Begin(0), Call.getArg(2), 1};
  if (Name == "fread" && Arguments == 4)
    return {Begin(0)};
  if (!isOfStd(Callee) || Arguments != 3)
    return {};
  if (Name == "copy")
    return {Begin(2)};
  if (Name == "fill_n")
    return {Begin(0), Call.getArg(1)};
  if (Name == "fill" || Name == "iota")
    return {Begin(0)};
  return {};
}

LibraryFill constructedFill(const ValueDecl &Vector, const Expr *Init,
                            const ASTContext &Context) {
  if (auto *Full = dyn_cast_or_null<FullExpr>(Init))
    Init = Full->getSubExpr();
  // stripped() looks through the copy of an object.
  auto *Made = dyn_cast_or_null<CXXConstructExpr>(Init);
  if (Init && !Made)
    Made = dyn_cast<CXXConstructExpr>(stripped(Init));
  if (!Made || !Made->getNumArgs() || Made->isListInitialization() ||
      !isOfStdClass(Vector.getType(), {"vector"}) ||
      !isOfStdClass(Made->getType(), {"vector"}))
    return {};
  QualType First = Made->getArg(0)->getType();
  if (First->isIntegerType())
    return {&Vector,
            Made->getArg(0),
            0,
            false,
            false,
            Made->getNumArgs() > 1 && !Made->getArg(1)->isDefaultArgument() &&
                hasElements(Made->getArg(1))};
  if (Made->getConstructor()->isCopyConstructor() ||
      (Made->getNumArgs() > 1 &&
       Context.hasSameUnqualifiedType(First, Made->getArg(1)->getType())))
    return {&Vector, nullptr, 0, false, false, true};
  return {};
}

} // namespace vfriendly::tidy
