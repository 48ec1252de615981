//===- OwnedBlocks.cpp - Functions that fill and empty objects ------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/heap-churn/OwnedBlocks.h"

#include "checkers/common/SourceText.h"
#include "checkers/common/WaitNeutral.h"
#include "checkers/heap-churn/HeapFacts.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/Basic/SourceManager.h"
#include "llvm/ADT/MapVector.h"

using namespace clang;

namespace vfriendly::tidy {

/// Maximum number of functions of the unit around one another.
static constexpr unsigned MaxDepth = 4;

/// Returns the next expression that leads to the object of E: `p` for
/// `&p->f[i]`; null if there is none.
static const Expr *baseOf(const Expr *E) {
  E = E->IgnoreUnlessSpelledInSource()->IgnoreParenCasts();
  if (auto *Unary = dyn_cast<UnaryOperator>(E))
    return Unary->getOpcode() == UO_AddrOf || Unary->getOpcode() == UO_Deref
               ? Unary->getSubExpr()
               : nullptr;
  if (auto *Element = dyn_cast<ArraySubscriptExpr>(E))
    return Element->getBase();
  if (auto *Member = dyn_cast<MemberExpr>(E))
    return Member->getBase();
  return nullptr;
}

/// Returns the variable, or `this`, that E leads from; null if none.
static const Expr *rootOf(const Expr *E) {
  while (const Expr *Base = baseOf(E))
    E = Base;
  E = E->IgnoreUnlessSpelledInSource()->IgnoreParenCasts();
  return isa<DeclRefExpr, CXXThisExpr>(E) ? E : nullptr;
}

/// Returns true if a callee may change what a parameter of this type leads to.
static bool mayChange(QualType T) {
  return (T->isPointerType() || T->isLValueReferenceType()) &&
         !T->getPointeeType().isConstQualified() &&
         !T->getPointeeType()->isFunctionType();
}

namespace {
/// An argument of a call, and the parameter that gets it.
struct Argument {
  const Expr *E;
  int Parameter;
};
} // namespace

/// Returns the arguments of S, a call or construction, through which the callee
/// may change an object.
static SmallVector<Argument, 4>
changeableArguments(const Stmt &S, const FunctionDecl &Callee) {
  SmallVector<Argument, 4> Found;
  ArrayRef<const Expr *> Given;
  if (auto *Call = dyn_cast<CallExpr>(&S))
    Given = {Call->getArgs(), Call->getNumArgs()};
  else if (auto *Made = dyn_cast<CXXConstructExpr>(&S))
    Given = {Made->getArgs(), Made->getNumArgs()};
  if (auto *Member = dyn_cast<CXXMemberCallExpr>(&S)) {
    const CXXMethodDecl *Method = Member->getMethodDecl();
    if (Method && !Method->isConst() && !Method->isVirtual())
      Found.push_back({Member->getImplicitObjectArgument(), OwnedBlocks::This});
  } else if (isa<CXXOperatorCallExpr>(S) && isa<CXXMethodDecl>(Callee)) {
    return Found;
  }
  for (auto [I, Each] : llvm::enumerate(Given))
    if (I < Callee.getNumParams() &&
        mayChange(Callee.getParamDecl(I)->getType()))
      Found.push_back({Each, static_cast<int>(I)});
  return Found;
}

static const FunctionDecl *calledBy(const Stmt *S) {
  if (auto *Made = dyn_cast<CXXConstructExpr>(S))
    return Made->getConstructor();
  auto *Call = dyn_cast<CallExpr>(S);
  return Call ? Call->getDirectCallee() : nullptr;
}

/// Returns true for a call by which a container of the standard library gets
/// memory.
static bool fillsContainer(const CXXMemberCallExpr &Call) {
  const CXXMethodDecl *Method = Call.getMethodDecl();
  return Method && isOfStd(*Method) &&
         llvm::is_contained({"resize", "reserve", "assign", "push_back",
                             "emplace_back", "emplace", "insert"},
                            identifierOf(Method));
}

/// Collects what one function does to its parameters.
class OwnedBlocks::Collector {
public:
  Collector(const FunctionDecl &F, OwnedBlocks &Owned, Effects &Into)
      : F(F), Owned(Owned), Into(Into) {}

  void run() {
    if (auto *Constructor = dyn_cast<CXXConstructorDecl>(&F))
      for (const CXXCtorInitializer *Each : Constructor->inits())
        initialize(*Each);
    // First the local variables, whatever the order.
    forEachStmt(F.getBody(),
                [&](const Stmt *S, ArrayRef<const Stmt *>) { note(S); });
    forEachStmt(F.getBody(),
                [&](const Stmt *S, ArrayRef<const Stmt *>) { visit(S); });
  }

private:
  bool isNew(const Expr *E) const {
    E = E->IgnoreUnlessSpelledInSource()->IgnoreParenCasts();
    std::optional<HeapCall> Call = Owned.Heap.match(E);
    auto *Ref = dyn_cast<DeclRefExpr>(E);
    return (Call && Call->Op != HeapOp::Release) ||
           llvm::is_contained({"make_unique", "make_shared"},
                              identifierOf(calleeOf(E))) ||
           (Ref && NewBlocks.contains(Ref->getDecl()));
  }

  /// Returns the parameter that E leads from; nothing if none.
  std::optional<int> parameterOf(const Expr *E, unsigned Steps = 3) const {
    const Expr *Root = rootOf(E);
    if (isa_and_nonnull<CXXThisExpr>(Root))
      return This;
    auto *Ref = dyn_cast_or_null<DeclRefExpr>(Root);
    if (!Ref)
      return std::nullopt;
    if (auto *Parameter = dyn_cast<ParmVarDecl>(Ref->getDecl()))
      return Parameter->getDeclContext() == &F &&
                     mayChange(Parameter->getType())
                 ? std::optional<int>(Parameter->getFunctionScopeIndex())
                 : std::nullopt;
    // struct buffer *b = p->buffer;
    auto *Variable = dyn_cast<VarDecl>(Ref->getDecl());
    return Steps && Variable && Variable->getInit() &&
                   (Variable->getType()->isPointerType() ||
                    Variable->getType()->isReferenceType())
               ? parameterOf(Variable->getInit(), Steps - 1)
               : std::nullopt;
  }

  void note(const Stmt *S) {
    if (auto *Declaration = dyn_cast<DeclStmt>(S))
      for (const Decl *D : Declaration->decls())
        if (auto *Variable = dyn_cast<VarDecl>(D))
          if (Variable->getInit() && isNew(Variable->getInit()))
            NewBlocks.insert(Variable);
    auto *Assign = dyn_cast<BinaryOperator>(S);
    if (Assign && Assign->getOpcode() == BO_Assign && isNew(Assign->getRHS()))
      if (auto *Ref = dyn_cast<DeclRefExpr>(Assign->getLHS()->IgnoreParens()))
        NewBlocks.insert(Ref->getDecl());
  }

  void visit(const Stmt *S) {
    if (auto *Assign = dyn_cast<BinaryOperator>(S)) {
      // Not `p = malloc(n)`: that changes the parameter, not what it leads to.
      if (Assign->getOpcode() == BO_Assign && baseOf(Assign->getLHS()) &&
          isNew(Assign->getRHS()))
        add(parameterOf(Assign->getLHS()), OwnerOp::Fills);
      return;
    }
    auto *E = dyn_cast<Expr>(S);
    if (std::optional<HeapCall> Call = E ? Owned.Heap.match(E) : std::nullopt) {
      if (Call->Op == HeapOp::Release)
        add(parameterOf(Call->Pointer), OwnerOp::Empties);
      return;
    }
    if (auto *Member = dyn_cast<CXXMemberCallExpr>(S);
        Member && fillsContainer(*Member)) {
      const Expr *Object = Member->getImplicitObjectArgument();
      if (baseOf(Object))
        add(parameterOf(Object), OwnerOp::Fills);
      return;
    }
    if (const FunctionDecl *Callee = calledBy(S))
      for (auto [Given, Parameter] : changeableArguments(*S, *Callee))
        pass(parameterOf(Given), *Callee, Parameter);
  }

  void initialize(const CXXCtorInitializer &Each) {
    const Expr *Init = Each.getInit();
    if (!Init)
      return;
    Init = Init->IgnoreUnlessSpelledInSource()->IgnoreParenCasts();
    auto *Made = dyn_cast<CXXConstructExpr>(Init);
    if (Made && Made->getNumArgs() == 1 && isNew(Made->getArg(0)))
      return add(This, OwnerOp::Fills); // std::unique_ptr<T> p(new T)
    if (isNew(Init) ||
        (Made && isOfStd(*Made->getConstructor()) && Made->getNumArgs() &&
         identifierOf(Made->getConstructor()->getParent()) == "vector" &&
         Made->getArg(0)->getType()->isIntegerType()))
      add(This, OwnerOp::Fills);
    else if (Made)
      pass(This, *Made->getConstructor(), This);
  }

  void add(std::optional<int> Parameter, OwnerOp Op) {
    if (Parameter)
      Into[{*Parameter, Op}].Does = true;
  }

  /// Notes that Parameter is passed to that of Callee.
  void pass(std::optional<int> Parameter, const FunctionDecl &Callee, int Of) {
    if (!Parameter)
      return;
    for (OwnerOp Op : {OwnerOp::Fills, OwnerOp::Empties}) {
      Answer Inner = Owned.ask(Callee, Of, Op);
      if (!Inner.mayDo())
        continue;
      Answer &Ours = Into[{*Parameter, Op}];
      Ours.Does |= Inner.Does;
      for (const Passed &Each : Inner.If)
        if (!llvm::is_contained(Ours.If, Each))
          Ours.If.push_back(Each);
    }
  }

  const FunctionDecl &F;
  OwnedBlocks &Owned;
  Effects &Into;
  llvm::SmallPtrSet<const ValueDecl *, 4> NewBlocks;
};

const OwnedBlocks::Effects &
OwnedBlocks::effectsOf(const FunctionDecl &Definition) {
  auto [Place, IsFirst] = Known.try_emplace(&Definition);
  static const Effects Nothing;
  if (!IsFirst)
    return Place->second ? *Place->second : Nothing; // Recursion adds nothing.
  auto Found = std::make_unique<Effects>();
  ++Depth;
  Collector(Definition, *this, *Found).run();
  --Depth;
  return *(Known[&Definition] = std::move(Found));
}

OwnedBlocks::Answer OwnedBlocks::ask(const FunctionDecl &F, int Parameter,
                                     OwnerOp Op) {
  if (isOfStd(F))
    return {};
  if (isOfOtherUnit(F))
    return {false, {{F.getCanonicalDecl(), Parameter}}};
  const FunctionDecl *Definition = F.getDefinition();
  if (!Definition || !Definition->getBody() || Depth == MaxDepth ||
      Definition->isDependentContext() ||
      F.getASTContext().getSourceManager().isInSystemHeader(F.getLocation()))
    return {};
  const Effects &All = effectsOf(*Definition);
  auto Found = All.find({Parameter, Op});
  return Found == All.end() ? Answer() : Found->second;
}

static StringRef kindOf(OwnerOp Op) {
  return Op == OwnerOp::Fills ? "into" : "from";
}

void OwnedBlocks::tell(const FunctionDecl &F, ProgramFacts &Program) {
  std::string Name = F.isExternallyVisible() ? ProgramFacts::nameOf(F) : "";
  if (Name.empty())
    return;
  for (const auto &[Key, Does] : effectsOf(F)) {
    llvm::json::Object Fact{{kindOf(Key.second), Name},
                            {"parameter", Key.first}};
    if (Does.Does) {
      Program.tell(std::move(Fact));
      continue;
    }
    for (auto [Callee, Parameter] : Does.If) {
      llvm::json::Object Conditional = Fact;
      Conditional["if"] = ProgramFacts::nameOf(*Callee);
      Conditional["of"] = Parameter;
      Program.tell(std::move(Conditional));
    }
  }
}

namespace {
/// A call that gets an object, in one part of a block.
struct UseOfObject {
  const Expr *Call;
  const FunctionDecl *Callee;
  int Parameter;
};
/// In the order of the text.
using ObjectUses =
    llvm::MapVector<const VarDecl *, SmallVector<UseOfObject, 4>>;

class PairFinder {
public:
  PairFinder(FunctionView &View, OwnedBlocks &Owned,
             const ProgramFacts *Program)
      : View(View), Owned(Owned), Program(Program) {}

  void search(const Stmt *Block, const Stmt *Loop) {
    auto *Compound = dyn_cast_or_null<CompoundStmt>(Block);
    if (!Compound)
      return;
    ObjectUses Uses;
    for (const Stmt *Part : Compound->body())
      collect(Part, Uses);
    for (const auto &[Object, Calls] : Uses)
      pair(*Object, Calls, Loop);
    for (const Stmt *Part : Compound->body())
      if (auto *Declaration = dyn_cast<DeclStmt>(Part))
        for (const Decl *D : Declaration->decls())
          if (auto *Variable = dyn_cast<VarDecl>(D))
            destroyed(*Variable, Loop);
  }

  std::vector<OwnerPair> Found;

private:
  /// Collects the calls that Part makes whatever its conditions are.
  void collect(const Stmt *Part, ObjectUses &Uses) {
    if (auto *If = dyn_cast<IfStmt>(Part))
      return collect(If->getCond(), Uses);
    if (isLoop(Part) || isa<SwitchStmt, CompoundStmt, LabelStmt>(Part))
      return;
    forEachStmt(Part, [&](const Stmt *S, ArrayRef<const Stmt *>) {
      auto *Call = dyn_cast<CallExpr>(S);
      const FunctionDecl *Callee = Call ? Call->getDirectCallee() : nullptr;
      if (!Callee || View.Heap.match(Call))
        return;
      for (auto [Given, Parameter] : changeableArguments(*Call, *Callee)) {
        auto *Ref = dyn_cast_or_null<DeclRefExpr>(rootOf(Given));
        auto *Variable = Ref ? dyn_cast<VarDecl>(Ref->getDecl()) : nullptr;
        // Only the object itself, not what it leads to.
        if (Variable && View.isOwn(*Variable) && Variable->hasLocalStorage() &&
            !isa<ParmVarDecl>(Variable) && isWhole(Given))
          Uses[Variable].push_back({Call, Callee, Parameter});
      }
    });
  }

  /// Returns true for `&v` and `v`.
  static bool isWhole(const Expr *Given) {
    Given = Given->IgnoreUnlessSpelledInSource()->IgnoreParenCasts();
    if (auto *Address = dyn_cast<UnaryOperator>(Given))
      Given = Address->getSubExpr()->IgnoreParenCasts();
    return isa<DeclRefExpr>(Given);
  }

  /// Returns false if Use does not do it, or if that depends on other units and
  /// nobody can ask them. Otherwise adds the condition, if there is one.
  bool mayDo(const UseOfObject &Use, OwnerOp Op, OwnerPair &Pair) {
    OwnedBlocks::Answer Answer = Owned.ask(*Use.Callee, Use.Parameter, Op);
    if (Answer.Does)
      return true;
    if (!Program || Answer.If.size() != 1)
      return false;
    auto [Callee, Parameter] = Answer.If.front();
    Pair.If.push_back({kindOf(Op), ProgramFacts::nameOf(*Callee) + " " +
                                       std::to_string(Parameter)});
    return true;
  }

  void pair(const VarDecl &Object, ArrayRef<UseOfObject> Calls,
            const Stmt *Loop) {
    OwnerPair Pair{&Object, Loop, Calls.front().Call, Calls.back().Call, {}};
    if (Calls.size() > 1 &&
        Calls.front().Callee->getCanonicalDecl() !=
            Calls.back().Callee->getCanonicalDecl() &&
        mayDo(Calls.front(), OwnerOp::Fills, Pair) &&
        mayDo(Calls.back(), OwnerOp::Empties, Pair))
      Found.push_back(std::move(Pair));
  }

  void destroyed(const VarDecl &Object, const Stmt *Loop) {
    const CXXRecordDecl *Class = Object.getType()->getAsCXXRecordDecl();
    auto *Made = dyn_cast_or_null<CXXConstructExpr>(
        Object.getInit() ? Object.getInit()->IgnoreUnlessSpelledInSource()
                         : nullptr);
    if (!Class || !Class->hasDefinition() || Class->isInStdNamespace() ||
        Class->hasTrivialDestructor() || !Made ||
        Made->getConstructor()->isMoveConstructor() ||
        !Object.hasLocalStorage())
      return;
    OwnerPair Pair{&Object, Loop, Made, nullptr, {}};
    if (mayDo({Made, Made->getConstructor(), OwnedBlocks::This}, OwnerOp::Fills,
              Pair))
      Found.push_back(std::move(Pair));
  }

  FunctionView &View;
  OwnedBlocks &Owned;
  const ProgramFacts *Program;
};
} // namespace

std::vector<OwnerPair> pairsOfLoops(FunctionView &View, OwnedBlocks &Owned,
                                    const ProgramFacts *Program) {
  PairFinder Finder(View, Owned, Program);
  for (const Stmt *Loop : View.loops())
    Finder.search(loopBody(Loop), Loop);
  return std::move(Finder.Found);
}

std::vector<OwnerPair> pairsOfCalls(FunctionView &View, OwnedBlocks &Owned,
                                    const ProgramFacts *Program) {
  PairFinder Finder(View, Owned, Program);
  Finder.search(View.Function.getBody(), nullptr);
  return std::move(Finder.Found);
}

} // namespace vfriendly::tidy
