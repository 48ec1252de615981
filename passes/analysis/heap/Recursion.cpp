//===- Recursion.cpp - Functions that may call themselves -----------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/heap/Recursion.h"

#include "passes/analysis/heap/Escape.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/GraphTraits.h"
#include "llvm/ADT/SCCIterator.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace {

/// A node of the call graph: a function of the module, or all code outside of
/// it.
struct Node {
  const Function *F = nullptr;
  SmallVector<Node *, 4> Calls;
};

/// Returns true if code outside the module may call F.
bool isReachable(const Function &F) {
  // Assumes that code outside the module does not call main, although C allows
  // it.
  return F.getName() != "main" && (!F.hasLocalLinkage() || F.hasAddressTaken());
}

} // namespace

template <> struct llvm::GraphTraits<Node *> {
  using NodeRef = Node *;
  using ChildIteratorType = SmallVectorImpl<Node *>::iterator;
  static NodeRef getEntryNode(Node *N) { return N; }
  static ChildIteratorType child_begin(NodeRef N) { return N->Calls.begin(); }
  static ChildIteratorType child_end(NodeRef N) { return N->Calls.end(); }
};

namespace vfriendly {

static void addCycles(Node &Start, DenseSet<const Function *> &Found) {
  for (auto Group = scc_begin(&Start); !Group.isAtEnd(); ++Group)
    if (Group.hasCycle())
      for (const Node *Each : *Group)
        if (Each->F && !Each->F->doesNotRecurse())
          Found.insert(Each->F);
}

Recursion::Recursion(Module &M, GetTLI GetTLI) {
  DenseMap<const Function *, Node> Nodes;
  // Start has an edge to every node, so that one walk over the graph finds all
  // cycles.
  Node Start, Unknown;
  for (Function &F : M)
    if (!F.isDeclaration())
      Nodes[&F].F = &F;
  Start.Calls.push_back(&Unknown);
  for (Function &F : M) {
    if (F.isDeclaration())
      continue;
    Node &Caller = Nodes[&F];
    Start.Calls.push_back(&Caller);
    const TargetLibraryInfo &TLI = GetTLI(F);
    for (const Instruction &I : instructions(F)) {
      auto *Call = dyn_cast<CallBase>(&I);
      if (!Call || Call->isInlineAsm())
        continue;
      const Function *Callee = Call->getCalledFunction();
      if (Callee && !Callee->isDeclaration())
        Caller.Calls.push_back(&Nodes[Callee]);
      if (!Callee || Callee->isInterposable() ||
          (Callee->isDeclaration() && mayCallBack(*Call, TLI)))
        Caller.Calls.push_back(&Unknown);
    }
  }
  addCycles(Start, InSight);
  for (Node *Each : Start.Calls)
    if (Each->F && isReachable(*Each->F))
      Unknown.Calls.push_back(Each);
  addCycles(Start, Recursive);
}

} // namespace vfriendly
