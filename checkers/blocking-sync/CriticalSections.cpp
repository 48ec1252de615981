//===- CriticalSections.cpp - What runs while a lock is held --------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/blocking-sync/CriticalSections.h"

#include "checkers/blocking-sync/LongCalls.h"
#include "checkers/common/SourceText.h"

#include "clang/AST/ExprCXX.h"

using namespace clang;

namespace vfriendly::tidy {

FunctionSections::FunctionSections(const FunctionSync &F,
                                   std::vector<SpinSite> Found,
                                   const ASTContext &Context)
    : F(F), Context(Context), Sites(std::move(Found)) {
  for (const SpinSite &S : Sites) {
    ByStmt[S.Site] = &S;
    if (S.Macro.isValid())
      forEachStmt(S.Site, [&](const Stmt *Below, ArrayRef<const Stmt *>) {
        ByStmt[Below] = &S;
      });
  }
}

bool FunctionSections::releasesIn(const Stmt &Loop,
                                  const SpinSite &Take) const {
  bool Found = false;
  forEachStmt(&Loop, [&](const Stmt *S, ArrayRef<const Stmt *>) {
    Found |= releases(S, Take);
  });
  return Found;
}

/// Returns true if S is a call of a method of Guard that releases its lock.
static bool letsGo(const Stmt *S, const ValueDecl &Guard) {
  auto *Call = dyn_cast<CXXMemberCallExpr>(S);
  return Call && isReleaseOfGuard(identifierOf(Call->getMethodDecl())) &&
         objectOf(Call->getImplicitObjectArgument()) == &Guard;
}

/// Returns true if a statement before S, in one of the blocks around it,
/// releases the lock of Guard.
static bool isAfterRelease(const Stmt *S, ArrayRef<const Stmt *> Parents,
                           const ValueDecl &Guard) {
  for (const Stmt *Parent : llvm::reverse(Parents)) {
    if (auto *Block = dyn_cast<CompoundStmt>(Parent))
      for (const Stmt *Before : Block->body()) {
        if (Before == S)
          break;
        if (letsGo(Before, Guard))
          return true;
      }
    S = Parent;
  }
  return false;
}

std::vector<const Stmt *> FunctionSections::ofGuard(const SpinSite &Take) {
  std::vector<const Stmt *> Section;
  const ValueDecl *Guard = declaredAt(Take.Parents);
  auto [Scope, Declaration] = innermostBlock(Take.Site, Take.Parents);
  if (!Guard || !Scope)
    return Section;
  auto Where = llvm::find(Scope->body(), Declaration);
  if (Where == Scope->body_end())
    return Section;
  for (++Where; Where != Scope->body_end() && !letsGo(*Where, *Guard); ++Where)
    forEachStmt(*Where, [&](const Stmt *S, ArrayRef<const Stmt *> Parents) {
      if (!endsProgram(Parents) && !isAfterRelease(S, Parents, *Guard))
        Section.push_back(S);
    });
  return Section;
}

/// Returns true if S takes the lock of Take: before, it was not held.
bool FunctionSections::takesAgain(const Stmt *S, const SpinSite &Take) const {
  const SpinSite *Site = siteOf(S);
  // A macro is several elements of the graph.
  return Site && Site->Op == SpinOp::Acquire && Site->Object == Take.Object &&
         !Site->IsGuard && !(Site == &Take && Take.Macro.isValid());
}

/// Returns true if only the name of the function that Take calls has to be
/// known to say that it takes a spin lock.
static bool isNamed(const SpinSite &Take) {
  auto *Call = dyn_cast<CallExpr>(Take.Site);
  const FunctionDecl *Callee = Call ? Call->getDirectCallee() : nullptr;
  return Take.When != Success::NonZero && Callee &&
         spinOpByName(identifierOf(Callee)) == SpinOp::Acquire;
}

bool FunctionSections::staysHeld(const SpinSite &Take) const {
  return isNamed(Take) &&
         // One of these may release it under another name.
         llvm::none_of(Sites,
                       [&](const SpinSite &Release) {
                         return Release.Op == SpinOp::Release &&
                                !isa<GCCAsmStmt, BinaryOperator, UnaryOperator>(
                                    Release.Site) &&
                                llvm::none_of(
                                    Sites, [&](const SpinSite &Other) {
                                      return Other.Op == SpinOp::Acquire &&
                                             Other.Object == Release.Object;
                                    });
                       }) &&
         llvm::none_of(F.Calls, [&](const CallSite &C) {
           return !siteOf(C.Call) && namesRelease(identifierOf(C.Callee));
         });
}

/// Returns whether the condition E holds if the value of Call, which may have
/// been stored in Result, is not 0 (Value) or is 0. Returns nothing if that
/// does not decide it.
static std::optional<bool> decide(const Expr *E, const CallExpr &Call,
                                  const ValueDecl *Result, bool Value,
                                  const ASTContext &Context) {
  E = E->IgnoreParenImpCasts();
  if (E == &Call || (Result && objectOf(E) == Result && isa<DeclRefExpr>(E)))
    return Value;
  auto Within = [&](const Expr *Of) {
    return decide(Of, Call, Result, Value, Context);
  };
  if (auto *Unary = dyn_cast<UnaryOperator>(E)) {
    if (Unary->getOpcode() != UO_LNot)
      return std::nullopt;
    std::optional<bool> Of = Within(Unary->getSubExpr());
    return Of ? std::optional(!*Of) : std::nullopt;
  }
  if (auto *Expect = dyn_cast<CallExpr>(E))
    return identifierOf(calleeOf(Expect)) == "__builtin_expect"
               ? Within(Expect->getArg(0))
               : std::nullopt;
  auto *Binary = dyn_cast<BinaryOperator>(E);
  if (!Binary)
    return std::nullopt;
  if (Binary->getOpcode() == BO_Assign)
    return Within(Binary->getRHS());
  Expr::EvalResult Other;
  if (!Binary->isComparisonOp() || Binary->getRHS()->isValueDependent() ||
      !Binary->getRHS()->EvaluateAsInt(Other, Context))
    return std::nullopt;
  std::optional<bool> Of = Within(Binary->getLHS());
  bool IsZero = Other.Val.getInt() == 0, IsEqual = false;
  if (!Of)
    return std::nullopt;
  if (Binary->isRelationalOp())
    return IsZero && !*Of && Binary->getOpcode() != BO_LE &&
                   Binary->getOpcode() != BO_GE
               ? std::optional(false)
               : std::nullopt;
  if (IsZero)
    IsEqual = !*Of;
  else if (*Of && Other.Val.getInt() == 1)
    IsEqual = true;
  else if (*Of)
    return std::nullopt; // It may be any other value.
  return IsEqual == (Binary->getOpcode() == BO_EQ);
}

/// Returns the variable in which S stores the value of Call; null if none.
static const ValueDecl *resultIn(const Stmt *S, const CallExpr &Call) {
  if (auto *Assign = dyn_cast<BinaryOperator>(S))
    return Assign->getOpcode() == BO_Assign &&
                   Assign->getRHS()->IgnoreParenImpCasts() == &Call
               ? objectOf(Assign->getLHS())
               : nullptr;
  auto *Declaration = dyn_cast<DeclStmt>(S);
  auto *Variable = Declaration && Declaration->isSingleDecl()
                       ? dyn_cast<VarDecl>(Declaration->getSingleDecl())
                       : nullptr;
  return Variable && Variable->getInit() &&
                 Variable->getInit()->IgnoreParenImpCasts() == &Call
             ? Variable
             : nullptr;
}

/// Returns the blocks in which the lock is held after Take, the last call of
/// Block: if the branch at its end tests the result, those on one side.
static SmallVector<const CFGBlock *, 2> heldAfter(const CFGBlock &Block,
                                                  const SpinSite &Take,
                                                  const ASTContext &Context) {
  SmallVector<const CFGBlock *, 2> After;
  auto *Call = dyn_cast<CallExpr>(Take.Site);
  std::optional<bool> Holds;
  if (const Expr *Condition = Block.getLastCondition();
      Condition && Call && Take.When != Success::Always &&
      Block.succ_size() == 2) {
    const ValueDecl *Result = nullptr;
    for (const CFGElement &Element : Block)
      if (std::optional<CFGStmt> S = Element.getAs<CFGStmt>())
        if (const ValueDecl *In = resultIn(S->getStmt(), *Call))
          Result = In;
    Holds = decide(Condition, *Call, Result, Take.When == Success::NonZero,
                   Context);
  }
  size_t Side = 0;
  for (const CFGBlock *Next : Block.succs())
    if (size_t Here = Side++; Next && (!Holds || Here == (*Holds ? 0U : 1U)))
      After.push_back(Next);
  return After;
}

namespace {
/// What lies in a block that can be reached after the lock was taken, up to its
/// release.
struct Part {
  std::vector<const Stmt *> Stmts;
  enum { Goes, Releases, Takes } End = Goes;
};
} // namespace

std::vector<const Stmt *> FunctionSections::ofCall(const SpinSite &Take) {
  std::vector<const Stmt *> Section;
  bool ForCaller = llvm::none_of(Sites, [&](const SpinSite &S) {
    return S.Op == SpinOp::Release && S.Object == Take.Object;
  });
  if (ForCaller && !staysHeld(Take))
    return Section;
  if (!Graph) {
    CFG::BuildOptions Options;
    Options.setAllAlwaysAdd();
    Graph = CFG::buildCFG(F.Function, F.Function->getBody(),
                          const_cast<ASTContext *>(&Context), Options);
    if (!Graph)
      return Section;
  }
  llvm::MapVector<const CFGBlock *, Part> Parts;
  SmallVector<const CFGBlock *, 16> Work;
  auto Scan = [&](const CFGBlock &Block, size_t From, Part &Into) {
    for (size_t I = From; I < Block.size(); ++I) {
      std::optional<CFGStmt> Element = Block[I].getAs<CFGStmt>();
      if (!Element)
        continue;
      const Stmt *S = Element->getStmt();
      if (releases(S, Take) || takesAgain(S, Take)) {
        Into.End = releases(S, Take) ? Part::Releases : Part::Takes;
        return;
      }
      if (siteOf(S) != &Take)
        Into.Stmts.push_back(S);
    }
    // A loop is no element of its blocks.
    if (const Stmt *Loop = Block.getTerminatorStmt(); Loop && isLoop(Loop)) {
      if (takesAgain(Loop, Take)) {
        Into.End = Part::Takes;
        return;
      }
      Into.Stmts.push_back(Loop);
    }
    for (const CFGBlock *Next :
         From ? heldAfter(Block, Take, Context)
              : SmallVector<const CFGBlock *, 2>(Block.succ_begin(),
                                                 Block.succ_end()))
      if (Next && !Parts.count(Next))
        Work.push_back(Next);
  };
  bool TakesInLoop = isLoop(Take.Site);
  Part First;
  const CFGBlock *Start = nullptr;
  for (const CFGBlock *Block : *Graph) {
    for (size_t I = Block->size(); I-- > 0 && !Start;)
      if (std::optional<CFGStmt> Element = (*Block)[I].getAs<CFGStmt>())
        if (!TakesInLoop && siteOf(Element->getStmt()) == &Take) {
          Start = Block;
          Scan(*Block, I + 1, First);
        }
    // A loop that takes the lock is the terminator of the block that decides
    // whether it goes on.
    if (TakesInLoop && !Start && Block->getTerminatorStmt() == Take.Site &&
        Block->succ_size() == 2 && *std::next(Block->succ_begin())) {
      Start = Block;
      Work.push_back(*std::next(Block->succ_begin()));
    }
    if (Start)
      break;
  }
  SmallVector<const CFGBlock *, 2> AfterFirst(Work.begin(), Work.end());
  while (!Work.empty()) {
    const CFGBlock *Block = Work.pop_back_val();
    if (!Parts.count(Block)) {
      Part Whole;
      Parts.insert({Block, Part()});
      Scan(*Block, 0, Whole);
      Parts[Block] = std::move(Whole);
    }
  }
  // Keeps the blocks after which a release follows, here or in the caller.
  llvm::DenseSet<const CFGBlock *> Held;
  auto Leads = [&](const auto &Next) {
    return llvm::any_of(
        Next, [&](const CFGBlock *B) { return B && Held.contains(B); });
  };
  for (bool Changed = true; Changed;) {
    Changed = false;
    for (auto &[Block, Each] : Parts) {
      bool Is = Each.End == Part::Releases;
      if (Each.End == Part::Goes)
        Is = (ForCaller && Block == &Graph->getExit()) ||
             (!Block->hasNoReturnElement() && Leads(Block->succs()));
      if (Is)
        Changed |= Held.insert(Block).second;
    }
  }
  if (First.End == Part::Releases || Leads(AfterFirst))
    Section = std::move(First.Stmts);
  for (auto &[Block, Each] : Parts)
    if (Held.contains(Block))
      Section.insert(Section.end(), Each.Stmts.begin(), Each.Stmts.end());
  return Section;
}

} // namespace vfriendly::tidy
