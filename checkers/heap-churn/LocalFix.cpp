//===- LocalFix.cpp - Takes a container out of a loop ---------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The container is declared before the loop, and each iteration gives it the
// value with which its declaration began:
//
//   std::vector<T> v;                v.clear();
//   std::vector<T> v(n);             v.assign(n, {});
//   std::vector<T> v(n, x);          v.assign(n, x);
//   std::vector<T> v(i, j);          v.assign(i, j);
//   std::vector<T> v = other;        v = other;
//   std::vector<U> v; v.resize(n);   v.assign(n, {});
//
// The last form is for elements U that own memory themselves: clear() would
// release it, while assign() empties those elements that exist.
//
//===----------------------------------------------------------------------===//

#include "checkers/heap-churn/Fixes.h"

#include "checkers/common/SourceText.h"
#include "checkers/heap-churn/HeapCheck.h"
#include "checkers/heap-churn/Hoisting.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Lex/Lexer.h"

using namespace clang;

namespace vfriendly::tidy {

/// Returns the type of the elements if Type is a vector or a string that uses
/// std::allocator: another allocator may have side effects. Otherwise returns a
/// null type.
static QualType elementOf(QualType Type) {
  StringRef Kind = stdKindOf(Type);
  auto *Template = dyn_cast_or_null<ClassTemplateSpecializationDecl>(
      Type->getAsCXXRecordDecl());
  if (!Template || (Kind != "vector" && Kind != "basic_string"))
    return QualType();
  ArrayRef<TemplateArgument> Arguments = Template->getTemplateArgs().asArray();
  return stdKindOf(Arguments.back().getAsType()) == "allocator"
             ? Arguments.front().getAsType()
             : QualType();
}

/// Returns true if the time of destruction of an object of this type makes no
/// difference.
static bool isQuiet(QualType Type) {
  if (Type->isReferenceType())
    return false;
  auto *Record = Type->getAsCXXRecordDecl();
  if (!Record || (Record->hasDefinition() && Record->hasTrivialDestructor()))
    return true;
  QualType Element = elementOf(Type);
  return !Element.isNull() && isQuiet(Element);
}

/// Returns true if no program can tell an object that is made from a copy of
/// `{}`, or is assigned it, from one that is made without arguments.
static bool isPlainValue(QualType Type) {
  if (Type->isScalarType())
    return true;
  QualType Element = elementOf(Type);
  if (!Element.isNull())
    return isPlainValue(Element);
  // `{}` would set only the first member of a union.
  auto *Record = Type->getAsCXXRecordDecl();
  return Record && Record->hasDefinition() && Record->isTrivial() &&
         !Record->isUnion() && Record->getNumBases() == 0 &&
         llvm::all_of(Record->fields(), [](const FieldDecl *Field) {
           return Field->getType()->isScalarType();
         });
}

namespace {
/// How an iteration begins with a container that is declared before the loop.
struct Restart {
  std::string Declaration; ///< To insert before the loop.
  FixHints InLoop;
};
} // namespace

static StringRef sourceOf(SourceLocation From, SourceLocation To,
                          const ASTContext &Context) {
  return Lexer::getSourceText(CharSourceRange::getCharRange(From, To),
                              Context.getSourceManager(),
                              Context.getLangOpts());
}

/// Returns the statement `v.resize(n);` of Body if it is the first that uses
/// Variable.
static const CXXMemberCallExpr *firstResize(const VarDecl &Variable,
                                            const CompoundStmt &Body,
                                            const FunctionView &View) {
  for (const Stmt *Part : Body.body()) {
    bool Uses = llvm::any_of(View.refs(Variable), [&](const DeclRefExpr *Ref) {
      return View.isWithin(Ref, Part);
    });
    if (!Uses)
      continue;
    auto *Call = dyn_cast<CXXMemberCallExpr>(Part);
    if (!Call || identifierOf(Call->getMethodDecl()) != "resize" ||
        Call->getNumArgs() != 1 || Call->getRParenLoc().isInvalid() ||
        !isEditable(Call->getSourceRange(), View) ||
        variableOf(Call->getImplicitObjectArgument()) != &Variable)
      return nullptr;
    // The size may be computed from the variable itself.
    for (const DeclRefExpr *Ref : View.refs(Variable))
      if (View.isWithin(Ref, Call->getArg(0)))
        return nullptr;
    return Call;
  }
  return nullptr;
}

/// Plans how an iteration gives Variable the value with which Construct makes
/// it.
static std::optional<Restart> restart(const VarDecl &Variable,
                                      const CXXConstructExpr &Construct,
                                      const DeclStmt &Declaration,
                                      const CompoundStmt &Body,
                                      const FunctionView &View) {
  const ASTContext &Context = View.Context;
  SourceLocation Begin = Declaration.getBeginLoc(),
                 End = endOfStatement(&Declaration, Context),
                 NameEnd = Lexer::getLocForEndOfToken(
                     Variable.getLocation(), 0, Context.getSourceManager(),
                     Context.getLangOpts());
  if (End.isInvalid() || NameEnd.isInvalid())
    return std::nullopt;
  CharSourceRange Old = CharSourceRange::getCharRange(Begin, End);
  std::string Name = Variable.getName().str();
  auto By = [&](const std::string &Statement) {
    return Restart{sourceOf(Begin, NameEnd, Context).str() + ";",
                   {FixItHint::CreateReplacement(Old, Statement)}};
  };
  QualType Element = elementOf(Variable.getType());
  if (Construct.getNumArgs() == 0) {
    const CXXMemberCallExpr *Resize =
        elementOf(Element).isNull() || !isPlainValue(Element)
            ? nullptr
            : firstResize(Variable, Body, View);
    if (!Resize)
      return By(Name + ".clear();");
    auto *Member = cast<MemberExpr>(Resize->getCallee()->IgnoreParens());
    return Restart{
        sourceOf(Begin, End, Context).str(),
        {FixItHint::CreateRemoval(wholeStatement(&Declaration, Context)),
         FixItHint::CreateReplacement(SourceRange(Member->getMemberLoc()),
                                      "assign"),
         FixItHint::CreateInsertion(Resize->getRParenLoc(), ", {}")}};
  }
  std::string First = textOf(Construct.getArg(0), Context);
  if (First.empty())
    return std::nullopt;
  if (Construct.getConstructor()->isCopyConstructor() ||
      isa<clang::StringLiteral>(Construct.getArg(0)->IgnoreImpCasts()))
    return By(Name + " = " + First + ";");
  // Only `v(...)`: in braces, the arguments may be elements.
  if (Variable.getInitStyle() != VarDecl::CallInit ||
      sourceOf(NameEnd, Construct.getArg(0)->getBeginLoc(), Context).trim() !=
          "(")
    return std::nullopt;
  bool IsCount = Construct.getArg(0)->getType()->isIntegerType();
  auto IsGiven = [](const Expr *E) { return !isa<CXXDefaultArgExpr>(E); };
  unsigned Given = llvm::count_if(Construct.arguments(), IsGiven);
  if (Given == 1 && IsCount && isPlainValue(Element))
    return By(Name + ".assign(" + First + ", {});");
  if (Given != 2 ||
      (IsCount && stdKindOf(Construct.getArg(1)->getType()) == "allocator"))
    return std::nullopt;
  std::string Second = textOf(Construct.getArg(1), Context);
  if (Second.empty() || !isPlainValue(Element))
    return std::nullopt;
  return By(Name + ".assign(" + First + ", " + Second + ");");
}

/// Returns true if Ref is used in a way that a container which keeps its memory
/// changes.
static bool showsCapacity(const DeclRefExpr &Ref, const FunctionView &View) {
  const Stmt *P = View.parent(&Ref);
  while (isa_and_nonnull<ImplicitCastExpr, ParenExpr>(P))
    P = View.parent(P);
  auto *Member = dyn_cast_or_null<MemberExpr>(P);
  return Member && identifierOf(Member->getMemberDecl()) == "capacity";
}

FixHints hoistLocal(const IterationLocal &Local, FunctionView &View) {
  const VarDecl &Variable = *Local.Variable;
  const ASTContext &Context = View.Context;
  auto *Body = dyn_cast<CompoundStmt>(loopBody(Local.Loop));
  if (!Body || elementOf(Variable.getType()).isNull() ||
      !hasRoomAround(Local.Loop, View) ||
      !isEditable(Local.Loop->getSourceRange(), View) ||
      !isQuiet(Variable.getType()) || !isTypeOfFile(Variable) ||
      !isOnlyOne(Variable, View) || Variable.hasAttrs() ||
      Variable.getType().isConstQualified() ||
      Variable.getStorageClass() != SC_None)
    return {};
  const Expr *Init = Variable.getInit();
  if (auto *Full = dyn_cast_or_null<FullExpr>(Init))
    Init = Full->getSubExpr();
  auto *Construct = dyn_cast_or_null<CXXConstructExpr>(Init);
  if (!Construct || Construct->isListInitialization())
    return {};
  const DeclStmt *Declaration = nullptr;
  for (const Stmt *Part : Body->body())
    if (auto *D = dyn_cast<DeclStmt>(Part);
        D && D->isSingleDecl() && D->getSingleDecl() == &Variable)
      Declaration = D;
  if (!Declaration || !isEditable(Declaration->getSourceRange(), View) ||
      !hasRoomBefore(Local.Loop->getBeginLoc(), Context) ||
      llvm::any_of(View.refs(Variable), [&](const DeclRefExpr *Ref) {
        return showsCapacity(*Ref, View);
      }))
    return {};
  std::optional<Restart> Begins =
      restart(Variable, *Construct, *Declaration, *Body, View);
  if (!Begins)
    return {};
  SourceLocation Loop = Local.Loop->getBeginLoc();
  FixHints Hints = std::move(Begins->InLoop);
  Hints.push_back(FixItHint::CreateInsertion(
      Loop, Begins->Declaration + "\n" + indentAt(Loop, Context).str()));
  return Hints;
}

} // namespace vfriendly::tidy
