//===- HoistFix.cpp - Takes an allocation out of a loop -------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/heap-churn/HoistFix.h"

#include "checkers/common/SourceText.h"
#include "checkers/heap-churn/HeapCheck.h"
#include "checkers/heap-churn/Induction.h"
#include "checkers/heap-churn/Retention.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/RecursiveASTVisitor.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Lex/Lexer.h"

using namespace clang;

namespace vfriendly::tidy {

/// Returns true if statements can be inserted directly before and after the
/// loop, and run whenever the loop does.
static bool hasRoomAround(const Stmt *Loop, const FunctionView &View) {
  const Stmt *Block = View.parent(Loop);
  return !View.hasLabels() && isa_and_nonnull<CompoundStmt>(Block) &&
         !isa_and_nonnull<SwitchStmt>(View.parent(Block));
}

/// Returns true if the name means this variable, and nothing else, in all of
/// the function.
static bool isOnlyOne(const VarDecl &Variable, const FunctionView &View) {
  for (const ParmVarDecl *P : View.Function.parameters())
    if (P->getDeclName() == Variable.getDeclName())
      return false;
  for (const VarDecl *Other : View.locals())
    if (Other != &Variable && Other->getDeclName() == Variable.getDeclName())
      return false;
  auto Names = [&](auto &Self, const Stmt *S) -> bool {
    if (auto *Ref = dyn_cast<DeclRefExpr>(S);
        Ref && Ref->getDecl() != &Variable &&
        Ref->getDecl()->getDeclName() == Variable.getDeclName())
      return true;
    return llvm::any_of(S->children(), [&](const Stmt *Child) {
      return Child && Self(Self, Child);
    });
  };
  return !Names(Names, View.Function.getBody());
}

namespace {
/// Finds names in the spelling of a type that are declared in the function.
class LocalNames : public RecursiveASTVisitor<LocalNames> {
public:
  bool Found = false;

  bool VisitTypeLoc(TypeLoc Loc) {
    const Type *T = Loc.getTypePtr();
    if (auto *Alias = dyn_cast<TypedefType>(T))
      note(Alias->getDecl());
    else if (auto *Tag = dyn_cast<TagType>(T))
      note(Tag->getDecl());
    return !Found;
  }
  bool VisitDeclRefExpr(DeclRefExpr *Ref) {
    note(Ref->getDecl());
    return !Found;
  }

private:
  void note(const Decl *D) {
    Found |= D->getDeclContext()->isFunctionOrMethod();
  }
};
} // namespace

/// Returns true if the variable's type can be named outside of the loop.
static bool isTypeOfFile(const VarDecl &Variable) {
  QualType Type = Variable.getType();
  const TypeSourceInfo *Written = Variable.getTypeSourceInfo();
  if (!Written || Type->isVariablyModifiedType() ||
      Type->isFunctionPointerType() || Type->getContainedAutoType())
    return false;
  LocalNames Names;
  Names.TraverseTypeLoc(Written->getTypeLoc());
  return !Names.Found;
}

static void exitsIn(const Stmt *S, SmallVectorImpl<const Stmt *> &Found) {
  if (isa<ReturnStmt, GotoStmt, IndirectGotoStmt, CXXThrowExpr, CoreturnStmt>(
          S))
    Found.push_back(S);
  for (const Stmt *Child : S->children())
    if (Child)
      exitsIn(Child, Found);
}

/// Returns true if S runs only after the allocation has failed.
static bool isFailurePath(const Stmt *S, const VarDecl &Owner,
                          const FunctionView &View) {
  for (const Stmt *P = View.parent(S); P; S = P, P = View.parent(P))
    if (auto *If = dyn_cast<IfStmt>(P))
      if (std::optional<bool> Test =
              nullTest(If->getCond(), Owner, View.Context))
        if (S == (*Test ? If->getThen() : If->getElse()))
          return true;
  return false;
}

static std::string nullIn(const FunctionView &View, const HeapCall &Malloc) {
  if (View.Context.getLangOpts().CPlusPlus)
    return View.Context.getLangOpts().CPlusPlus11 ? "nullptr" : "0";
  // <stdlib.h> declares malloc and NULL; a program that declares malloc itself
  // may have no NULL.
  const SourceManager &SM = View.Context.getSourceManager();
  return SM.isInSystemHeader(Malloc.Callee->getLocation()) ? "NULL" : "0";
}

FixHints hoistBuffer(const IterationPair &Pair, FunctionView &View) {
  const HeapCall &Allocation = *Pair.Allocation;
  const VarDecl &Owner = *Pair.Owner;
  auto *Body = dyn_cast<CompoundStmt>(loopBody(Pair.Loop));
  // Only malloc: calloc would have to clear again, strdup to copy again.
  if (!Body || Pair.Releases.size() != 1 || !Allocation.Callee ||
      Allocation.Callee->getBuiltinID() != Builtin::BImalloc)
    return {};
  const HeapCall &Release = *Pair.Releases.front();
  if (!Release.Callee || Release.Callee->getBuiltinID() != Builtin::BIfree ||
      !hasRoomAround(Pair.Loop, View) ||
      !isEditable(Pair.Loop->getSourceRange(), View) ||
      !isInvariant(Allocation.Size, Pair.Loop, View))
    return {};
  for (const HeapCall &Other : View.calls())
    if (&Other != &Release && Other.Op != HeapOp::Allocate &&
        variableOf(Other.Pointer) == &Owner)
      return {};
  // Both must be statements of the body, so that every iteration executes both.
  const Stmt *Take = View.partOf(*Body, Allocation.Site),
             *Give = View.partOf(*Body, Release.Site);
  if (!Take || !isa_and_nonnull<Expr>(Give) ||
      Give != Release.Site->IgnoreParenCasts() ||
      !isEditable(Take->getSourceRange(), View) ||
      !isEditable(Give->getSourceRange(), View))
    return {};
  for (const DeclRefExpr *Ref : View.refs(Owner))
    if (!View.isWithin(Ref, Body) ||
        (!View.isWithin(Ref, Take) && mayBeKept(*Ref, View)))
      return {};
  std::optional<StmtSet> Writes = View.writesOf(Owner);
  for (const Stmt *Write : *Writes)
    if (!View.isWithin(Allocation.Site, Write))
      return {};
  // An exit from the loop would leak the block, unless the allocation has
  // failed.
  SmallVector<const Stmt *, 4> Exits;
  exitsIn(Pair.Loop, Exits);
  for (const Stmt *Exit : Exits)
    if (!isFailurePath(Exit, Owner, View))
      return {};
  bool Between = false;
  for (const Stmt *Part : Body->body()) {
    Between |= Part == Take;
    if (!Between && mayNotReturn(Part))
      return {};
    if (Part == Give)
      Between = false;
  }
  for (const Stmt *Part : Pair.Loop->children())
    if (Part && Part != Body && mayNotReturn(Part))
      return {};

  const ASTContext &Context = View.Context;
  std::string Name = Owner.getName().str(), Null = nullIn(View, Allocation);
  std::string Indent = indentAt(Pair.Loop->getBeginLoc(), Context).str();
  SourceLocation After = endOfStatement(Pair.Loop, Context);
  CharSourceRange Old = wholeStatement(Give, Context);
  if (After.isInvalid() || Old.isInvalid() ||
      !hasRoomBefore(Pair.Loop->getBeginLoc(), Context))
    return {};
  FixHints Hints;
  std::string Before;
  if (auto *Declaration = dyn_cast<DeclStmt>(Take)) {
    const SourceManager &SM = Context.getSourceManager();
    if (!Declaration->isSingleDecl() || !isOnlyOne(Owner, View) ||
        !isTypeOfFile(Owner) || Owner.getType().isConstQualified() ||
        Owner.isStaticLocal() || Owner.hasAttrs())
      return {};
    SourceLocation NameEnd = Lexer::getLocForEndOfToken(
        Owner.getLocation(), 0, SM, Context.getLangOpts());
    StringRef Declarator = Lexer::getSourceText(
        CharSourceRange::getCharRange(Declaration->getBeginLoc(), NameEnd), SM,
        Context.getLangOpts());
    std::string Init = textOf(Owner.getInit(), Context);
    SourceLocation End = endOfStatement(Declaration, Context);
    StringRef Between = Lexer::getSourceText(
        CharSourceRange::getCharRange(NameEnd, Owner.getInit()->getBeginLoc()),
        SM, Context.getLangOpts());
    if (Declarator.empty() || Init.empty() || Between.trim() != "=" ||
        End.isInvalid())
      return {};
    Before = (Declarator + " = " + Null + ";\n" + Indent).str();
    Hints.push_back(FixItHint::CreateReplacement(
        CharSourceRange::getCharRange(Declaration->getBeginLoc(), End),
        "if (!" + Name + ")\n" +
            indentAt(Declaration->getBeginLoc(), Context).str() + "  " + Name +
            " = " + Init + ";"));
  } else {
    // The variable is not read before or after the loop.
    auto *Assign = dyn_cast<BinaryOperator>(Take);
    if (!Assign || Assign->getOpcode() != BO_Assign ||
        Owner.getType().isVolatileQualified() || isa<ParmVarDecl>(Owner) ||
        !startsLine(Assign->getBeginLoc(), Context))
      return {};
    Before = Name + " = " + Null + ";\n" + Indent;
    Hints.push_back(FixItHint::CreateInsertion(
        Assign->getBeginLoc(),
        "if (!" + Name + ")\n" +
            indentAt(Assign->getBeginLoc(), Context).str() + "  "));
  }
  Hints.push_back(FixItHint::CreateInsertion(Pair.Loop->getBeginLoc(), Before));
  Hints.push_back(FixItHint::CreateRemoval(Old));
  Hints.push_back(FixItHint::CreateInsertion(
      After, "\n" + Indent + textOf(Release.Site, Context) + ";"));
  return Hints;
}

/// Returns true if the time of destruction of an object of this type makes no
/// difference.
static bool isQuiet(QualType Type) {
  if (Type->isReferenceType())
    return false;
  auto *Record = Type->getAsCXXRecordDecl();
  if (!Record)
    return true;
  if (Record->hasDefinition() && Record->hasTrivialDestructor())
    return true;
  StringRef Kind = stdKindOf(Type);
  auto *Template = dyn_cast<ClassTemplateSpecializationDecl>(Record);
  if (!Template || (Kind != "vector" && Kind != "basic_string"))
    return false;
  // Another allocator may have side effects.
  ArrayRef<TemplateArgument> Arguments = Template->getTemplateArgs().asArray();
  return stdKindOf(Arguments.back().getAsType()) == "allocator" &&
         llvm::all_of(Arguments.drop_back(), [](const TemplateArgument &A) {
           return isQuiet(A.getAsType());
         });
}

FixHints hoistLocal(const IterationLocal &Local, FunctionView &View) {
  const VarDecl &Variable = *Local.Variable;
  const ASTContext &Context = View.Context;
  auto *Body = dyn_cast<CompoundStmt>(loopBody(Local.Loop));
  if (!Body || (Local.Kind != "vector" && Local.Kind != "basic_string") ||
      !hasRoomAround(Local.Loop, View) ||
      !isEditable(Local.Loop->getSourceRange(), View) ||
      !isQuiet(Variable.getType()) || !isTypeOfFile(Variable) ||
      !isOnlyOne(Variable, View) || Variable.hasAttrs() ||
      Variable.getType().isConstQualified() ||
      Variable.getStorageClass() != SC_None)
    return {};
  // Only `std::vector<int> v;` is accepted.
  auto *Construct = dyn_cast_or_null<CXXConstructExpr>(Variable.getInit());
  if (!Construct || Construct->getNumArgs() != 0 ||
      Variable.getInitStyle() != VarDecl::CallInit ||
      Construct->isListInitialization())
    return {};
  const DeclStmt *Declaration = nullptr;
  for (const Stmt *Part : Body->body())
    if (auto *D = dyn_cast<DeclStmt>(Part);
        D && D->isSingleDecl() && D->getSingleDecl() == &Variable)
      Declaration = D;
  for (const DeclRefExpr *Ref : View.refs(Variable)) {
    const Stmt *P = View.parent(Ref);
    while (isa_and_nonnull<ImplicitCastExpr, ParenExpr>(P))
      P = View.parent(P);
    auto *Member = dyn_cast_or_null<MemberExpr>(P);
    if (Member && Member->getMemberDecl()->getDeclName().isIdentifier() &&
        Member->getMemberDecl()->getName() == "capacity")
      return {}; // The program could observe the change.
  }
  if (!Declaration || !isEditable(Declaration->getSourceRange(), View) ||
      !hasRoomBefore(Local.Loop->getBeginLoc(), Context))
    return {};
  SourceLocation End = endOfStatement(Declaration, Context);
  if (End.isInvalid())
    return {};
  CharSourceRange Old =
      CharSourceRange::getCharRange(Declaration->getBeginLoc(), End);
  StringRef Text = Lexer::getSourceText(Old, Context.getSourceManager(),
                                        Context.getLangOpts());
  FixHints Hints;
  Hints.push_back(FixItHint::CreateInsertion(
      Local.Loop->getBeginLoc(),
      (Text + "\n" + indentAt(Local.Loop->getBeginLoc(), Context)).str()));
  Hints.push_back(FixItHint::CreateReplacement(Old, Variable.getName().str() +
                                                        ".clear();"));
  return Hints;
}

} // namespace vfriendly::tidy
