//===- SleepSearch.cpp - The ways from a sleep back to it -----------------===//
//--------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/blocking-sync/SleepSearch.h"

#include "checkers/common/Counting.h"
#include "checkers/common/WaitNeutral.h"

#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"

using namespace clang;

namespace vfriendly::tidy {

/// Returns the condition by which Block chooses its successor.
const Expr *conditionOf(const CFGBlock &Block) {
  if (Block.succ_size() != 2)
    return dyn_cast_or_null<Expr>(Block.getTerminatorCondition());
  return Block.getLastCondition();
}

bool SleepSearch::build() {
  if (Graph)
    return true;
  CFG::BuildOptions Options;
  Options.setAllAlwaysAdd();
  Graph = CFG::buildCFG(F.Function, F.Function->getBody(),
                        const_cast<ASTContext *>(&Context), Options);
  if (!Graph)
    return false;
  for (const CFGBlock *Block : *Graph)
    for (const CFGElement &Element : *Block)
      if (std::optional<CFGStmt> S = Element.getAs<CFGStmt>()) {
        IdleEffect Effect = Does.effectOf(S->getStmt(), F);
        if (Effect != IdleEffect::None)
          Effects[S->getStmt()] = Effect;
        addChanges(*Block, S->getStmt());
      }
  return true;
}

void SleepSearch::addChanges(const CFGBlock &Block, const Stmt *S) {
  auto Add = [&](const ValueDecl *Of, const Expr *Value) {
    if (!Of)
      return;
    bool IsStep = !Value || isa<CompoundAssignOperator>(S);
    if (!isa<CallExpr, DeclStmt>(S))
      forEachStmt(Value, [&](const Stmt *Part, ArrayRef<const Stmt *>) {
        auto *Ref = dyn_cast<DeclRefExpr>(Part);
        IsStep |= Ref && Ref->getDecl() == Of;
      });
    Changes[Of].push_back({S, Value, &Block, IsStep});
  };
  if (auto *Step = dyn_cast<UnaryOperator>(S);
      Step && Step->isIncrementDecrementOp()) {
    Add(localIn(Step->getSubExpr()), nullptr);
  } else if (auto *Assign = dyn_cast<BinaryOperator>(S);
             Assign && Assign->isAssignmentOp()) {
    const ValueDecl *To = localIn(Assign->getLHS());
    if (auto *Member = dyn_cast<MemberExpr>(Assign->getLHS()); !To && Member)
      To = Member->getMemberDecl();
    Add(To, Assign->getRHS());
  } else if (auto *Declaration = dyn_cast<DeclStmt>(S)) {
    for (const Decl *D : Declaration->decls())
      if (auto *Variable = dyn_cast<VarDecl>(D);
          Variable && Variable->getInit())
        Add(Variable, Variable->getInit());
  } else if (auto *Call = dyn_cast<CallExpr>(S)) {
    auto *Operator = dyn_cast<CXXOperatorCallExpr>(Call);
    if (Operator && (Operator->getOperator() == OO_PlusPlus ||
                     Operator->getOperator() == OO_MinusMinus))
      return Add(localIn(Operator->getArg(0)), nullptr);
    if (Operator && Operator->isAssignmentOp())
      return Add(localIn(Operator->getArg(0)),
                 Operator->getNumArgs() > 1 ? Operator->getArg(1) : nullptr);
    for (const Expr *Argument : Call->arguments()) {
      auto *Address = dyn_cast<UnaryOperator>(Argument->IgnoreParenCasts());
      if (Address && Address->getOpcode() == UO_AddrOf)
        Add(localIn(Address->getSubExpr()), Call);
    }
  }
}

/// Returns the call of which E is the result, also by a variable or field that
/// holds it; null if there is none.
const Expr *SleepSearch::askedBy(const Expr *E) const {
  auto IsAsked = [&](const Expr *Call) {
    IdleEffect Effect = Effects.lookup(Call);
    return Effect == IdleEffect::Asks || Effect == IdleEffect::Tries;
  };
  E = E->IgnoreParenCasts();
  if (auto *Assign = dyn_cast<BinaryOperator>(E);
      Assign && Assign->getOpcode() == BO_Assign)
    E = Assign->getRHS()->IgnoreParenCasts();
  if (auto *Full = dyn_cast<ExprWithCleanups>(E))
    E = Full->getSubExpr()->IgnoreParenCasts();
  if (auto *Block = dyn_cast<StmtExpr>(E);
      Block && !Block->getSubStmt()->body_empty())
    if (auto *Last = dyn_cast<Expr>(Block->getSubStmt()->body_back()))
      E = Last->IgnoreParenCasts();
  if (auto *Choice = dyn_cast<ConditionalOperator>(E)) {
    const Expr *One = askedBy(Choice->getTrueExpr());
    return One ? One : askedBy(Choice->getFalseExpr());
  }
  if (IsAsked(E))
    return E;
  const ValueDecl *Holds = localIn(E);
  if (auto *Member = dyn_cast<MemberExpr>(E); !Holds && Member)
    Holds = Member->getMemberDecl();
  if (auto Known = Changes.find(Holds); Holds && Known != Changes.end())
    for (const Change &Each : Known->second)
      if (const Expr *From =
              Each.IsStep ? nullptr : Each.Value->IgnoreParenCasts();
          From && From != Each.By && IsAsked(From))
        return From;
  return nullptr;
}

static ResultTest compare(BinaryOperatorKind Op, int64_t Value, bool IsTried) {
  constexpr Says Unknown = Says::Unknown, Got = Says::Got,
                 Nothing = Says::Nothing, Failed = Says::Failed;
  ResultTest Test;
  auto Set = [&](Says True, Says False) {
    Test.IfTrue = True;
    Test.IfFalse = False;
  };
  switch (Op) {
  case BO_LT:
    if (Value <= 0)
      Set(Failed, Unknown);
    else
      Set(Nothing, Value == 1 ? Got : Unknown);
    break;
  case BO_LE:
    if (Value < 0)
      Set(Failed, Unknown);
    else
      Set(Nothing, Value == 0 ? Got : Unknown);
    break;
  case BO_GT:
    if (Value < 0)
      Set(Unknown, Failed);
    else
      Set(Got, Nothing);
    break;
  case BO_GE:
    if (Value <= 0)
      Set(Unknown, Failed);
    else
      Set(Got, Nothing);
    break;
  case BO_EQ:
    if (Value == 0)
      Set(Nothing, Got);
    else
      Set(Value == -1 ? Failed : Nothing, Unknown);
    break;
  case BO_NE:
    if (Value == 0)
      Set(Got, Nothing);
    else
      Set(Unknown, Value == -1 ? Failed : Nothing);
    // Until it says this: the way on which it does not is idle.
    if (Value > 0)
      Test.IfTrue = Nothing;
    break;
  default:
    break;
  }
  // pthread_mutex_trylock returns 0 if it gets the lock.
  if (IsTried && Value == 0 && (Op == BO_EQ || Op == BO_NE))
    std::swap(Test.IfTrue, Test.IfFalse);
  return Test;
}

ResultTest SleepSearch::testOf(const CFGBlock &Block) const {
  const Expr *E = Block.succ_size() == 2 ? conditionOf(Block) : nullptr;
  ResultTest Test;
  if (!E)
    return Test;
  bool Negated = false;
  for (E = E->IgnoreParenImpCasts();;) {
    auto *Not = dyn_cast<UnaryOperator>(E);
    if (Not && Not->getOpcode() == UO_LNot) {
      Negated = !Negated;
      E = Not->getSubExpr()->IgnoreParenImpCasts();
      continue;
    }
    break;
  }
  auto *Compare = dyn_cast<BinaryOperator>(E);
  const Expr *Left = E, *Right = nullptr;
  BinaryOperatorKind Op = BO_NE;
  if (Compare && Compare->isComparisonOp()) {
    Left = Compare->getLHS();
    Right = Compare->getRHS();
    Op = Compare->getOpcode();
    if (!askedBy(Left)) {
      std::swap(Left, Right);
      Op = BinaryOperator::isEqualityOp(Op)
               ? Op
               : BinaryOperator::reverseComparisonOp(Op);
    }
  }
  Test.Of = askedBy(Left);
  if (!Test.Of)
    return Test;
  auto *Call = dyn_cast<CallExpr>(Test.Of);
  bool IsTry =
      Effects.lookup(Test.Of) == IdleEffect::Tries && Call &&
      Call->getType()->isIntegerType() && !Call->getType()->isBooleanType() &&
      classifyFunction(*Call->getDirectCallee()) == CallEffect::TryLock;
  std::optional<int64_t> Value =
      Right ? constantOf(Right, Context) : std::optional<int64_t>(0);
  if (!Value && Right &&
      Right->isNullPointerConstant(const_cast<ASTContext &>(Context),
                                   Expr::NPC_ValueDependentIsNotNull))
    Value = 0;
  const Expr *Of = Test.Of;
  if (Value) {
    Test = compare(Op, *Value, IsTry);
    Test.Of = Of;
  } else {
    // Compared with what is wanted.
    Test.IfTrue = Test.IfFalse = Says::Nothing;
  }
  if (Negated)
    std::swap(Test.IfTrue, Test.IfFalse);
  return Test;
}

bool SleepSearch::staysIn(const CFGBlock &Block, unsigned Successor) const {
  const CFGBlock *Next = *(Block.succ_begin() + Successor);
  if (!Next || Work.contains(Next))
    return false;
  auto Test = Tests.find(&Block);
  return Test == Tests.end() ||
         (Successor == 0 ? Test->second.IfTrue : Test->second.IfFalse) !=
             Says::Got;
}

void SleepSearch::forEachIdle(
    llvm::function_ref<void(const CFGBlock &, const Stmt *)> Visit) const {
  for (const CFGBlock *Block : Idle)
    for (const CFGElement &Element : *Block)
      if (std::optional<CFGStmt> S = Element.getAs<CFGStmt>())
        Visit(*Block, S->getStmt());
}

bool SleepSearch::leavesIdle(const CFGBlock &Block) const {
  for (unsigned I = 0; I != Block.succ_size(); ++I) {
    const CFGBlock *Next = *(Block.succ_begin() + I);
    if (Next && !(staysIn(Block, I) && Idle.contains(Next)))
      return true;
  }
  return false;
}

/// Returns true if Block begins an iteration of an inner loop over items, all
/// of which work.
bool SleepSearch::worksOnItems(const CFGBlock &Block,
                               const SyncSite &Sleep) const {
  const Stmt *Loop = Block.getTerminatorStmt();
  if (!Loop || !isa<ForStmt, CXXForRangeStmt>(Loop) ||
      llvm::is_contained(Sleep.Parents, Loop) || Block.succ_size() != 2)
    return false;
  const CFGBlock *Body = *Block.succ_begin();
  return Body && !(staysIn(Block, 0) && Idle.contains(Body));
}

/// Returns true if no branch on the idle ways takes one because Asked had
/// nothing.
bool SleepSearch::ignoresResult(const Expr *Asked) const {
  return llvm::none_of(Idle, [&](const CFGBlock *Block) {
    auto Test = Tests.find(Block);
    if (Test == Tests.end() || Test->second.Of != Asked) {
      // Computed with, and then compared.
      return Test == Tests.end() && Block->succ_size() == 2 &&
             leavesIdle(*Block) &&
             llvm::is_contained(causesOf(conditionOf(*Block)).Asked, Asked);
    }
    for (unsigned I = 0; I != 2; ++I) {
      const CFGBlock *Next = *(Block->succ_begin() + I);
      Says Says = I == 0 ? Test->second.IfTrue : Test->second.IfFalse;
      if (Next && Idle.contains(Next) &&
          (Says == Says::Nothing || Says == Says::Failed))
        return true;
    }
    return false;
  });
}

/// Returns true if Block cannot take this way once Sleep has run: it tests a
/// local variable that Sleep's block sets to the other value.
bool SleepSearch::isNotRepeated(const CFGBlock &Block, unsigned Successor,
                                const CFGBlock &Sleep) const {
  const Expr *Condition = Block.succ_size() == 2 ? conditionOf(Block) : nullptr;
  if (!Condition)
    return false;
  bool Value = Successor == 0;
  const Expr *E = Condition->IgnoreParenImpCasts();
  if (auto *Not = dyn_cast<UnaryOperator>(E);
      Not && Not->getOpcode() == UO_LNot) {
    Value = !Value;
    E = Not->getSubExpr();
  }
  auto Known = Changes.find(localIn(E));
  if (Known == Changes.end() || !localIn(E))
    return false;
  // Every other change in the loop may set it back.
  std::optional<int64_t> Set;
  for (const Change &Each : Known->second) {
    if (isa<DeclStmt>(Each.By))
      continue;
    Set = !Each.IsStep && Each.In == &Sleep ? constantOf(Each.Value, Context)
                                            : std::nullopt;
    if (!Set)
      return false;
  }
  return Set && (*Set != 0) != Value;
}

/// Fills Idle. Returns false if no way around is idle.
bool SleepSearch::findIdle(const SyncSite &Site, const CFGBlock &Sleep) {
  for (;;) {
    if (Work.contains(&Sleep))
      return false;
    Blocks Forward;
    OrderedBlocks Backward;
    SmallVector<const CFGBlock *, 16> Next{&Sleep};
    bool Returns = false;
    while (!Next.empty()) {
      const CFGBlock *Block = Next.pop_back_val();
      for (unsigned I = 0; I != Block->succ_size(); ++I)
        if (staysIn(*Block, I) && !isNotRepeated(*Block, I, Sleep)) {
          const CFGBlock *To = *(Block->succ_begin() + I);
          Returns |= To == &Sleep;
          if (Forward.insert(To).second)
            Next.push_back(To);
        }
      if (ByCallers && Block == &Graph->getExit() &&
          Forward.insert(&Graph->getEntry()).second)
        Next.push_back(&Graph->getEntry());
    }
    if (!Returns)
      return false;
    Next.push_back(&Sleep);
    Backward.insert(&Sleep);
    while (!Next.empty()) {
      const CFGBlock *Block = Next.pop_back_val();
      if (ByCallers && Block == &Graph->getEntry() &&
          Forward.contains(&Graph->getExit()) &&
          Backward.insert(&Graph->getExit()))
        Next.push_back(&Graph->getExit());
      for (const CFGBlock *From : Block->preds()) {
        if (!From || !Forward.contains(From) || Backward.contains(From))
          continue;
        for (unsigned I = 0; I != From->succ_size(); ++I)
          if (*(From->succ_begin() + I) == Block && staysIn(*From, I) &&
              Backward.insert(From))
            Next.push_back(From);
      }
    }
    Idle = std::move(Backward);
    size_t Before = Work.size();
    bool Asks = false, Prints = false;
    forEachIdle([&](const CFGBlock &Block, const Stmt *S) {
      IdleEffect Effect = Effects.lookup(S);
      if (Effect != IdleEffect::Asks && Effect != IdleEffect::Tries)
        return;
      if (ignoresResult(cast<Expr>(S)))
        Work.insert(&Block);
      else
        Asks = true;
    });
    for (const CFGBlock *Block : Idle)
      if (worksOnItems(*Block, Site))
        Work.insert(Block);
    if (Work.size() != Before)
      continue;
    // What is printed in each iteration is what the loop is for, unless it says
    // that there was nothing.
    if (!Asks)
      forEachIdle([&](const CFGBlock &Block, const Stmt *S) {
        if (Effects.lookup(S) == IdleEffect::Prints)
          Prints |=
              Work.insert(&Block).second && Printing.insert(&Block).second;
      });
    if (!Prints)
      return true;
  }
}

/// Returns true if a way leads from From to Sleep.
bool SleepSearch::returnsTo(const CFGBlock *From, const CFGBlock &Sleep) const {
  Blocks Seen;
  SmallVector<const CFGBlock *, 16> Next{From};
  while (!Next.empty()) {
    const CFGBlock *Block = Next.pop_back_val();
    if (Block == &Sleep)
      return true;
    if (ByCallers && Block == &Graph->getExit())
      return true;
    if (Seen.insert(Block).second)
      for (const CFGBlock *To : Block->succs())
        if (To)
          Next.push_back(To);
  }
  return false;
}

} // namespace vfriendly::tidy
