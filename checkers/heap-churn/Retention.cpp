//===- Retention.cpp - Uses that may keep a pointer -----------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/heap-churn/Retention.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "llvm/ADT/StringSet.h"

using namespace clang;

namespace vfriendly::tidy {

/// Functions of the C library that keep no argument and always return.
static const llvm::StringSet<> &forgetful() {
  static const llvm::StringSet<> Names{
      "memcpy",  "memmove",    "memset",      "memcmp",  "memchr",  "strlen",
      "strnlen", "strcpy",     "strncpy",     "strcat",  "strncat", "strcmp",
      "strncmp", "strcasecmp", "strncasecmp", "strchr",  "strrchr", "strstr",
      "strspn",  "strcspn",    "strtol",      "strtoul", "strtoll", "strtoull",
      "strtod",  "atoi",       "atol",        "atof",    "printf",  "fprintf",
      "sprintf", "snprintf",   "vsnprintf",   "sscanf",  "fscanf",  "scanf",
      "puts",    "fputs",      "fgets",       "fread",   "fwrite",  "read",
      "write",   "pread",      "pwrite",      "recv",    "send",    "open",
      "fopen",   "stat",       "lstat",       "access",  "unlink",  "mkdir",
      "rmdir",   "rename",     "bzero",       "bcmp",    "bcopy",   "fclose",
      "close",   "putchar",    "toupper",     "tolower", "isalpha", "isdigit",
      "isspace", "abs",        "rand",        "malloc",  "calloc",  "free",
  };
  return Names;
}

static bool isForgetful(const FunctionDecl &F) {
  const DeclContext *Around = F.getDeclContext()->getRedeclContext();
  return F.getIdentifier() &&
         (Around->isTranslationUnit() || F.isExternC() ||
          Around->isStdNamespace()) &&
         (forgetful().contains(F.getName()) || F.getBuiltinID() != 0);
}

bool mayBeKept(const DeclRefExpr &Ref, const FunctionView &View) {
  const Stmt *Child = &Ref;
  for (const Stmt *P = View.parent(Child); P; Child = P, P = View.parent(P)) {
    if (isa<ParenExpr, ImplicitCastExpr, CStyleCastExpr>(P)) {
      auto *Cast = dyn_cast<CastExpr>(P);
      if (Cast && Cast->getCastKind() == CK_ToVoid)
        return false;
      if (Cast && !Cast->getType()->isAnyPointerType())
        return !Cast->getType()->isBooleanType();
      continue;
    }
    // A pointer that is the condition of a statement is only compared with
    // null.
    if (isa<IfStmt, WhileStmt, ForStmt, DoStmt>(P))
      return false;
    if (auto *Unary = dyn_cast<UnaryOperator>(P)) {
      if (Unary->getOpcode() == UO_LNot)
        return false;
      if (Unary->getOpcode() != UO_Deref)
        return true;
    } else if (auto *Subscript = dyn_cast<ArraySubscriptExpr>(P)) {
      if (Subscript->getBase() != Child)
        return true;
    } else if (auto *Member = dyn_cast<MemberExpr>(P)) {
      if (!Member->isArrow())
        return true;
    } else if (auto *Binary = dyn_cast<BinaryOperator>(P)) {
      if (Binary->isComparisonOp() || Binary->isLogicalOp())
        return false;
      return !(Binary->getOpcode() == BO_Assign && Binary->getLHS() == Child);
    } else if (auto *Call = dyn_cast<CallExpr>(P)) {
      const FunctionDecl *Callee = Call->getDirectCallee();
      if (!Callee || Call->getCallee() == Child)
        return true;
      if (std::optional<HeapCall> Does = View.Heap.match(Call);
          Does && Does->Op == HeapOp::Release)
        return false;
      if (!isForgetful(*Callee))
        return true;
      // The result of the call, such as that of strchr, may point into the
      // memory that was passed to the call.
      return Callee->getReturnType()->isPointerType() &&
             !isa<CompoundStmt>(View.parent(Call));
    } else {
      return true;
    }
    // *p, p[i], p->f: reads or writes through the pointer.
    const Stmt *Use = View.parent(P);
    while (Use && isa<ParenExpr>(Use))
      Use = View.parent(Use);
    if (auto *Cast = dyn_cast_or_null<ImplicitCastExpr>(Use))
      return Cast->getCastKind() != CK_LValueToRValue;
    if (auto *Assign = dyn_cast_or_null<BinaryOperator>(Use))
      return !Assign->isAssignmentOp();
    if (auto *Step = dyn_cast_or_null<UnaryOperator>(Use))
      return !Step->isIncrementDecrementOp();
    return !isa_and_nonnull<CompoundStmt>(Use);
  }
  return true;
}

bool callsUnknown(const Stmt *S) {
  if (isa<CXXConstructExpr, CXXOperatorCallExpr>(S))
    return true;
  if (auto *Call = dyn_cast<CallExpr>(S)) {
    const FunctionDecl *Callee = Call->getDirectCallee();
    if (!Callee || !isForgetful(*Callee))
      return true;
  }
  for (const Stmt *Child : S->children())
    if (Child && callsUnknown(Child))
      return true;
  return false;
}

/// Maximum call depth to which functions of the translation unit are examined.
static constexpr unsigned CallDepth = 3;

static bool mayNotReturn(const Stmt *S, unsigned Depth) {
  if (isa<CXXThrowExpr, CXXNewExpr, CXXConstructExpr, CXXTryStmt>(S))
    return true;
  if (auto *Call = dyn_cast<CallExpr>(S)) {
    const FunctionDecl *Callee = Call->getDirectCallee();
    if (!Callee || Callee->hasAttr<ReturnsTwiceAttr>())
      return true;
    auto *Type = Callee->getType()->getAs<FunctionProtoType>();
    bool Returns = isForgetful(*Callee) || Callee->hasAttr<NoThrowAttr>() ||
                   Callee->isNoReturn() || (Type && Type->isNothrow());
    if (!Returns && (!Depth || !Callee->hasBody() ||
                     (isa<CXXMethodDecl>(Callee) &&
                      cast<CXXMethodDecl>(Callee)->isVirtual()) ||
                     mayNotReturn(Callee->getBody(), Depth - 1)))
      return true;
  }
  return llvm::any_of(S->children(), [&](const Stmt *Child) {
    return Child && mayNotReturn(Child, Depth);
  });
}

bool mayNotReturn(const Stmt *S) { return mayNotReturn(S, CallDepth); }

} // namespace vfriendly::tidy
