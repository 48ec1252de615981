//===- BoundedRewrite.cpp - Rewrite of bounded waits ----------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Implements the transformation that BoundedSpin.h draws.
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/waits/BoundedSpin.h"

#include "passes/analysis/common/KeepMarks.h"
#include "passes/common/LLVMVersions.h"
#include "passes/common/RuntimeCalls.h"
#include "passes/spin-loops/Rewrite.h"
#include "runtime/include/vfriendly/spin_wait.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/Local.h"
#include "llvm/Transforms/Utils/LoopUtils.h"
#include "llvm/Transforms/Utils/ScalarEvolutionExpander.h"

using namespace llvm;

namespace vfriendly {

namespace {

class BoundedRewriter {
public:
  BoundedRewriter(const SpinLoop &S, const BoundedPlan &Plan, uint32_t Flags,
                  ScalarEvolution &SE, LoopInfo &LI, DominatorTree &DT)
      : S(S), L(*S.L), Plan(Plan), Flags(Flags), SE(SE), LI(LI), DT(DT),
        Header(L.getHeader()), F(*Header->getParent()), M(*F.getParent()),
        I64(Type::getInt64Ty(M.getContext())) {}

  CallInst *run();

private:
  void expand();
  void copy();
  void dropTests();
  void resumeIn(BasicBlock *B, BasicBlock *From);
  void closeCopy();
  void emitSecondLook(IRBuilder<> &B);
  CallInst *emitCall(IRBuilder<> &B, Value *State, Value *Left);
  Loop *loopAround(Loop *Inner, ArrayRef<BasicBlock *> Blocks);
  void updateLoops();

  Value *inCopy(Value *V) const {
    Value *Mapped = Map.lookup(V);
    return Mapped ? Mapped : V;
  }
  PHINode *phiIn(BasicBlock *B, Type *Ty, const Twine &Name) {
    PHINode *Phi = PHINode::Create(Ty, 2, Name);
    Phi->insertInto(B, B->begin());
    return Phi;
  }

  const SpinLoop &S;
  Loop &L;
  const BoundedPlan &Plan;
  uint32_t Flags;
  ScalarEvolution &SE;
  LoopInfo &LI;
  DominatorTree &DT;
  BasicBlock *Header;
  Function &F;
  Module &M;
  Type *I64;

  /// Enter branches to Chunk, which begins each run of the rewritten copy of
  /// the loop, or to Written, the preheader of the loop as written.
  BasicBlock *Enter = nullptr, *Chunk = nullptr, *Written = nullptr;
  BasicBlock *Latch = nullptr;
  Value *Bound = nullptr;
  DebugLoc Start;
  DenseMap<const PHINode *, Value *> Steps;
  ValueToValueMapTy Map;
  Loop *Copy = nullptr;
  BasicBlock *Iteration = nullptr, *IterationEnd = nullptr;
  BasicBlock *CheckLeft = nullptr, *InCall = nullptr;
  /// The block that loads all polled words again, and skips the call of the
  /// runtime if a word has changed. An iteration loads the words one after
  /// another, so the values that it reads may never have been in memory at the
  /// same time. Null if an iteration polls only one word.
  BasicBlock *SecondLook = nullptr;
  DenseMap<const PHINode *, PHINode *> InChunk, InIteration;
  /// For each header phi of L, two values: after the last iteration that Copy,
  /// the rewritten loop, has executed, and after the iterations that are then
  /// skipped.
  DenseMap<const PHINode *, std::pair<Value *, Value *>> Next;
  CallInst *Call = nullptr;
};

/// Computes the bound and the steps of the counters before the loop.
void BoundedRewriter::expand() {
  Start = L.getStartLoc();
  Enter =
      InsertPreheaderForLoop(&L, &DT, &LI, nullptr, /*PreserveLCSSA=*/false);
  SCEVExpander Expander = expanderOf(SE);
  Instruction *At = Enter->getTerminator();
  IRBuilder<> B(At);
  // Freezes a value that may be poison: L, the loop as written, may end by its
  // poll before it tests a counter, but the rewritten code tests the counter
  // before the loop.
  auto Expand = [&](const SCEV *Of, Type *Ty) -> Value * {
    Value *V = Expander.expandCodeFor(Of, Ty, At);
    return isGuaranteedNotToBeUndefOrPoison(V, nullptr, At, &DT)
               ? V
               : B.CreateFreeze(V, V->getName() + ".fr");
  };
  Bound = Expand(Plan.Bound, nullptr);
  for (auto &[Phi, Step] : Plan.Counters)
    Steps[Phi] = Expand(Step, Phi->getType());
  Bound = B.CreateZExt(Bound, I64, "vf.bound");
  // ScalarEvolution's results for L are not valid from here on, because the
  // loop changes.
  SE.forgetLoop(&L);
}

void BoundedRewriter::copy() {
  Latch = splitBackEdge(L, LI, DT);
  formLCSSARecursively(L, DT, &LI, nullptr);
  Written = SplitBlock(Enter, Enter->getTerminator(), &DT, &LI);
  SmallVector<BasicBlock *, 8> Blocks;
  Copy = cloneLoopWithPreheader(Written, Enter, &L, Map, ".vf.copy", &LI, &DT,
                                Blocks);
  remapInstructionsInBlocks(Blocks, Map);
  // An iteration of one loop is followed by one of the other: a scope says that
  // pointers of the same iteration do not alias.
  SmallVector<MDNode *, 2> Scopes;
  identifyNoAliasScopesToClone(L.getBlocks(), Scopes);
  cloneAndAdaptNoAliasScopes(Scopes, Blocks, M.getContext(), "vf.copy");
  Chunk = cast<BasicBlock>(Map[Written]);
  SmallVector<Loop::Edge, 4> Exits;
  L.getExitEdges(Exits);
  SmallPtrSet<BasicBlock *, 4> Seen;
  for (auto [From, To] : Exits) {
    if (!Seen.insert(To).second)
      continue;
    for (PHINode &Phi : To->phis())
      for (unsigned I = 0, E = Phi.getNumIncomingValues(); I != E; ++I)
        if (L.contains(Phi.getIncomingBlock(I)))
          Phi.addIncoming(inCopy(Phi.getIncomingValue(I)),
                          cast<BasicBlock>(Map[Phi.getIncomingBlock(I)]));
  }
}

/// Removes the tests of counters from Copy, the rewritten loop: no test ends
/// the loop in an iteration that Copy executes.
void BoundedRewriter::dropTests() {
  for (const ExitLeaf &Test : Plan.Tests) {
    Value *InCopy = inCopy(Test.Condition);
    Constant *Stays = ConstantInt::getBool(M.getContext(), Test.StaysIf);
    for (Use &U : make_early_inc_range(InCopy->uses()))
      if (Copy->contains(cast<Instruction>(U.getUser())))
        U.set(Stays);
  }
  for (BasicBlock *B : Copy->blocks())
    if (auto *Br = dyn_cast<BranchInst>(B->getTerminator());
        Br && Br->isConditional() && isa<ConstantInt>(Br->getCondition()))
      ConstantFoldTerminator(B);
}

CallInst *BoundedRewriter::emitCall(IRBuilder<> &B, Value *State, Value *Left) {
  Value *Address = ConstantPointerNull::get(B.getPtrTy());
  Value *Observed = B.getInt64(0);
  uint32_t Size = 0;
  if (const Poll *P = S.uniquePoll();
      P &&
      (!isa<Instruction>(P->Address) ||
       DT.dominates(cast<Instruction>(P->Address), Latch->getTerminator()))) {
    Address = inCopy(P->Address);
    bool Stays = none_of(S.Polls, [](const Poll &Q) { return Q.OnlyLocates; });
    // The runtime is called only if polls are left, so no test of a counter
    // ends the loop before it would poll again.
    if (Stays && !P->Volatile && isPolledFirst(*P, L, DT, Plan.Tests) &&
        DT.dominates(P->Access, Latch->getTerminator())) {
      Poll Copied = *P;
      Copied.Access = cast<Instruction>(inCopy(P->Access));
      if (Value *V = observedValue(Copied, B)) {
        Observed = V;
        Size = P->Size;
      }
    }
  }
  return emitBoundedCall(B, F, Address, Observed, State, Flags | Size,
                         Plan.Block, Left);
}

/// Creates the block SecondLook, which loads all polled words once more, and
/// branches to InCall, the call of the runtime, only if each word has the value
/// that the last iteration read.
void BoundedRewriter::emitSecondLook(IRBuilder<> &B) {
  SecondLook = BasicBlock::Create(M.getContext(), ".vf.look", &F, InCall);
  B.SetInsertPoint(SecondLook);
  Value *Same = nullptr;
  for (LoadInst *Read : Plan.Reads) {
    auto *First = cast<LoadInst>(inCopy(Read));
    auto *Second = cast<LoadInst>(First->clone());
    // What is known of the value that the iteration has read may not be true of
    // the word's next value.
    Second->dropUBImplyingAttrsAndMetadata();
    Second->dropPoisonGeneratingMetadata();
    B.Insert(Second, Read->getName() + ".again");
    Value *AsBefore = B.CreateICmpEQ(First, Second);
    Same = Same ? B.CreateAnd(Same, AsBefore) : AsBefore;
  }
  B.CreateCondBr(Same, InCall, Chunk);
}

/// Creates phis in block B for all values that an iteration passes to the next.
/// On the edge from From, each phi has the value with which Copy, the rewritten
/// loop, was entered before.
void BoundedRewriter::resumeIn(BasicBlock *B, BasicBlock *From) {
  for (PHINode &Phi : Header->phis()) {
    auto *CopyPhi = cast<PHINode>(inCopy(&Phi));
    int Entry = CopyPhi->getBasicBlockIndex(B == Iteration ? Iteration : Chunk);
    PHINode *Resumed = phiIn(B, Phi.getType(), Phi.getName());
    Resumed->addIncoming(CopyPhi->getIncomingValue(Entry), From);
    CopyPhi->setIncomingValue(Entry, Resumed);
    (B == Iteration ? InIteration : InChunk)[&Phi] = Resumed;
  }
}

/// Makes Copy, the rewritten loop, end after the number of iterations that the
/// previous call of the runtime has returned, and inserts a call of the runtime
/// after Copy.
void BoundedRewriter::closeCopy() {
  LLVMContext &Context = M.getContext();
  BasicBlock *CopyHeader = Copy->getHeader();
  auto *CopyLatch = cast<BasicBlock>(Map[Latch]);
  CheckLeft = BasicBlock::Create(Context, ".vf.left", &F, Written);
  InCall = BasicBlock::Create(Context, ".vf.call", &F, Written);
  IRBuilder<> B(Context);

  // Begin is the number of iterations executed or skipped when Copy is entered,
  // and Limit the number at which Copy ends and the runtime is called.
  PHINode *Begin = phiIn(Chunk, I64, "vf.begin");
  PHINode *Limit = phiIn(Chunk, I64, "vf.limit");
  PHINode *State = phiIn(Chunk, I64, "vf.state");
  resumeIn(Chunk, Enter);

  // Turns each group of Plan.Block polls into an inner loop.
  BasicBlock *Into = CopyHeader, *End = CopyLatch;
  Instruction *Back = CopyLatch->getTerminator();
  DebugLoc BackAt = Back->getDebugLoc();
  if (Plan.Block > 1) {
    Iteration = SplitBlock(Chunk, Chunk->getTerminator(), &DT, &LI);
    IterationEnd = BasicBlock::Create(Context, ".vf.block", &F, Written);
    Into = Iteration;
    End = IterationEnd;
    resumeIn(Iteration, Chunk);
    PHINode *Poll = phiIn(CopyHeader, I64, "vf.poll");
    B.SetInsertPoint(Back);
    Value *Polls = B.CreateAdd(Poll, B.getInt64(1), "", /*HasNUW=*/true);
    B.CreateCondBr(B.CreateICmpNE(Polls, B.getInt64(Plan.Block)), CopyHeader,
                   IterationEnd);
    Back->eraseFromParent();
    Poll->addIncoming(B.getInt64(0), Iteration);
    Poll->addIncoming(Polls, CopyLatch);
    Back = new UnreachableInst(Context, IterationEnd);
  }
  PHINode *At = phiIn(Into, I64, "vf.at");
  B.SetInsertPoint(Back);
  B.SetCurrentDebugLocation(BackAt);
  Value *Done =
      B.CreateAdd(At, B.getInt64(Plan.Block), "vf.done", /*HasNUW=*/true);
  B.CreateCondBr(B.CreateICmpNE(Done, Limit), Into, CheckLeft);
  Back->eraseFromParent();
  At->addIncoming(Begin, Chunk);
  At->addIncoming(Done, End);
  for (PHINode &Phi : Header->phis()) {
    Value *After = inCopy(Phi.getIncomingValueForBlock(Latch));
    Next[&Phi] = {After, After};
    if (Plan.Block > 1)
      InIteration[&Phi]->addIncoming(After, IterationEnd);
  }

  B.SetInsertPoint(CheckLeft);
  // A backtrace of a thread that waits names the loop.
  B.SetCurrentDebugLocation(Start);
  Value *Block = B.getInt64(Plan.Block);
  Value *Left = B.CreateSub(Bound, Done, "vf.left", /*HasNUW=*/true);
  MDNode *Unlikely = MDBuilder(Context).createUnlikelyBranchWeights();
  if (!Plan.Reads.empty())
    emitSecondLook(B);
  B.SetInsertPoint(CheckLeft);
  B.CreateCondBr(B.CreateICmpULT(Left, Block), Written,
                 SecondLook ? SecondLook : InCall, Unlikely);

  B.SetInsertPoint(InCall);
  Call = emitCall(B, State, Left);
  Value *NextState = B.CreateExtractValue(Call, 0);
  // Skips at most the iterations that are left: the runtime is a separate
  // library, and the loop must keep its bound whatever the runtime returns.
  Value *Skipped = B.CreateBinaryIntrinsic(Intrinsic::umin,
                                           B.CreateExtractValue(Call, 1), Left);
  Value *NextBegin = B.CreateAdd(Done, Skipped, "", /*HasNUW=*/true);
  Value *Rest = B.CreateSub(Left, Skipped, "", /*HasNUW=*/true);
  Value *Blocks = B.CreateBinaryIntrinsic(
      Intrinsic::umin,
      B.CreateAdd(B.CreateAnd(NextState, B.getInt64(VF_SPIN_POLLS_MASK)),
                  B.getInt64(1)),
      B.CreateUDiv(Rest, Block));
  Value *NextLimit = B.CreateAdd(
      NextBegin, B.CreateMul(Blocks, Block, "", /*HasNUW=*/true), "",
      /*HasNUW=*/true);
  for (PHINode &Phi : Header->phis())
    if (Value *Step = Steps.lookup(&Phi)) {
      Value *Iterations = B.CreateZExtOrTrunc(Skipped, Phi.getType());
      Next[&Phi].second =
          B.CreateAdd(Next[&Phi].first, B.CreateMul(Iterations, Step));
    }
  B.CreateCondBr(B.CreateICmpULT(Rest, Block), Written, Chunk, Unlikely);

  Begin->addIncoming(B.getInt64(0), Enter);
  Begin->addIncoming(NextBegin, InCall);
  Limit->addIncoming(B.getInt64(Plan.FirstPolls), Enter);
  Limit->addIncoming(NextLimit, InCall);
  State->addIncoming(B.getInt64(0), Enter);
  State->addIncoming(NextState, InCall);
  if (SecondLook) {
    // If a word has changed, SecondLook branches back to Chunk: the generated
    // code executes another block of polls, and then SecondLook again.
    B.SetInsertPoint(SecondLook->getTerminator());
    Begin->addIncoming(Done, SecondLook);
    Limit->addIncoming(B.CreateAdd(Done, Block, "", /*HasNUW=*/true),
                       SecondLook);
    State->addIncoming(State, SecondLook);
  }
  for (PHINode &Phi : Header->phis()) {
    InChunk[&Phi]->addIncoming(Next[&Phi].second, InCall);
    if (SecondLook)
      InChunk[&Phi]->addIncoming(Next[&Phi].first, SecondLook);
    // L, the loop as written, continues with the values after the last
    // iteration that Copy has executed or skipped.
    PHINode *Resumed = phiIn(Written, Phi.getType(), Phi.getName());
    Resumed->addIncoming(Phi.getIncomingValueForBlock(Written), Enter);
    Resumed->addIncoming(Next[&Phi].first, CheckLeft);
    Resumed->addIncoming(Next[&Phi].second, InCall);
    Phi.setIncomingValueForBlock(Written, Resumed);
  }
}

/// Adds a loop to LI that contains Blocks and all blocks of Inner, its inner
/// loop. The first of Blocks is its header.
Loop *BoundedRewriter::loopAround(Loop *Inner, ArrayRef<BasicBlock *> Blocks) {
  Loop *Parent = Inner->getParentLoop();
  Loop *Outer = LI.AllocateLoop();
  if (Parent)
    Parent->replaceChildLoopWith(Inner, Outer);
  else
    LI.changeTopLevelLoop(Inner, Outer);
  Outer->addChildLoop(Inner);
  for (BasicBlock *B : Blocks) {
    LI.changeLoopFor(B, Outer);
    Outer->addBlockEntry(B);
    for (Loop *Up = Parent; Up; Up = Up->getParentLoop())
      if (!Up->contains(B))
        Up->addBlockEntry(B);
  }
  for (BasicBlock *B : Inner->blocks())
    if (!Outer->contains(B))
      Outer->addBlockEntry(B);
  return Outer;
}

void BoundedRewriter::updateLoops() {
  Loop *Iterations = Copy;
  if (Plan.Block > 1)
    Iterations = loopAround(Copy, {Iteration, IterationEnd});
  SmallVector<BasicBlock *, 4> Around{Chunk, CheckLeft, InCall};
  if (SecondLook)
    Around.push_back(SecondLook);
  Loop *Chunks = loopAround(Iterations, Around);
  DT.recalculate(F);
  // Later runs of the pass recognize the loops by this mark.
  for (Loop *Made : Chunks->getLoopsInPreorder())
    mark(*Made, DecidedMark);
}

CallInst *BoundedRewriter::run() {
  expand();
  copy();
  closeCopy();
  dropTests();
  IRBuilder<> B(Enter->getTerminator());
  Value *IsLong = B.CreateICmpUGT(Bound, B.getInt64(Plan.FirstPolls));
  Instruction *Old = Enter->getTerminator();
  B.CreateCondBr(IsLong, Chunk, Written)->setDebugLoc(Old->getDebugLoc());
  Old->eraseFromParent();
  updateLoops();
  return Call;
}

} // namespace

CallInst *emitBoundedCall(IRBuilder<> &B, Function &F, Value *Address,
                          Value *Observed, Value *State, uint32_t How,
                          unsigned Block, Value *Left) {
  Module &M = *F.getParent();
  // The measured cost of a poll in this loop, shared by all executions of the
  // loop.
  auto *Cost = new GlobalVariable(M, B.getInt32Ty(), /*isConstant=*/false,
                                  GlobalValue::PrivateLinkage, B.getInt32(0),
                                  "vf.spin.cost");
  Cost->setAlignment(Align(4));
  FunctionCallee Wait = M.getOrInsertFunction(BoundedWaitFunction,
                                              boundedWaitType(M.getContext()));
  CallingConv::ID Convention = waitConvention(M);
  cast<Function>(Wait.getCallee())->setCallingConv(Convention);
  CallInst *Made =
      B.CreateCall(Wait, {Address, Observed, State,
                          B.getInt32(How | VF_SPIN_BLOCK(Block)), Left, Cost});
  Made->setCallingConv(Convention);
  Made->addFnAttr(Attribute::NoUnwind);
  Made->addFnAttr(Attribute::Cold);
  setLocation(*Made, Made->getDebugLoc());
  return Made;
}

CallInst *emitBoundedWait(const SpinLoop &S, const BoundedPlan &Plan,
                          uint32_t Flags, ScalarEvolution &SE, LoopInfo &LI,
                          DominatorTree &DT) {
  return BoundedRewriter(S, Plan, Flags, SE, LI, DT).run();
}

} // namespace vfriendly
