//===- WaitNeutral.cpp - What a call means to a waiting loop --------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/common/WaitNeutral.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/Stmt.h"
#include "clang/Basic/Builtins.h"
#include "clang/Basic/SourceManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"

using namespace clang;

namespace vfriendly::tidy {

static const llvm::StringMap<CallEffect> &neutralNames() {
  static const llvm::StringMap<CallEffect> Names = {
#define VF_NEUTRAL(NAME, WHAT) {#NAME, CallEffect::WHAT},
#include "passes/common/WaitNeutral.def"
#define VF_NEUTRAL_NAME(NAME, WHAT) {NAME, CallEffect::WHAT},
#include "checkers/common/NeutralNames.def"
  };
  return Names;
}

/// Returns true if Name is that of a try-lock function. Other libraries have
/// many such names, all of this form.
static bool isTryLockName(StringRef Name) {
  return Name.ends_with("_trylock") || llvm::StringSwitch<bool>(Name)
                                           .Case("trylock", true)
                                           .Case("try_lock", true)
                                           .Case("try_lock_shared", true)
                                           .Case("tryLock", true)
                                           .Case("TryLock", true)
                                           .Case("try_acquire", true)
                                           .Case("tryAcquire", true)
                                           .Case("TryAcquire", true)
                                           .Case("try_acquire_for", false)
                                           .Case("try_lock_for", false)
                                           .Default(false);
}

static bool isInNamespace(const Decl &D, StringRef Name) {
  for (const DeclContext *C = D.getDeclContext(); C; C = C->getParent())
    if (auto *Space = dyn_cast<NamespaceDecl>(C))
      if (Space->getName() == Name && Space->isInStdNamespace())
        return true;
  return false;
}

bool isOfStd(const Decl &D) {
  for (const DeclContext *C = D.getDeclContext(); C; C = C->getParent())
    if (C->isStdNamespace())
      return true;
  return false;
}

CallEffect classifyFunction(const FunctionDecl &Callee) {
  if (isa<CXXMethodDecl>(Callee) && cast<CXXMethodDecl>(Callee).isVirtual())
    return CallEffect::Other;
  if (!Callee.getIdentifier())
    return isInNamespace(Callee, "chrono") ? CallEffect::None
                                           : CallEffect::Other;

  StringRef Name = Callee.getName();
  const auto &Names = neutralNames();
  if (isa<TranslationUnitDecl>(Callee.getDeclContext()->getRedeclContext())) {
    // POSIX's pause blocks until a signal arrives; other functions of this name
    // are the spin hint.
    const SourceManager &SM = Callee.getASTContext().getSourceManager();
    if (Name == "pause")
      return SM.isInSystemHeader(Callee.getLocation()) ? CallEffect::Other
                                                       : CallEffect::Pause;
    if (auto Known = Names.find(Name); Known != Names.end())
      return Known->second;
  } else if (isOfStd(Callee) || Name == "yield" || Name == "sleep_for") {
    std::string Qualified;
    llvm::raw_string_ostream OS(Qualified);
    PrintingPolicy Policy(Callee.getASTContext().getLangOpts());
    Policy.SuppressInlineNamespace =
        llvm::to_underlying(PrintingPolicy::SuppressInlineNamespaceMode::All);
    Callee.printQualifiedName(OS, Policy);
    if (auto Known = Names.find(Qualified); Known != Names.end())
      return Known->second;
    if (isInNamespace(Callee, "chrono"))
      return CallEffect::None;
  }
  if (isTryLockName(Name))
    return CallEffect::TryLock;
  if (Callee.hasAttr<ConstAttr>())
    return CallEffect::None;
  if (unsigned ID = Callee.getBuiltinID())
    if (Callee.getASTContext().BuiltinInfo.isConst(ID))
      return CallEffect::None;
  return CallEffect::Other;
}

CallEffect classifyCall(const CallExpr &Call, const FunctionDecl &Callee) {
  CallEffect Effect = classifyFunction(Callee);
  if (Effect != CallEffect::Sleep || !Callee.getIdentifier())
    return Effect;
  bool IsSelect = Callee.getName() == "select";
  if (!IsSelect && Callee.getName() != "poll")
    return Effect;
  const Expr *Count =
      Call.getNumArgs() > 1 ? Call.getArg(IsSelect ? 0 : 1) : nullptr;
  Expr::EvalResult Value;
  if (!Count || Count->isValueDependent() ||
      !Count->EvaluateAsInt(Value, Callee.getASTContext()) ||
      Value.Val.getInt() != 0)
    return CallEffect::Other;
  return Effect;
}

/// Returns the mnemonics and prefixes of an assembly text, without their
/// operands.
static SmallVector<std::string, 4> mnemonics(StringRef Text) {
  SmallVector<std::string, 4> Words;
  SmallVector<StringRef, 8> Lines;
  Text.split(Lines, '\n');
  for (StringRef Line : Lines) {
    SmallVector<StringRef, 4> Statements;
    Line.split(Statements, ';');
    for (StringRef S : Statements) {
      for (S = S.trim(" \t"); !S.empty();) {
        StringRef Word =
            S.take_until([](char C) { return C == ' ' || C == '\t'; });
        S = S.drop_front(Word.size()).ltrim(" \t");
        if (Word.ends_with(":"))
          continue;
        Words.push_back(Word.lower());
        if (Words.back() != "rep" && Words.back() != "lock")
          break;
      }
    }
  }
  return Words;
}

AsmEffect classifyAsm(const GCCAsmStmt &Asm) {
  std::string Text = Asm.getAsmString();
  // %= and alternatives {att|intel} do not change mnemonics.
  SmallVector<std::string, 4> Words = mnemonics(Text);
  auto AllStartWith = [&](std::initializer_list<StringRef> Prefixes) {
    return all_of(Words, [&](StringRef W) {
      return any_of(Prefixes, [&](StringRef P) { return W.starts_with(P); });
    });
  };
  if (AllStartWith({"mfence", "lfence", "sfence", "dmb", "dsb", "fence"}))
    return AsmEffect::None; // The empty text too: a compiler barrier.
  if (AllStartWith({"pause", "rep", "nop", "yield", "isb", "wfe", "sevl"}))
    return AsmEffect::Pause;
  auto Any = [&](StringRef Prefix) {
    return any_of(Words, [&](StringRef W) { return W.starts_with(Prefix); });
  };
  if (Any("lock") && AllStartWith({"lock", "or", "and"}))
    return AsmEffect::Set;
  if ((Any("rd") || Any("mrs")) &&
      AllStartWith({"rdtsc", "lfence", "mfence", "rdtime", "isb", "mrs", "shl",
                    "sal", "or"}))
    return AsmEffect::Clock;
  if (Any("xadd") && AllStartWith({"lock", "xadd"}))
    return AsmEffect::Add;
  // A Valgrind client request: rotations of a register that cancel out.
  bool InMemory = StringRef(Text).contains('(');
  for (unsigned I = 0; I != Asm.getNumOutputs(); ++I)
    InMemory |= StringRef(Asm.getOutputConstraint(I)).contains('m');
  for (unsigned I = 0; I != Asm.getNumInputs(); ++I)
    InMemory |= StringRef(Asm.getInputConstraint(I)).contains('m');
  if (!InMemory && Any("rol") && AllStartWith({"rol", "xchg"}))
    return AsmEffect::None;
  bool Tries = Any("xchg") || Any("cmpxchg") || Any("bts");
  // Not xadd, inc, dec: each execution changes memory again.
  if (Tries && AllStartWith({"lock", "xchg", "cmpxchg", "bts", "set", "sbb",
                             "mov", "xor", "test"}))
    return AsmEffect::Try;
  if (Asm.getNumOutputs() > 0 && AllStartWith({"mov", "ldr", "lda", "ld"}))
    return AsmEffect::Load;
  return AsmEffect::Other;
}

} // namespace vfriendly::tidy
