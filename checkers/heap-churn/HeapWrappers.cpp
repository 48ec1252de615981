//===- HeapWrappers.cpp - Heap functions of the program -------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/heap-churn/HeapWrappers.h"

#include "checkers/heap-churn/Retention.h"

#include "clang/AST/ASTContext.h"
#include "clang/ASTMatchers/ASTMatchFinder.h"
#include "llvm/ADT/StringSwitch.h"

using namespace clang;
using namespace clang::ast_matchers;

namespace vfriendly::tidy {

namespace {
/// The values that a function returns.
class Returned {
public:
  explicit Returned(FunctionView &View) : View(View) {}

  /// Returns true if E is null or the result of heap calls, and collects those.
  bool isOfHeap(const Expr *E);
  /// Returns true if Block names a local variable that was examined: `p =
  /// realloc(p, n)` then returns a block of this function.
  bool isOwn(const Expr *Block) const {
    return Seen.contains(variableOf(Block));
  }

  SmallVector<HeapCall, 2> Calls;

private:
  bool isOfHeap(const VarDecl &Variable);

  FunctionView &View;
  llvm::SmallPtrSet<const VarDecl *, 4> Seen;
};
} // namespace

bool Returned::isOfHeap(const Expr *E) {
  E = E->IgnoreParenCasts();
  if (auto *Full = dyn_cast<FullExpr>(E))
    return isOfHeap(Full->getSubExpr());
  if (E->isNullPointerConstant(View.Context, Expr::NPC_ValueDependentIsNotNull))
    return true;
  if (auto *Choice = dyn_cast<ConditionalOperator>(E))
    return isOfHeap(Choice->getTrueExpr()) && isOfHeap(Choice->getFalseExpr());
  if (std::optional<HeapCall> Call = View.Heap.match(E)) {
    Calls.push_back(*Call);
    return Call->Op != HeapOp::Release;
  }
  const VarDecl *Variable = variableOf(E);
  return Variable && isOfHeap(*Variable);
}

/// Returns true if Variable always is null or the result of a heap call, and
/// its value is kept nowhere else.
bool Returned::isOfHeap(const VarDecl &Variable) {
  if (isa<ParmVarDecl>(Variable))
    return false;
  if (!Seen.insert(&Variable).second)
    return true;
  std::optional<StmtSet> Writes = View.writesOf(Variable);
  if (!Writes || (Variable.getInit() && !isOfHeap(Variable.getInit())))
    return false;
  for (const Stmt *Write : *Writes) {
    auto *Assign = dyn_cast<BinaryOperator>(Write);
    if (!Assign || Assign->getOpcode() != BO_Assign ||
        !isOfHeap(Assign->getRHS()))
      return false;
  }
  return llvm::all_of(View.refs(Variable), [&](const DeclRefExpr *Ref) {
    const Stmt *P = View.parent(Ref);
    while (isa_and_nonnull<ParenExpr, CastExpr>(P))
      P = View.parent(P);
    // `p = realloc(p, n)` keeps it in the same variable.
    auto *Call = dyn_cast_or_null<CallExpr>(P);
    if (Call && View.ownerOf(*Call) == &Variable && View.Heap.match(Call))
      return true;
    return isa_and_nonnull<ReturnStmt>(P) || !mayBeKept(*Ref, View);
  });
}

static SmallVector<const ReturnStmt *, 4> returnsOf(const FunctionView &View) {
  SmallVector<const ReturnStmt *, 4> Found;
  for (const BoundNodes &Each : match(findAll(returnStmt().bind("return")),
                                      *View.Function.getBody(), View.Context))
    Found.push_back(Each.getNodeAs<ReturnStmt>("return"));
  return Found;
}

/// Returns the index of the parameter that E names; nothing if it names none,
/// or one that the function changes.
static std::optional<unsigned> parameterOf(const Expr *E,
                                           const FunctionView &View) {
  auto *Parameter = dyn_cast_or_null<ParmVarDecl>(variableOf(E));
  std::optional<StmtSet> Writes;
  if (Parameter)
    Writes = View.writesOf(*Parameter);
  if (!Writes || !Writes->empty())
    return std::nullopt;
  return Parameter->getFunctionScopeIndex();
}

/// Describes F by the blocks that it returns.
static std::optional<HeapFunction> summarizeResult(FunctionView &View) {
  Returned Values(View);
  for (const ReturnStmt *Each : returnsOf(View))
    if (!Each->getRetValue() || !Values.isOfHeap(Each->getRetValue()))
      return std::nullopt;
  if (Values.Calls.empty())
    return std::nullopt;
  HeapFunction Does{HeapOp::Allocate};
  const HeapCall &Call = Values.Calls.front();
  Does.Size = parameterOf(Call.Size, View);
  Does.Count = parameterOf(Call.Count, View);
  for (const HeapCall &Each : Values.Calls) {
    if (Each.Op != HeapOp::Resize || Values.isOwn(Each.Pointer))
      continue;
    std::optional<unsigned> Resized = parameterOf(Each.Pointer, View);
    if (!Resized || (Does.Pointer && Does.Pointer != Resized))
      return std::nullopt;
    Does.Op = HeapOp::Resize;
    Does.Pointer = Resized;
  }
  return Does;
}

/// Returns true if each call of the function executes S, or Pointer is null.
static bool runsUnlessNull(const Stmt *S, const VarDecl &Pointer,
                           const FunctionView &View) {
  for (const ReturnStmt *Each : returnsOf(View))
    if (Each->getBeginLoc() < S->getBeginLoc() &&
        !View.isWhereNull(Each, Pointer))
      return false;
  const Stmt *Child = S;
  for (const Stmt *P = View.parent(S); P; Child = P, P = View.parent(P)) {
    auto *If = dyn_cast<IfStmt>(P);
    if (!If && !isa<CompoundStmt, ParenExpr, CastExpr, FullExpr>(P))
      return false;
    std::optional<bool> Null;
    if (If)
      Null = nullTest(If->getCond(), Pointer, View.Context);
    if (If && (!Null || Child != (*Null ? If->getElse() : If->getThen())))
      return false;
  }
  return true;
}

/// Describes F by the block that it releases.
static std::optional<HeapFunction> summarizeRelease(const FunctionView &View) {
  if (View.hasLabels())
    return std::nullopt;
  for (const HeapCall &Call : View.calls()) {
    if (Call.Op != HeapOp::Release)
      continue;
    std::optional<unsigned> Index = parameterOf(Call.Pointer, View);
    if (Index && runsUnlessNull(Call.Site, *variableOf(Call.Pointer), View))
      return HeapFunction{HeapOp::Release, Index};
  }
  return std::nullopt;
}

std::optional<HeapFunction> summarizeBody(const FunctionDecl &F,
                                          HeapCalls &Heap) {
  const FunctionDecl *Definition = F.getDefinition();
  auto *Method = dyn_cast<CXXMethodDecl>(&F);
  if (!Definition || !F.getIdentifier() || (Method && Method->isVirtual()) ||
      Definition->isDependentContext() || !Definition->getBody() ||
      F.getASTContext().getSourceManager().isInSystemHeader(F.getLocation()))
    return std::nullopt;
  bool Returns = F.getReturnType()->isPointerType(),
       Takes = llvm::any_of(F.parameters(), [](const ParmVarDecl *P) {
         return P->getType()->isPointerType();
       });
  if (!Returns && !Takes)
    return std::nullopt;
  FunctionView View(*Definition, Heap);
  if (View.calls().empty())
    return std::nullopt;
  return Returns ? summarizeResult(View) : summarizeRelease(View);
}

/// Returns true if the parameters from From on only say where the caller is:
/// `const char *file, int line`.
static bool arePlaces(const FunctionProtoType &T, unsigned From) {
  return llvm::all_of(T.param_types().drop_front(From), [](QualType Parameter) {
    return Parameter->isIntegerType() ||
           (Parameter->isPointerType() &&
            Parameter->getPointeeType()->isCharType());
  });
}

/// Returns Index if that parameter may be a size, and the parameters after it
/// say where the caller is.
static std::optional<unsigned> sizeAt(const FunctionProtoType &T,
                                      unsigned Index) {
  if (Index >= T.getNumParams() || !T.getParamType(Index)->isIntegerType() ||
      !arePlaces(T, Index + 1))
    return std::nullopt;
  return Index;
}

/// Returns true if what is released to an allocator of this name does not go
/// back to the heap.
static bool keepsBlocks(const NamedDecl &D) {
  std::string Name = D.getNameAsString();
  return llvm::any_of(ArrayRef<StringRef>{"pool", "arena", "slab", "stack",
                                          "region", "zone", "gc_", "shm", "dma",
                                          "page"},
                      [&](StringRef Word) {
                        return StringRef(Name).contains_insensitive(Word);
                      });
}

/// Returns what a function of this name and type promises.
static std::optional<HeapFunction> promiseOf(const NamedDecl &D,
                                             const FunctionProtoType &T) {
  if (T.isVariadic() || T.getNumParams() == 0)
    return std::nullopt;
  std::string Name = D.getName().lower();
  QualType First = T.getParamType(0), Result = T.getReturnType();
  bool ReturnsBlock = Result->isVoidPointerType(),
       TakesBlock = First->isVoidPointerType();
  StringRef Rest = Name;
  if (Rest.consume_back("reallocarray") || Rest.consume_back("realloc_array")) {
    std::optional<unsigned> Size = sizeAt(T, 2);
    if (ReturnsBlock && TakesBlock && Size &&
        T.getParamType(1)->isIntegerType())
      return HeapFunction{HeapOp::Resize, 0, Size, 1};
  } else if (Rest.consume_back("realloc")) {
    std::optional<unsigned> Size = sizeAt(T, 1);
    if (ReturnsBlock && TakesBlock && Size)
      return HeapFunction{HeapOp::Resize, 0, Size};
  } else if (Rest.consume_back("malloc")) {
    std::optional<unsigned> Size = sizeAt(T, 0);
    if (ReturnsBlock && Size)
      return HeapFunction{HeapOp::Allocate, std::nullopt, Size};
  } else if (Rest.consume_back("calloc")) {
    std::optional<unsigned> Size = sizeAt(T, 1);
    if (ReturnsBlock && Size && First->isIntegerType())
      return HeapFunction{HeapOp::Allocate, std::nullopt, Size, 0};
  } else if (Rest.consume_back("strdup")) {
    if (Result->isPointerType() && Result->getPointeeType()->isCharType() &&
        arePlaces(T, 1))
      return HeapFunction{HeapOp::Allocate};
  } else if (Rest.consume_back("free")) {
    if (Result->isVoidType() && TakesBlock && arePlaces(T, 1))
      return HeapFunction{HeapOp::Release, 0};
  }
  return std::nullopt;
}

std::optional<HeapFunction> promiseOf(const FunctionDecl &F) {
  const DeclContext *Around = F.getDeclContext()->getRedeclContext();
  auto *T = F.getType()->getAs<FunctionProtoType>();
  if (!T || !(Around->isFileContext() || F.isExternC()) || !F.getIdentifier() ||
      keepsBlocks(F))
    return std::nullopt;
  std::optional<HeapFunction> OfBlocks = promiseOf(F, *T);
  return OfBlocks ? OfBlocks : promiseOfObjects(F);
}

std::optional<HeapFunction> promiseOf(const VarDecl &Pointer) {
  QualType Target = Pointer.getType()->getPointeeType();
  auto *T = Target.isNull() ? nullptr : Target->getAs<FunctionProtoType>();
  return T && Pointer.isFileVarDecl() && !keepsBlocks(Pointer)
             ? promiseOf(Pointer, *T)
             : std::nullopt;
}

} // namespace vfriendly::tidy
