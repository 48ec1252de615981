//===- Regions.cpp - Code that several threads execute --------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/numa/Regions.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace vfriendly {

/// OpenMP's sched_type: kmp_sch_static, and the modifier bits above it.
static constexpr uint64_t StaticSchedule = 34, ScheduleModifiers = 3u << 29;

Function *calleeOf(const CallBase &Call) {
  return dyn_cast<Function>(
      Call.getCalledOperand()->stripPointerCastsAndAliases());
}

/// A function that starts threads: the index of its operand that is the thread
/// function, and of the first operand passed on.
struct ForkFunction {
  StringLiteral Name;
  unsigned Body, First;
};
static constexpr ForkFunction ForkFunctions[] = {{"__kmpc_fork_call", 2, 3},
                                                 {"__kmpc_fork_teams", 2, 3},
                                                 {"__kmpc_fork_call_if", 2, 4},
                                                 {"pthread_create", 2, 3}};

std::optional<Fork> forkOf(const CallBase &Call) {
  Function *Callee = calleeOf(Call);
  if (!Callee)
    return std::nullopt;
  const ForkFunction *Starts =
      find_if(ForkFunctions, [&](const ForkFunction &Each) {
        return Each.Name == Callee->getName();
      });
  if (Starts == std::end(ForkFunctions) || Call.arg_size() <= Starts->Body)
    return std::nullopt;
  auto *F = dyn_cast<Function>(
      Call.getArgOperand(Starts->Body)->stripPointerCastsAndAliases());
  if (!F || F->isDeclaration())
    return std::nullopt;
  // OpenMP passes two thread numbers first, so the captures of its parallel
  // regions start at parameter 2.
  return Fork{F, Starts->First,
              Callee->getName().starts_with("__kmpc") ? 2u : 0u};
}

Regions::Regions(Module &M, FunctionAnalysisManager &FAM) : FAM(FAM) {
  for (const ForkFunction &Each : ForkFunctions)
    if (Function *Starts = M.getFunction(Each.Name))
      for (User *Using : Starts->users())
        if (auto *Call = dyn_cast<CallBase>(Using); Call && forkOf(*Call))
          Forks.push_back(Call);
  if (Forks.empty())
    return;
  for (Function &F : M)
    for (Instruction &I : instructions(F))
      if (auto *Call = dyn_cast<CallBase>(&I)) {
        if (std::optional<Fork> Started = forkOf(*Call))
          Calls[Started->Body].push_back(Call);
        else if (Function *Callee = calleeOf(*Call);
                 Callee && !Callee->isDeclaration())
          Calls[Callee].push_back(Call);
      }
  for (const CallBase *Each : Forks)
    findParallel(*forkOf(*Each)->Body);
}

void Regions::findParallel(Function &Body) {
  SmallVector<Function *, 8> Worklist{&Body};
  while (!Worklist.empty()) {
    Function *F = Worklist.pop_back_val();
    if (!Parallel.insert(F).second)
      continue;
    for (Instruction &I : instructions(F))
      if (auto *Call = dyn_cast<CallBase>(&I))
        if (Function *Callee = calleeOf(*Call))
          if (!Callee->isDeclaration() && !isSingle(I))
            Worklist.push_back(Callee);
  }
}

ArrayRef<CallBase *> Regions::callsOf(const Function &F) const {
  auto Found = Calls.find(&F);
  return Found == Calls.end() ? ArrayRef<CallBase *>() : Found->second;
}

const Regions::Constructs &Regions::constructsOf(const Function &F) {
  auto [At, IsNew] = Known.try_emplace(&F);
  if (!IsNew)
    return At->second;
  for (const Instruction &I : instructions(F)) {
    auto *Call = dyn_cast<CallBase>(&I);
    const Function *Callee = Call ? calleeOf(*Call) : nullptr;
    if (!Callee)
      continue;
    StringRef Name = Callee->getName();
    if (Name == "__kmpc_single" || Name == "__kmpc_master" ||
        Name == "__kmpc_masked")
      At->second.Singles.push_back(Call);
    else if (Name.starts_with("__kmpc_for_static_init_"))
      At->second.Inits.push_back(Call);
    else if (Name == "__kmpc_for_static_fini")
      At->second.Ends.push_back(Call);
  }
  return At->second;
}

bool Regions::isSingle(const Instruction &I) {
  const Function &F = *I.getFunction();
  const Constructs &Here = constructsOf(F);
  if (Here.Singles.empty())
    return false;
  const auto &DT =
      FAM.getResult<DominatorTreeAnalysis>(const_cast<Function &>(F));
  for (const CallBase *Call : Here.Singles)
    for (const User *Each : Call->users()) {
      // __kmpc_single, __kmpc_master and __kmpc_masked return a nonzero value
      // in only one thread.
      auto *Compare = dyn_cast<ICmpInst>(Each);
      if (!Compare || !Compare->isEquality() ||
          !isa<ConstantInt>(Compare->getOperand(1)))
        continue;
      bool ComparesWithZero =
          cast<ConstantInt>(Compare->getOperand(1))->isZero();
      bool TakenIfTrue =
          (Compare->getPredicate() == CmpInst::ICMP_NE) == ComparesWithZero;
      for (const User *Using : Compare->users()) {
        auto *Branch = dyn_cast<BranchInst>(Using);
        if (!Branch)
          continue;
        BasicBlockEdge Edge(Branch->getParent(),
                            Branch->getSuccessor(TakenIfTrue ? 0 : 1));
        if (DT.dominates(Edge, I.getParent()))
          return true;
      }
    }
  return false;
}

Schedule Regions::scheduleOf(const Instruction &I) {
  const Function &F = *I.getFunction();
  const Constructs &Here = constructsOf(F);
  const auto &DT =
      FAM.getResult<DominatorTreeAnalysis>(const_cast<Function &>(F));
  // Finds the last worksharing loop that begins before I and does not end
  // before it.
  const CallBase *Nearest = nullptr;
  for (const CallBase *Init : Here.Inits)
    if (DT.dominates(Init, &I) && (!Nearest || DT.dominates(Nearest, Init)))
      Nearest = Init;
  if (!Nearest || any_of(Here.Ends, [&](const CallBase *End) {
        return DT.dominates(Nearest, End) && DT.dominates(End, &I);
      }))
    return Schedule::Other;
  auto *Kind = dyn_cast<ConstantInt>(Nearest->getArgOperand(2));
  bool IsStatic =
      Kind && (Kind->getLimitedValue() & ~ScheduleModifiers) == StaticSchedule;
  return IsStatic ? Schedule::Static : Schedule::Other;
}

} // namespace vfriendly
