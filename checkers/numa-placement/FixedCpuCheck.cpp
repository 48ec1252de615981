//===- FixedCpuCheck.cpp - vfriendly-numa-placement-fixed-cpu -------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two kinds of loops are not reported, because they do not pin a thread to one
// fixed CPU: a loop that adds a range of CPUs to one set and applies the set
// afterwards, where the kernel drops the CPUs that are not allowed; and a loop
// in which a thread moves from one CPU to the next.
//
//===----------------------------------------------------------------------===//

#include "checkers/numa-placement/Checks.h"

#include "checkers/common/Loops.h"
#include "checkers/common/SourceText.h"
#include "checkers/numa-placement/NumberOrigin.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"
#include "clang/Basic/SourceManager.h"

using namespace clang;

namespace vfriendly::tidy {

namespace {

/// A call that pins a thread to CPUs, and its argument that is the set of CPUs.
struct Pinning {
  Site At;
  const Expr *Set;
};

struct SetUse {
  Site At;
  CpuSetUse Use;
};

class Pinnings {
public:
  Pinnings(const UnitValues &Values, const ASTContext &Context)
      : Values(Values) {
    for (const Site &Call : Values.calls())
      if (const Expr *Set = setOf(*cast<CallExpr>(Call.E)))
        Pins.push_back({Call, Set});
    if (Pins.empty())
      return;
    for (const FunctionDecl *F : Values.functions())
      forEachStmtAndLambda(
          F->getBody(), [&](const Stmt *S, ArrayRef<const Stmt *> Parents) {
            auto Use = matchCpuSetUse(*S);
            if (Use && Use->Kind == CpuSetUse::Add)
              Added.push_back(
                  {{cast<Expr>(S), F, {Parents.begin(), Parents.end()}}, *Use});
          });
  }

  ArrayRef<Pinning> pins() const { return Pins; }
  ArrayRef<SetUse> added() const { return Added; }

  /// Returns true if a call pins a thread to Set, or if Set is passed to a
  /// function that pins a thread to its parameter.
  bool isApplied(const Expr *Set) const {
    const ValueDecl *Root = rootOf(Set);
    return Root && llvm::any_of(Pins, [&](const Pinning &P) {
             const ValueDecl *Taken = rootOf(P.Set);
             return Taken == Root ||
                    (Taken && llvm::any_of(Values.valuesOf(*Taken),
                                           [&](const GivenValue *V) {
                                             return V->At.E &&
                                                    rootOf(V->At.E) == Root;
                                           }));
           });
  }

private:
  static const Expr *setOf(const CallExpr &Call) {
    const FunctionDecl *Callee = Call.getDirectCallee();
    if (!Callee || Call.getNumArgs() != 3)
      return nullptr;
    return llvm::is_contained({"sched_setaffinity", "pthread_setaffinity_np",
                               "pthread_attr_setaffinity_np"},
                              Callee->getName())
               ? Call.getArg(2)
               : nullptr;
  }

  const UnitValues &Values;
  std::vector<Pinning> Pins;
  std::vector<SetUse> Added;
};

} // namespace

/// Returns true if Loop only adds CPUs to the set of Added: Loop neither clears
/// the set nor passes it to a function that may pin a thread.
static bool collects(const Stmt *Loop, const SetUse &Added) {
  if (!Loop || isa<ArraySubscriptExpr>(stripped(Added.Use.Set)))
    return false;
  const ValueDecl *Set = rootOf(Added.Use.Set);
  bool Passes = false;
  forEachStmtAndLambda(Loop, [&](const Stmt *S, ArrayRef<const Stmt *>) {
    if (auto *Call = dyn_cast<CallExpr>(S))
      for (const Expr *Argument : Call->arguments())
        Passes |= rootOf(Argument) == Set;
    // Each iteration has a set of its own if its body declares the set, or if
    // the set is an element of an array.
    if (auto *Declaration = dyn_cast<DeclStmt>(S))
      Passes |= llvm::is_contained(Declaration->decls(), Set);
    auto *Element = dyn_cast<ArraySubscriptExpr>(S);
    Passes |= Element && rootOf(Element) == Set;
  });
  return !Passes;
}

/// Returns true if Loop moves the calling thread from CPU to CPU, and starts no
/// thread or process that would stay on one of the CPUs.
static bool visits(const Stmt *Loop, const Pinning &Pin) {
  if (!llvm::is_contained(Pin.At.Parents, Loop))
    return false;
  const Expr *Whom = stripped(cast<CallExpr>(Pin.At.E)->getArg(0));
  auto *Named = dyn_cast<CallExpr>(Whom);
  auto *Literal = dyn_cast<IntegerLiteral>(Whom);
  bool IsSelf = (Literal && Literal->getValue() == 0) ||
                llvm::is_contained({"pthread_self", "gettid", "getpid"},
                                   identifierOf(calleeOf(Named)));
  if (!IsSelf)
    return false;
  bool Starts = false;
  forEachStmtAndLambda(Loop, [&](const Stmt *S, ArrayRef<const Stmt *>) {
    Starts |= isa<LambdaExpr>(S) ||
              llvm::is_contained(
                  {"fork", "vfork", "clone", "pthread_create", "thrd_create"},
                  identifierOf(calleeOf(S)));
  });
  return !Starts;
}

static StringRef wordsFor(Origin Kind) {
  switch (Kind) {
  case Origin::Constant:
    return "a constant";
  case Origin::CpuCount:
    return "a number of CPUs";
  case Origin::Counter:
    return "a counter";
  case Origin::Thread:
    return "the number of a thread";
  case Origin::Modulo:
    return "a remainder";
  case Origin::Unknown:
  case Origin::Chosen:
    break;
  }
  return "";
}

/// Returns the origin of the number of the bit in an integer that is used as a
/// set of CPUs and has a single bit. Other sets have no known origin.
static NumberOrigin ofMask(const Expr *Set, const UnitValues &Values,
                           NumberOrigins &Origins, const ASTContext &Context) {
  auto *Address = dyn_cast<UnaryOperator>(stripped(Set));
  auto *Ref = Address && Address->getOpcode() == UO_AddrOf
                  ? dyn_cast<DeclRefExpr>(stripped(Address->getSubExpr()))
                  : nullptr;
  if (!Ref || !Ref->getType()->isIntegerType())
    return {};
  NumberOrigin Found;
  for (const GivenValue *Value : Values.valuesOf(*Ref->getDecl())) {
    if (Value->Kind != GivenValue::Assigned)
      continue;
    const Expr *Bits = stripped(Value->At.E);
    Expr::EvalResult Result;
    if (Bits->EvaluateAsInt(Result, Context)) {
      if (!Result.Val.getInt().isPowerOf2())
        return {};
      Found = {Origin::Constant, Value->At};
      continue;
    }
    auto *Shift = dyn_cast<BinaryOperator>(Bits);
    if (!Shift || Shift->getOpcode() != BO_Shl)
      return {};
    Site Number = Value->At;
    Number.E = Shift->getRHS();
    Found = Origins.of(Number);
  }
  return Found;
}

void FixedCpuCheck::inspect(const UnitValues &Values,
                            const ASTContext &Context) {
  Pinnings All(Values, Context);
  if (All.pins().empty())
    return;
  NumberOrigins Origins(Values, Context);
  const SourceManager &SM = Context.getSourceManager();
  auto Emit = [&](const Site &At, const Twine &Name, const NumberOrigin &From) {
    StringRef Words = wordsFor(From.Kind);
    SourceLocation Where = SM.getExpansionLoc(At.E->getBeginLoc());
    if (Words.empty() || !claim(Where, At.In, Context))
      return;
    report(Where, At.E->getSourceRange(), *At.In,
           Name + " gets " + Words +
               " as CPU number, not one that sched_getaffinity returned",
           "choose among those", "it fails if the cpuset allows others");
    if (From.At.E && From.At.In != At.In)
      diag(SM.getExpansionLoc(From.At.E->getBeginLoc()),
           "the number comes from here", DiagnosticIDs::Note);
  };
  for (const SetUse &Added : All.added()) {
    const Stmt *Loop = innermostLoop(Added.At.Parents);
    if (!All.isApplied(Added.Use.Set) || collects(Loop, Added))
      continue;
    if (Loop && llvm::any_of(All.pins(),
                             [&](const Pinning &P) { return visits(Loop, P); }))
      continue;
    Site Number = Added.At;
    Number.E = Added.Use.Cpu;
    Emit(Added.At, "'CPU_SET'", Origins.of(Number));
  }
  for (const Pinning &Pin : All.pins())
    if (const Stmt *Loop = innermostLoop(Pin.At.Parents);
        !Loop || !visits(Loop, Pin))
      Emit(Pin.At,
           "'" + cast<CallExpr>(Pin.At.E)->getDirectCallee()->getName() + "'",
           ofMask(Pin.Set, Values, Origins, Context));
}

} // namespace vfriendly::tidy
