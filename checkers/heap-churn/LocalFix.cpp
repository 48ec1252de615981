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
//   std::ostringstream s;            s.str(""); s.clear();
//
// The last form for vectors is for elements U that own memory themselves:
// clear() would release it, while assign() empties those elements that exist.
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

/// Returns true if S calls only functions of the library, or functions that do:
/// none of them sets the global locale, which a new stream copies.
static bool callsOnlyLibrary(const Stmt *S, const ASTContext &Context,
                             unsigned Depth = 0) {
  const SourceManager &SM = Context.getSourceManager();
  bool Only = Depth < 4;
  forEachStmtAndLambda(S, [&](const Stmt *Each, ArrayRef<const Stmt *>) {
    if (!Only)
      return;
    const FunctionDecl *Callee = nullptr;
    if (auto *Made = dyn_cast<CXXConstructExpr>(Each))
      Callee = Made->getConstructor();
    else if (auto *Call = dyn_cast<CallExpr>(Each))
      Only = (Callee = Call->getDirectCallee()) != nullptr;
    if (!Callee || Callee->isImplicit())
      return;
    if (SM.isInSystemHeader(Callee->getLocation()) || Callee->getBuiltinID())
      Only = identifierOf(Callee) != "global";
    else
      Only = Callee->getBody() &&
             callsOnlyLibrary(Callee->getBody(), Context, Depth + 1);
  });
  return Only;
}

/// Returns true if E is a number, a character or a text, and no manipulator,
/// which would change the stream.
static bool isPlainOutput(const Expr &E) {
  QualType Type = E.getType().getNonReferenceType();
  if (Type->isArithmeticType())
    return true;
  if (Type->isPointerType() || Type->isArrayType())
    return Type->getPointeeOrArrayElementType()->isCharType();
  StringRef Kind = stdKindOf(Type);
  return Kind == "basic_string" || Kind == "basic_string_view";
}

/// Returns true if Variable is a std::ostringstream that a loop only writes
/// plain values to and asks for its text, so that it is as new once its text
/// and its state are cleared.
static bool isPlainStream(const VarDecl &Variable, const Stmt &Loop,
                          const FunctionView &View) {
  auto *Class = dyn_cast_or_null<ClassTemplateSpecializationDecl>(
      Variable.getType()->getAsCXXRecordDecl());
  if (!Class || stdKindOf(Variable.getType()) != "basic_ostringstream" ||
      !Class->getTemplateArgs()[0].getAsType()->isCharType())
    return false;
  for (const DeclRefExpr *Ref : View.refs(Variable)) {
    const Stmt *Child = Ref, *P = View.parent(Ref);
    bool IsOutput = false;
    while (P) {
      auto *Operator = dyn_cast<CXXOperatorCallExpr>(P);
      auto *Member = dyn_cast<MemberExpr>(P);
      if (Operator && Operator->getOperator() == OO_LessLess &&
          Operator->getArg(0) == Child && isPlainOutput(*Operator->getArg(1)))
        IsOutput = true;
      else if (Member && !IsOutput) {
        auto *Call = dyn_cast_or_null<CXXMemberCallExpr>(View.parent(P));
        if (!Call || Call->getNumArgs() != 0 ||
            identifierOf(Call->getMethodDecl()) != "str")
          return false;
        break;
      } else if (!isa<ImplicitCastExpr, ParenExpr>(P))
        break;
      Child = P;
      P = View.parent(P);
    }
    // The result of a chain of outputs is not used.
    if (IsOutput &&
        !isa_and_nonnull<CompoundStmt, IfStmt, ForStmt, CXXForRangeStmt,
                         WhileStmt>(P) &&
        !isa_and_nonnull<ExprWithCleanups>(P))
      return false;
    if (!IsOutput && !isa_and_nonnull<MemberExpr>(P))
      return false;
  }
  return callsOnlyLibrary(&Loop, View.Context);
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
  if (Element.isNull()) // A stream.
    return By(Name + ".str(\"\"); " + Name + ".clear();");
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
  bool IsStream = isPlainStream(Variable, *Local.Loop, View);
  if (!Body || (!IsStream && elementOf(Variable.getType()).isNull()) ||
      !hasRoomAround(Local.Loop, View) ||
      !isEditable(Local.Loop->getSourceRange(), View) ||
      (!IsStream && !isQuiet(Variable.getType())) || !isTypeOfFile(Variable) ||
      !isOnlyOne(Variable, View) || Variable.hasAttrs() ||
      Variable.getType().isConstQualified() ||
      Variable.getStorageClass() != SC_None)
    return {};
  const Expr *Init = Variable.getInit();
  if (auto *Full = dyn_cast_or_null<FullExpr>(Init))
    Init = Full->getSubExpr();
  auto *Construct = dyn_cast_or_null<CXXConstructExpr>(Init);
  if (!Construct || Construct->isListInitialization() ||
      (IsStream &&
       !llvm::all_of(Construct->arguments(), llvm::IsaPred<CXXDefaultArgExpr>)))
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
