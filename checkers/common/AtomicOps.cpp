//===- AtomicOps.cpp - Classification of atomic operations ----------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/common/AtomicOps.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/ExprCXX.h"
#include "llvm/ADT/StringSwitch.h"

using namespace clang;

namespace vfriendly::tidy {

static bool isStdAtomicRecord(const CXXRecordDecl *Record) {
  if (!Record || !Record->isInStdNamespace() || !Record->getIdentifier())
    return false;
  // The names with underscores are base classes in libstdc++ and libc++, which
  // declare the members of std::atomic, std::atomic_ref and std::atomic_flag.
  return llvm::StringSwitch<bool>(Record->getName())
      .Case("atomic", true)
      .Case("atomic_ref", true)
      .Case("atomic_flag", true)
      .Case("__atomic_base", true)
      .Case("__atomic_flag_base", true)
      .Case("__atomic_float", true)
      .Case("__atomic_ref", true)
      .Case("__atomic_ref_base", true)
      .Case("atomic_bool", true)
      .Default(false);
}

bool isAtomicType(QualType T) {
  T = T.getNonReferenceType().getCanonicalType();
  return T->isAtomicType() || isStdAtomicRecord(T->getAsCXXRecordDecl());
}

bool isAtomicRef(QualType T) {
  const CXXRecordDecl *Record =
      T.getNonReferenceType().getCanonicalType()->getAsCXXRecordDecl();
  return isStdAtomicRecord(Record) && Record->getName() == "atomic_ref";
}

static AtomicKind kindOf(StringRef Name) {
  Name.consume_back("_n");
  Name.consume_back("_explicit");
  if (Name.starts_with("load") || Name == "test")
    return AtomicKind::Load;
  if (Name.starts_with("store") || Name == "clear")
    return AtomicKind::Store;
  if (Name.starts_with("exchange") || Name.starts_with("test_and_set"))
    return AtomicKind::Exchange;
  if (Name.starts_with("compare_exchange"))
    return AtomicKind::CompareExchange;
  if (Name == "fetch_or" || Name == "fetch_and" || Name == "or_fetch" ||
      Name == "and_fetch")
    return AtomicKind::SetBits;
  if (Name.starts_with("fetch_") || Name.ends_with("_fetch"))
    return AtomicKind::Modify;
  return AtomicKind::Other;
}

static std::optional<AtomicOp> matchBuiltin(const AtomicExpr &E) {
  StringRef Name = E.getOpAsString();
  Name.consume_front("__");
  Name.consume_front("scoped_") || Name.consume_front("c11_");
  if (!Name.consume_front("atomic_"))
    return std::nullopt;

  AtomicOp Op;
  Op.Kind = kindOf(Name);
  Op.Object = E.getPtr();
  Op.ObjectIsPointer = true;
  // __atomic_load and __atomic_exchange write their result to memory that an
  // argument points to.
  bool Generic = !E.getOpAsString().starts_with("__c11");
  if (Generic && Name == "load")
    Op.Result = E.getVal1();
  if (Generic && Name == "exchange")
    Op.Result = E.getVal2();
  if (Op.Kind == AtomicKind::CompareExchange) {
    Op.Expected = E.getVal1();
    Op.ExpectedIsMemory = Op.ExpectedIsPointer = true;
    Op.Value = E.getVal2();
    return Op;
  }
  if (Op.Kind != AtomicKind::Load && Name != "test_and_set" &&
      Name != "clear" && E.getNumSubExprs() > 2)
    Op.Value = E.getVal1();
  return Op;
}

static std::optional<AtomicOp> matchSync(const CallExpr &Call, StringRef Name) {
  AtomicOp Op;
  if (!Name.consume_front("__sync_") || Call.getNumArgs() == 0)
    return std::nullopt;
  Op.Object = Call.getArg(0);
  Op.ObjectIsPointer = true;
  if (Name.starts_with("bool_compare_and_swap") ||
      Name.starts_with("val_compare_and_swap")) {
    Op.Kind = AtomicKind::CompareExchange;
    Op.Expected = Call.getArg(1);
    Op.Value = Call.getArg(2);
    return Op;
  }
  if (Name.starts_with("lock_release")) {
    Op.Kind = AtomicKind::Store;
    return Op;
  }
  if (Call.getNumArgs() < 2)
    return std::nullopt;
  Op.Value = Call.getArg(1);
  if (Name.starts_with("lock_test_and_set") || Name.starts_with("swap"))
    Op.Kind = AtomicKind::Exchange;
  else if (Name.starts_with("fetch_and_or") ||
           Name.starts_with("fetch_and_and") ||
           Name.starts_with("or_and_fetch") ||
           Name.starts_with("and_and_fetch"))
    Op.Kind = AtomicKind::SetBits;
  else
    Op.Kind = AtomicKind::Modify;
  return Op;
}

static void takeOperands(AtomicOp &Op, const CallExpr &Call, unsigned First) {
  if (Op.Kind == AtomicKind::Load || Op.Kind == AtomicKind::Other)
    return;
  if (Op.Kind == AtomicKind::CompareExchange &&
      Call.getNumArgs() >= First + 2) {
    Op.Expected = Call.getArg(First);
    Op.ExpectedIsMemory = true;
    Op.Value = Call.getArg(First + 1);
    return;
  }
  // An argument of enumeration type is a memory order, as of atomic_flag's
  // test_and_set and clear. Any other argument is the stored value.
  if (Call.getNumArgs() > First &&
      !Call.getArg(First)->getType()->isEnumeralType())
    Op.Value = Call.getArg(First);
}

static std::optional<AtomicOp> matchMember(const CXXMemberCallExpr &Call) {
  const CXXMethodDecl *Method = Call.getMethodDecl();
  if (!Method || !isStdAtomicRecord(Method->getParent()))
    return std::nullopt;
  AtomicOp Op;
  Op.IsStdMember = true;
  Op.Object = Call.getImplicitObjectArgument();
  Op.ObjectIsPointer = Op.Object->getType()->isPointerType();
  if (isa<CXXConversionDecl>(Method))
    Op.Kind = AtomicKind::Load;
  else if (Method->getIdentifier())
    Op.Kind = kindOf(Method->getName());
  takeOperands(Op, Call, 0);
  return Op;
}

static std::optional<AtomicOp> matchOperator(const CXXOperatorCallExpr &Call) {
  auto *Method = dyn_cast_or_null<CXXMethodDecl>(Call.getDirectCallee());
  if (!Method || !isStdAtomicRecord(Method->getParent()))
    return std::nullopt;
  AtomicOp Op;
  Op.IsStdMember = true;
  Op.Object = Call.getArg(0);
  switch (Call.getOperator()) {
  case OO_Equal:
    Op.Kind = AtomicKind::Store;
    Op.Value = Call.getArg(1);
    return Op;
  case OO_PipeEqual:
  case OO_AmpEqual:
    Op.Kind = AtomicKind::SetBits;
    Op.Value = Call.getArg(1);
    return Op;
  default:
    Op.Kind = AtomicKind::Modify;
    return Op;
  }
}

/// Matches std::atomic_load(&x) and similar functions.
static std::optional<AtomicOp> matchStdFunction(const CallExpr &Call,
                                                const FunctionDecl &Callee) {
  if (!Callee.isInStdNamespace() || Call.getNumArgs() == 0)
    return std::nullopt;
  StringRef Name = Callee.getName();
  if (!Name.consume_front("atomic_") || Name.ends_with("_fence"))
    return std::nullopt;
  Name.consume_front("flag_");
  AtomicOp Op;
  Op.Kind = kindOf(Name);
  Op.Object = Call.getArg(0);
  Op.ObjectIsPointer = true;
  takeOperands(Op, Call, 1);
  Op.ExpectedIsPointer = Op.ExpectedIsMemory;
  return Op;
}

std::optional<AtomicOp> matchAtomicCall(const Expr *E) {
  if (auto *Builtin = dyn_cast<AtomicExpr>(E))
    return matchBuiltin(*Builtin);
  auto *Call = cast<CallExpr>(E);
  if (auto *Member = dyn_cast<CXXMemberCallExpr>(Call))
    return matchMember(*Member);
  if (auto *Operator = dyn_cast<CXXOperatorCallExpr>(Call))
    return matchOperator(*Operator);
  const FunctionDecl *Callee = Call->getDirectCallee();
  if (!Callee || !Callee->getIdentifier())
    return std::nullopt;
  if (Callee->getName().starts_with("__sync_"))
    return matchSync(*Call, Callee->getName());
  // In clang's AST __atomic_test_and_set and __atomic_clear are calls, unlike
  // the other __atomic builtins.
  if (Callee->getBuiltinID() && Call->getNumArgs() > 0) {
    AtomicOp Op;
    Op.Object = Call->getArg(0);
    Op.ObjectIsPointer = true;
    if (Callee->getName() == "__atomic_test_and_set")
      Op.Kind = AtomicKind::Exchange;
    else if (Callee->getName() == "__atomic_clear")
      Op.Kind = AtomicKind::Store;
    else
      return std::nullopt;
    return Op;
  }
  return matchStdFunction(*Call, *Callee);
}

} // namespace vfriendly::tidy
