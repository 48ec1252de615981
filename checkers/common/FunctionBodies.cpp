//===- FunctionBodies.cpp - Functions that a function uses ----------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/common/FunctionBodies.h"

#include "checkers/common/Loops.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtOpenMP.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace clang;

namespace vfriendly::tidy {

/// Maximum number of statements and expressions of a function that is assumed
/// to be inlined by LLVM. A limit of 400 found no more blocks in the corpus.
static constexpr unsigned MaxInlined = 120;

bool FunctionBody::isSmall() const { return Statements <= MaxInlined; }

const FunctionDecl *loweredDefinition(const FunctionDecl &F) {
  switch (F.getOverloadedOperator()) {
  case OO_New:
  case OO_Array_New:
  case OO_Delete:
  case OO_Array_Delete:
    return nullptr;
  default:
    break;
  }
  const FunctionDecl *Definition = F.getDefinition();
  return Definition && !Definition->isDependentContext() &&
                 !Definition->isInvalidDecl() &&
                 (Definition->getBody() || Definition->isDefaulted())
             ? Definition
             : nullptr;
}

class FunctionBodies::Walker {
public:
  Walker(const ASTContext &Context, FunctionBody &Into)
      : Context(Context), Into(Into) {}

  void walk(const Stmt &S);
  void noteDestructor(QualType Type);

private:
  void noteUse(const FunctionDecl *F) {
    if (F)
      Into.Uses.push_back({F, Loop});
  }

  const ASTContext &Context;
  FunctionBody &Into;
  const Stmt *Loop = nullptr;
};

void FunctionBodies::Walker::noteDestructor(QualType Type) {
  auto *Record = Type.isNull()
                     ? nullptr
                     : Context.getBaseElementType(Type)->getAsCXXRecordDecl();
  if (Record && Record->hasDefinition() && !Record->hasTrivialDestructor())
    noteUse(Record->getDestructor());
}

void FunctionBodies::Walker::walk(const Stmt &S) {
  if (isa<UnaryExprOrTypeTraitExpr>(S))
    return; // The operand of sizeof is not evaluated.
  ++Into.Statements;
  const Stmt *Around = Loop;
  if (isLoop(&S)) {
    Into.HasLoop = true;
    if (!Loop)
      Loop = &S;
  } else if (isa<GotoStmt, IndirectGotoStmt>(S))
    Into.HasLoop = Into.HasGoto = true;
  else if (auto *Ref = dyn_cast<DeclRefExpr>(&S)) {
    noteUse(dyn_cast<FunctionDecl>(Ref->getDecl()));
    if (auto *Variable = dyn_cast<VarDecl>(Ref->getDecl());
        Variable && Variable->getType()->isFunctionPointerType() &&
        Variable->isFileVarDecl())
      Into.Pointers.push_back({Variable, Loop});
  } else if (auto *Member = dyn_cast<MemberExpr>(&S))
    noteUse(dyn_cast<FunctionDecl>(Member->getMemberDecl()));
  else if (auto *Construct = dyn_cast<CXXConstructExpr>(&S)) {
    noteUse(Construct->getConstructor());
    noteDestructor(Construct->getType());
  } else if (auto *Inherited = dyn_cast<CXXInheritedCtorInitExpr>(&S))
    noteUse(Inherited->getConstructor());
  else if (auto *New = dyn_cast<CXXNewExpr>(&S))
    noteUse(New->getOperatorNew());
  else if (auto *Delete = dyn_cast<CXXDeleteExpr>(&S)) {
    noteUse(Delete->getOperatorDelete());
    noteDestructor(Delete->getDestroyedType());
  } else if (auto *Temporary = dyn_cast<CXXBindTemporaryExpr>(&S))
    noteDestructor(Temporary->getType());
  else if (auto *Declaration = dyn_cast<DeclStmt>(&S))
    for (const Decl *D : Declaration->decls())
      if (auto *Variable = dyn_cast<VarDecl>(D))
        noteDestructor(Variable->getType());
  auto *Directive = dyn_cast<OMPExecutableDirective>(&S);
  if (Directive && Directive->hasAssociatedStmt()) {
    walk(*Directive->getRawStmt());
  } else if (auto *Lambda = dyn_cast<LambdaExpr>(&S)) {
    for (const Expr *Init : Lambda->capture_inits())
      if (Init)
        walk(*Init);
  } else {
    for (const Stmt *Child : S.children())
      if (Child)
        walk(*Child);
  }
  Loop = Around;
}

const FunctionBody &FunctionBodies::of(const FunctionDecl &F) {
  std::unique_ptr<FunctionBody> &Found = Known[&F];
  if (Found)
    return *Found;
  Found = std::make_unique<FunctionBody>();
  Walker Walk(F.getASTContext(), *Found);
  if (const Stmt *S = F.getBody())
    Walk.walk(*S);
  if (auto *Constructor = dyn_cast<CXXConstructorDecl>(&F))
    for (const CXXCtorInitializer *Each : Constructor->inits())
      if (Each->getInit())
        Walk.walk(*Each->getInit());
  if (auto *Destructor = dyn_cast<CXXDestructorDecl>(&F)) {
    for (const FieldDecl *Field : Destructor->getParent()->fields())
      Walk.noteDestructor(Field->getType());
    for (const CXXBaseSpecifier &Base : Destructor->getParent()->bases())
      Walk.noteDestructor(Base.getType());
  }
  return *Found;
}

std::vector<const FunctionDecl *>
FunctionBodies::withInlined(ArrayRef<const FunctionDecl *> Functions,
                            const LoopSet *Loops, unsigned DepthOutside) {
  constexpr unsigned Unlimited = ~0u;
  if (!Loops)
    DepthOutside = Unlimited;
  std::vector<const FunctionDecl *> All = Functions.vec();
  // A function is visited again if more of what it calls counts than before.
  std::vector<std::pair<const FunctionDecl *, unsigned>> Left;
  llvm::DenseMap<const FunctionDecl *, unsigned> Levels;
  for (const FunctionDecl *Each : Functions) {
    Left.push_back({Each, DepthOutside});
    Levels[Each] = DepthOutside;
  }
  for (size_t I = 0; I < Left.size(); ++I) {
    auto [F, Depth] = Left[I];
    const FunctionBody &Body = of(*F);
    for (const FunctionBody::Use &Each : Body.Uses) {
      unsigned Inside =
          Depth == Unlimited || Body.HasGoto ||
                  (I < Functions.size() && Loops->contains(Each.Loop))
              ? Unlimited
              : Depth;
      const FunctionDecl *Definition =
          Inside != 0 ? loweredDefinition(*Each.Function) : nullptr;
      if (!Definition || !of(*Definition).isSmall())
        continue;
      if (Inside != Unlimited)
        --Inside;
      auto [Known, IsNew] = Levels.try_emplace(Definition, Inside);
      if (IsNew)
        All.push_back(Definition);
      else if (Known->second < Inside)
        Known->second = Inside;
      else
        continue;
      Left.push_back({Definition, Inside});
    }
  }
  return All;
}

} // namespace vfriendly::tidy
