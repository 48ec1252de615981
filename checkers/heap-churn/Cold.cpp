//===- Cold.cpp - Code that runs too seldom to matter ---------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/heap-churn/Cold.h"

#include "checkers/common/SourceText.h"
#include "checkers/common/WaitNeutral.h"
#include "checkers/heap-churn/Induction.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace clang;

namespace vfriendly::tidy {

/// Maximum number of iterations of a loop that is ignored as cold, such as a
/// loop over a few file name endings or prepared statements.
static constexpr int64_t FewIterations = 16;

static bool isColdWord(StringRef Word) {
  static const llvm::StringSet<> Words{
      "init",     "initialize", "initialise", "deinit",  "uninit",  "setup",
      "config",   "configure",  "cfg",        "conf",    "startup", "bootstrap",
      "shutdown", "teardown",   "fini",       "usage",   "help",    "getopt",
      "options",  "opts",       "repair",     "cmdline", "argv",    "args",
      "selftest", "unittest"};
  return Words.contains(Word);
}

/// Returns true if a word of Name suggests that the function seldom runs. The
/// words of parse_args, parseArgs and ParseARGS are parse and args.
static bool hasColdWord(StringRef Name) {
  std::string Word;
  for (size_t I = 0; I <= Name.size(); ++I) {
    char C = I < Name.size() ? Name[I] : '_';
    bool Begins = isUppercase(C) && I > 0 && !isUppercase(Name[I - 1]);
    if (!isAlphanumeric(C) || Begins) {
      if (isColdWord(Word))
        return true;
      Word.clear();
    }
    if (isAlphanumeric(C))
      Word += llvm::toLower(C);
  }
  return false;
}

/// Returns true if F does not return, or ends with a call that does not: F
/// reports an error and exits.
static bool endsProgram(const FunctionDecl &F) {
  auto *Body = dyn_cast_or_null<CompoundStmt>(F.getBody());
  auto *Last = Body && !Body->body_empty()
                   ? dyn_cast<CallExpr>(Body->body_back())
                   : nullptr;
  const FunctionDecl *Callee = Last ? Last->getDirectCallee() : nullptr;
  return F.isNoReturn() || (Callee && Callee->isNoReturn());
}

bool isColdFunction(const FunctionDecl &F) {
  if (F.hasAttr<ColdAttr>() || F.hasAttr<ConstructorAttr>() ||
      F.hasAttr<DestructorAttr>())
    return true;
  return hasColdWord(identifierOf(&F)) || endsProgram(F);
}

/// Returns true if Type is char **.
static bool isWords(QualType Type) {
  QualType Word = Type->getPointeeType();
  QualType Character = Word.isNull() ? Word : Word->getPointeeType();
  return !Character.isNull() && Character->isAnyCharacterType();
}

/// Returns true for loops over the arguments of main: `while (argc-- > 1)`,
/// `while ((c = getopt(...)) != -1)`
static bool isOverArguments(const Stmt *Loop, const FunctionView &View) {
  auto Names = [&](auto &Self, const Stmt *S) -> bool {
    if (!S || S == loopBody(Loop))
      return false;
    if (auto *Ref = dyn_cast<DeclRefExpr>(S)) {
      StringRef Name = identifierOf(Ref->getDecl());
      return Name == "argc" || Name == "argv" || Name.starts_with("getopt") ||
             Name == "optind" ||
             (Name == "args" && isWords(Ref->getDecl()->getType()));
    }
    return llvm::any_of(S->children(),
                        [&](const Stmt *Child) { return Self(Self, Child); });
  };
  return Names(Names, Loop);
}

/// Returns true if S opens a file or starts a thread or a process: beside that,
/// a block of memory costs little.
static bool takesLong(const Stmt *S) {
  if (auto *Made = dyn_cast<CXXConstructExpr>(S)) {
    const CXXConstructorDecl *Constructor = Made->getConstructor();
    return isOfStd(*Constructor->getParent()) && Constructor->getNumParams() &&
           identifierOf(Constructor->getParent()).ends_with("fstream");
  }
  return isa<CallExpr>(S) &&
         llvm::is_contained({"fopen", "open", "opendir", "popen", "fork",
                             "system", "posix_spawn", "pthread_create",
                             "thrd_create"},
                            identifierOf(calleeOf(S)));
}

/// Returns true if each iteration of Loop itself takes long.
static bool takesLong(const Stmt *Loop, const FunctionView &View) {
  bool Long = false;
  forEachStmt(loopBody(Loop), [&](const Stmt *S, ArrayRef<const Stmt *>) {
    Long |= takesLong(S) && View.loopAround(*S) == Loop;
  });
  return Long;
}

/// Returns true if Loop and all loops around it iterate a few times only.
static bool isFew(const Stmt *Loop, const FunctionView &View) {
  bool Few = true;
  for (; Loop; Loop = View.loopAround(*Loop))
    Few &= iterationsOf(Loop, View.Context).value_or(FewIterations + 1) <=
           FewIterations;
  return Few;
}

bool isSeldom(const Stmt *Loop, const FunctionView &View) {
  if (isColdFunction(View.Function) || (Loop && takesLong(Loop, View)))
    return true;
  for (; Loop; Loop = View.loopAround(*Loop))
    if (isOverArguments(Loop, View))
      return true;
  return false;
}

bool isCold(const Stmt *Loop, const FunctionView &View) {
  return isSeldom(Loop, View) || isFew(Loop, View);
}

bool opensFile(const FunctionView &View) {
  bool Opens = false;
  forEachStmt(
      View.Function.getBody(),
      [&](const Stmt *S, ArrayRef<const Stmt *>) { Opens |= takesLong(S); });
  return Opens;
}

bool isLongCall(const FunctionView &View) {
  auto Reads = [](const Stmt *S) {
    return llvm::is_contained({"fread", "fgets", "fgetc", "getc", "getline",
                               "read", "pread", "readline", "fscanf"},
                              identifierOf(calleeOf(S)));
  };
  bool Found = opensFile(View);
  forEachStmt(View.Function.getBody(),
              [&](const Stmt *S, ArrayRef<const Stmt *>) {
                Found |= Reads(S) && View.loopAround(*S);
              });
  // while ((line = next_line(from)))
  for (const Stmt *Loop : View.loops())
    forEachStmt(loopCondition(Loop),
                [&](const Stmt *S, ArrayRef<const Stmt *>) {
                  auto *Assign = dyn_cast<BinaryOperator>(S);
                  Found |= Assign && Assign->getOpcode() == BO_Assign &&
                           isa<CallExpr>(Assign->getRHS()->IgnoreParenCasts());
                });
  return Found;
}

/// Returns true if each call of the callee returns the same constant.
static bool returnsConstant(const CallExpr &Call, const ASTContext &Context) {
  const FunctionDecl *Callee = Call.getDirectCallee();
  const Stmt *Body = Callee ? Callee->getBody() : nullptr;
  std::optional<int64_t> Returned;
  bool IsSame = Body != nullptr;
  forEachStmt(Body, [&](const Stmt *S, ArrayRef<const Stmt *>) {
    auto *Return = dyn_cast<ReturnStmt>(S);
    if (!Return)
      return;
    std::optional<int64_t> Value =
        Return->getRetValue() ? constantOf(Return->getRetValue(), Context)
                              : std::nullopt;
    IsSame &= Value && (!Returned || Returned == Value);
    Returned = Value;
  });
  return IsSame && Returned;
}

bool isRetry(const Stmt *Loop, const FunctionView &View) {
  const Expr *Condition = loopCondition(Loop);
  if (!Condition)
    return false;
  Condition = Condition->IgnoreParenImpCasts();
  if (auto *Not = dyn_cast<UnaryOperator>(Condition);
      Not && Not->getOpcode() == UO_LNot)
    Condition = Not->getSubExpr();
  const VarDecl *Flag = variableOf(Condition);
  std::optional<StmtSet> Writes = Flag ? View.writesOf(*Flag) : std::nullopt;
  if (!Writes)
    return false;
  // A loop that tries again sets it in each iteration, whatever happens, and
  // one that works until it is told to end does so under a condition.
  auto IsSure = [&](const Stmt *Write) {
    for (const Stmt *P = View.parent(Write); P != Loop; P = View.parent(P))
      if (!P || !(isa<CompoundStmt>(P) || isa<Expr>(P)))
        return false;
    return true;
  };
  bool Sets = false;
  for (const Stmt *Write : *Writes) {
    if (!View.isWithin(Write, Loop))
      continue;
    auto *Assign = dyn_cast<BinaryOperator>(Write);
    if (!Assign || Assign->getOpcode() != BO_Assign)
      return false;
    auto *Call = dyn_cast<CallExpr>(Assign->getRHS()->IgnoreParenImpCasts());
    if (!constantOf(Assign->getRHS(), View.Context) &&
        !(Call && returnsConstant(*Call, View.Context)))
      return false;
    Sets |= IsSure(Write);
  }
  return Sets;
}

} // namespace vfriendly::tidy
