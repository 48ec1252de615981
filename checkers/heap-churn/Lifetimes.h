//===- Lifetimes.h - Objects that one function takes and another ends -----===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   producer: m = malloc(sizeof *m);  enqueue(q, m);
//   consumer: while ((m = dequeue(q))) { handle(m); free(m); }
//
// What is taken and what is ended is known by its type, `struct message`, or,
// for memory without a structure of the program, by the field that holds it,
// `message::text`. The facts that other units ask for (ProgramFacts.h):
//
//   {"ends": "message", "function": "consumer", "how": "used", "repeats": true}
//   {"ends": "item", "function": "items_free", "how": "listed"}
//   {"ends": "message::text", "function": "message_free", "how": "with",
//    "owner": "message"}
//
// An object that a function uses and then ends was taken for that use. One in a
// list or a field has lived there: for one item, if a function that is called
// again and again calls both the function that takes it and the one that ends
// it. A loop that only ends what a list holds does not repeat.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_HEAPCHURN_LIFETIMES_H
#define VFRIENDLY_CHECKERS_HEAPCHURN_LIFETIMES_H

#include "checkers/common/ProgramFacts.h"
#include "checkers/heap-churn/FunctionView.h"

#include <string>
#include <vector>

namespace vfriendly::tidy {

/// An object that a function takes.
struct TakenObject {
  const clang::Expr *Site;
  std::string Key;
  const clang::Stmt *Loop; ///< The loop that takes it; null if none does.
};

/// Records the objects that the function ends.
void tellEnds(FunctionView &View, ProgramFacts &Program);

/// Returns the objects that the function takes.
std::vector<TakenObject> takenObjects(FunctionView &View);

/// Returns true if Loop does nothing but end what a list holds.
bool isDrain(const clang::Stmt *Loop, const FunctionView &View);

/// Returns true if the name of F says that it ends what lived until then.
bool isTeardown(const clang::FunctionDecl &F);

} // namespace vfriendly::tidy

#endif
