//===- StackChain.cpp - Promoted memory along calls -----------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/heap-churn/StackChain.h"

#include "passes/analysis/heap/Allocation.h"

#include "llvm/ADT/GraphTraits.h"
#include "llvm/ADT/SCCIterator.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/CommandLine.h"

#include <algorithm>

using namespace llvm;

namespace {

/// A function in the graph of calls.
struct Called {
  const Function *F = nullptr;
  SmallVector<Called *, 4> Callees;
};

} // namespace

template <> struct llvm::GraphTraits<Called *> {
  using NodeRef = Called *;
  using ChildIteratorType = SmallVectorImpl<Called *>::iterator;
  static NodeRef getEntryNode(Called *N) { return N; }
  static ChildIteratorType child_begin(NodeRef N) { return N->Callees.begin(); }
  static ChildIteratorType child_end(NodeRef N) { return N->Callees.end(); }
};

/// The default is a quarter of a page: a frame that is smaller than a page
/// cannot skip the guard page below the stack, and stacks of fibers have at
/// least two pages.
static cl::opt<unsigned>
    LimitOption("vf-stack-limit", cl::init(1024), cl::value_desc("bytes"),
                cl::desc("Most bytes that vf-heap-churn moves from the heap to "
                         "the stack along a chain of calls"));

namespace vfriendly {

/// Maximum number of functions visited for one allocation. The total of the
/// module answers for most modules before.
static constexpr size_t MostVisited = 4096;

/// Returns the number of bytes that promotion has added to the frame of F: in
/// an earlier run of the pass, in F or in a function that has since been
/// inlined into F.
static uint64_t movedToFrame(const Function &F) {
  uint64_t Sum = 0;
  for (const Instruction &I : F.getEntryBlock())
    if (auto *Memory = dyn_cast<AllocaInst>(&I); Memory && isMarkedRewritten(I))
      Sum += Memory->getAllocationSize(F.getDataLayout())
                 .value_or(TypeSize::getZero())
                 .getKnownMinValue();
  return Sum;
}

StackChain::StackChain(Module &M) {
  DenseMap<const Function *, Called> Nodes;
  Called Root;
  for (const Function &F : M)
    if (!F.isDeclaration())
      Nodes[&F].F = &F;
  for (auto &[F, Node] : Nodes) {
    Root.Callees.push_back(&Node);
    for (const Instruction &I : instructions(*F)) {
      auto *Call = dyn_cast<CallBase>(&I);
      const Function *Callee = Call ? Call->getCalledFunction() : nullptr;
      if (Callee && !Callee->isDeclaration())
        Node.Callees.push_back(&Nodes.find(Callee)->second);
    }
  }
  for (auto Cycle = scc_begin(&Root); !Cycle.isAtEnd(); ++Cycle) {
    for (const Called *Each : *Cycle)
      GroupOf[Each->F] = Groups.size();
    Groups.emplace_back();
  }
  for (auto &[F, Node] : Nodes) {
    add(*F, movedToFrame(*F));
    unsigned From = GroupOf.lookup(F);
    for (const Called *Callee : Node.Callees)
      if (unsigned To = GroupOf.lookup(Callee->F); To != From) {
        Groups[From].Callees.push_back(To);
        Groups[To].Callers.push_back(From);
      }
  }
}

uint64_t StackChain::most(unsigned First, Numbers Group::*Next) const {
  DenseMap<unsigned, uint64_t> Known;
  struct Step {
    unsigned At;
    size_t Done = 0;
    uint64_t Most = 0;
  };
  SmallVector<Step, 16> Path{{First}};
  while (true) {
    Step &Top = Path.back();
    const Group &G = Groups[Top.At];
    if (Top.Done != (G.*Next).size()) {
      unsigned To = (G.*Next)[Top.Done];
      auto It = Known.find(To);
      if (It == Known.end()) {
        if (Known.size() + Path.size() > MostVisited)
          return UINT64_MAX;
        Path.push_back({To});
        continue;
      }
      ++Top.Done;
      Top.Most = std::max(Top.Most, It->second);
      continue;
    }
    if (Path.size() == 1)
      return Top.Most;
    Known[Top.At] = Top.Most + G.Bytes;
    Path.pop_back();
  }
}

bool StackChain::hasRoom(const Function &F, uint64_t Size) const {
  if (Total + Size <= LimitOption)
    return true;
  unsigned Here = GroupOf.lookup(&F);
  uint64_t Above = most(Here, &Group::Callers),
           Below = most(Here, &Group::Callees);
  return std::max(Above, Below) != UINT64_MAX &&
         Above + Groups[Here].Bytes + Size + Below <= LimitOption;
}

} // namespace vfriendly
