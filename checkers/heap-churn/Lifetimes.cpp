//===- Lifetimes.cpp - Objects that one function takes and another ends ---===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/heap-churn/Lifetimes.h"

#include "checkers/common/SourceText.h"
#include "checkers/heap-churn/Cold.h"
#include "passes/analysis/common/NameWords.h"

#include "clang/AST/ASTContext.h"
#include "clang/Basic/SourceManager.h"

using namespace clang;

namespace vfriendly::tidy {

bool isTeardown(const FunctionDecl &F) {
  static const llvm::StringSet<> Words{
      "destroy", "clear",    "flush",  "cleanup", "close", "reset",
      "purge",   "finalize", "finish", "exit",    "quit",  "unload",
      "stop",    "done",     "all",    "reload",  "term",  "terminate"};
  return isColdFunction(F) || hasWord(identifierOf(&F), Words);
}

bool isDrain(const Stmt *Loop, const FunctionView &View) {
  static const llvm::StringSet<> Ends{
      "free",   "delete", "destroy", "release", "dispose", "unref",  "clear",
      "remove", "drop",   "del",     "dec",     "pop",     "first",  "next",
      "shift",  "take",   "dequeue", "close",   "cleanup", "deinit", "put"};
  bool Only = true;
  forEachStmt(Loop, [&](const Stmt *S, ArrayRef<const Stmt *>) {
    auto *Call = dyn_cast<CallExpr>(S);
    std::optional<HeapCall> Heap = Call ? View.Heap.match(Call) : std::nullopt;
    if (Call && !(Heap && Heap->Op == HeapOp::Release) &&
        !hasWord(identifierOf(calleeOf(Call)), Ends))
      Only = false;
  });
  return Only;
}

/// Returns the field that E names, whatever leads to it: `p->a[i].f`.
static const FieldDecl *fieldOf(const Expr *E) {
  auto *Member = dyn_cast<MemberExpr>(E->IgnoreParenCasts());
  return Member ? dyn_cast<FieldDecl>(Member->getMemberDecl()) : nullptr;
}

/// Returns the name of what Pointer points to: its structure, if the program
/// defines it, or else the field that holds it. Empty if there is neither.
static std::string keyOf(const Expr *Pointer, QualType Type,
                         const ASTContext &Context) {
  const RecordDecl *Object = !Type.isNull() && Type->isPointerType()
                                 ? Type->getPointeeType()->getAsRecordDecl()
                                 : nullptr;
  const RecordDecl *Definition = Object ? Object->getDefinition() : nullptr;
  if (Definition &&
      !Context.getSourceManager().isInSystemHeader(Definition->getLocation())) {
    if (Definition->getIdentifier())
      return Definition->getQualifiedNameAsString();
    if (const TypedefNameDecl *Name = Definition->getTypedefNameForAnonDecl())
      return Name->getQualifiedNameAsString();
    return "";
  }
  const FieldDecl *Field = Pointer ? fieldOf(Pointer) : nullptr;
  return Field ? ProgramFacts::nameOf(*Field) : "";
}

/// Returns true if the block that ends at Site is followed by a new one at the
/// same place: `free(p->name); p->name = strdup(s);`. That replaces what lived
/// until then.
static bool isReplaced(const HeapCall &End, const FunctionView &View) {
  const FieldDecl *Field = fieldOf(End.Pointer);
  bool Replaced = false;
  if (Field)
    forEachStmt(View.Function.getBody(), [&](const Stmt *S,
                                             ArrayRef<const Stmt *>) {
      auto *Assign = dyn_cast<BinaryOperator>(S);
      Replaced |= Assign && Assign->getOpcode() == BO_Assign &&
                  End.Site->getBeginLoc() < Assign->getBeginLoc() &&
                  fieldOf(Assign->getLHS()) == Field &&
                  !Assign->getRHS()->IgnoreParenCasts()->isNullPointerConstant(
                      View.Context, Expr::NPC_ValueDependentIsNotNull);
    });
  return Replaced;
}

/// Returns true if the name says that the function ends the object it gets:
/// buffer_free, free_buffer; not buffer_free_data, which ends what is in it,
/// nor buffer_unref, which may end nothing.
static bool isEnder(StringRef Name) {
  static const llvm::StringSet<> Ends{"free", "delete", "destroy", "release",
                                      "dispose"};
  auto Words = vfriendly::wordsOf(Name);
  return !Words.empty() &&
         (Ends.contains(Words.front()) || Ends.contains(Words.back()));
}

/// Returns the variable that E leads from: `m` for `m->head.data`.
static const VarDecl *rootOf(const Expr *E) {
  while (true) {
    E = E->IgnoreParenCasts();
    if (auto *Member = dyn_cast<MemberExpr>(E))
      E = Member->getBase();
    else if (auto *Element = dyn_cast<ArraySubscriptExpr>(E))
      E = Element->getBase();
    else if (auto *Unary = dyn_cast<UnaryOperator>(E);
             Unary && (Unary->getOpcode() == UO_Deref ||
                       Unary->getOpcode() == UO_AddrOf))
      E = Unary->getSubExpr();
    else
      return variableOf(E);
  }
}

/// Returns true if Variable, or what it leads to, is passed before End to a
/// function that works on it: neither one that ends it nor a message's.
static bool isUsedBefore(const Expr *End, const VarDecl &Variable,
                         FunctionView &View) {
  return llvm::any_of(View.refs(Variable), [&](const DeclRefExpr *Ref) {
    if (!(Ref->getBeginLoc() < End->getBeginLoc()))
      return false;
    for (const Stmt *P = View.parent(Ref); P && isa<Expr>(P);
         P = View.parent(P)) {
      auto *Call = dyn_cast<CallExpr>(P);
      const FunctionDecl *Callee = Call ? Call->getDirectCallee() : nullptr;
      if (Call)
        return !(Callee && Callee->isVariadic()) &&
               !(Callee && isEnder(identifierOf(Callee))) &&
               !View.Heap.match(Call);
    }
    return false;
  });
}

/// Returns true if Condition, or a part of it that must hold, tests Variable
/// for null: `running && m`.
static bool testsForNull(const Expr *Condition, const VarDecl &Variable,
                         const ASTContext &Context) {
  auto *And = dyn_cast<BinaryOperator>(Condition->IgnoreParenImpCasts());
  if (And && And->getOpcode() == BO_LAnd)
    return testsForNull(And->getLHS(), Variable, Context) ||
           testsForNull(And->getRHS(), Variable, Context);
  return nullTest(Condition, Variable, Context).has_value();
}

/// Returns true if the function, or each iteration of its innermost loop around
/// S, runs S, unless Variable is null.
static bool isUnconditional(const Expr *S, const VarDecl &Variable,
                            const FunctionView &View) {
  const Stmt *Loop = View.loopAround(*S);
  for (const Stmt *P = View.parent(S); P && P != Loop; P = View.parent(P)) {
    auto *If = dyn_cast<IfStmt>(P);
    if (isa<SwitchStmt>(P) ||
        (If && !testsForNull(If->getCond(), Variable, View.Context)))
      return false;
  }
  return true;
}

/// Returns true if Variable gets what the function takes itself.
static bool isTakenHere(const VarDecl &Variable, FunctionView &View) {
  return llvm::any_of(View.calls(), [&](const HeapCall &Call) {
    return Call.Op == HeapOp::Allocate && View.ownerOf(*Call.Site) == &Variable;
  });
}

namespace {
/// How a function ends an object.
struct EndOfObject {
  std::string Key;
  StringRef How; ///< `used`, `listed`, or `with` the object that Owner names.
  std::string Owner;
};
} // namespace

/// Classifies the end of what Pointer leads to by the expression End.
static std::optional<EndOfObject> endOf(const Expr *End, const Expr *Pointer,
                                        FunctionView &View) {
  Pointer = Pointer->IgnoreParenCasts();
  std::string Key = keyOf(Pointer, Pointer->getType(), View.Context);
  const VarDecl *Root = rootOf(Pointer);
  if (Key.empty() || !Root)
    return std::nullopt;
  bool IsWhole = variableOf(Pointer) == Root;
  const Stmt *Loop = View.loopAround(*End);
  bool IsDrain = Loop && isDrain(Loop, View);
  if (isa<ParmVarDecl>(Root) && isEnder(identifierOf(&View.Function))) {
    std::string Owner = keyOf(nullptr, Root->getType(), View.Context);
    if (!IsWhole && !Owner.empty() && StringRef(Key).starts_with(Owner + "::"))
      return EndOfObject{Key, "with", Owner};
  } else if (IsWhole && !IsDrain && isUsedBefore(End, *Root, View) &&
             isUnconditional(End, *Root, View) && !isTakenHere(*Root, View)) {
    return EndOfObject{Key, "used", ""};
  }
  if (IsDrain)
    return EndOfObject{Key, "listed", ""};
  return std::nullopt;
}

void tellEnds(FunctionView &View, ProgramFacts &Program) {
  const FunctionDecl &F = View.Function;
  std::string Name = ProgramFacts::nameOf(F);
  if (Name.empty())
    return;
  llvm::StringSet<> Told;
  auto Tell = [&](const Expr *Site, const Expr *Pointer) {
    std::optional<EndOfObject> End = endOf(Site, Pointer, View);
    const Stmt *Loop = View.loopAround(*Site);
    bool Repeats =
        Loop && !isTeardown(F) && !isCold(Loop, View) && !isDrain(Loop, View);
    if (!End || !Told.insert(End->Key + "|" + End->How.str() + End->Owner +
                             (Repeats ? "+" : ""))
                     .second)
      return;
    llvm::json::Object Fact{{"ends", End->Key},
                            {"function", Name},
                            {"how", End->How},
                            {"repeats", Repeats}};
    if (!End->Owner.empty())
      Fact["owner"] = End->Owner;
    ProgramFacts::addPlace(Fact, Site->getExprLoc(),
                           View.Context.getSourceManager());
    Program.tell(std::move(Fact));
  };
  for (const HeapCall &Call : View.calls())
    if (Call.Op == HeapOp::Release && !isReplaced(Call, View))
      Tell(Call.Site, Call.Pointer);
  forEachStmt(F.getBody(), [&](const Stmt *S, ArrayRef<const Stmt *>) {
    auto *Call = dyn_cast<CallExpr>(S);
    const FunctionDecl *Callee = Call ? Call->getDirectCallee() : nullptr;
    if (Callee && Call->getNumArgs() && isEnder(identifierOf(Callee)) &&
        !View.Heap.match(Call))
      Tell(Call, Call->getArg(0));
  });
}

/// Returns where the result of Site goes, a field or a variable, and as which
/// type.
static std::pair<const Expr *, QualType> goesTo(const Expr *Site,
                                                const FunctionView &View) {
  QualType Type = Site->getType();
  const Stmt *Child = Site;
  for (const Stmt *P = View.parent(Child); P; Child = P, P = View.parent(P)) {
    if (auto *Cast = dyn_cast<CastExpr>(P)) {
      if (Cast->getType()->isPointerType() &&
          !Cast->getType()->isVoidPointerType())
        Type = Cast->getType();
      continue;
    }
    if (isa<ParenExpr, FullExpr>(P))
      continue;
    auto *Assign = dyn_cast<BinaryOperator>(P);
    if (Assign && Assign->getOpcode() == BO_Assign && Assign->getRHS() == Child)
      return {Assign->getLHS(), Assign->getLHS()->getType()};
    // A new object that is only passed on becomes a part of another.
    if (isa<CallExpr>(P))
      return {nullptr, QualType()};
    break;
  }
  return {nullptr, Type};
}

std::vector<TakenObject> takenObjects(FunctionView &View) {
  std::vector<TakenObject> Found;
  for (const HeapCall &Call : View.calls()) {
    // What a function makes, it takes itself.
    if (Call.Op != HeapOp::Allocate ||
        (Call.Callee && !Call.Callee->getReturnType()->isVoidPointerType() &&
         Call.Callee->getReturnType()->isPointerType() &&
         Call.Callee->getReturnType()->getPointeeType()->isRecordType()))
      continue;
    auto [Place, Type] = goesTo(Call.Site, View);
    std::string Key = keyOf(Place, Type, View.Context);
    const Stmt *Loop = View.loopAround(*Call.Site);
    if (!Key.empty() && !(Loop && isCold(Loop, View)))
      Found.push_back({Call.Site, Key, Loop});
  }
  return Found;
}

} // namespace vfriendly::tidy
