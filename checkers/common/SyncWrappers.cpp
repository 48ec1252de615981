//===- SyncWrappers.cpp - Functions and classes that synchronize ----------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attributes the operations of wrappers to their callers:
//
//   void lock(Mutex *m) { pthread_mutex_lock(&m->it); }  // on the argument
//   void Mutex::lock() { pthread_mutex_lock(&it); }      // on the object
//   Guard::Guard(Mutex &m) : its(m) { its.lock(); }      // on the argument
//   Thread::Thread(...) { pthread_create(&id, ...); }    // makes the object
//   pthread_t start() { ...; return id; }                // makes the result
//   void delay(int ms) { ...; nanosleep(&time, 0); }     // sleeps, in its
//   caller
//
// A method counts as an operation on its object, and a function as one on the
// structure of its argument, only if it does nothing else that synchronizes:
// push() of a queue, which locks and signals, is not a lock.
//
//===----------------------------------------------------------------------===//

#include "checkers/common/SyncModel.h"
#include "checkers/common/WaitNeutral.h"

#include "clang/AST/DeclCXX.h"
#include "clang/AST/ExprCXX.h"

using namespace clang;

namespace vfriendly::tidy {

/// Maximum number of wrappers around an operation: a guard around a lock of the
/// program's own class has two.
static constexpr unsigned MaxLevels = 3;

namespace {
/// What a wrapper's operation is applied to, as its caller sees it.
struct Subject {
  enum { None, Parameter, Object, Result, Caller } Is = None;
  unsigned Index = 0; ///< Of a parameter.
};
} // namespace

/// Returns the parameter from which the constructor initializes Field; null if
/// there is none.
static const ParmVarDecl *initializerOf(const CXXConstructorDecl &Constructor,
                                        const ValueDecl *Field) {
  for (const CXXCtorInitializer *Init : Constructor.inits())
    if (Init->getAnyMember() == Field)
      return dyn_cast_or_null<ParmVarDecl>(objectOf(Init->getInit()));
  return nullptr;
}

/// Returns true if a return statement of F returns Variable.
static bool returns(const FunctionDecl &F, const ValueDecl *Variable) {
  bool Found = false;
  forEachStmt(F.getBody(), [&](const Stmt *S, ArrayRef<const Stmt *>) {
    if (auto *Return = dyn_cast<ReturnStmt>(S))
      Found |= Variable && objectOf(Return->getRetValue()) == Variable;
  });
  return Found;
}

/// Returns true if all that F does is to sleep.
static bool onlySleeps(const FunctionSync &F) {
  return llvm::all_of(
             F.Syncs,
             [](const SyncSite &S) { return S.Kind == SyncKind::Sleep; }) &&
         llvm::all_of(F.Calls, [&](const CallSite &C) {
           // Assigns structures, and so on.
           auto *Method = dyn_cast<CXXMethodDecl>(C.Callee);
           return (Method && Method->isTrivial()) ||
                  classifyCall(*C.Call, *C.Callee) != CallEffect::Other ||
                  llvm::any_of(F.Syncs, [&](const SyncSite &S) {
                    return S.Site == C.Call;
                  });
         });
}

namespace {
class Attribution {
public:
  Attribution(const SyncModel &Model, std::vector<FunctionSync> &Functions)
      : Model(Model), Functions(Functions), Begin(Functions.size(), 0) {
    for (const FunctionSync &F : Functions)
      Operations.push_back(F.Syncs.size() +
                           llvm::count_if(F.Calls,
                                          [&](const CallSite &C) {
                                            return synchronizes(C.Callee);
                                          }) +
                           llvm::count_if(F.Makes, [&](const MakeSite &M) {
                             return synchronizes(M.Made->getConstructor());
                           }));
  }

  /// Attributes the operations that the previous call has added. Returns true
  /// if there are some.
  bool nextLevel();

private:
  bool synchronizes(const FunctionDecl *Callee) const {
    const FunctionSync *F = Model.of(Callee);
    return F && (!F->Syncs.empty() || !F->Makes.empty());
  }
  /// Returns true if F synchronizes only by Site, once in each call.
  bool doesNothingElse(const FunctionSync &F, const SyncSite &Site) const {
    return Operations[&F - Functions.data()] == 1 &&
           !innermostLoop(Site.Parents);
  }
  /// Returns true if the destructor of the class of Made does Kind.
  bool destructorDoes(const CXXConstructExpr &Made, SyncKind Kind) const {
    const FunctionSync *F =
        Model.of(Made.getConstructor()->getParent()->getDestructor());
    return F && llvm::any_of(F->Syncs,
                             [&](const SyncSite &S) { return S.Kind == Kind; });
  }
  Subject subjectOf(const SyncSite &Site, const FunctionSync &Wrapper) const;
  std::optional<SyncSite> atCall(const SyncSite &Does,
                                 const FunctionSync &Wrapper,
                                 const CallExpr &Call,
                                 ArrayRef<const Stmt *> Parents) const;
  std::optional<SyncSite> atConstruction(const SyncSite &Does,
                                         const FunctionSync &Wrapper,
                                         const CXXConstructExpr &Made,
                                         ArrayRef<const Stmt *> Parents) const;

  const SyncModel &Model;
  std::vector<FunctionSync> &Functions;
  /// For each function, the first operation that is not attributed yet.
  std::vector<size_t> Begin;
  /// For each function, the number of its statements that synchronize.
  std::vector<size_t> Operations;
};
} // namespace

Subject Attribution::subjectOf(const SyncSite &Site,
                               const FunctionSync &Wrapper) const {
  const FunctionDecl &F = *Wrapper.Function;
  if (auto *Parameter = dyn_cast_or_null<ParmVarDecl>(Site.Object))
    return {Subject::Parameter, Parameter->getFunctionScopeIndex()};
  if (Site.Owner && doesNothingElse(Wrapper, Site))
    return {Subject::Parameter, Site.Owner->getFunctionScopeIndex()};
  auto *Method = dyn_cast<CXXMethodDecl>(&F);
  if (Site.Kind == SyncKind::Sleep)
    return {onlySleeps(Wrapper) && !(Method && Method->isVirtual())
                ? Subject::Caller
                : Subject::None};
  auto *Field = dyn_cast_or_null<FieldDecl>(Site.Object);
  if (Method && Field && Field->getParent() == Method->getParent()) {
    if (auto *Constructor = dyn_cast<CXXConstructorDecl>(Method))
      if (const ParmVarDecl *From = initializerOf(*Constructor, Field))
        return {Subject::Parameter, From->getFunctionScopeIndex()};
    if (doesNothingElse(Wrapper, Site))
      return {Subject::Object};
  }
  if (Site.Kind == SyncKind::CreateThread && !innermostLoop(Site.Parents) &&
      returns(F, Site.Object))
    return {Subject::Result};
  return {};
}

/// Returns the operation that Call of Wrapper is because Wrapper does Does.
std::optional<SyncSite>
Attribution::atCall(const SyncSite &Does, const FunctionSync &Wrapper,
                    const CallExpr &Call,
                    ArrayRef<const Stmt *> Parents) const {
  SyncSite Site{Does.Kind,
                &Call,
                nullptr,
                nullptr,
                nullptr,
                nullptr,
                {Parents.begin(), Parents.end()}};
  Subject On = subjectOf(Does, Wrapper);
  switch (On.Is) {
  case Subject::None:
    return std::nullopt;
  case Subject::Parameter:
    if (On.Index >= Call.getNumArgs())
      return std::nullopt;
    Site.Object = objectOf(Call.getArg(On.Index));
    Site.Owner = ownerOf(Call.getArg(On.Index));
    break;
  case Subject::Object:
    if (auto *Member = dyn_cast<CXXMemberCallExpr>(&Call)) {
      const Expr *Of = Member->getImplicitObjectArgument();
      Site.Object = isa<CXXThisExpr>(Of->IgnoreParenImpCasts()) ? Does.Object
                                                                : objectOf(Of);
    }
    break;
  case Subject::Result:
    Site.Object = takenBy(Parents);
    break;
  case Subject::Caller:
    break;
  }
  if (Does.Kind == SyncKind::Wait || Does.Kind == SyncKind::TimedWait)
    Site.Predicate = predicateOf(Parents);
  return Site;
}

/// Returns the operation that the construction Made of an object is because the
/// constructor Wrapper does Does: that of a guard, whose destructor unlocks, or
/// of a thread.
std::optional<SyncSite>
Attribution::atConstruction(const SyncSite &Does, const FunctionSync &Wrapper,
                            const CXXConstructExpr &Made,
                            ArrayRef<const Stmt *> Parents) const {
  SyncSite Site{Does.Kind,
                &Made,
                nullptr,
                nullptr,
                nullptr,
                nullptr,
                {Parents.begin(), Parents.end()}};
  Subject On = subjectOf(Does, Wrapper);
  if (On.Is == Subject::Parameter && Does.Kind == SyncKind::Lock &&
      On.Index < Made.getNumArgs() && destructorDoes(Made, SyncKind::Unlock)) {
    Site.Object = objectOf(Made.getArg(On.Index));
    return Site;
  }
  if (On.Is == Subject::Object && Does.Kind == SyncKind::CreateThread) {
    bool MayOutlive = isa<ReturnStmt>(Parents.back());
    Site.Object = takenBy(Parents, &MayOutlive);
    Site.JoinsItself = !MayOutlive && destructorDoes(Made, SyncKind::Join);
    return Site;
  }
  return std::nullopt;
}

bool Attribution::nextLevel() {
  std::vector<size_t> End;
  for (const FunctionSync &F : Functions)
    End.push_back(F.Syncs.size());
  bool Added = false;
  for (FunctionSync &F : Functions) {
    auto Add = [&](const FunctionDecl *Callee, auto AtSite) {
      const FunctionSync *Wrapper = Model.of(Callee);
      if (!Wrapper || Wrapper == &F)
        return;
      size_t Index = Wrapper - Functions.data();
      for (size_t I = Begin[Index]; I < End[Index]; ++I)
        if (std::optional<SyncSite> Site =
                AtSite(Wrapper->Syncs[I], *Wrapper)) {
          Site->Function = F.Function;
          F.Syncs.push_back(std::move(*Site));
          Added = true;
        }
    };
    for (const CallSite &C : F.Calls)
      Add(C.Callee, [&](const SyncSite &Does, const FunctionSync &Wrapper) {
        return atCall(Does, Wrapper, *C.Call, C.Parents);
      });
    for (const MakeSite &M : F.Makes)
      Add(M.Made->getConstructor(),
          [&](const SyncSite &Does, const FunctionSync &Wrapper) {
            return atConstruction(Does, Wrapper, *M.Made, M.Parents);
          });
  }
  Begin = std::move(End);
  return Added;
}

void SyncModel::addWrappers() {
  Attribution Wrappers(*this, Functions);
  for (unsigned Level = 0; Level < MaxLevels && Wrappers.nextLevel(); ++Level)
    ;
}

} // namespace vfriendly::tidy
