//===- SyncModel.cpp - Locks, waits and wake-ups of a unit ----------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/common/SyncModel.h"

#include "checkers/common/AtomicOps.h"
#include "checkers/common/SourceText.h"
#include "checkers/common/WaitNeutral.h"
#include "passes/analysis/common/TellingNames.h"

#include "clang/AST/Attr.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/ExprCXX.h"
#include "llvm/ADT/StringMap.h"

using namespace clang;

namespace vfriendly::tidy {

namespace {
struct Meaning {
  SyncKind Kind;
  /// The index of the argument that is the lock, condition or semaphore; -1 if
  /// there is none.
  int Object;
};

/// Returns the synchronization operation of a function in no namespace, by its
/// name.
std::optional<Meaning> byName(StringRef Name) {
  static const llvm::StringMap<Meaning> Names = {
      {"pthread_mutex_lock", {SyncKind::Lock, 0}},
      {"mtx_lock", {SyncKind::Lock, 0}},
      {"vf_mutex_lock", {SyncKind::Lock, 0}},
      {"pthread_mutex_unlock", {SyncKind::Unlock, 0}},
      {"mtx_unlock", {SyncKind::Unlock, 0}},
      {"vf_mutex_unlock", {SyncKind::Unlock, 0}},
      {"pthread_spin_lock", {SyncKind::SpinLock, 0}},
      {"pthread_cond_wait", {SyncKind::Wait, 0}},
      {"cnd_wait", {SyncKind::Wait, 0}},
      {"vf_cond_wait", {SyncKind::Wait, 0}},
      {"pthread_cond_timedwait", {SyncKind::TimedWait, 0}},
      {"pthread_cond_clockwait", {SyncKind::TimedWait, 0}},
      {"cnd_timedwait", {SyncKind::TimedWait, 0}},
      {"vf_cond_timedwait", {SyncKind::TimedWait, 0}},
      {"pthread_cond_signal", {SyncKind::Signal, 0}},
      {"cnd_signal", {SyncKind::Signal, 0}},
      {"vf_cond_signal", {SyncKind::Signal, 0}},
      {"pthread_cond_broadcast", {SyncKind::Broadcast, 0}},
      {"cnd_broadcast", {SyncKind::Broadcast, 0}},
      {"vf_cond_broadcast", {SyncKind::Broadcast, 0}},
      {"pthread_create", {SyncKind::CreateThread, 0}},
      {"thrd_create", {SyncKind::CreateThread, 0}},
      {"pthread_join", {SyncKind::Join, 0}},
      {"thrd_join", {SyncKind::Join, 0}},
      {"pthread_detach", {SyncKind::Detach, 0}},
      {"thrd_detach", {SyncKind::Detach, 0}},
      {"omp_set_lock", {SyncKind::Lock, 0}},
      {"omp_unset_lock", {SyncKind::Unlock, 0}},
      {"accept", {SyncKind::Accept, -1}},
      {"accept4", {SyncKind::Accept, -1}}};
  auto Known = Names.find(Name);
  return Known == Names.end() ? std::nullopt
                              : std::optional<Meaning>(Known->second);
}

/// Returns the operation that the name of a function of another file promises:
/// `void app_mutex_lock(app_mutex *)`.
std::optional<Meaning> byPromise(const FunctionDecl &Callee) {
  static constexpr std::pair<StringRef, SyncKind> Endings[] = {
      {"mutex_lock", SyncKind::Lock},
      {"mtx_lock", SyncKind::Lock},
      {"mutex_unlock", SyncKind::Unlock},
      {"mtx_unlock", SyncKind::Unlock},
      {"cond_wait", SyncKind::Wait},
      {"cv_wait", SyncKind::Wait},
      {"cond_timedwait", SyncKind::TimedWait},
      {"cv_timedwait", SyncKind::TimedWait},
      {"cond_signal", SyncKind::Signal},
      {"cv_signal", SyncKind::Signal},
      {"cv_wake1", SyncKind::Signal},
      {"cond_broadcast", SyncKind::Broadcast},
      {"cv_broadcast", SyncKind::Broadcast},
      {"thread_create", SyncKind::CreateThread}};
  // Threads do not sleep for a lock that they spin on.
  StringRef Name = Callee.getName();
  if (Callee.isDefined() || Callee.isVariadic() || !Callee.getNumParams() ||
      !Callee.getParamDecl(0)->getType()->isPointerType() ||
      Name.contains_insensitive("spin"))
    return std::nullopt;
  auto *Found = llvm::find_if(Endings, [&](const auto &Each) {
    StringRef Before = Name;
    return Before.consume_back(Each.first) &&
           (Before.empty() || Before.ends_with("_")); // Not recv_wait.
  });
  // A thread needs a function to run.
  return Found == std::end(Endings) ||
                 (Found->second == SyncKind::CreateThread &&
                  llvm::none_of(Callee.parameters(),
                                [](const ParmVarDecl *P) {
                                  return P->getType()->isFunctionPointerType();
                                }))
             ? std::nullopt
             : std::optional<Meaning>({Found->second, 0});
}

/// Returns true if D is declared in a namespace of this name.
bool isIn(const Decl &D, StringRef Name) {
  for (const DeclContext *C = D.getDeclContext(); C; C = C->getParent())
    if (auto *Space = dyn_cast<NamespaceDecl>(C);
        Space && Space->getName() == Name)
      return true;
  return false;
}

/// Returns true if Class is a class of the standard library, or of Boost, from
/// which the library has it, with one of Names.
bool isStdClass(const CXXRecordDecl *Class,
                std::initializer_list<StringRef> Names) {
  return Class && llvm::is_contained(Names, identifierOf(Class)) &&
         (isOfStd(*Class) || isIn(*Class, "boost"));
}

/// Returns true for the classes that lock a mutex of oneTBB.
bool isTbbLock(const CXXRecordDecl &Class) {
  return Class.getIdentifier() && Class.getName().ends_with("scoped_lock") &&
         isIn(Class, "tbb");
}

/// Returns the synchronization operation of a method of the standard library's
/// classes.
std::optional<SyncKind> byMethod(const CXXMethodDecl &Method) {
  if (!Method.getIdentifier())
    return std::nullopt;
  const CXXRecordDecl *Class = Method.getParent();
  StringRef Name = Method.getName();
  if (isStdClass(Class, {"condition_variable", "condition_variable_any"}))
    return llvm::StringSwitch<std::optional<SyncKind>>(Name)
        .Case("wait", SyncKind::Wait)
        .Case("wait_for", SyncKind::TimedWait)
        .Case("wait_until", SyncKind::TimedWait)
        .Case("notify_one", SyncKind::Signal)
        .Case("notify_all", SyncKind::Broadcast)
        .Default(std::nullopt);
  if (isStdClass(Class, {"thread", "jthread"}))
    return llvm::StringSwitch<std::optional<SyncKind>>(Name)
        .Case("join", SyncKind::Join)
        .Case("detach", SyncKind::Detach)
        .Default(std::nullopt);
  // The destructor of a future of std::async waits as well, see construct().
  if (isStdClass(Class, {"future", "shared_future", "__basic_future"}))
    return llvm::StringSwitch<std::optional<SyncKind>>(Name)
        .Case("get", SyncKind::Join)
        .Case("wait", SyncKind::Join)
        .Default(std::nullopt);
  if (isStdClass(Class, {"mutex", "timed_mutex", "recursive_mutex",
                         "shared_mutex", "unique_lock", "__mutex_base"}))
    return llvm::StringSwitch<std::optional<SyncKind>>(Name)
        .Case("lock", SyncKind::Lock)
        .Case("unlock", SyncKind::Unlock)
        .Default(std::nullopt);
  return std::nullopt;
}

/// Returns the operation of a method of which only the declaration is known:
/// what clang's attributes for thread safety say, or a name of the standard
/// library's conditions.
std::optional<SyncKind> byDeclaration(const CXXMethodDecl &Method) {
  if (Method.isDefined())
    return std::nullopt;
  if (auto *Takes = Method.getAttr<AcquireCapabilityAttr>();
      Takes && !Takes->isShared() && !isa<CXXConstructorDecl>(Method))
    return SyncKind::Lock;
  if (Method.hasAttr<ReleaseCapabilityAttr>() &&
      !isa<CXXDestructorDecl>(Method))
    return SyncKind::Unlock;
  return llvm::StringSwitch<std::optional<SyncKind>>(identifierOf(&Method))
      .Case("notify_one", SyncKind::Signal)
      .Case("notify_all", SyncKind::Broadcast)
      .Default(std::nullopt);
}

/// Returns true for the constructor of a guard that clang's attributes for
/// thread safety describe.
bool isDeclaredGuard(const CXXConstructorDecl &Constructor) {
  auto *Takes = Constructor.getAttr<AcquireCapabilityAttr>();
  return Takes && !Takes->isShared() && !Constructor.isDefined() &&
         Constructor.getParent()->hasAttr<ScopedLockableAttr>();
}

/// Returns true if Call is a std::async that starts a thread: without a policy
/// libstdc++ and libc++ start one, too.
bool startsAsync(const CallExpr &Call, const FunctionDecl &Callee) {
  if (identifierOf(&Callee) != "async" || !isOfStd(Callee) ||
      !Call.getNumArgs())
    return false;
  const Expr *First = Call.getArg(0);
  auto *Policy = dyn_cast_or_null<EnumDecl>(First->getType()->getAsTagDecl());
  if (!Policy || Policy->getName() != "launch")
    return true;
  // The bit of launch::async is 1 in both libraries.
  Expr::EvalResult Value;
  return !First->isValueDependent() &&
         First->EvaluateAsInt(Value, Callee.getASTContext()) &&
         Value.Val.getInt()[0];
}

/// Returns the predicate of C++'s wait(lock, predicate): the lambda's result.
const Expr *predicateOfLambda(const Expr *Argument) {
  auto *Lambda = dyn_cast<LambdaExpr>(Argument->IgnoreUnlessSpelledInSource());
  auto *Body =
      Lambda ? dyn_cast_or_null<CompoundStmt>(Lambda->getBody()) : nullptr;
  if (!Body || Body->size() != 1)
    return nullptr;
  auto *Return = dyn_cast<ReturnStmt>(Body->body_front());
  return Return ? Return->getRetValue() : nullptr;
}

class Collector {
public:
  Collector(FunctionSync &Into) : Into(Into) {}

  void visit(const Stmt *S, ArrayRef<const Stmt *> Parents) {
    ++Into.Nodes;
    if (auto *Made = dyn_cast<CXXConstructExpr>(S))
      return construct(*Made, Parents);
    if (isa<AtomicExpr, GCCAsmStmt>(S))
      addAtomic(Parents);
    auto *Call = dyn_cast<CallExpr>(S);
    const FunctionDecl *Callee = Call ? Call->getDirectCallee() : nullptr;
    if (!Callee) {
      Into.HasUnnamed |= Call || isa<CXXNewExpr, CXXDeleteExpr>(S) || isLoop(S);
      if (Call)
        Into.Indirect.push_back(Call);
      return;
    }
    if (auto *Member = dyn_cast<CXXMemberCallExpr>(Call)) {
      if (emplacesThread(*Member)) {
        add(SyncKind::CreateThread, Call, Member->getImplicitObjectArgument(),
            Parents)
            .JoinsItself = isStdClass(elementOf(*Member), {"jthread"});
        return;
      }
      auto Kind = byMethod(*Member->getMethodDecl());
      bool IsByName = !Kind;
      if (!Kind)
        Kind = byDeclaration(*Member->getMethodDecl());
      if (Kind) {
        SyncSite &Site =
            add(*Kind, Call, Member->getImplicitObjectArgument(), Parents);
        // The attributes say it of the others.
        Site.IsByName = IsByName && (*Kind == SyncKind::Signal ||
                                     *Kind == SyncKind::Broadcast);
        if (*Kind == SyncKind::Wait || *Kind == SyncKind::TimedWait)
          Site.Predicate = Member->getNumArgs() == 2
                               ? predicateOfLambda(Member->getArg(1))
                               : predicateOf(Parents);
        return;
      }
    } else if (Callee->getIdentifier() &&
               isa<TranslationUnitDecl>(
                   Callee->getDeclContext()->getRedeclContext())) {
      auto Known = byName(Callee->getName());
      bool IsByName = !Known;
      if (!Known)
        Known = byPromise(*Callee);
      if (Known && int(Call->getNumArgs()) > Known->Object) {
        SyncSite &Site = add(
            Known->Kind, Call,
            Known->Object < 0 ? nullptr : Call->getArg(Known->Object), Parents);
        Site.IsByName = IsByName;
        if (Known->Kind == SyncKind::Wait || Known->Kind == SyncKind::TimedWait)
          Site.Predicate = predicateOf(Parents);
        return;
      }
    }
    if (startsAsync(*Call, *Callee)) {
      SyncSite &Site = add(SyncKind::CreateThread, Call, nullptr, Parents);
      takeHandle(Site, true, Parents);
      return;
    }
    switch (classifyCall(*Call, *Callee)) {
    case CallEffect::Sleep:
      add(SyncKind::Sleep, Call, nullptr, Parents);
      return;
    case CallEffect::Yield:
    case CallEffect::Pause:
      add(SyncKind::Yield, Call, nullptr, Parents);
      return;
    default:
      break;
    }
    // A function that is not visible sleeps if its name says so.
    if (!Callee->isDefined() &&
        whatNameTells(identifierOf(Callee)) == NameTells::Delays)
      add(SyncKind::Sleep, Call, nullptr, Parents);
    if (matchAtomicOp(Call))
      addAtomic(Parents);
    Into.Calls.push_back({Call, Callee, {Parents.begin(), Parents.end()}});
  }

private:
  /// Returns the class of the elements of the container of which Call calls a
  /// method; null if there is none.
  static const CXXRecordDecl *elementOf(const CXXMemberCallExpr &Call) {
    const CXXMethodDecl *Method = Call.getMethodDecl();
    auto *Class =
        Method ? dyn_cast<ClassTemplateSpecializationDecl>(Method->getParent())
               : nullptr;
    if (!Class || Class->getTemplateArgs().size() == 0)
      return nullptr;
    const TemplateArgument &Element = Class->getTemplateArgs()[0];
    return Element.getKind() == TemplateArgument::Type
               ? Element.getAsType()->getAsCXXRecordDecl()
               : nullptr;
  }

  /// Returns true for `threads.emplace_back(function, ...)`.
  static bool emplacesThread(const CXXMemberCallExpr &Call) {
    if (identifierOf(Call.getMethodDecl()) != "emplace_back" ||
        !Call.getNumArgs() ||
        !isStdClass(elementOf(Call), {"thread", "jthread"}))
      return false;
    // A thread that is moved into the container exists already.
    return !isStdClass(Call.getArg(0)->getType()->getAsCXXRecordDecl(),
                       {"thread", "jthread"});
  }

  void construct(const CXXConstructExpr &Made, ArrayRef<const Stmt *> Parents) {
    const CXXRecordDecl *Class = Made.getConstructor()->getParent();
    // A second argument of oneTBB's may ask for a reader's lock.
    if ((isStdClass(Class, {"lock_guard", "unique_lock", "scoped_lock"}) ||
         isTbbLock(*Class) || isDeclaredGuard(*Made.getConstructor())) &&
        (Made.getNumArgs() == 1 ||
         (Made.getNumArgs() == 2 && isa<CXXDefaultArgExpr>(Made.getArg(1)))))
      add(SyncKind::Lock, &Made, Made.getArg(0), Parents);
    else if (isStdClass(Class, {"thread", "jthread"}) &&
             Made.getNumArgs() >= 1 &&
             !Made.getConstructor()->isCopyOrMoveConstructor()) {
      SyncSite &Site = add(SyncKind::CreateThread, &Made, nullptr, Parents);
      takeHandle(Site, Class->getName() == "jthread", Parents);
    } else if (!Made.getConstructor()->isCopyOrMoveConstructor() &&
               Made.getConstructor()->isDefined()) {
      Into.Makes.push_back({&Made, {Parents.begin(), Parents.end()}});
    } else {
      Into.HasUnnamed |= Made.getConstructor()->isDefined() || isOfStd(*Class);
    }
  }

  /// Completes Site, which creates a thread, by what takes the handle.
  static void takeHandle(SyncSite &Site, bool JoinsAtEnd,
                         ArrayRef<const Stmt *> Parents) {
    bool MayOutlive = isa<ReturnStmt>(Parents.back());
    Site.Object = takenBy(Parents, &MayOutlive);
    Site.JoinsItself = JoinsAtEnd && !MayOutlive;
  }

  void addAtomic(ArrayRef<const Stmt *> Parents) {
    Into.HasAtomics = true;
    Into.Polls |= innermostLoop(Parents) != nullptr;
  }

  SyncSite &add(SyncKind Kind, const Expr *Site, const Expr *Object,
                ArrayRef<const Stmt *> Parents) {
    Into.Syncs.push_back({Kind,
                          Site,
                          Into.Function,
                          objectOf(Object),
                          ownerOf(Object),
                          nullptr,
                          {Parents.begin(), Parents.end()}});
    return Into.Syncs.back();
  }

  FunctionSync &Into;
};

} // namespace

void SyncModel::add(const FunctionDecl &Function) {
  if (!Known.try_emplace(&Function, Functions.size()).second)
    return;
  Functions.emplace_back().Function = &Function;
  Collector Into(Functions.back());
  forEachStmt(Function.getBody(),
              [&](const Stmt *S, ArrayRef<const Stmt *> Parents) {
                Into.visit(S, Parents);
              });
}

/// Maximum call depth to examine: wrappers of queues have two or three levels.
static constexpr unsigned MaxDepth = 4;

void SyncModel::finish() {
  if (Finished)
    return;
  Finished = true;
  addWrappers();
  findWaiters();
}

const FunctionSync *SyncModel::of(const FunctionDecl *Function) const {
  const FunctionDecl *Definition = nullptr;
  if (!Function || !Function->isDefined(Definition))
    return nullptr;
  auto Where = Known.find(Definition);
  return Where == Known.end() ? nullptr : &Functions[Where->second];
}

void SyncModel::findWaiters() {
  for (const FunctionSync &F : Functions)
    if (llvm::any_of(F.Syncs, [](const SyncSite &S) {
          return S.Kind == SyncKind::Wait || S.Kind == SyncKind::TimedWait;
        }))
      Waiters.insert(F.Function);
  // Adds the callers of the functions in Waiters, one call level at a time: a
  // recursive search from each function would take exponential time where
  // functions call each other.
  for (unsigned Depth = 0; Depth < MaxDepth && !Waiters.empty(); ++Depth) {
    SmallVector<const FunctionDecl *, 8> Callers;
    for (const FunctionSync &F : Functions)
      if (!Waiters.contains(F.Function) &&
          llvm::any_of(F.Calls,
                       [&](const CallSite &C) { return mayWait(C.Callee); }))
        Callers.push_back(F.Function);
    if (Callers.empty())
      return;
    Waiters.insert(Callers.begin(), Callers.end());
  }
}

bool SyncModel::mayWait(const FunctionDecl *Function) const {
  const FunctionSync *F = of(Function);
  return F && Waiters.contains(F->Function);
}

/// Returns true if S contains a statement that leaves the function.
static bool mayReturn(const Stmt *S) {
  bool Found = false;
  forEachStmt(S, [&](const Stmt *Below, ArrayRef<const Stmt *>) {
    Found |= isa<ReturnStmt, GotoStmt>(Below);
  });
  return Found;
}

bool SyncModel::wakesWithin(const FunctionDecl *Function,
                            unsigned Depth) const {
  const FunctionSync *F = of(Function);
  if (!F)
    return false;
  auto [Where, IsNew] = Wakes.try_emplace({F->Function, Depth}, false);
  if (!IsNew)
    return Where->second;
  bool Result = searchWakes(*F, Depth);
  return Wakes[{F->Function, Depth}] = Result;
}

/// Maximum number of statements of a wrapper around a function that wakes a
/// waiter. A longer function does work of its own.
static constexpr unsigned MaxWrapper = 4;

bool SyncModel::searchWakes(const FunctionSync &F, unsigned Depth) const {
  auto *Body = dyn_cast_or_null<CompoundStmt>(F.Function->getBody());
  if (!Body)
    return false;
  auto IsDirect = [&](ArrayRef<const Stmt *> Parents, const Stmt *Top) {
    return llvm::is_contained(Parents, Top) &&
           llvm::none_of(Parents, [](const Stmt *P) {
             return isLoop(P) ||
                    isa<IfStmt, SwitchStmt, ConditionalOperator>(P);
           });
  };
  for (const Stmt *Top : Body->body()) {
    for (const SyncSite &S : F.Syncs)
      if ((S.Kind == SyncKind::Signal || S.Kind == SyncKind::Broadcast) &&
          (S.Site == Top || IsDirect(S.Parents, Top)))
        return true;
    for (const CallSite &C : F.Calls)
      if (Depth < MaxDepth && Body->size() <= MaxWrapper &&
          (C.Call == Top || IsDirect(C.Parents, Top)) &&
          wakesWithin(C.Callee, Depth + 1))
        return true;
    if (mayReturn(Top))
      return false;
  }
  return false;
}

bool SyncModel::alwaysWakes(const FunctionDecl *Function) const {
  return wakesWithin(Function, 0);
}

} // namespace vfriendly::tidy
