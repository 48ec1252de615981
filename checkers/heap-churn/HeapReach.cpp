//===- HeapReach.cpp - Functions that use the heap in loops ---------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/heap-churn/HeapReach.h"

#include "checkers/common/Loops.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/ExprCXX.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace clang;

namespace vfriendly::tidy {

/// Maximum number of statements and expressions of a function that is assumed
/// to be inlined by LLVM. A limit of 400 found no more blocks in the corpus.
static constexpr unsigned MaxInlined = 120;

void HeapReach::note(unsigned Does, Body &Into) const {
  Into.Does |= Does;
  if (IsInLoop)
    Into.DoesInLoop |= Does;
}

void HeapReach::noteUse(const FunctionDecl *F, Body &Into) {
  if (!F)
    return;
  switch (F->getOverloadedOperator()) {
  case OO_New:
  case OO_Array_New:
    return note(Allocates, Into);
  case OO_Delete:
  case OO_Array_Delete:
    return note(Releases, Into);
  default:
    break;
  }
  if (const HeapFunction *Does = Heap.find(*F))
    note(Does->Op == HeapOp::Allocate  ? Allocates
         : Does->Op == HeapOp::Release ? Releases
                                       : 0,
         Into);
  const FunctionDecl *Definition = F->getDefinition();
  if (Definition && !Definition->isDependentContext() &&
      !Definition->isInvalidDecl() &&
      (Definition->getBody() || Definition->isDefaulted()))
    Into.Callees.push_back({Definition, IsInLoop});
}

void HeapReach::noteDestructor(QualType Type, Body &Into) {
  auto *Record = Type.isNull()
                     ? nullptr
                     : Context.getBaseElementType(Type)->getAsCXXRecordDecl();
  if (Record && Record->hasDefinition() && !Record->hasTrivialDestructor())
    noteUse(Record->getDestructor(), Into);
}

void HeapReach::walk(const Stmt &S, Body &Into) {
  if (isa<UnaryExprOrTypeTraitExpr>(S))
    return; // The operand of sizeof is not evaluated.
  ++Into.Statements;
  bool WasInLoop = IsInLoop;
  if (isLoop(&S))
    IsInLoop = Into.HasLoop = true;
  else if (isa<GotoStmt, IndirectGotoStmt>(S))
    Into.HasLoop = Into.HasGoto = true;
  else if (auto *Ref = dyn_cast<DeclRefExpr>(&S))
    noteUse(dyn_cast<FunctionDecl>(Ref->getDecl()), Into);
  else if (auto *Member = dyn_cast<MemberExpr>(&S))
    noteUse(dyn_cast<FunctionDecl>(Member->getMemberDecl()), Into);
  else if (auto *Construct = dyn_cast<CXXConstructExpr>(&S)) {
    noteUse(Construct->getConstructor(), Into);
    noteDestructor(Construct->getType(), Into);
  } else if (auto *New = dyn_cast<CXXNewExpr>(&S))
    noteUse(New->getOperatorNew(), Into);
  else if (auto *Delete = dyn_cast<CXXDeleteExpr>(&S)) {
    noteUse(Delete->getOperatorDelete(), Into);
    noteDestructor(Delete->getDestroyedType(), Into);
  } else if (auto *Temporary = dyn_cast<CXXBindTemporaryExpr>(&S))
    noteDestructor(Temporary->getType(), Into);
  else if (auto *Declaration = dyn_cast<DeclStmt>(&S))
    for (const Decl *D : Declaration->decls())
      if (auto *Variable = dyn_cast<VarDecl>(D))
        noteDestructor(Variable->getType(), Into);
  if (auto *Lambda = dyn_cast<LambdaExpr>(&S)) {
    for (const Expr *Init : Lambda->capture_inits())
      if (Init)
        walk(*Init, Into);
  } else {
    for (const Stmt *Child : S.children())
      if (Child)
        walk(*Child, Into);
  }
  IsInLoop = WasInLoop;
}

const HeapReach::Body &HeapReach::bodyOf(const FunctionDecl &F) {
  std::unique_ptr<Body> &Known = Bodies[&F];
  if (Known)
    return *Known;
  Body &Into = *(Known = std::make_unique<Body>());
  if (const Stmt *S = F.getBody())
    walk(*S, Into);
  if (auto *Constructor = dyn_cast<CXXConstructorDecl>(&F))
    for (const CXXCtorInitializer *Each : Constructor->inits())
      if (Each->getInit())
        walk(*Each->getInit(), Into);
  if (auto *Destructor = dyn_cast<CXXDestructorDecl>(&F)) {
    for (const FieldDecl *Field : Destructor->getParent()->fields())
      noteDestructor(Field->getType(), Into);
    for (const CXXBaseSpecifier &Base : Destructor->getParent()->bases())
      noteDestructor(Base.getType(), Into);
  }
  return Into;
}

unsigned HeapReach::doesIfInlined(const FunctionDecl &F) {
  // A recursive call adds nothing.
  auto [Place, IsNew] = Inlined.try_emplace(&F, 0);
  if (!IsNew)
    return Place->second;
  const Body &In = bodyOf(F);
  if (In.Statements > MaxInlined)
    return 0;
  unsigned Does = In.Does;
  for (const Body::Callee &Each : In.Callees)
    if (Does != Both)
      Does |= doesIfInlined(*Each.Definition);
  return Inlined[&F] = Does;
}

bool HeapReach::churns(const FunctionDecl &F) {
  const Body &In = bodyOf(F);
  if (!In.HasLoop)
    return false;
  unsigned Does = In.HasGoto ? In.Does : In.DoesInLoop;
  for (const Body::Callee &Each : In.Callees)
    if (Does != Both && (Each.IsInLoop || In.HasGoto))
      Does |= doesIfInlined(*Each.Definition);
  return Does == Both;
}

std::vector<const FunctionDecl *>
HeapReach::withInlined(ArrayRef<const FunctionDecl *> Functions) {
  std::vector<const FunctionDecl *> All = Functions.vec();
  llvm::SmallPtrSet<const FunctionDecl *, 32> Seen(All.begin(), All.end());
  for (size_t I = 0; I < All.size(); ++I)
    for (const Body::Callee &Each : bodyOf(*All[I]).Callees)
      if (bodyOf(*Each.Definition).Statements <= MaxInlined &&
          Seen.insert(Each.Definition).second)
        All.push_back(Each.Definition);
  return All;
}

} // namespace vfriendly::tidy
