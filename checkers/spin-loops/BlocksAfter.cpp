//===- BlocksAfter.cpp - Waits that spin before they block ----------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/spin-loops/BlocksAfter.h"

#include "checkers/common/EachNode.h"

#include "clang/AST/ASTContext.h"
#include "clang/Basic/SourceManager.h"

using namespace clang;

namespace vfriendly::tidy {

namespace {
/// Adds all definitions outside of system headers to a model.
class Definitions : public EachNode {
public:
  Definitions(SyncModel &Into, const SourceManager &SM) : Into(Into), SM(SM) {
    VisitsInstances = true;
  }

private:
  bool visit(Decl &D) override {
    auto *F = dyn_cast<FunctionDecl>(&D);
    if (F && F->isThisDeclarationADefinition() && F->getBody() &&
        !F->isDependentContext() && !F->isInvalidDecl() &&
        !SM.isInSystemHeader(F->getLocation()))
      Into.add(*F);
    return true;
  }

  SyncModel &Into;
  const SourceManager &SM;
};
} // namespace

const ValueDecl *BlocksAfter::notified(const FunctionDecl &Function) {
  SyncModel Own;
  Own.add(Function);
  auto Waits = [](const SyncSite &S) {
    return S.Object &&
           (S.Kind == SyncKind::Wait || S.Kind == SyncKind::TimedWait);
  };
  if (llvm::none_of(Own.functions()[0].Syncs, Waits))
    return nullptr;
  if (!Searched) {
    const ASTContext &Context = Function.getASTContext();
    Definitions(Unit, Context.getSourceManager())
        .traverse(*Context.getTranslationUnitDecl());
    Unit.finish();
    Searched = true;
  }
  for (const SyncSite &Wait : Own.functions()[0].Syncs)
    for (const FunctionSync &Other : Unit.functions())
      for (const SyncSite &S : Other.Syncs)
        if (Waits(Wait) && S.Object == Wait.Object &&
            (S.Kind == SyncKind::Signal || S.Kind == SyncKind::Broadcast))
          return Wait.Object;
  return nullptr;
}

} // namespace vfriendly::tidy
