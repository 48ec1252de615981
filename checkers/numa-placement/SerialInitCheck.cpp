//===- SerialInitCheck.cpp - vfriendly-numa-placement-serial-init ---------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/numa-placement/Checks.h"

#include "checkers/common/Counting.h"
#include "checkers/common/Loops.h"
#include "checkers/numa-placement/BulkAccess.h"
#include "checkers/numa-placement/ParallelFix.h"
#include "checkers/numa-placement/ZeroFill.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/AST/ExprCXX.h"
#include "clang/Basic/SourceManager.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace clang;

namespace vfriendly::tidy {

namespace {

/// Minimum size in bytes of a reported array, 16 pages. For a smaller array,
/// the heap decides on which pages it lies, and the gain is small.
constexpr uint64_t LeastBytes = 64 * 1024;
/// Maximum call depth, and maximum number of events of one program: somewhat
/// more than the largest unit of NPB needs.
constexpr unsigned MaxDepth = 8, MaxEvents = 100000;

/// A loop that fills arrays which threads use later.
struct SerialFill {
  const BulkEvent *Fill = nullptr;
  const BulkEvent *Use = nullptr;
  llvm::SmallVector<const ValueDecl *, 2> Arrays;
};

/// Follows the functions of a unit in the order in which they call each other,
/// and records which code writes each array first.
class Simulation {
public:
  Simulation(const UnitValues &Values, const ASTContext &Context)
      : Values(Values), Context(Context) {
    ThreadCounts Counts(Values, Context);
    for (const FunctionDecl *F : Values.functions())
      Events[F] = bulkEvents(*F, Values, Counts, Context);
    for (const Site &Call : Values.calls())
      notePlaced(*cast<CallExpr>(Call.E));
  }

  /// Follows all functions that no function in the unit calls.
  void run() {
    llvm::DenseSet<const FunctionDecl *> Called;
    bool HasTeam = false;
    for (auto &[F, List] : Events)
      for (const BulkEvent &Event : List) {
        HasTeam |= Event.By == Team::All;
        if (const FunctionDecl *Callee = definitionOf(Event.Callee);
            Callee && Callee != F)
          Called.insert(Callee);
      }
    for (auto &[F, List] : Events)
      if (HasTeam && !Called.contains(F)) {
        States.clear();
        Left = MaxEvents;
        call(*F, Team::Callers, Bindings(), 0);
      }
  }

  /// The serial fills to report, by their loop.
  llvm::MapVector<const Stmt *, SerialFill> Found;

private:
  using Bindings = llvm::SmallDenseMap<const ValueDecl *, const ValueDecl *, 4>;
  struct State {
    enum { None, Placed, Serial } Kind = None;
    const BulkEvent *Fill = nullptr;
  };

  static const FunctionDecl *definitionOf(const FunctionDecl *F) {
    const FunctionDecl *Definition = nullptr;
    return F && F->isDefined(Definition) ? Definition : nullptr;
  }

  void call(const FunctionDecl &F, Team Around, const Bindings &Bound,
            unsigned Depth) {
    auto List = Events.find(&F);
    if (List == Events.end() || Depth > MaxDepth ||
        llvm::is_contained(Stack, &F))
      return;
    Stack.push_back(&F);
    for (const BulkEvent &Event : List->second) {
      if (!Left)
        break;
      --Left;
      Team By = Event.By == Team::Callers ? Around : Event.By;
      if (Event.Kind != BulkEvent::Call) {
        if (const ValueDecl *Array = objectOf(Event.Array, Bound))
          access(*Array, Event, By);
        continue;
      }
      const FunctionDecl *Callee = definitionOf(Event.Callee);
      Bindings Passed;
      for (auto [I, Argument] : llvm::enumerate(Event.Arguments)) {
        const ValueDecl *Root =
            isLoaded(*Argument) ? nullptr : rootOf(Argument);
        const ValueDecl *Object = Root ? objectOf(Root, Bound) : nullptr;
        if (!Callee) {
          // Ignores an array that a function of another file may write first.
          if (Object && States[Object].Kind == State::None)
            States[Object].Kind = State::Placed;
        } else if (I < Callee->getNumParams()) {
          Passed[Callee->getParamDecl(I)] = Object;
        }
      }
      if (Callee)
        call(*Callee, By, Passed, Depth + 1);
    }
    Stack.pop_back();
  }

  void access(const ValueDecl &Array, const BulkEvent &Event, Team By) {
    if ((Event.Bytes && Event.Bytes < LeastBytes) || Placed.contains(&Array) ||
        isSmall(Array) || isOfThread(Array))
      return;
    State &Now = States[&Array];
    if (By != Team::All) {
      if (Event.IsZero && isMallocOf(*Event.At.In, Array, Values))
        return;
      if (Event.Kind == BulkEvent::Write && Now.Kind == State::None &&
          Event.Loop)
        Now = {State::Serial, &Event};
      return;
    }
    if (Now.Kind == State::Serial && areExclusive(*Now.Fill, Event))
      Now = {State::Placed, nullptr};
    if (Now.Kind == State::Serial) {
      if (Event.IsReused)
        return; // Another use may still show that the array is large.
      SerialFill &Report = Found[Now.Fill->Loop];
      if (!Report.Fill) {
        Report.Fill = Now.Fill;
        Report.Use = &Event;
      }
      if (!llvm::is_contained(Report.Arrays, Now.Fill->Array))
        Report.Arrays.push_back(Now.Fill->Array);
    }
    Now = {State::Placed, nullptr};
  }

  /// Returns true if each thread has an array of its own by this name.
  static bool isOfThread(const ValueDecl &Array) {
    auto *Variable = dyn_cast<VarDecl>(&Array);
    return Variable && (Variable->getTLSKind() != VarDecl::TLS_None ||
                        Variable->hasAttr<OMPThreadPrivateDeclAttr>());
  }

  /// Returns true if A and B are in different branches of one `if`: programs
  /// often have a serial branch for small data.
  static bool areExclusive(const BulkEvent &A, const BulkEvent &B) {
    for (const Stmt *S : A.At.Parents)
      if (auto *If = dyn_cast<IfStmt>(S);
          If && llvm::is_contained(B.At.Parents, S) &&
          llvm::is_contained(A.At.Parents, If->getThen()) !=
              llvm::is_contained(B.At.Parents, If->getThen()))
        return true;
    return false;
  }

  /// Returns true if E reads a pointer from an array of pointers or through
  /// another pointer. The pointer's target lies outside of that array or
  /// object.
  static bool isLoaded(const Expr &E) {
    const Expr *From = stripped(&E);
    auto *Unary = dyn_cast<UnaryOperator>(From);
    return (isa<ArraySubscriptExpr>(From) ||
            (Unary && Unary->getOpcode() == UO_Deref)) &&
           From->getType()->isPointerType();
  }

  /// Returns the object that Name stands for: the array, or the variable that
  /// owns the heap block; null if Name may stand for several objects.
  const ValueDecl *objectOf(const ValueDecl *Name, const Bindings &Bound,
                            unsigned Depth = 0) const {
    if (auto Known = Bound.find(Name); Known != Bound.end())
      return Known->second;
    QualType T = Name->getType();
    if (Depth > 4 || !(T->isPointerType() || T->isReferenceType()))
      return Name;
    const ValueDecl *Object = nullptr;
    for (const GivenValue *Value : Values.valuesOf(*Name)) {
      if (Value->Kind != GivenValue::Assigned)
        continue;
      const ValueDecl *Root = rootOf(Value->At.E);
      if (isLoaded(*Value->At.E))
        return nullptr;
      if (!Root || Root == Name || isa<FunctionDecl>(Root))
        continue; // A new block, null, or an advance such as p = p + 1.
      const ValueDecl *Next = objectOf(Root, Bound, Depth + 1);
      if (Object && Object != Next)
        return nullptr;
      Object = Next;
      if (!Object)
        return nullptr;
    }
    return Object ? Object : Name;
  }

  bool isSmall(const ValueDecl &Array) const {
    QualType T = Array.getType();
    if (T->isConstantArrayType())
      return uint64_t(Context.getTypeSizeInChars(T).getQuantity()) < LeastBytes;
    if (!T->isPointerType())
      return false;
    SmallVector<const Expr *, 2> Blocks;
    for (const GivenValue *Value : Values.valuesOf(Array))
      if (Value->Kind == GivenValue::Assigned)
        Blocks.push_back(Value->At.E);
    if (auto *Variable = dyn_cast<VarDecl>(&Array);
        Variable && Variable->hasGlobalStorage() &&
        Variable->getAnyInitializer())
      Blocks.push_back(Variable->getAnyInitializer());
    return !Blocks.empty() && llvm::all_of(Blocks, [&](const Expr *E) {
      return isNewBlock(E) && blockSize(*stripped(E)) &&
             blockSize(*stripped(E)) < LeastBytes;
    });
  }

  /// Returns the size of a new block; 0 if it is not known.
  uint64_t blockSize(const Expr &Block) const {
    // Up to 32 bits, so that no product overflows.
    auto Constant = [&](const Expr *E) -> uint64_t {
      return std::max<int64_t>(0, smallConstant(E, Context).value_or(0));
    };
    if (auto *New = dyn_cast<CXXNewExpr>(&Block))
      return New->getArraySize()
                 ? Constant(*New->getArraySize()) *
                       Context.getTypeSizeInChars(New->getAllocatedType())
                           .getQuantity()
                 : 0;
    auto &Call = cast<CallExpr>(Block);
    if (Call.getNumArgs() == 1)
      return Constant(Call.getArg(0));
    if (Call.getDirectCallee()->getName() == "calloc" && Call.getNumArgs() == 2)
      return Constant(Call.getArg(0)) * Constant(Call.getArg(1));
    return Call.getNumArgs() == 2 ? Constant(Call.getArg(1)) : 0;
  }

  /// Records that the program chooses the nodes of the memory that Call gets as
  /// an argument. The check then does not report this memory.
  void notePlaced(const CallExpr &Call) {
    StringRef Name = Call.getDirectCallee()->getName();
    if (!Name.starts_with("numa_") && !Name.starts_with("vf_numa_") &&
        Name != "mbind" && Name != "move_pages")
      return;
    for (const Expr *Argument : Call.arguments())
      if (const ValueDecl *Root = rootOf(Argument))
        if (const ValueDecl *Object = objectOf(Root, Bindings()))
          Placed.insert(Object);
  }

  const UnitValues &Values;
  const ASTContext &Context;
  llvm::MapVector<const FunctionDecl *, std::vector<BulkEvent>> Events;
  llvm::DenseMap<const ValueDecl *, State> States;
  llvm::DenseSet<const ValueDecl *> Placed;
  llvm::SmallVector<const FunctionDecl *, 8> Stack;
  unsigned Left = 0;
};

} // namespace

/// Returns a list of names for a message: `'a', 'b' and 'c'`.
static std::string listOf(ArrayRef<const ValueDecl *> Arrays) {
  std::string Text;
  for (auto [I, Array] : llvm::enumerate(Arrays)) {
    if (I)
      Text += I + 1 == Arrays.size() ? " and " : ", ";
    Text += "'" + Array->getName().str() + "'";
  }
  return Text;
}

void SerialInitCheck::inspect(const UnitValues &Values,
                              const ASTContext &Context) {
  bool HasThreads = Context.getLangOpts().OpenMP ||
                    !Values.threadStarts().empty() ||
                    llvm::any_of(Values.calls(), [](const Site &Call) {
                      return isParallelAlgorithm(*cast<CallExpr>(Call.E));
                    });
  if (!HasThreads)
    return;
  Simulation Program(Values, Context);
  Program.run();
  const SourceManager &SM = Context.getSourceManager();
  for (auto &[Loop, Fill] : Program.Found) {
    SourceLocation Where = SM.getExpansionLoc(Loop->getBeginLoc());
    const FunctionDecl &In = *Fill.Fill->At.In;
    if (!claim(Where, &In, Context))
      continue;
    ParallelFix Fix = parallelFix(*Fill.Fill, *Fill.Use, Values, Context);
    bool Several = Fill.Arrays.size() > 1;
    report(Where, Loop->getSourceRange(), In,
           "one thread fills " + listOf(Fill.Arrays) + " before several use " +
               (Several ? "them" : "it"),
           "fill in parallel, as it is used", "all pages lie on one node")
        << Fix.Hints;
    diag(SM.getExpansionLoc(Fill.Use->At.E->getBeginLoc()),
         "threads use '%0' here", DiagnosticIDs::Note)
        << Fill.Use->Array->getName();
    if (Fix.Hints.empty())
      diag(Where, "no fix: %0", DiagnosticIDs::Note) << Fix.Reason;
  }
}

} // namespace vfriendly::tidy
