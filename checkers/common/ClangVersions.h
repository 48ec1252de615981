//===- ClangVersions.h - Differences between Clang 19 and 22 ----*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Complements passes/common/LLVMVersions.h for code that includes clang's
// headers. Only these two files and passes/common/PassPlugin.h test LLVM's
// version; all other files are written for the newest one.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_COMMON_CLANGVERSIONS_H
#define VFRIENDLY_CHECKERS_COMMON_CLANGVERSIONS_H

#include "clang/AST/Expr.h"
#include "clang/AST/PrettyPrinter.h"
#include "clang/AST/Stmt.h"
#include "clang/Basic/Diagnostic.h"
#include "clang/Basic/DiagnosticIDs.h"
#include "clang/Basic/DiagnosticOptions.h"
#include "llvm/ADT/STLForwardCompat.h"
#include "llvm/Config/llvm-config.h"

namespace vfriendly::tidy {

#if LLVM_VERSION_MAJOR >= 21
inline std::string textOfAsm(const clang::GCCAsmStmt &Asm) {
  return Asm.getAsmString();
}

/// Makes Policy print names without their inline namespaces.
inline void leaveOutInlineNamespaces(clang::PrintingPolicy &Policy) {
  Policy.SuppressInlineNamespace = llvm::to_underlying(
      clang::PrintingPolicy::SuppressInlineNamespaceMode::All);
}

/// Diagnostics that nobody sees.
struct SilentDiagnostics {
  clang::DiagnosticOptions Options;
  clang::DiagnosticsEngine Engine{clang::DiagnosticIDs::create(), Options,
                                  new clang::IgnoringDiagConsumer};
};
#else
inline std::string textOfAsm(const clang::GCCAsmStmt &Asm) {
  return Asm.getAsmString()->getString().str();
}

/// Makes Policy print names without their inline namespaces, except those that
/// clang 19 keeps because the name would be ambiguous.
inline void leaveOutInlineNamespaces(clang::PrintingPolicy &Policy) {
  Policy.SuppressInlineNamespace = true;
}

struct SilentDiagnostics {
  clang::DiagnosticsEngine Engine{new clang::DiagnosticIDs,
                                  new clang::DiagnosticOptions,
                                  new clang::IgnoringDiagConsumer};
};
#endif

} // namespace vfriendly::tidy

#endif
