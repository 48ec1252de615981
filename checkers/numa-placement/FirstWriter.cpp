//===- FirstWriter.cpp - Which code writes an array first -----------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/numa-placement/FirstWriter.h"

#include "checkers/common/Counting.h"
#include "checkers/common/Loops.h"
#include "checkers/common/ProgramFacts.h"
#include "checkers/common/SourceText.h"
#include "checkers/numa-placement/ArrayFlows.h"
#include "checkers/numa-placement/ArrayObjects.h"
#include "checkers/numa-placement/ArraySizes.h"
#include "checkers/numa-placement/ElementAccess.h"
#include "checkers/numa-placement/ParallelFix.h"
#include "checkers/numa-placement/ZeroFill.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/AST/ExprCXX.h"
#include "clang/Basic/SourceManager.h"

using namespace clang;

namespace vfriendly::tidy {

namespace {

/// Maximum call depth, and maximum number of events of one program: somewhat
/// more than the largest unit of NPB needs.
constexpr unsigned MaxDepth = 8, MaxEvents = 100000;

/// Follows the functions of a unit in the order in which they call each other,
/// and records which code writes each array first.
class Simulation {
public:
  Simulation(const UnitValues &Values, const ASTContext &Context)
      : Values(Values), Context(Context), Names(Values),
        Sizes(Values, Context) {
    ThreadCounts Counts(Values, Context);
    for (const FunctionDecl *F : Values.functions())
      Events[F] = bulkEvents(*F, Values, Counts, Context);
    for (auto &[F, List] : Events)
      for (const BulkEvent &Event : List)
        if (const FunctionDecl *Callee = definitionOf(Event.Callee);
            Callee && Callee != F)
          Called.insert(Callee);
    for (auto &[F, List] : Events)
      if (!F->isMain() && isForTeam(*F))
        ForTeams.insert(F);
    for (auto &[F, List] : Events)
      if (ForTeams.contains(F) && !Called.contains(F))
        for (BulkEvent &Event : List)
          if (Event.By == Team::Callers)
            Event.By = Team::All;
    for (const Site &Call : Values.calls())
      notePlaced(*cast<CallExpr>(Call.E));
  }

  /// Follows all functions that no function in the unit calls, and those for
  /// teams, which may have other callers.
  void run() {
    bool HasTeam = false;
    for (auto &[F, List] : Events)
      HasTeam |= llvm::any_of(
          List, [](const BulkEvent &Event) { return Event.By == Team::All; });
    for (auto &[F, List] : Events)
      if (HasTeam && (!Called.contains(F) || ForTeams.contains(F))) {
        States.clear();
        Left = MaxEvents;
        call(*F, ForTeams.contains(F) ? Team::All : Team::Callers, Bindings(),
             0);
      }
    if (HasTeam)
      connectNewBlocks();
  }

  /// Records what the functions of the unit do to arrays, for the tool, which
  /// follows the calls from unit to unit. Adds to Candidates the loops
  /// that may be serial fills:
  ///   {"function": "make", "events": [
  ///     {"do": "write", "by": "callers", "of": "atoms::x", ...},
  ///     {"do": "call", "by": "callers", "of": "step", "with": ["#0", null]}]}
  ///   {"placed": "sim::grid"}
  ///
  /// An object is a global variable, a field, `#N` for the parameter N, or
  /// `NAME@PLACE` for a local variable.
  void tell(ProgramFacts &Program, SerialFills &Candidates);

  /// The serial fills to report.
  SerialFills Found;

private:
  struct State {
    enum { None, Placed, Serial } Kind = None;
    const BulkEvent *Fill = nullptr;
  };

  void connectNewBlocks();
  void noteWritten(const BulkEvent &Event,
                   llvm::DenseSet<const ValueDecl *> &Written) const;
  llvm::DenseSet<const FunctionDecl *> calledByTeams() const;
  bool isFillOfNew(const BulkEvent &Event, const ValueDecl &Array) const;

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
      if (Event.Rows)
        continue; // Each row is an object of its own.
      Team By = Event.By == Team::Callers ? Around : Event.By;
      if (Event.Kind != BulkEvent::Call) {
        ArrayObjects::Objects Arrays = Names.objectsOf(Event.Array, Bound);
        // Threads may use any of several arrays; a thread fills one of them.
        for (const ValueDecl *Array : Arrays)
          if (Arrays.size() == 1 ||
              (By == Team::All && States[Array].Kind == State::Serial))
            access(*Array, Event, By);
        continue;
      }
      if (!Event.Callee)
        continue;
      const FunctionDecl *Callee = definitionOf(Event.Callee);
      Bindings Passed;
      for (auto [I, Argument] : llvm::enumerate(Event.Arguments)) {
        const ValueDecl *Root =
            isLoaded(*Argument) ? nullptr : rootOf(Argument);
        const ValueDecl *Object = Root ? Names.objectOf(Root, Bound) : nullptr;
        if (!Callee) {
          // Ignores an array that a function of another file may write first.
          // Most constructors only keep its address.
          if (Object && States[Object].Kind == State::None &&
              !isa<CXXConstructorDecl>(Event.Callee))
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
    if (isDropped(Event, Array))
      return;
    State &Now = States[&Array];
    if (By != Team::All) {
      if (isOfCalloc(Event, Array))
        return;
      if (Event.Kind == BulkEvent::Write && Now.Kind == State::None &&
          Event.Loop && !isOfOtherUnit(Array))
        Now = {State::Serial, &Event};
      return;
    }
    if (Now.Kind == State::Serial && areExclusive(*Now.Fill, Event))
      Now = {State::Placed, nullptr};
    if (Now.Kind == State::Serial) {
      if (Event.IsReused)
        return; // Another use may still show that the array is large.
      SerialFill &Report = Found[Now.Fill->Loop];
      if (Report.Arrays.empty()) {
        Report.Fill = *Now.Fill;
        Report.Use = Event;
      }
      if (!llvm::is_contained(Report.Arrays, Now.Fill->Array))
        Report.Arrays.push_back(Now.Fill->Array);
    }
    Now = {State::Placed, nullptr};
  }

  /// Returns true if compilers turn the serial write Event into calloc.
  bool isOfCalloc(const BulkEvent &Event, const ValueDecl &Array) const {
    return Event.IsZero && isMallocOf(*Event.At.In, Array, Values);
  }

  bool isDropped(const BulkEvent &Event, const ValueDecl &Array) const {
    return Sizes.isSmall(Event) || Placed.contains(&Array) ||
           Sizes.isSmall(Array) || isOfThread(Array);
  }
  llvm::json::Object fact(const BulkEvent &Event, const ValueDecl *Array,
                          const ArrayNames &Name) const;
  llvm::json::Object callFact(const BulkEvent &Event, const Bindings &Own,
                              const ArrayNames &Name) const;

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

  /// Returns true if only other units allocate what the field Array points to.
  bool isOfOtherUnit(const ValueDecl &Array) const {
    return isa<FieldDecl>(Array) && Array.getType()->isPointerType() &&
           llvm::none_of(Values.valuesOf(Array), [](const GivenValue *Value) {
             // posix_memalign(&p->x, ...) gives an unknown value.
             return Value->Kind == GivenValue::Unknown ||
                    (Value->At.E && isAllocation(Value->At.E));
           });
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
        if (const ValueDecl *Object = Names.objectOf(Root, Bindings()))
          Placed.insert(Object);
  }

  const UnitValues &Values;
  const ASTContext &Context;
  ArrayObjects Names;
  ArraySizes Sizes;
  llvm::MapVector<const FunctionDecl *, std::vector<BulkEvent>> Events;
  llvm::DenseSet<const FunctionDecl *> Called; ///< By others of the unit.
  llvm::DenseSet<const FunctionDecl *> ForTeams;
  llvm::DenseMap<const ValueDecl *, State> States;
  llvm::DenseSet<const ValueDecl *> Placed;
  llvm::SmallVector<const FunctionDecl *, 8> Stack;
  unsigned Left = 0;
};

/// Returns the functions that all threads of a team may call, each for itself.
llvm::DenseSet<const FunctionDecl *> Simulation::calledByTeams() const {
  llvm::DenseSet<const FunctionDecl *> Found;
  SmallVector<const FunctionDecl *, 8> Worklist;
  auto Add = [&](const BulkEvent &Event) {
    const FunctionDecl *Callee = definitionOf(Event.Callee);
    if (Callee && Found.insert(Callee).second)
      Worklist.push_back(Callee);
  };
  for (auto &[F, List] : Events)
    for (const BulkEvent &Event : List)
      if (Event.Kind == BulkEvent::Call && Event.By == Team::All)
        Add(Event);
  while (!Worklist.empty())
    if (auto List = Events.find(Worklist.pop_back_val()); List != Events.end())
      for (const BulkEvent &Event : List->second)
        if (Event.Kind == BulkEvent::Call)
          Add(Event);
  return Found;
}

/// Returns true if Event fills memory that its function has just got: the
/// block of Array, or the elements of a vector that gets its size.
bool Simulation::isFillOfNew(const BulkEvent &Event,
                             const ValueDecl &Array) const {
  if (Event.Kind != BulkEvent::Write || !Event.Loop ||
      (Event.By != Team::All && isOfCalloc(Event, Array)))
    return false;
  if (!Array.getType().getNonReferenceType()->isPointerType())
    return isa<CXXMemberCallExpr, CXXConstructExpr>(Event.At.E);
  return llvm::any_of(Values.valuesOf(Array), [&](const GivenValue *Value) {
    return Value->Kind == GivenValue::Assigned && isAllocation(Value->At.E) &&
           Value->At.In == Event.At.In &&
           Context.getSourceManager().isBeforeInTranslationUnit(
               Value->At.E->getBeginLoc(), Event.At.E->getBeginLoc());
  });
}

/// Finds the fills of new blocks by their own functions, in any order of calls:
/// a use by threads of another function comes later.
void Simulation::connectNewBlocks() {
  llvm::DenseMap<const ValueDecl *, const BulkEvent *> Uses;
  for (auto &[F, List] : Events)
    for (const BulkEvent &Event : List)
      if (Event.Kind != BulkEvent::Call && Event.By == Team::All &&
          !Event.IsReused && !Event.Rows)
        for (const ValueDecl *Object : Names.objectsOf(Event.Array, Bindings()))
          Uses.try_emplace(Object, &Event);
  llvm::DenseSet<const FunctionDecl *> InTeams = calledByTeams();
  for (auto &[F, List] : Events) {
    if (InTeams.contains(F))
      continue;
    llvm::DenseSet<const ValueDecl *> Written;
    for (const BulkEvent &Event : List) {
      if (Event.Kind == BulkEvent::Call) {
        noteWritten(Event, Written);
        continue;
      }
      const ValueDecl *Object =
          Event.Rows ? nullptr : Names.objectOf(Event.Array, Bindings());
      if (!Object || !Written.insert(Object).second)
        continue;
      const BulkEvent *Use = Uses.lookup(Object);
      if (!Use || Use->At.In == F || Event.By == Team::All ||
          isDropped(Event, *Object) || !isFillOfNew(Event, *Object))
        continue;
      auto [Report, IsNew] =
          Found.try_emplace(Event.Loop, SerialFill{Event, *Use, {}});
      if (!llvm::is_contained(Report->second.Arrays, Event.Array))
        Report->second.Arrays.push_back(Event.Array);
    }
  }
}

/// Adds to Written what the callee of Event writes, or gets in another file.
void Simulation::noteWritten(const BulkEvent &Event,
                             llvm::DenseSet<const ValueDecl *> &Written) const {
  const FunctionDecl *Callee = definitionOf(Event.Callee);
  if (auto List = Events.find(Callee); Callee && List != Events.end()) {
    for (const BulkEvent &Each : List->second)
      if (Each.Kind == BulkEvent::Write && !Each.Rows)
        Written.insert(Names.objectOf(Each.Array, Bindings()));
  } else if (Event.Callee && !Callee) {
    for (const Expr *Argument : Event.Arguments)
      if (const ValueDecl *Root = rootOf(Argument);
          Root && !isLoaded(*Argument))
        Written.insert(Names.objectOf(Root, Bindings()));
  }
}

/// Describes a read or write of Array, which is null if the unit does not know
/// the array that Event.Array stands for.
llvm::json::Object Simulation::fact(const BulkEvent &Event,
                                    const ValueDecl *Array,
                                    const ArrayNames &Name) const {
  const SourceManager &SM = Context.getSourceManager();
  llvm::json::Object Fact{{"name", Event.Array->getName()}};
  std::string Own = Name.of({Event.Array, Event.Rows});
  std::string Of = Array && !Event.Rows ? Name.of(*Array) : "";
  if (!Of.empty())
    Fact["of"] = Of;
  if (Own != Of)
    Fact["by-name"] = std::move(Own);
  ProgramFacts::addPlace(Fact, Event.At.E->getBeginLoc(), SM);
  if (Event.Kind == BulkEvent::Write && Event.Loop)
    Fact["fill"] = ProgramFacts::placeOf(Event.Loop->getBeginLoc(), SM);
  if (Event.IsReused)
    Fact["reused"] = true;
  if (Event.IsUpdate)
    Fact["update"] = true;
  if (Array && isFillOfNew(Event, *Array))
    Fact["new"] = true;
  return Fact;
}

llvm::json::Object Simulation::callFact(const BulkEvent &Event,
                                        const Bindings &Own,
                                        const ArrayNames &Name) const {
  auto Named = [](const std::string &Text) {
    return Text.empty() ? llvm::json::Value(nullptr) : llvm::json::Value(Text);
  };
  llvm::json::Object Fact;
  llvm::json::Array With, ByName;
  bool Differ = false;
  for (const Expr *Argument : Event.Arguments) {
    const ValueDecl *Root = isLoaded(*Argument) ? nullptr : rootOf(Argument);
    const ValueDecl *Object = Root ? Names.objectOf(Root, Own) : nullptr;
    std::string Of = Object ? Name.of(*Object) : "";
    std::string Itself =
        Argument->getType()->isArithmeticType() ? "" : Name.of(*Argument);
    Differ |= Of != Itself;
    With.push_back(Named(Of));
    ByName.push_back(Named(Itself));
  }
  if (Event.Callee) {
    Fact["of"] = ProgramFacts::nameOf(*Event.Callee);
    Fact["with"] = std::move(With);
  } else {
    Fact["through"] = Name.of(*Event.Pointer);
  }
  if (Differ || !Event.Callee)
    Fact["by-name"] = std::move(ByName);
  return Fact;
}

void Simulation::tell(ProgramFacts &Program, SerialFills &Candidates) {
  ArrayNames Name(Values, Context.getSourceManager());
  auto Flows = Name.flows();
  llvm::DenseSet<const ValueDecl *> Told;
  for (auto &[F, List] : Events) {
    std::string Function = ProgramFacts::nameOf(*F);
    llvm::json::Array Does;
    // Each parameter stands for itself: the tool knows what callers pass.
    Bindings Own;
    for (const ParmVarDecl *Parameter : F->parameters())
      Own[Parameter] = Parameter;
    for (const BulkEvent &Event : List) {
      llvm::json::Object Fact;
      if (Event.Kind == BulkEvent::Call) {
        Fact = callFact(Event, Own, Name);
      } else {
        const ValueDecl *Array = Names.objectOf(Event.Array, Own);
        const ValueDecl &Known = Array ? *Array : *Event.Array;
        if (Sizes.isSmall(Event) || isOfThread(Known))
          continue;
        if (Told.insert(&Known).second &&
            (Sizes.isSmall(Known) || Placed.contains(&Known)))
          Program.tell(llvm::json::Object{{"placed", Name.of(Known)}});
        bool IsWrite = Event.Kind == BulkEvent::Write;
        if (Event.By != Team::All &&
            (IsWrite ? isOfCalloc(Event, Known) : Event.By == Team::One))
          continue;
        Fact = fact(Event, Array, Name);
        if (IsWrite && Event.Loop && Event.By != Team::All &&
            !Found.contains(Event.Loop)) {
          SerialFill &Fill = Candidates[Event.Loop];
          Fill.Fill = Event;
          if (!llvm::is_contained(Fill.Arrays, Event.Array))
            Fill.Arrays.push_back(Event.Array);
        }
      }
      Fact["do"] = Event.Kind == BulkEvent::Call    ? "call"
                   : Event.Kind == BulkEvent::Write ? "write"
                                                    : "read";
      Fact["by"] = Event.By == Team::All   ? "all"
                   : Event.By == Team::One ? "one"
                                           : "callers";
      Does.push_back(std::move(Fact));
    }
    llvm::json::Object Record{{"function", Function},
                              {"events", std::move(Does)}};
    if (auto Own = Flows.find(F); Own != Flows.end())
      Record["flows"] = std::move(Own->second);
    if (!Function.empty())
      Program.tell(std::move(Record));
  }
}

} // namespace

SerialFills findSerialFills(const UnitValues &Values, const ASTContext &Context,
                            ProgramFacts &Program, SerialFills &Candidates) {
  Simulation Unit(Values, Context);
  Unit.run();
  if (Program.areWanted())
    Unit.tell(Program, Candidates);
  return std::move(Unit.Found);
}

} // namespace vfriendly::tidy
