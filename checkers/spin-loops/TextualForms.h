//===- TextualForms.h - Waits in code that has no IR ------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   if (std::optional<TextualWait> Wait = matchTextualWait(Shape)) ...
//
// Recognizes the forms of guidelines/spin-loops.md by their text alone: a loop
// whose condition polls and whose body is empty or only gives a spin hint. Used
// for templates that nothing instantiates and for units with errors, for which
// clang generates no IR.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_SPINLOOPS_TEXTUALFORMS_H
#define VFRIENDLY_CHECKERS_SPINLOOPS_TEXTUALFORMS_H

#include "checkers/spin-loops/LoopShape.h"

#include <optional>

namespace vfriendly::tidy {

struct TextualWait {
  /// The object that the loop's condition reads or tries to change.
  const clang::Expr *Polled = nullptr;
  bool Atomic = false, Tries = false, Pauses = false, Yields = false,
       Sleeps = false;
};

std::optional<TextualWait> matchTextualWait(const LoopShape &Shape,
                                            const clang::ASTContext &Context);

} // namespace vfriendly::tidy

#endif
