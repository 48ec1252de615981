//===- ReductionFix.cpp - Replaces updates by OpenMP's reductions ---------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/blocking-sync/Reduction.h"

#include "checkers/common/Loops.h"
#include "checkers/common/SourceText.h"
#include "checkers/common/SyncModel.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"
#include "clang/Basic/OpenMPKinds.h"
#include "clang/Basic/SourceManager.h"
#include "llvm/ADT/MapVector.h"

using namespace clang;

namespace vfriendly::tidy {

SmallVector<const Stmt *, 4> guardedBy(const OMPExecutableDirective &Guard) {
  SmallVector<const Stmt *, 4> Found;
  const Stmt *Body = Guard.hasAssociatedStmt() ? Guard.getRawStmt() : nullptr;
  if (auto *Block = dyn_cast_or_null<CompoundStmt>(Body))
    Found.append(Block->body_begin(), Block->body_end());
  else if (Body)
    Found.push_back(Body);
  return Found;
}

namespace {

/// Returns the reductions that the statements of Guard are; empty if one of
/// them is something else.
SmallVector<Reduction, 2> reductionsIn(const OMPExecutableDirective &Guard,
                                       const ASTContext &Context) {
  SmallVector<Reduction, 2> Found;
  for (const Stmt *S : guardedBy(Guard)) {
    auto One = reductionOf(S, Context);
    if (!One)
      return {};
    Found.push_back(*One);
  }
  return Found;
}

const VarDecl *variableOf(const Reduction &R, const ASTContext &Context) {
  auto *Ref = dyn_cast<DeclRefExpr>(R.Target);
  if (!Ref)
    Ref = smallArrayOf(R.Target, Context);
  return Ref ? dyn_cast<VarDecl>(Ref->getDecl()) : nullptr;
}

/// Returns true for functions of the C library that do not keep a pointer.
bool keepsNoPointer(const CallExpr &Call) {
  return llvm::is_contained(
      {"memset", "memcpy", "memmove", "memcmp", "printf", "fprintf", "scanf"},
      identifierOf(Call.getDirectCallee()));
}

/// Returns true if nothing but the assignment or read itself sees the variable
/// that a reference with these Parents names.
bool isPlainUse(ArrayRef<const Stmt *> Parents) {
  // From an array to its element.
  while (Parents.size() >= 2) {
    auto *Decay = dyn_cast<ImplicitCastExpr>(Parents.back());
    auto *Element = dyn_cast<ArraySubscriptExpr>(Parents[Parents.size() - 2]);
    if (!Decay || Decay->getCastKind() != CK_ArrayToPointerDecay || !Element ||
        Element->getBase() != Decay)
      break;
    Parents = Parents.drop_back(2);
  }
  while (!Parents.empty() && isa<ParenExpr>(Parents.back()))
    Parents = Parents.drop_back();
  const Stmt *Parent = Parents.empty() ? nullptr : Parents.back();
  if (isa_and_nonnull<UnaryExprOrTypeTraitExpr>(Parent))
    return true;
  if (auto *Cast = dyn_cast_or_null<ImplicitCastExpr>(Parent);
      Cast && Cast->getCastKind() == CK_ArrayToPointerDecay) {
    for (const Stmt *P : llvm::reverse(Parents.drop_back()))
      if (!isa<ImplicitCastExpr>(P))
        return isa<CallExpr>(P) && keepsNoPointer(*cast<CallExpr>(P));
    return false;
  }
  if (auto *Cast = dyn_cast_or_null<ImplicitCastExpr>(Parent))
    return Cast->getCastKind() == CK_LValueToRValue;
  if (auto *Unary = dyn_cast_or_null<UnaryOperator>(Parent))
    return Unary->isIncrementDecrementOp();
  auto *Binary = dyn_cast_or_null<BinaryOperator>(Parent);
  return Binary && Binary->isAssignmentOp();
}

/// The text of a directive, which ends at the end of a line.
class Pragma {
public:
  Pragma(const OMPExecutableDirective &Directive, const ASTContext &Context)
      : SM(Context.getSourceManager()), Begin(Directive.getBeginLoc()) {
    if (Begin.isMacroID())
      return;
    auto [File, Offset] = SM.getDecomposedLoc(Begin);
    StringRef Text = SM.getBufferData(File);
    size_t First = Text.rfind('\n', Offset);
    First = First == StringRef::npos ? 0 : First + 1;
    size_t Last = Offset;
    do
      Last = Text.find('\n', Last + 1);
    while (Last != StringRef::npos && Text[Last - 1] == '\\');
    if (Last == StringRef::npos)
      return;
    StringRef Line = Text.slice(First, Last);
    // A comment may follow, and the pragma may be a macro's.
    if (!Line.ltrim().starts_with("#") || Line.contains("//") ||
        Line.contains("/*"))
      return;
    SourceLocation File0 = SM.getLocForStartOfFile(File);
    // With the line break before it: clang-tidy cleans up after a removal up to
    // the end of a line, and would take a space of the next one's indentation.
    Start = File0.getLocWithOffset(First ? First - 1 : 0);
    End = File0.getLocWithOffset(First + Line.rtrim().size());
    Next = File0.getLocWithOffset(Last);
  }
  bool isPlain() const { return Next.isValid(); }
  FixItHint removal() const {
    return FixItHint::CreateRemoval(CharSourceRange::getCharRange(Start, Next));
  }
  FixItHint clause(const Twine &Text) const {
    return FixItHint::CreateInsertion(End, Text.str());
  }

private:
  const SourceManager &SM;
  SourceLocation Begin, Start, End, Next;
};

/// Returns the clause `shared(Variable)` of Directive if it names no other
/// variable.
const OMPSharedClause *sharedAlone(const OMPExecutableDirective &Directive,
                                   const VarDecl &Variable) {
  for (const auto *Clause : Directive.getClausesOfKind<OMPSharedClause>())
    if (Clause->varlist_size() == 1 &&
        objectOf(*Clause->varlist_begin()) == &Variable)
      return Clause;
  return nullptr;
}

/// Returns true if Clause names Variable.
bool names(const OMPClause &Clause, const VarDecl &Variable) {
  bool Names = false;
  for (const Stmt *Item : const_cast<OMPClause &>(Clause).children())
    if (Item)
      forEachStmt(Item, [&](const Stmt *S, ArrayRef<const Stmt *>) {
        auto *Ref = dyn_cast<DeclRefExpr>(S);
        Names |= Ref && Ref->getDecl() == &Variable;
      });
  return Names;
}

bool isBefore(const Stmt &A, const Stmt &B, const ASTContext &Context) {
  const SourceManager &SM = Context.getSourceManager();
  return SM.isBeforeInTranslationUnit(SM.getExpansionLoc(A.getEndLoc()),
                                      SM.getExpansionLoc(B.getBeginLoc()));
}

/// Returns true if the loop is complete in all threads of its region before one
/// of them executes what stands after it, and no thread comes back to it:
///
///   parallel { for { ... }  <barrier>  rest }
bool endsBeforeRest(const ParallelUpdate &Site, const ASTContext &Context) {
  if (!Site.Loop->getClausesOfKind<OMPNowaitClause>().empty())
    return false;
  bool Ends = true;
  forEachStmtAndLambda(Site.Region,
                       [&](const Stmt *S, ArrayRef<const Stmt *> Parents) {
                         Ends &= !isa<GotoStmt, IndirectGotoStmt>(S);
                         if (S == Site.Loop)
                           Ends &= llvm::none_of(Parents, isLoop);
                       });
  return Ends;
}

/// Returns the reason why a clause cannot reduce Variable; empty if it can.
StringRef obstacle(const VarDecl &Variable, StringRef Operator,
                   const ParallelUpdate &Site,
                   ArrayRef<const OMPExecutableDirective *> Removed,
                   const ASTContext &Context) {
  QualType T = Context.getBaseElementType(Variable.getType());
  if (!Variable.hasLocalStorage())
    return "other functions can reach the result";
  if (!T->isArithmeticType() || T.isVolatileQualified() ||
      T->isAnyComplexType() || T->isBooleanType())
    return "the result is not a number";
  bool MapsBoth = false;
  SmallVector<const OMPClause *, 8> Clauses(Site.Loop->clauses());
  llvm::append_range(Clauses, Site.Region->clauses());
  for (const OMPClause *Clause : Clauses) {
    if (auto *Map = dyn_cast<OMPMapClause>(Clause)) {
      MapsBoth |= Map->getMapType() == OMPC_MAP_tofrom && names(*Map, Variable);
      continue;
    }
    // The fix replaces the clause of the loop. What a loop reduces has to be
    // shared in the region around it.
    if (isa<OMPSharedClause>(Clause) &&
        (Clause == sharedAlone(*Site.Loop, Variable) ||
         !llvm::is_contained(Site.Loop->clauses(), Clause)))
      continue;
    if (names(*Clause, Variable))
      return "a clause of the loop names the result";
  }
  // Without a map clause, the result is lost; a reduction clause would copy it
  // back.
  if (isOpenMPTargetExecutionDirective(Site.Loop->getDirectiveKind()) &&
      !MapsBoth)
    return "no clause maps the result to the device and back";
  const bool EndsBefore = endsBeforeRest(Site, Context);
  StringRef Reason;
  forEachStmtAndLambda(
      Site.Function->getBody(),
      [&](const Stmt *S, ArrayRef<const Stmt *> Parents) {
        auto *Ref = dyn_cast<DeclRefExpr>(S);
        if (auto *Lambda = dyn_cast<LambdaExpr>(S))
          for (const LambdaCapture &Capture : Lambda->captures())
            if (Capture.capturesVariable() &&
                Capture.getCapturedVar() == &Variable)
              Reason = "a lambda captures the result";
        if (!Ref || Ref->getDecl() != &Variable)
          return;
        if (!llvm::is_contained(Parents, Site.Loop)) {
          bool IsAfter = EndsBefore && isBefore(*Site.Loop, *S, Context);
          if (llvm::is_contained(Parents, Site.Region) && !IsAfter)
            Reason = "the region uses the result outside of the loop";
          else if (!isPlainUse(Parents))
            Reason = "something may hold the address of the result";
          return;
        }
        // Within the loop, only an update with the same operator may use it.
        auto InUpdate = [&](const Stmt *P) {
          auto Found = reductionOf(P, Context);
          return Found && Found->Operator == Operator &&
                 variableOf(*Found, Context) == &Variable;
        };
        auto IsRemoved = [&](const Stmt *P) {
          return llvm::is_contained(Removed, P);
        };
        if (!llvm::any_of(Parents, InUpdate) ||
            !llvm::any_of(Parents, IsRemoved))
          Reason = "the loop uses the result in another way";
      });
  return Reason;
}

} // namespace

ReductionFix reductionFix(const ParallelUpdate &Site,
                          const ASTContext &Context) {
  ReductionFix Fix;
  Fix.Removed.push_back(Site.Update);
  if (!Site.Region) {
    Fix.Reason = "the team of threads is not visible here";
    return Fix;
  }
  // All guards of the same results, and of the results that these update.
  llvm::SmallMapVector<const VarDecl *, StringRef, 2> Results;
  bool IsComplete = false;
  while (!IsComplete && Fix.Reason.empty()) {
    for (const OMPExecutableDirective *Guard : Fix.Removed)
      for (const Reduction &R : reductionsIn(*Guard, Context)) {
        const VarDecl *Variable = variableOf(R, Context);
        if (!Variable)
          Fix.Reason = "the result is no variable of its own";
        else if (Results.try_emplace(Variable, R.Operator).first->second !=
                 R.Operator)
          Fix.Reason = "the loop combines the result in different ways";
      }
    IsComplete = true;
    forEachStmtAndLambda(
        Site.Loop->getRawStmt(), [&](const Stmt *S, ArrayRef<const Stmt *>) {
          if (!isa<OMPCriticalDirective, OMPAtomicDirective>(S) ||
              llvm::is_contained(Fix.Removed, S))
            return;
          auto *Guard = cast<OMPExecutableDirective>(S);
          auto Updates = reductionsIn(*Guard, Context);
          if (llvm::any_of(Updates, [&](const Reduction &R) {
                return Results.count(variableOf(R, Context));
              })) {
            Fix.Removed.push_back(Guard);
            IsComplete = false;
          }
        });
  }
  std::string Clauses;
  for (auto &[Variable, Operator] : Results) {
    if (Fix.Reason.empty())
      Fix.Reason = obstacle(*Variable, Operator, Site, Fix.Removed, Context);
    std::string Clause =
        ("reduction(" + Operator + ": " + Variable->getName() + ")").str();
    if (const OMPSharedClause *Shared = sharedAlone(*Site.Loop, *Variable))
      Fix.Hints.push_back(FixItHint::CreateReplacement(
          SourceRange(Shared->getBeginLoc(), Shared->getEndLoc()), Clause));
    else
      Clauses += " " + Clause;
  }
  Pragma Loop(*Site.Loop, Context);
  bool ArePlain = Loop.isPlain();
  if (!Clauses.empty() && ArePlain)
    Fix.Hints.push_back(Loop.clause(Clauses));
  for (const OMPExecutableDirective *Guard : Fix.Removed) {
    Pragma Update(*Guard, Context);
    ArePlain &= Update.isPlain();
    if (ArePlain)
      Fix.Hints.push_back(Update.removal());
  }
  if (!ArePlain && Fix.Reason.empty())
    Fix.Reason = "the directives are no lines of their own";
  if (!Fix.Reason.empty())
    Fix.Hints.clear();
  return Fix;
}

} // namespace vfriendly::tidy
