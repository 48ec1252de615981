//===- Objects.cpp - Where memory is allocated and used -------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/numa/Objects.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"

using namespace llvm;

namespace vfriendly {

/// Maximum length of a path through members: an iterator of a vector in an
/// object that a closure has captured needs four.
static constexpr size_t MostSteps = 5;
/// Maximum number of pointers to visit for one object; beyond it the object
/// counts as lost. BT, the largest NAS benchmark in a single file, needs a few
/// hundred.
static constexpr size_t MostPointers = 20000;
/// Maximum number of paths from one value to the object; beyond it the object
/// counts as lost. A structure has one path for each of its members that lead
/// to the object, and few structures have so many. A pointer that steps through
/// a table of pointers gets a new path with each step, so the number of its
/// paths is unbounded.
static constexpr size_t MostPaths = 64;
/// Maximum number of instructions to follow from an address to the index or the
/// parameter from which it is computed.
static constexpr unsigned MostDepth = 6;
/// Maximum number of incoming values of a phi to follow. A path of the search
/// has at most MostDepth phis, so the search visits at most a few thousand
/// values.
static constexpr unsigned MostBranches = 4;

static bool isThroughParameter(const Value *At, unsigned Depth) {
  for (; At && Depth < MostDepth; ++Depth) {
    At = getUnderlyingObject(At, /*MaxLookup=*/0);
    if (isa<Argument>(At))
      return true;
    if (auto *Phi = dyn_cast<PHINode>(At))
      return Phi->getNumIncomingValues() <= MostBranches &&
             any_of(Phi->incoming_values(), [&](const Use &U) {
               return isThroughParameter(U.get(), Depth + 1);
             });
    auto *Load = dyn_cast<LoadInst>(At);
    At = Load ? Load->getPointerOperand() : nullptr;
  }
  return false;
}

bool isThroughParameter(const Value *Pointer) {
  return isThroughParameter(Pointer, 0);
}

bool isThroughParameter(const Instruction &I) {
  if (auto *Range = dyn_cast<AnyMemIntrinsic>(&I))
    return isThroughParameter(Range->getRawDest());
  return isThroughParameter(getLoadStorePointerOperand(&I));
}

/// Returns true if V, an argument of a call, leads to the object Of only if a
/// parameter of the calling function leads there: V is computed from a
/// parameter, or is the address of a local variable that holds a pointer
/// computed from a parameter. OpenMP passes captured variables in the second
/// way.
static bool isFromCaller(const Value *V, const Object &Of) {
  auto *Variable = dyn_cast<AllocaInst>(V->stripPointerCasts());
  if (!Variable)
    return isThroughParameter(V);
  bool IsStored = false;
  for (const User *Each : Variable->users()) {
    auto *Store = dyn_cast<StoreInst>(Each);
    if (!Store || Store->getPointerOperand() != Variable ||
        !Of.Pointers.contains(Store->getValueOperand()))
      continue;
    IsStored = true;
    if (!isThroughParameter(Store->getValueOperand()))
      return false;
  }
  return IsStored;
}

bool Object::isPassedBy(const CallBase &Call, bool IsPassed) const {
  return any_of(Call.args(), [&](const Use &U) {
    return Pointers.contains(U.get()) &&
           (IsPassed || !isFromCaller(U.get(), *this));
  });
}

const DataLayout &PointerFollower::layout() const {
  if (auto *Global = dyn_cast<GlobalVariable>(Of.Root))
    return Global->getParent()->getDataLayout();
  return cast<Instruction>(Of.Root)->getModule()->getDataLayout();
}

void PointerFollower::run() {
  add(Of.Root, {});
  while (!Of.IsLost && (!Worklist.empty() || !Bases.empty())) {
    // Uses a work list instead of recursion, because chains of pointers may be
    // as long as the program.
    Waiting &List = Bases.empty() ? Worklist : Bases;
    auto [V, To] = std::move(List.back());
    List.pop_back();
    if (&List == &Bases) {
      visitBase(*V, To);
      continue;
    }
    Of.Pointers.insert(V);
    for (Use &U : V->uses())
      visitUse(U, To);
  }
}

/// Adds V to the work list, unless it has been added before with the same path.
void PointerFollower::enter(Value *V, const Path &To, Known &Set,
                            Waiting &List) {
  std::set<Path> &Paths = Set[V];
  if (!Paths.insert(To).second)
    return;
  if (++NumSeen > MostPointers || Paths.size() > MostPaths)
    Of.IsLost = true;
  List.emplace_back(V, To);
}

void PointerFollower::add(Value *V, const Path &To) {
  if (To.size() <= MostSteps)
    enter(V, To, Seen, Worklist);
}

/// Adds the base that Pointer is computed from to the work list Bases. The base
/// is then searched for other pointers to the same memory. To is the path from
/// Pointer to the object Of.
void PointerFollower::addLocation(Value *Pointer, Path To) {
  // Ignores values that are not pointers: the function type of a call may
  // differ from that of its callee.
  if (!Pointer || !Pointer->getType()->isPointerTy())
    return;
  APInt Offset(layout().getIndexTypeSizeInBits(Pointer->getType()), 0);
  Value *Base = Pointer->stripAndAccumulateConstantOffsets(
      layout(), Offset, /*AllowNonInbounds=*/true);
  std::optional<int64_t> Bytes = Offset.trySExtValue();
  if (!To.empty() && (!Bytes || AddOverflow(To.front(), *Bytes, To.front())))
    Of.IsLost = true;
  if (isa<GEPOperator>(Base)) { // an index that is not constant
    Of.IsLost = true;
    return;
  }
  if (To.size() <= MostSteps && !isa<UndefValue, ConstantPointerNull>(Base))
    enter(Base, To, SeenBases, Bases);
}

void PointerFollower::visitBase(Value &Base, const Path &To) {
  add(&Base, To);
  if (auto *Parameter = dyn_cast<Argument>(&Base)) {
    const Function &F = *Parameter->getParent();
    for (CallBase *Call : Threads.callsOf(F)) {
      unsigned Operand = Parameter->getArgNo();
      if (std::optional<Fork> Started = forkOf(*Call)) {
        if (Operand < Started->FirstParameter)
          continue;
        Operand += Started->FirstOperand - Started->FirstParameter;
      }
      if (Operand < Call->arg_size())
        addLocation(Call->getArgOperand(Operand), To);
    }
  } else if (auto *Load = dyn_cast<LoadInst>(&Base)) {
    Path Longer{0};
    Longer.insert(Longer.end(), To.begin(), To.end());
    addLocation(Load->getPointerOperand(), Longer);
  } else if (isa<PHINode, SelectInst>(&Base)) {
    auto *Choice = cast<Instruction>(&Base);
    for (Use &U : Choice->operands())
      if (U->getType()->isPointerTy())
        addLocation(U.get(), To);
  } else if (auto *Call = dyn_cast<CallBase>(&Base)) {
    Function *Callee = calleeOf(*Call);
    if (!Callee || Callee->isDeclaration())
      return;
    for (Instruction &I : instructions(*Callee))
      if (auto *Return = dyn_cast<ReturnInst>(&I))
        addLocation(Return->getReturnValue(), To);
  }
}

void PointerFollower::visitUse(Use &U, const Path &To) {
  User *Each = U.getUser();
  if (isa<GEPOperator>(Each))
    return visitOffset(*Each, To);
  if (isa<PHINode, SelectInst, FreezeInst, BitCastOperator,
          AddrSpaceCastOperator, GlobalAlias>(Each))
    return add(Each, To);
  auto *I = dyn_cast<Instruction>(Each);
  if (!I) {
    // Gives up if the initializer of a global variable contains the pointer:
    // other code may load the pointer from that variable.
    if (isa<ConstantAggregate>(Each))
      Of.IsLost = true;
    return;
  }
  if (auto *Load = dyn_cast<LoadInst>(I)) {
    if (To.empty())
      noteAccess(*I, *U, /*Writes=*/false);
    else if (To.front() == 0 && Load->getType()->isPointerTy())
      add(I, Path(To.begin() + 1, To.end()));
    return;
  }
  if (isa<StoreInst, AtomicRMWInst, AtomicCmpXchgInst>(I))
    return visitStore(*I, U, To);
  if (isa<ReturnInst>(I)) {
    for (CallBase *Call : Threads.callsOf(*I->getFunction()))
      if (!forkOf(*Call))
        add(Call, To);
    return;
  }
  if (auto *Call = dyn_cast<CallBase>(I))
    visitCall(*Call, U, To);
}

void PointerFollower::visitOffset(User &Offset, const Path &To) {
  if (To.empty())
    return add(&Offset, To);
  auto &GEP = cast<GEPOperator>(Offset);
  APInt Bytes(layout().getIndexTypeSizeInBits(GEP.getType()), 0);
  std::optional<int64_t> Distance;
  if (GEP.accumulateConstantOffset(layout(), Bytes))
    Distance = Bytes.trySExtValue();
  Path Rest = To;
  if (!Distance || SubOverflow(Rest.front(), *Distance, Rest.front())) {
    Of.IsLost = true; // an element of a table
    return;
  }
  // Ignores an address after the member that leads to the object: programs do
  // not compute the address of that member from a later address.
  if (Rest.front() >= 0)
    add(&Offset, Rest);
}

void PointerFollower::visitStore(Instruction &Store, Use &U, const Path &To) {
  Value *Pointer = const_cast<Value *>(getLoadStorePointerOperand(&Store));
  if (!Pointer) // an atomic read-modify-write
    Pointer = Store.getOperand(0);
  if (U.get() == Pointer &&
      U.getOperandNo() == (isa<StoreInst>(Store) ? 1 : 0)) {
    if (!To.empty())
      return;
    noteAccess(Store, *Pointer, /*Writes=*/true);
    if (isa<StoreInst>(Store) && Store.getOperand(0)->getType()->isPointerTy())
      Of.HoldsPointers |= Of.Accesses[&Store].IsBulk;
    return;
  }
  if (!isa<StoreInst>(Store))
    return;
  Path Longer{0};
  Longer.insert(Longer.end(), To.begin(), To.end());
  addLocation(Pointer, Longer);
}

void PointerFollower::visitCall(CallBase &Call, Use &U, const Path &To) {
  if (!Call.isArgOperand(&U))
    return;
  unsigned Operand = Call.getArgOperandNo(&U);
  if (auto *Copy = dyn_cast<AnyMemIntrinsic>(&Call)) {
    bool IsTarget = Operand == 0;
    if (To.empty())
      noteAccess(Call, *U, IsTarget, /*IsRange=*/true);
    else if (!IsTarget && isa<AnyMemTransferInst>(Copy))
      addLocation(Copy->getRawDest(), To); // a copy of the enclosing struct
    return;
  }
  Function *Callee = calleeOf(Call);
  if (std::optional<Fork> Started = forkOf(Call)) {
    if (Operand < Started->FirstOperand)
      return;
    Operand = Operand - Started->FirstOperand + Started->FirstParameter;
    Callee = Started->Body;
  }
  if (!Callee || Callee->isDeclaration() || Operand >= Callee->arg_size())
    return;
  // To.front() is the offset of the member that leads to the object. If the
  // parameter's attribute `dereferenceable` covers fewer bytes, the parameter
  // points to an earlier member, and the callee does not reach the object.
  Argument &Parameter = *Callee->getArg(Operand);
  uint64_t Extent = Parameter.getDereferenceableBytes();
  if (To.empty() || Extent == 0 || uint64_t(To.front()) < Extent)
    add(&Parameter, To);
}

/// Returns true if V is computed from a value that iterations of L load.
static bool isLoadedIn(const Value *V, const Loop &L, unsigned Depth = 0) {
  auto *I = dyn_cast<Instruction>(V);
  if (!I || !L.contains(I) || Depth > MostDepth)
    return false;
  if (isa<LoadInst>(I))
    return true;
  if (!isa<CastInst, BinaryOperator, FreezeInst>(I))
    return false;
  return any_of(I->operands(), [&](const Use &U) {
    return isLoadedIn(U.get(), L, Depth + 1);
  });
}

static bool isIndirect(const Value &Pointer, const Loop &L) {
  const Value *At = &Pointer;
  for (unsigned Depth = 0; Depth < MostDepth; ++Depth) {
    auto *GEP = dyn_cast<GEPOperator>(At);
    if (!GEP)
      return false;
    for (const Use &Index : GEP->indices())
      if (isLoadedIn(Index.get(), L))
        return true;
    At = GEP->getPointerOperand();
  }
  return false;
}

void PointerFollower::noteAccess(const Instruction &I, const Value &Pointer,
                                 bool Writes, bool IsRange) {
  const Function &F = *I.getFunction();
  LoopInfo &LI = FAM.getResult<LoopAnalysis>(const_cast<Function &>(F));
  Access How;
  How.Writes = Writes;
  How.IsBulk = IsRange;
  for (const Loop *L = LI.getLoopFor(I.getParent()); L;
       L = L->getParentLoop()) {
    if (L->isLoopInvariant(&Pointer))
      continue;
    How.IsBulk = true;
    How.IsIndirect |= isIndirect(Pointer, *L);
  }
  Access &Known = Of.Accesses[&I];
  Known.Writes |= How.Writes;
  Known.IsBulk |= How.IsBulk;
  Known.IsIndirect |= How.IsIndirect;
}

} // namespace vfriendly
