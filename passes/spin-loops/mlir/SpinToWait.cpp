//===- SpinToWait.cpp - vf-spin-to-wait -----------------------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop waits if an iteration only polls one place in memory, computes with
// the value that it read, and exits depending on the result. Each failed poll
// then calls vf.spin_wait:
//
//   scf.while : () -> () {            scf.while (%s = %zero) : (i64) -> i64 {
//     %v = memref.load %flag[]          %v = memref.load %flag[]
//     %c = arith.cmpi eq, %v, %c0       %c = arith.cmpi eq, %v, %c0
//     scf.condition(%c)                 scf.condition(%c) %s : i64
//   } do {                            } do { ^bb0(%s: i64):
//     scf.yield                         %n = vf.spin_wait %flag[], %c0, %s
//   }                                   scf.yield %n
//
// The call only takes time, so it does not change the loop's meaning. A loop
// that carries a value of its own from one iteration to the next is not
// rewritten: it may count iterations, and longer iterations would delay its
// end.
//
//===----------------------------------------------------------------------===//

#include "passes/mlir/Passes.h"
#include "passes/spin-loops/mlir/Polls.h"

#include "mlir/Analysis/CFGLoopInfo.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"

using namespace mlir;

namespace vfriendly::vf {

#define GEN_PASS_DEF_VFSPINTOWAIT
#include "VfPasses.h.inc"

namespace {

constexpr auto Category =
    remark::RemarkOpts::name("SpinLoop").category("vf-spin-to-wait");

void left(Location Loc, StringRef Why) {
  remark::missed(Loc, Category) << ("kept: " + Why).str();
}

Value constantI64(OpBuilder &Builder, Location Loc, bool IsLLVM, int64_t Of) {
  Type I64 = Builder.getI64Type();
  auto Attr = Builder.getI64IntegerAttr(Of);
  if (IsLLVM)
    return LLVM::ConstantOp::create(Builder, Loc, I64, Attr);
  return arith::ConstantOp::create(Builder, Loc, I64, Attr);
}

/// Returns the value that a failed poll has read. For a compare-and-swap,
/// inserts an operation that extracts the value.
Value seenBy(const PolledRead &P) {
  auto Try = dyn_cast<LLVM::AtomicCmpXchgOp>(P.Op);
  if (!Try)
    return P.Seen;
  OpBuilder Builder(P.Op->getContext());
  Builder.setInsertionPointAfter(P.Op);
  return LLVM::ExtractValueOp::create(Builder, P.Op->getLoc(), Try.getRes(), 0);
}

/// Builds the vf.spin_wait after a failed poll. Returns the state to pass to
/// the vf.spin_wait after the next failed poll.
Value buildWait(OpBuilder &Builder, const PolledRead &P, Value Seen,
                Value State, bool Notified) {
  return SpinWaitOp::create(Builder, P.Op->getLoc(), P.Address, P.Indices, Seen,
                            State, Notified, /*no_sleep=*/false,
                            /*trylock=*/false)
      .getNext();
}

//===----------------------------------------------------------------------===//
// scf.while
//===----------------------------------------------------------------------===//

class WhileLoop {
public:
  explicit WhileLoop(scf::WhileOp While) : While(While) {}

  /// Returns the reason why the loop cannot be rewritten. If the loop can be
  /// rewritten, returns an empty string and sets Found to its poll.
  StringRef judge(PolledRead &Found) {
    LoopFacts Facts([&](Value V) {
      return !While->isAncestor(V.getParentRegion()->getParentOp());
    });
    for (Block *Body : {While.getBeforeBody(), While.getAfterBody()})
      for (Operation &Op : Body->without_terminator())
        Facts.visit(Op);
    Facts.addExit(While.getConditionOp().getCondition(),
                  [&](BlockArgument Each) { return changes(Each); });
    for (auto [Argument, Yielded] : llvm::zip(While.getBeforeArguments(),
                                              While.getYieldOp().getOperands()))
      Facts.addCarried(Argument, throughAfter(Yielded));
    StringRef Why = Facts.judge(Found);
    return Why.empty() && Found.Op->getBlock() != While.getBeforeBody()
               ? "it polls after its test"
               : Why;
  }

  void rewrite(const PolledRead &P, bool Notified) {
    OpBuilder Builder(While);
    Location Loc = While.getLoc();
    Type I64 = Builder.getI64Type();
    Value Seen = seenBy(P);
    SmallVector<Value> Inits(While.getInits());
    Inits.push_back(constantI64(Builder, Loc, /*IsLLVM=*/false, 0));
    // The second region of scf.while can use only the values that the first
    // region forwards. The forwarded values also become results of the loop.
    SmallVector<Type> Results(While.getResultTypes());
    Results.append({I64, Seen.getType()});
    auto New = scf::WhileOp::create(Builder, Loc, Results, Inits);
    New.getBefore().takeBody(While.getBefore());
    New.getAfter().takeBody(While.getAfter());
    Value State = New.getBeforeBody()->addArgument(I64, Loc);
    New.getConditionOp().getArgsMutable().append(ValueRange{State, Seen});
    Value StateAfter = New.getAfterBody()->addArgument(I64, Loc);
    Value SeenAfter = New.getAfterBody()->addArgument(Seen.getType(), Loc);
    Builder.setInsertionPoint(New.getYieldOp());
    Value Next = buildWait(Builder, P, SeenAfter, StateAfter, Notified);
    New.getYieldOp().getResultsMutable().append(Next);
    While.replaceAllUsesWith(New.getResults().drop_back(2));
    While.erase();
  }

private:
  /// Returns true if an argument of the first region differs between
  /// iterations.
  bool changes(BlockArgument Argument) {
    return throughAfter(While.getYieldOp().getOperand(
               Argument.getArgNumber())) != Argument;
  }

  /// Returns the value in the first region that an argument of the second
  /// region stands for.
  Value throughAfter(Value V) {
    auto Argument = dyn_cast<BlockArgument>(V);
    if (!Argument || Argument.getOwner() != While.getAfterBody())
      return V;
    return While.getConditionOp().getArgs()[Argument.getArgNumber()];
  }

  scf::WhileOp While;
};

//===----------------------------------------------------------------------===//
// Loops of blocks
//===----------------------------------------------------------------------===//

class BlockLoop {
public:
  BlockLoop(CFGLoop &Loop, DominanceInfo &Dominance)
      : Loop(Loop), Dominance(Dominance) {}

  Location where() const { return Loop.getHeader()->getTerminator()->getLoc(); }

  StringRef judge(PolledRead &Found) {
    Latch = Loop.getLoopLatch();
    if (!Latch)
      return "it goes back from several places";
    LoopFacts Facts(
        [&](Value V) { return !Loop.contains(V.getParentBlock()); });
    for (Block *Each : Loop.getBlocks()) {
      if (!isa<cf::BranchOp, cf::CondBranchOp, cf::SwitchOp, LLVM::BrOp,
               LLVM::CondBrOp, LLVM::SwitchOp>(Each->getTerminator()))
        return "it branches in an unusual way";
      for (Operation &Op : Each->without_terminator())
        Facts.visit(Op);
    }
    for (Block *Each : Loop.getBlocks()) {
      Operation *Last = Each->getTerminator();
      if (Last->getNumOperands() != 0 &&
          llvm::any_of(Last->getSuccessors(),
                       [&](Block *To) { return !Loop.contains(To); }))
        Facts.addExit(Last->getOperand(0),
                      [&](BlockArgument A) { return changes(A); });
    }
    for (BlockArgument Argument : Loop.getHeader()->getArguments())
      anyPassed(Argument, [&](Value Next) {
        Facts.addCarried(Argument, Next);
        return false;
      });
    StringRef Why = Facts.judge(Found);
    return Why.empty() && !Dominance.dominates(Found.Op->getBlock(), Latch)
               ? "not every iteration polls"
               : Why;
  }

  void rewrite(const PolledRead &P, bool Notified) {
    Block *Header = Loop.getHeader();
    auto Back = cast<BranchOpInterface>(Latch->getTerminator());
    bool IsLLVM = isa<LLVM::BrOp, LLVM::CondBrOp, LLVM::SwitchOp>(Back);
    OpBuilder Builder(Header->getParent()->getContext());
    Location Loc = P.Op->getLoc();
    Type I64 = Builder.getI64Type();
    Value State = Header->addArgument(I64, Loc);
    for (Block *From : SmallVector<Block *>(Header->getPredecessors())) {
      auto Branch = cast<BranchOpInterface>(From->getTerminator());
      if (From == Latch)
        continue;
      Builder.setInsertionPoint(Branch);
      Value Zero = constantI64(Builder, Loc,
                               isa<LLVM::LLVMDialect>(Branch->getDialect()), 0);
      for (unsigned I = 0; I != Branch->getNumSuccessors(); ++I)
        if (Branch->getSuccessor(I) == Header)
          Branch.getSuccessorOperands(I).append(Zero);
    }
    // Inserts the wait into a new block that only the back edge passes.
    Value Seen = seenBy(P);
    Block *Waits = Builder.createBlock(Header->getParent(),
                                       std::next(Latch->getIterator()));
    Value Next = buildWait(Builder, P, Seen, State, Notified);
    for (unsigned I = 0; I != Back->getNumSuccessors(); ++I) {
      if (Back->getSuccessor(I) != Header)
        continue;
      SuccessorOperands Given = Back.getSuccessorOperands(I);
      if (Waits->getNumArguments() == 0)
        for (Value V : Given.getForwardedOperands())
          Waits->addArgument(V.getType(), Loc);
      Back->setSuccessor(Waits, I);
    }
    SmallVector<Value> Operands(Waits->getArguments());
    Operands.push_back(Next);
    if (IsLLVM)
      LLVM::BrOp::create(Builder, Loc, Operands, Header);
    else
      cf::BranchOp::create(Builder, Loc, Header, Operands);
  }

  /// Returns true if the branches to the header can take another operand.
  bool canAddState() const {
    return llvm::all_of(Loop.getHeader()->getPredecessors(),
                        [&](Block *From) {
                          auto Branch = dyn_cast<BranchOpInterface>(
                              From->getTerminator());
                          return Branch &&
                                 isa<cf::BranchOp, cf::CondBranchOp, LLVM::BrOp,
                                     LLVM::CondBrOp>(From->getTerminator());
                        }) &&
           !Loop.getHeader()->isEntryBlock();
  }

private:
  /// Returns true if a back edge passes to Argument, one of the header, a value
  /// that Is accepts; the value is null if the branch computes it.
  bool anyPassed(BlockArgument Argument, llvm::function_ref<bool(Value)> Is) {
    auto Back = cast<BranchOpInterface>(Latch->getTerminator());
    for (unsigned I = 0; I != Back->getNumSuccessors(); ++I)
      if (Back->getSuccessor(I) == Loop.getHeader() &&
          Is(Back.getSuccessorOperands(I)[Argument.getArgNumber()]))
        return true;
    return false;
  }

  /// Returns true if an argument of a block of the loop may differ between
  /// iterations.
  bool changes(BlockArgument Argument) {
    return Argument.getOwner() != Loop.getHeader() ||
           anyPassed(Argument, [&](Value From) { return From != Argument; });
  }

  CFGLoop &Loop;
  DominanceInfo &Dominance;
  Block *Latch = nullptr;
};

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

class SpinToWait : public impl::VfSpinToWaitBase<SpinToWait> {
  void runOnOperation() override {
    SymbolStores Known(getOperation());
    SmallVector<scf::WhileOp> Whiles;
    SmallVector<Region *> Regions;
    getOperation().walk([&](Operation *Op) {
      if (auto While = dyn_cast<scf::WhileOp>(Op))
        Whiles.push_back(While);
      for (Region &R : Op->getRegions())
        if (!R.empty() && !R.hasOneBlock())
          Regions.push_back(&R);
    });
    for (scf::WhileOp While : Whiles)
      visit(While.getLoc(), WhileLoop(While), Known);
    for (Region *R : Regions)
      visitRegion(*R, Known);
  }

  template <typename LoopT>
  void visit(Location Loc, LoopT Loop, SymbolStores &Known) {
    PolledRead P;
    StringRef Why = Loop.judge(P);
    if (Why.empty() && !canCallRuntime(P.Op))
      Why = "it may run where the runtime cannot be called";
    if (!Why.empty())
      return P.Op ? left(Loc, Why) : void();
    bool Notified = Known.notify(P.Address);
    remark::passed(Loc, Category)
        << (Notified ? "waits in the runtime, blocked until notified"
                     : "waits in the runtime");
    Loop.rewrite(P, Notified);
  }

  void visitRegion(Region &R, SymbolStores &Known) {
    // A rewrite adds blocks, so the loops are computed again after each.
    llvm::SmallPtrSet<Block *, 4> Done;
    for (bool Again = true; Again;) {
      Again = false;
      DominanceInfo Dominance;
      CFGLoopInfo Loops(Dominance.getDomTree(&R));
      for (CFGLoop *Loop : Loops.getLoopsInPreorder()) {
        if (!Loop->isInnermost() || !Done.insert(Loop->getHeader()).second)
          continue;
        BlockLoop Candidate(*Loop, Dominance);
        if (!Candidate.canAddState())
          continue;
        visit(Candidate.where(), Candidate, Known);
        Again = true;
        break;
      }
    }
  }
};

} // namespace

} // namespace vfriendly::vf
