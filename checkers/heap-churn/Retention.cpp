//===- Retention.cpp - Uses that may keep a pointer -----------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/heap-churn/Retention.h"

#include "checkers/common/SourceText.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/Basic/Builtins.h"
#include "llvm/ADT/StringSet.h"

using namespace clang;

namespace vfriendly::tidy {

/// Functions of the C library that always return and keep no argument, except
/// for strtol and its siblings (keepsArgument).
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

static bool isOfLibrary(const FunctionDecl &F) {
  const DeclContext *Around = F.getDeclContext()->getRedeclContext();
  return F.getIdentifier() && (Around->isTranslationUnit() || F.isExternC() ||
                               Around->isStdNamespace());
}

/// Returns true if F ends the process. Other functions that do not return may
/// throw, jump or end the thread.
static bool endsProcess(const FunctionDecl &F) {
  static const llvm::StringSet<> Names{
      "exit",          "_exit",     "_Exit",         "quick_exit",
      "abort",         "terminate", "__assert_fail", "err",
      "errx",          "verr",      "verrx",         "__builtin_unreachable",
      "__builtin_trap"};
  return Names.contains(identifierOf(&F)) &&
         (isOfLibrary(F) || F.getBuiltinID() != 0);
}

/// Returns true if F always returns and has no effects but on what its
/// arguments point to. Of clang's builtins this excludes those that jump, such
/// as longjmp, and those that call a function that they are passed, such as
/// pthread_create.
static bool isForgetful(const FunctionDecl &F) {
  if (isOfLibrary(F) && forgetful().contains(F.getName()))
    return true;
  llvm::SmallVector<int, 4> Callback;
  unsigned ID = F.getBuiltinID();
  return ID != 0 && !F.isNoReturn() && !F.hasAttr<ReturnsTwiceAttr>() &&
         !F.getASTContext().BuiltinInfo.performsCallback(ID, Callback);
}

/// Returns true if Call may keep a pointer that it is passed, other than in its
/// result.
static bool keepsArgument(const CallExpr &Call, const FunctionDecl &Callee) {
  if (!isForgetful(Callee))
    return true;
  // Builtins with types of their own may store their argument, as
  // __sync_lock_test_and_set does. Those of namespace std, such as std::move,
  // return a reference to it.
  const Builtin::Context &Builtins = Callee.getASTContext().BuiltinInfo;
  if (unsigned ID = Callee.getBuiltinID();
      ID != 0 &&
      (Builtins.hasCustomTypechecking(ID) || Builtins.isInStdNamespace(ID)))
    return true;
  // strtok keeps a pointer for its next call, and strtol stores one where its
  // second argument points to.
  StringRef Name = isOfLibrary(Callee) ? Callee.getName() : "";
  return Name == "strtok" ||
         (Name.starts_with("strto") && Call.getNumArgs() > 1 &&
          !Call.getArg(1)->isNullPointerConstant(
              Callee.getASTContext(), Expr::NPC_ValueDependentIsNotNull));
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
      if (keepsArgument(*Call, *Callee))
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
    if (!Callee || !(isForgetful(*Callee) || endsProcess(*Callee)))
      return true;
  }
  for (const Stmt *Child : S->children())
    if (Child && callsUnknown(Child))
      return true;
  return false;
}

/// Maximum call depth to which functions of the translation unit are examined.
static constexpr unsigned CallDepth = 3;

/// Returns true if F returns or ends the process as its declaration tells.
static bool comesBack(const FunctionDecl &F) {
  if (F.isNoReturn())
    return endsProcess(F);
  auto *Type = F.getType()->getAs<FunctionProtoType>();
  return isForgetful(F) || F.hasAttr<NoThrowAttr>() ||
         (Type && Type->isNothrow());
}

static bool mayNotReturn(const Stmt *S, unsigned Depth) {
  if (isa<CXXThrowExpr, CXXNewExpr, CXXConstructExpr, CXXTryStmt>(S))
    return true;
  if (auto *Call = dyn_cast<CallExpr>(S)) {
    const FunctionDecl *Callee = Call->getDirectCallee();
    if (!Callee || Callee->hasAttr<ReturnsTwiceAttr>())
      return true;
    auto *Method = dyn_cast<CXXMethodDecl>(Callee);
    if (!comesBack(*Callee) &&
        (!Depth || !Callee->hasBody() || (Method && Method->isVirtual()) ||
         mayNotReturn(Callee->getBody(), Depth - 1)))
      return true;
  }
  return llvm::any_of(S->children(), [&](const Stmt *Child) {
    return Child && mayNotReturn(Child, Depth);
  });
}

bool mayNotReturn(const Stmt *S) { return mayNotReturn(S, CallDepth); }

} // namespace vfriendly::tidy
