//===- WaitNeutral.cpp - Effects of calls in waiting loops ----------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/common/WaitNeutral.h"

#include "checkers/common/ClangVersions.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/Stmt.h"
#include "clang/Basic/Builtins.h"
#include "clang/Basic/SourceManager.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"

using namespace clang;

namespace vfriendly::tidy {

static const llvm::StringMap<CallEffect> &neutralNames() {
  static const llvm::StringMap<CallEffect> Names = {
#define VF_NEUTRAL(NAME, WHAT) {#NAME, CallEffect::WHAT},
#define VF_NEUTRAL_NAME(NAME, WHAT) {NAME, CallEffect::WHAT},
#include "passes/analysis/common/WaitNeutral.def"
  };
  return Names;
}

/// Returns true if Name is a name for functions that try to lock. Programs and
/// libraries define many such functions; their names have the forms listed
/// here.
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
    // POSIX's pause blocks until a signal arrives; a function of this name that
    // a program declares is a spin hint.
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
    leaveOutInlineNamespaces(Policy);
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

CallEffect classifyAsm(const GCCAsmStmt &Asm) {
  AsmOperands Has;
  for (unsigned I = 0; I != Asm.getNumOutputs(); ++I)
    (StringRef(Asm.getOutputConstraint(I)).contains('m') ? Has.WritesMemory
                                                         : Has.HasResult) =
        true;
  Has.HasMemory = Has.WritesMemory;
  for (unsigned I = 0; I != Asm.getNumInputs(); ++I) {
    Has.HasMemory |= StringRef(Asm.getInputConstraint(I)).contains('m');
    Has.HasPointer |= Asm.getInputExpr(I)->getType()->isPointerType();
  }
  return effectOfAsm(textOfAsm(Asm), Has);
}

} // namespace vfriendly::tidy
