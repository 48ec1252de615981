//===- UnitValues.cpp - Values that variables are assigned ----------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/numa-placement/UnitValues.h"

#include "checkers/common/Loops.h"
#include "checkers/common/SourceText.h"
#include "checkers/common/WaitNeutral.h"

#include "clang/AST/DeclCXX.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtOpenMP.h"
#include "clang/Basic/SourceManager.h"

using namespace clang;

namespace vfriendly::tidy {

const Expr *stripped(const Expr *E) {
  for (const Expr *Before = nullptr; E && E != Before;) {
    Before = E;
    E = E->IgnoreUnlessSpelledInSource()->IgnoreParenCasts();
  }
  return E;
}

const ValueDecl *rootOf(const Expr *E) {
  while (E) {
    E = stripped(E);
    if (auto *Unary = dyn_cast<UnaryOperator>(E);
        Unary &&
        (Unary->getOpcode() == UO_AddrOf || Unary->getOpcode() == UO_Deref))
      E = Unary->getSubExpr();
    else if (auto *Element = dyn_cast<ArraySubscriptExpr>(E))
      E = Element->getBase();
    else if (auto *Offset = dyn_cast<BinaryOperator>(E);
             Offset && Offset->isAdditiveOp() &&
             Offset->getType()->isPointerType())
      E = Offset->getLHS()->getType()->isPointerType() ? Offset->getLHS()
                                                       : Offset->getRHS();
    else if (auto *Operator = dyn_cast<CXXOperatorCallExpr>(E);
             Operator && (Operator->getOperator() == OO_Subscript ||
                          Operator->getOperator() == OO_Star ||
                          Operator->getOperator() == OO_Arrow))
      E = Operator->getArg(0);
    else if (auto *Call = dyn_cast<CXXMemberCallExpr>(E);
             Call && Call->getMethodDecl() && isOfStd(*Call->getMethodDecl()) &&
             llvm::is_contained({"data", "get"},
                                identifierOf(Call->getMethodDecl())))
      E = Call->getImplicitObjectArgument();
    else if (auto *Ref = dyn_cast<DeclRefExpr>(E))
      return Ref->getDecl();
    else if (auto *Member = dyn_cast<MemberExpr>(E))
      return Member->getMemberDecl();
    else
      return nullptr;
  }
  return nullptr;
}

/// Returns the variable or field that E names; null if E is another expression,
/// such as an element.
static const ValueDecl *nameOf(const Expr *E) {
  E = stripped(E);
  if (auto *Ref = dyn_cast_or_null<DeclRefExpr>(E))
    return Ref->getDecl();
  if (auto *Member = dyn_cast_or_null<MemberExpr>(E))
    return Member->getMemberDecl();
  return nullptr;
}

static bool isThreadClass(const CXXRecordDecl &Class) {
  return isOfStd(Class) &&
         llvm::is_contained({"thread", "jthread"}, identifierOf(&Class));
}

class UnitValues::Collector {
public:
  Collector(UnitValues &Into, const FunctionDecl &In) : Into(Into), In(In) {}

  void visit(const Stmt *S, ArrayRef<const Stmt *> Around) {
    Parents = Around;
    if (auto *Declaration = dyn_cast<DeclStmt>(S)) {
      for (const Decl *D : Declaration->decls())
        if (auto *Variable = dyn_cast<VarDecl>(D); Variable)
          initialize(*Variable, Variable->getInit());
      return;
    }
    if (auto *Binary = dyn_cast<BinaryOperator>(S)) {
      if (Binary->isAssignmentOp())
        assign(*Binary);
      return;
    }
    if (auto *Return = dyn_cast<ReturnStmt>(S)) {
      if (Return->getRetValue() && llvm::none_of(Around, [](const Stmt *P) {
            return isa<LambdaExpr>(P);
          }))
        add(Into.Returned[In.getCanonicalDecl()], GivenValue::Assigned,
            Return->getRetValue());
      return;
    }
    if (auto *Unary = dyn_cast<UnaryOperator>(S)) {
      if (Unary->isIncrementDecrementOp())
        set(Unary->getSubExpr(), GivenValue::Stepped, nullptr);
      return;
    }
    if (auto *Made = dyn_cast<CXXConstructExpr>(S)) {
      construct(*Made);
      return;
    }
    if (auto *Call = dyn_cast<CallExpr>(S))
      return call(*Call);
    if (auto *Ref = dyn_cast<DeclRefExpr>(S))
      if (auto *Parameter = dyn_cast<ParmVarDecl>(Ref->getDecl()))
        if (Parameter->getDeclContext() == &In && isCallable(*Parameter) &&
            llvm::any_of(Around, [&](const Stmt *P) { return isTeam(P); }))
          Into.Callers.insert(In.getCanonicalDecl());
  }

  /// Records the values that a constructor gives to fields before its body.
  void initialize(const CXXConstructorDecl &Constructor) {
    for (const CXXCtorInitializer *Each : Constructor.inits()) {
      const FieldDecl *Field = Each->getMember();
      if (!Each->isWritten() || !Field || isa<InitListExpr>(Each->getInit()))
        continue;
      add(Into.Given[Field], GivenValue::Assigned, Each->getInit());
      if (leadsToArray(Field->getType()))
        Into.Flows.push_back({&In, nullptr, Field, false, Each->getInit()});
    }
  }

private:
  static bool isCallable(const ParmVarDecl &Parameter) {
    QualType T = Parameter.getType().getNonReferenceType();
    if (T->isFunctionPointerType() || T->isFunctionType())
      return true;
    auto *Class = T->getAsCXXRecordDecl();
    return Class && (Class->isLambda() || identifierOf(Class) == "function" ||
                     llvm::any_of(Class->methods(), [](const auto *Method) {
                       return Method->getOverloadedOperator() == OO_Call;
                     }));
  }

  /// Returns true if several threads execute what S contains.
  bool isTeam(const Stmt *S) const {
    auto *Directive = dyn_cast<OMPExecutableDirective>(S);
    auto *Call = dyn_cast<CallExpr>(S);
    return (Directive &&
            isOpenMPParallelDirective(Directive->getDirectiveKind())) ||
           (Call && isParallelAlgorithm(*Call)) ||
           llvm::any_of(Into.Starts,
                        [&](const Site &Start) { return Start.E == S; });
  }

  /// Records an assignment as a value, or as a step if it adds a constant: a
  /// variable is a counter only if its step is a constant.
  void assign(const BinaryOperator &Binary) {
    if (Binary.getOpcode() == BO_Assign)
      return set(Binary.getLHS(), GivenValue::Assigned, Binary.getRHS());
    bool IsStep = (Binary.getOpcode() == BO_AddAssign ||
                   Binary.getOpcode() == BO_SubAssign) &&
                  Binary.getRHS()->isIntegerConstantExpr(In.getASTContext());
    set(Binary.getLHS(), IsStep ? GivenValue::Stepped : GivenValue::Unknown,
        Binary.getRHS());
  }

  static bool leadsToArray(QualType T) {
    return T->isPointerType() || T->isReferenceType();
  }

  void set(const Expr *To, GivenValue::How How, const Expr *Value) {
    if (How == GivenValue::Assigned && leadsToArray(To->getType()))
      Into.Flows.push_back({&In, To, nullptr, false, Value});
    if (const ValueDecl *Named = nameOf(To)) {
      add(Into.Given[Named], How, Value);
      if (How == GivenValue::Assigned)
        aggregate(Value);
    } else if (const ValueDecl *Root = rootOf(To)) {
      add(Into.Elements[Root], How, Value);
      if (How == GivenValue::Assigned)
        aggregate(Value);
    }
  }

  void initialize(const VarDecl &Variable, const Expr *Value) {
    if (!Value)
      return;
    add(Into.Given[&Variable], GivenValue::Assigned, Value);
    if (leadsToArray(Variable.getType()))
      Into.Flows.push_back({&In, nullptr, &Variable, false, Value});
    if (Variable.getType()->isReferenceType())
      unknown(Value);
    aggregate(Value);
    auto *List = dyn_cast<InitListExpr>(stripped(Value));
    if (List && Variable.getType()->isArrayType())
      for (const Expr *Element : List->inits()) {
        add(Into.Elements[&Variable], GivenValue::Assigned, Element);
        if (leadsToArray(Element->getType()))
          Into.Flows.push_back({&In, nullptr, &Variable, true, Element});
      }
  }

  /// Assigns the values of an initializer list such as `{i, n}` to the fields.
  void aggregate(const Expr *Value) {
    auto *List = dyn_cast_or_null<InitListExpr>(stripped(Value));
    if (auto *Literal = dyn_cast_or_null<CompoundLiteralExpr>(stripped(Value)))
      List = dyn_cast<InitListExpr>(Literal->getInitializer());
    const RecordDecl *Record =
        List ? List->getType()->getAsRecordDecl() : nullptr;
    if (!Record || Record->isUnion())
      return;
    unsigned I = 0;
    if (auto *Class = dyn_cast<CXXRecordDecl>(Record))
      I += Class->getNumBases() ? List->getNumInits() : 0;
    for (const FieldDecl *Field : Record->fields()) {
      if (I >= List->getNumInits())
        break;
      const Expr *Value = List->getInit(I++);
      add(Into.Given[Field], GivenValue::Assigned, Value);
      if (leadsToArray(Field->getType()))
        Into.Flows.push_back({&In, nullptr, Field, false, Value});
    }
  }

  void construct(const CXXConstructExpr &Made) {
    const CXXConstructorDecl &Constructor = *Made.getConstructor();
    if (isThreadClass(*Constructor.getParent()) && Made.getNumArgs() &&
        !Constructor.isCopyOrMoveConstructor())
      return start(Made, Made.getArg(0),
                   ArrayRef(Made.getArgs(), Made.getNumArgs()).drop_front());
    pass(Constructor, ArrayRef(Made.getArgs(), Made.getNumArgs()));
  }

  void call(const CallExpr &Call) {
    const FunctionDecl *Callee = Call.getDirectCallee();
    ArrayRef<const Expr *> Arguments(Call.getArgs(), Call.getNumArgs());
    if (!Callee) {
      for (const Expr *Argument : Arguments)
        escape(Argument, QualType());
      return;
    }
    if (Callee->getIdentifier()) {
      Into.Calls.push_back(site(&Call));
      StringRef Name = Callee->getName();
      if (Name == "pthread_create" && Arguments.size() == 4)
        return start(Call, Arguments[2], Arguments.drop_front(3));
      if (Name == "thrd_create" && Arguments.size() == 3)
        return start(Call, Arguments[1], Arguments.drop_front(2));
      if (Name == "async" && isOfStd(*Callee) && Arguments.size() >= 2)
        return start(Call, Arguments[1], Arguments.drop_front(2));
      // std::vector<std::thread>::emplace_back
      if (Name == "emplace_back" && isOfStd(*Callee) && !Arguments.empty())
        if (auto *Member = dyn_cast<CXXMemberCallExpr>(&Call))
          if (isVectorOfThreads(Member->getObjectType()))
            return start(Call, Arguments[0], Arguments.drop_front());
    }
    if (!isOfStd(*Callee))
      for (const Expr *Argument : Arguments)
        if (const CallExpr *Bound = boundIn(Argument))
          return start(
              Call, Bound->getArg(0),
              ArrayRef(Bound->getArgs(), Bound->getNumArgs()).drop_front());
    if (isa<CXXOperatorCallExpr>(Call) && isa<CXXMethodDecl>(Callee))
      Arguments = Arguments.drop_front();
    pass(*Callee, Arguments);
  }

  /// Returns the call of std::bind in Argument; null if there is none. A
  /// function that a loop binds again and again and passes on, as to a pool of
  /// threads, starts with the bound values.
  const CallExpr *boundIn(const Expr *Argument) const {
    const CallExpr *Found = nullptr;
    if (innermostLoop(Parents))
      forEachStmt(Argument, [&](const Stmt *S, ArrayRef<const Stmt *>) {
        auto *Call = dyn_cast<CallExpr>(S);
        const FunctionDecl *Callee = Call ? Call->getDirectCallee() : nullptr;
        if (Callee && isOfStd(*Callee) && identifierOf(Callee) == "bind" &&
            Call->getNumArgs())
          Found = Call;
      });
    return Found;
  }

  static bool isVectorOfThreads(QualType T) {
    auto *Vector = dyn_cast_or_null<ClassTemplateSpecializationDecl>(
        T->getAsCXXRecordDecl());
    if (!Vector || !Vector->getTemplateArgs().size() ||
        Vector->getTemplateArgs()[0].getKind() != TemplateArgument::Type)
      return false;
    const CXXRecordDecl *Element =
        Vector->getTemplateArgs()[0].getAsType()->getAsCXXRecordDecl();
    return Element && isThreadClass(*Element);
  }

  void start(const Expr &Starts, const Expr *Function,
             ArrayRef<const Expr *> Arguments) {
    Into.Starts.push_back(site(&Starts));
    auto *Entry = dyn_cast_or_null<FunctionDecl>(rootOf(Function));
    if (!Entry)
      return;
    for (auto [I, Argument] : llvm::enumerate(Arguments)) {
      Values &To = Into.Passed[{Entry->getCanonicalDecl(), I}];
      add(To, GivenValue::Assigned, Argument);
      To.back().StartsThread = true;
    }
  }

  void pass(const FunctionDecl &Callee, ArrayRef<const Expr *> Arguments) {
    bool IsOfSystem = In.getASTContext().getSourceManager().isInSystemHeader(
        Callee.getLocation());
    for (auto [I, Argument] : llvm::enumerate(Arguments)) {
      if (!IsOfSystem)
        add(Into.Passed[{Callee.getCanonicalDecl(), I}], GivenValue::Assigned,
            Argument);
      escape(Argument, I < Callee.getNumParams()
                           ? Callee.getParamDecl(I)->getType()
                           : QualType());
    }
  }

  /// Records an unknown value for each variable that a callee may change
  /// through Argument.
  void escape(const Expr *Argument, QualType As) {
    bool ByReference = !As.isNull() && As->isReferenceType();
    QualType Pointee = As.isNull() ? QualType() : As->getPointeeType();
    if (!Pointee.isNull() && Pointee.isConstQualified())
      return;
    if (ByReference)
      return unknown(Argument);
    const Expr *Plain = stripped(Argument);
    if (auto *Address = dyn_cast<UnaryOperator>(Plain);
        Address && Address->getOpcode() == UO_AddrOf)
      unknown(Address->getSubExpr());
    else if (auto *Ref = dyn_cast<DeclRefExpr>(Plain);
             Ref && Ref->getType()->isArrayType())
      add(Into.Elements[Ref->getDecl()], GivenValue::Unknown, nullptr);
  }

  void unknown(const Expr *Changed) {
    set(Changed, GivenValue::Unknown, nullptr);
  }

  Site site(const Expr *E) {
    return {E, &In, {Parents.begin(), Parents.end()}};
  }
  void add(Values &To, GivenValue::How How, const Expr *Value) {
    To.push_back({How, site(Value), false});
  }

  UnitValues &Into;
  const FunctionDecl &In;
  ArrayRef<const Stmt *> Parents;
};

void UnitValues::add(const FunctionDecl &Function) {
  if (auto *Method = dyn_cast<CXXMethodDecl>(&Function);
      Method && Method->getParent()->isLambda())
    return; // A lambda belongs to the function around it.
  if (!Known.insert(&Function).second)
    return;
  Functions.push_back(&Function);
  Collector Into(*this, Function);
  if (auto *Constructor = dyn_cast<CXXConstructorDecl>(&Function))
    Into.initialize(*Constructor);
  forEachStmtAndLambda(Function.getBody(),
                       [&](const Stmt *S, ArrayRef<const Stmt *> Parents) {
                         Into.visit(S, Parents);
                       });
}

template <typename Map, typename Key>
static void append(UnitValues::ValueRefs &To, const Map &From, Key Of) {
  if (auto Found = From.find(Of); Found != From.end())
    for (const GivenValue &Value : Found->second)
      To.push_back(&Value);
}

UnitValues::ValueRefs UnitValues::valuesOf(const ValueDecl &Of) const {
  ValueRefs Found;
  append(Found, Given, &Of);
  if (auto *Parameter = dyn_cast<ParmVarDecl>(&Of))
    if (auto *Function = dyn_cast<FunctionDecl>(Parameter->getDeclContext()))
      append(Found, Passed,
             std::pair(Function->getCanonicalDecl(),
                       Parameter->getFunctionScopeIndex()));
  return Found;
}

UnitValues::ValueRefs
UnitValues::returnsOf(const FunctionDecl &Function) const {
  ValueRefs Found;
  append(Found, Returned, Function.getCanonicalDecl());
  return Found;
}

UnitValues::ValueRefs UnitValues::elementsOf(const ValueDecl &Of) const {
  ValueRefs Found;
  append(Found, Elements, &Of);
  return Found;
}

} // namespace vfriendly::tidy
