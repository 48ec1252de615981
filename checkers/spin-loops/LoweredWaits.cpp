//===- LoweredWaits.cpp - Waits found in LLVM IR --------------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/spin-loops/LoweredWaits.h"

#include "checkers/common/PerUnit.h"
#include "checkers/common/SourceText.h"
#include "checkers/common/WaitNeutral.h"
#include "passes/analysis/common/KeepMarks.h"
#include "passes/analysis/common/WaitNeutral.h"
#include "passes/analysis/waits/BoundedSpin.h"
#include "passes/analysis/waits/Devices.h"
#include "passes/analysis/waits/SpinLoops.h"
#include "passes/prepare/Expose.h"
#include "passes/prepare/SplitPolls.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"
#include "clang/Basic/SourceManager.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

#include <algorithm>
#include <tuple>

using namespace clang;

namespace vfriendly::tidy {

LoweredWaits::LoweredWaits() : Unit(perUnit<LoweredUnit>()) {
  Unit->add(LoweredUnit::AsWritten, *this);
}

static bool mapsOrOpens(const FunctionDecl &F) {
  return F.getIdentifier() && !F.isCXXClassMember() &&
         placesOf(F.getName()) != FindsPlace::Nothing;
}

/// Adds the functions that show whether variables point into mappings of
/// devices (Devices.h): those that map memory or open files, and their callers.
void LoweredWaits::addMappings(const ASTContext &Context,
                               ArrayRef<const FunctionDecl *> Definitions) {
  if (Roots.empty() || !mentions(Context, {"mmap", "mmap64"}))
    return;
  std::shared_ptr<FunctionBodies> Bodies = perUnit<FunctionBodies>();
  llvm::SmallPtrSet<const Decl *, 8> Added, Callers;
  for (auto *Level : {&Added, &Callers})
    for (const FunctionDecl *F : Definitions)
      if (!Added.contains(F->getCanonicalDecl()) &&
          llvm::any_of(Bodies->of(*F).Uses, [&](const FunctionBody::Use &Each) {
            return mapsOrOpens(*Each.Function) ||
                   (Level == &Callers &&
                    Added.contains(Each.Function->getCanonicalDecl()));
          })) {
        Level->insert(F->getCanonicalDecl());
        Beside.push_back(F);
      }
}

static void addEffect(llvm::Function &F, CallEffect Effect) {
  F.addFnAttr(SourceAttribute, std::to_string(static_cast<unsigned>(Effect)));
}

/// Says in an attribute of F which effect its name has in the source. Bodies
/// tell more than names, so functions that will be inlined are told only if
/// they give a hint or read a clock.
void LoweredWaits::tellEffect(llvm::Function &F, const FunctionDecl &D) {
  CallEffect Effect = classifyFunction(D);
  if (Effect == CallEffect::Other ||
      effectOfLibraryFunction(F.getName()) != CallEffect::Other)
    return;
  if (F.isDeclaration() || isHint(Effect) || Effect == CallEffect::Clock)
    addEffect(F, Effect);
  else if (Effect == CallEffect::TryLock && isOfStd(D))
    addEffect(F, Effect);
  else if (Effect == CallEffect::TryLock)
    Tries.push_back(&F);
}

bool isAt(SourceLocation At, const LoweredPlace &Place,
          const SourceManager &SM) {
  PresumedLoc There = SM.getPresumedLoc(At);
  return There.isValid() && There.getLine() == Place.Line &&
         There.getColumn() == Place.Column && There.getFilename() == Place.File;
}

static LoweredPlace innermostPlace(const llvm::DILocation &At) {
  return {At.getFilename().str(), At.getLine(), At.getColumn()};
}

/// Adds the calls by pointers in S that name the pointer.
static void collectNamedCalls(
    const Stmt *S,
    SmallVectorImpl<std::pair<const CallExpr *, StringRef>> &Found) {
  if (!S || isa<LambdaExpr>(S))
    return;
  if (auto *Call = dyn_cast<CallExpr>(S); Call && !Call->getDirectCallee())
    if (auto *Named = dyn_cast_or_null<NamedDecl>(Call->getCalleeDecl());
        Named && Named->getIdentifier())
      Found.push_back({Call, Named->getName()});
  for (const Stmt *Child : S->children())
    collectNamedCalls(Child, Found);
}

/// Says in attributes of calls by pointers how the source names the pointers.
void LoweredWaits::tellNames(llvm::Function &F, const FunctionDecl &D) {
  SmallVector<std::pair<const CallExpr *, StringRef>, 8> Named;
  collectNamedCalls(D.getBody(), Named);
  if (Named.empty())
    return;
  const SourceManager &SM = D.getASTContext().getSourceManager();
  for (llvm::BasicBlock &B : F)
    for (llvm::Instruction &I : B)
      if (auto *Call = dyn_cast<llvm::CallBase>(&I);
          Call && Call->isIndirectCall() && Call->getDebugLoc()) {
        LoweredPlace Place = innermostPlace(*Call->getDebugLoc());
        for (auto [E, Name] : Named)
          if (isAt(SM.getFileLoc(E->getExprLoc()), Place, SM))
            Call->addFnAttr(llvm::Attribute::get(F.getContext(),
                                                 CalledNameAttribute, Name));
      }
}

void LoweredWaits::tell(const LoweredFunctions &Functions) {
  for (llvm::Function &F : Functions.M)
    if (const FunctionDecl *D = Functions.DeclOf(F)) {
      tellEffect(F, *D);
      if (Functions.RootOf(F))
        tellNames(F, *D);
    }
}

static void addChain(const llvm::DILocation *At,
                     SmallVectorImpl<LoweredPlace> &Chain) {
  for (; At && At->getLine(); At = At->getInlinedAt())
    Chain.insert(Chain.begin(), innermostPlace(*At));
}

/// Returns where the statement of the loop with this ID begins; null if it is
/// not known.
static const llvm::DILocation *startOf(const llvm::MDNode *ID) {
  if (ID)
    for (const llvm::MDOperand &Each : ID->operands())
      if (auto *Start = dyn_cast_or_null<llvm::DILocation>(Each.get()))
        return Start;
  return nullptr;
}

static const llvm::DILocation *startOf(const llvm::BasicBlock &Latch) {
  return startOf(
      Latch.getTerminator()->getMetadata(llvm::LLVMContext::MD_loop));
}

/// Returns true if splitPolls has split L from the loop around it, which then
/// begins at the same place, as far as places are known.
static bool isSplit(const llvm::Loop &L) {
  const llvm::Loop *Outer = L.getParentLoop();
  if (!Outer || !(isMarked(*Outer, DecidedMark) || isMarked(*Outer, DoubtMark)))
    return false;
  SmallVector<llvm::BasicBlock *, 4> Inside, Around;
  L.getLoopLatches(Inside);
  Outer->getLoopLatches(Around);
  const llvm::DILocation *Start = startOf(*Inside.front()),
                         *Outside = startOf(*Around.front());
  return !Start || !Outside || Start == Outside;
}

/// Returns the last place of B that is known; null if there is none. A branch
/// that simplification has made, such as the way back of a `continue` that
/// leaves a scope with variables, has none.
static const llvm::DILocation *lastPlace(const llvm::BasicBlock &B) {
  for (const llvm::Instruction &I : llvm::reverse(B))
    if (const llvm::DILocation *At = I.getDebugLoc().get())
      return At;
  return nullptr;
}

/// Adds the beginnings of the loop statements of which L consists. Returns
/// false if L was inlined: it is judged in its own function.
static bool addStarts(const llvm::Loop &L,
                      SmallVectorImpl<LoweredPlace> &Starts) {
  SmallVector<llvm::BasicBlock *, 4> Latches;
  L.getLoopLatches(Latches);
  bool IsOwn = false;
  // No latch has a place if the ways of several `continue`s were separated.
  bool IsKnown = llvm::any_of(
      Latches, [](const llvm::BasicBlock *B) { return lastPlace(*B); });
  for (const llvm::BasicBlock *Latch : Latches) {
    const llvm::DILocation *Start =
        IsKnown ? startOf(*Latch) : startOf(loopIDOf(L));
    const llvm::DILocation *At = Start ? Start : lastPlace(*Latch);
    if (!At || At->getInlinedAt())
      continue;
    IsOwn = true;
    if (Start)
      Starts.push_back(innermostPlace(*Start));
  }
  return IsOwn;
}

static bool readsClock(const llvm::Loop &L) {
  for (const llvm::BasicBlock *B : L.blocks())
    for (const llvm::Instruction &I : *B)
      if (auto *Call = dyn_cast<llvm::CallBase>(&I))
        if (vfriendly::classifyCall(*Call).Effect == CallEffect::Clock ||
            promisedEffect(*Call) == CallEffect::Clock)
          return true;
  return false;
}

/// Returns true for an atomic addition of 0, which is a read.
static bool addsNothing(const llvm::Instruction &Access) {
  auto *RMW = dyn_cast<llvm::AtomicRMWInst>(&Access);
  auto *Amount =
      RMW ? dyn_cast<llvm::ConstantInt>(RMW->getValOperand()) : nullptr;
  return Amount && Amount->isZero() &&
         (RMW->getOperation() == llvm::AtomicRMWInst::Add ||
          RMW->getOperation() == llvm::AtomicRMWInst::Sub ||
          RMW->getOperation() == llvm::AtomicRMWInst::Or);
}

/// Returns the most iterations that the counters of L allow; 0 if unknown.
static uint64_t maxIterations(const llvm::Loop &L, llvm::ScalarEvolution &SE) {
  SmallVector<llvm::BasicBlock *, 4> Exiting;
  L.getExitingBlocks(Exiting);
  uint64_t Most = UINT64_MAX;
  for (llvm::BasicBlock *B : Exiting) {
    const llvm::SCEV *Before = SE.getExitCount(&L, B);
    // `i < 1000 && !plain` may be one branch. The most is known then, which of
    // a bound that is no constant is the largest number of its type.
    if (isa<llvm::SCEVCouldNotCompute>(Before))
      Before = SE.getExitCount(&L, B, llvm::ScalarEvolution::ConstantMaximum);
    auto *Number = dyn_cast<llvm::SCEVConstant>(Before);
    if (Number && Number->getAPInt().getLimitedValue() < INT32_MAX)
      Most = std::min(Most, Number->getAPInt().getLimitedValue() +
                                (B == L.getLoopLatch()));
  }
  return Most == UINT64_MAX ? 0 : Most;
}

/// Returns the reason why a fix may not skip iterations of S, which counts.
static StringRef whyNotSkip(const SpinLoop &S, llvm::ScalarEvolution &SE,
                            const llvm::LoopInfo &LI,
                            const llvm::DominatorTree &DT) {
  if (S.Gated)
    return "it polls in some of its iterations only";
  BoundedWait May = planBoundedWait(S, SE, LI, DT);
  if (May.Plan)
    return !May.Plan->Reads.empty() ? "an iteration polls several words"
           : May.Plan->isSmall()
               ? "its bound is reached in less time than a context switch takes"
               : "";
  May.Why.consume_front("it is bounded, and ");
  return May.Why;
}

void LoweredWaits::add(const FunctionDecl &In, const SpinLoop &S,
                       llvm::ScalarEvolution &SE, const llvm::LoopInfo &LI,
                       const llvm::DominatorTree &DT) {
  // The loop around a split wait is reported by the inner loop.
  if (isMarked(*S.L, DecidedMark) ||
      (isMarked(*S.L, DoubtMark) && !S.Doubt.empty()))
    return;
  LoweredWait Wait;
  Wait.In = &In;
  if (!addStarts(*S.L, Wait.Loops))
    return;
  Wait.IsSplit = isSplit(*S.L);
  Wait.Kind = S.Kind;
  Wait.ReadsClock = S.Bounded && readsClock(*S.L);
  Wait.Counts = S.Bounded && (!Wait.ReadsClock || S.Bound != 0);
  if (Wait.Counts) {
    Wait.MaxIterations = maxIterations(*S.L, SE);
    Wait.WhyNotSkip = whyNotSkip(S, SE, LI, DT);
  }
  Wait.Pauses = S.Pauses;
  Wait.Yields = S.Yields;
  Wait.Sleeps = S.Sleeps;
  Wait.Doubt = S.Doubt;
  if (S.InTurn && S.Doubt.empty())
    Wait.Doubt = "it polls several words in turn"; // A fix would let it sleep.
  Wait.Locks = S.Locks;
  for (const vfriendly::Poll &P : S.Polls) {
    auto *Call = dyn_cast<llvm::CallBase>(P.Access);
    if (P.OnlyLocates || (Call && passesObjectOn(*Call)))
      continue;
    LoweredPoll Poll;
    addChain(P.Access->getDebugLoc().get(), Poll.Chain);
    Poll.Volatile = P.Volatile;
    Poll.Atomic = P.Ordering != llvm::AtomicOrdering::NotAtomic;
    Poll.Varies = P.Varies;
    if (Call && !P.Address)
      Poll.How = vfriendly::classifyCall(*Call).Effect == CallEffect::TryLock
                     ? LoweredPoll::TryLock
                     : LoweredPoll::Call;
    else if (P.ReadModifyWrite && !addsNothing(*P.Access))
      Poll.How = LoweredPoll::Try;
    Wait.Polls.push_back(std::move(Poll));
  }
  // In the order of the source, which simplification may have changed.
  llvm::stable_sort(Wait.Polls, [](const LoweredPoll &A, const LoweredPoll &B) {
    return std::lexicographical_compare(
        A.Chain.begin(), A.Chain.end(), B.Chain.begin(), B.Chain.end(),
        [](const LoweredPlace &A, const LoweredPlace &B) {
          return std::tie(A.Line, A.Column) < std::tie(B.Line, B.Column);
        });
  });
  Found.push_back(std::move(Wait));
}

void LoweredWaits::judge(const LoweredFunctions &Functions) {
  ConditionExposer Exposer(ExposeFor::Report);
  VariableFacts Variables;
  SmallVector<llvm::Function *, 16> Judged;
  for (llvm::Function &F : Functions.M)
    if (Functions.RootOf(F))
      Judged.push_back(&F);
  for (llvm::Function *F : Judged) {
    Exposer.run(*F, Functions.FAM);
    splitPolls(*F, Functions.FAM, Variables, SplitFor::Report);
  }
  for (llvm::Function *F : Tries)
    addEffect(*F, CallEffect::TryLock);
  for (llvm::Function *F : Judged) {
    auto &LI = Functions.FAM.getResult<llvm::LoopAnalysis>(*F);
    auto &DT = Functions.FAM.getResult<llvm::DominatorTreeAnalysis>(*F);
    auto &SE = Functions.FAM.getResult<llvm::ScalarEvolutionAnalysis>(*F);
    SpinLoopInfo Info =
        findSpinLoops(LI.getLoopsInPreorder(), LI, DT, Variables);
    for (const SpinLoop &S : Info.Loops)
      if (S.Kind != SpinKind::Retry && S.Kind != SpinKind::Device)
        add(*Functions.RootOf(*F), S, SE, LI, DT);
  }
}

} // namespace vfriendly::tidy
