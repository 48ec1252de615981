//===- Judgement.cpp - Decision how an object is placed -------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// To find the first writer, walks the program from its entry, through blocks in
// their order in the function and into calls. If two branches exclude each
// other, the first in this order counts. A wrong answer may cost performance,
// but never changes the program's meaning.
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/numa/Judgement.h"

#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace vfriendly {

namespace {

class FirstWrite {
public:
  FirstWrite(const Object &Of, Regions &Threads) : Of(Of), Threads(Threads) {}

  /// Finds the first bulk write to the object Of in F and its callees, and sets
  /// At and IsParallel. Returns false if there is no such write. IsPassed is
  /// true if a parameter of F may lead to the object.
  bool find(Function &F, bool InParallel, bool IsPassed);

  const Instruction *At = nullptr;
  bool IsParallel = false;

private:
  bool findIn(Instruction &I, bool InParallel, bool IsPassed);

  const Object &Of;
  Regions &Threads;
  /// Functions that the search has entered and not yet left, and functions that
  /// contain no write.
  std::set<std::tuple<Function *, bool, bool>> Seen;
};

} // namespace

bool FirstWrite::find(Function &F, bool InParallel, bool IsPassed) {
  if (!Seen.emplace(&F, InParallel, IsPassed).second)
    return false;
  ReversePostOrderTraversal<Function *> Order(&F);
  for (BasicBlock *Block : Order)
    for (Instruction &I : *Block)
      if (findIn(I, InParallel, IsPassed))
        return true;
  return false;
}

bool FirstWrite::findIn(Instruction &I, bool InParallel, bool IsPassed) {
  if (auto Found = Of.Accesses.find(&I); Found != Of.Accesses.end()) {
    if (!Found->second.Writes || !Found->second.IsBulk ||
        (!IsPassed && isThroughParameter(I)))
      return false;
    At = &I;
    IsParallel = InParallel && !Threads.isSingle(I);
    return true;
  }
  auto *Call = dyn_cast<CallBase>(&I);
  if (!Call)
    return false;
  if (std::optional<Fork> Started = forkOf(*Call))
    return find(*Started->Body, true, Of.isPassedBy(*Call, IsPassed));
  Function *Callee = calleeOf(*Call);
  return Callee && !Callee->isDeclaration() &&
         find(*Callee, InParallel && !Threads.isSingle(I),
              Of.isPassedBy(*Call, IsPassed));
}

/// Returns the functions where execution begins: the static constructors, then
/// main or, without main, all functions that other files may call.
static SmallVector<Function *, 4> rootsOf(Module &M, const Regions &Threads) {
  SmallVector<Function *, 4> Roots;
  if (auto *List = M.getGlobalVariable("llvm.global_ctors"))
    if (auto *Entries = List->hasInitializer()
                            ? dyn_cast<ConstantArray>(List->getInitializer())
                            : nullptr)
      for (const Use &U : Entries->operands())
        if (auto *F = dyn_cast<Function>(
                cast<Constant>(U)->getAggregateElement(1)->stripPointerCasts()))
          if (!F->isDeclaration())
            Roots.push_back(F);
  for (StringRef Name : {"main", "_QQmain"})
    if (Function *F = M.getFunction(Name); F && !F->isDeclaration()) {
      Roots.push_back(F);
      return Roots;
    }
  for (Function &F : M)
    if (!F.isDeclaration() && !F.hasLocalLinkage() && !Threads.isParallel(F))
      Roots.push_back(&F);
  return Roots;
}

/// Returns true if I may access the object Of when the threads of a parallel
/// region execute I.
static bool isParallelUse(const Instruction &I, const Object &Of,
                          Regions &Threads) {
  const Function &F = *I.getFunction();
  if (!Threads.isParallel(F) || Threads.isSingle(I))
    return false;
  if (!isThroughParameter(I))
    return true;
  return any_of(Threads.callsOf(F), [&](const CallBase *Call) {
    bool FromRegion =
        forkOf(*Call) ||
        (Threads.isParallel(*Call->getFunction()) && !Threads.isSingle(*Call));
    return FromRegion && Of.isPassedBy(*Call, /*IsPassed=*/true);
  });
}

/// Finds out how parallel regions use the object, and sets Use and InBlocks.
/// Returns false if no region accesses the object in bulk.
static bool findUses(const Object &Of, Regions &Threads, Judgement &Result) {
  Result.InBlocks = true;
  for (const auto &[I, How] : Of.Accesses) {
    if (!How.IsBulk || !isParallelUse(*I, Of, Threads))
      continue;
    if (!Result.Use)
      Result.Use = I;
    Result.InBlocks &=
        !How.IsIndirect && Threads.scheduleOf(*I) == Schedule::Static;
  }
  return Result.Use != nullptr;
}

Judgement judge(const Object &Of, Regions &Threads) {
  Judgement Result;
  if (!findUses(Of, Threads, Result))
    return Result;
  Module &M = const_cast<Module &>(*Result.Use->getModule());
  FirstWrite First(Of, Threads);
  for (Function *Root : rootsOf(M, Threads))
    if (First.find(*Root, false, true))
      break;
  Result.FirstWrite = First.At;
  if (Of.IsLost)
    Result.Is = Verdict::Lost;
  else if (Of.HoldsPointers)
    Result.Is = Verdict::Table;
  else if (!First.At)
    Result.Is = Verdict::NeverWritten;
  else
    Result.Is =
        First.IsParallel ? Verdict::ParallelFirst : Verdict::SerialFirst;
  return Result;
}

} // namespace vfriendly
