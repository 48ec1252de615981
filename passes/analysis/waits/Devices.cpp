//===- Devices.cpp - Memory of devices ------------------------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where a pointer comes from tells registers from memory that threads share.
// That the program writes there, too, does not, since drivers write registers:
//
//   fd = open("/dev/mem", O_RDWR);
//   regs = mmap(0, size, prot, MAP_SHARED, fd, base);
//   ...
//   regs[CONTROL] = START;
//   while (!(regs[STATUS] & DONE));
//
// Processes share mapped memory, too, but map it without a file, or a file of
// shm_open, memfd_create, or a file system.
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/waits/Devices.h"

#include "passes/analysis/common/WaitNeutral.h"
#include "passes/analysis/waits/LoopView.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Metadata.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"

#include <deque>

using namespace llvm;

namespace vfriendly {

FindsPlace placesOf(StringRef Function) {
  return StringSwitch<FindsPlace>(Function)
      .Cases("mmap", "mmap64", FindsPlace::Maps)
      .Cases("open", "open64", FindsPlace::Opens)
      .Cases("openat", "openat64", FindsPlace::OpensAt)
      .Default(FindsPlace::Nothing);
}

bool isDeviceAddress(const Value *Address) {
  if (cast<PointerType>(Address->getType())->getAddressSpace() != 0)
    return true;
  const Value *Object = getUnderlyingObject(Address, /*MaxLookup=*/16);
  if (auto *Cast = dyn_cast<ConstantExpr>(Object))
    return Cast->getOpcode() == Instruction::IntToPtr;
  return isa<ConstantPointerNull>(Object);
}

namespace {

/// The call whose callee is looked into, and the one around it; none if any
/// call may be meant.
struct Caller {
  const CallBase *Call;
  const Caller *Around;
};

struct Origin {
  const Value *V;
  const Caller *In;
};

/// Finds the values of the module from which a value comes: through address
/// computations, variables, and parameters and results of functions.
class Origins {
public:
  explicit Origins(Origin Of) : Worklist{Of} {}

  /// Returns true if Is returns true for one of them, or may do so: there are
  /// too many.
  bool any(function_ref<bool(Origin)> Is);

private:
  /// Maximum number of values. A mapping reaches a register's poll through a
  /// function that maps, one that calls it for each block of registers, a
  /// variable, and an accessor.
  static constexpr unsigned MaxValues = 200;

  void addStored(const LoadInst &Load, const Caller *In);
  void addArguments(const Argument &Parameter, const Caller *In);
  void addResults(const CallBase &Call, const Caller *In);

  SmallVector<Origin, 16> Worklist;
  SmallDenseSet<std::pair<const Value *, const Caller *>, 16> Seen;
  SmallDenseSet<std::pair<Cell, const Caller *>, 4> Variables;
  std::deque<Caller> Callers;
};

bool Origins::any(function_ref<bool(Origin)> Is) {
  while (!Worklist.empty() && Seen.size() != MaxValues) {
    auto [V, In] = Worklist.pop_back_val();
    if (!Seen.insert({V, In}).second)
      continue;
    if (Is({V, In}))
      return true;
    if (auto *Load = dyn_cast<LoadInst>(V))
      addStored(*Load, In);
    else if (auto *Parameter = dyn_cast<Argument>(V))
      addArguments(*Parameter, In);
    else if (auto *Call = dyn_cast<CallBase>(V))
      addResults(*Call, In);
    else if (auto *GEP = dyn_cast<GEPOperator>(V))
      Worklist.push_back({GEP->getPointerOperand(), In});
    else if (isa<ConstantAggregate>(V))
      for (const Use &Each : cast<ConstantAggregate>(V)->operands())
        Worklist.push_back({Each, nullptr});
    else if (isa<PHINode, SelectInst, CastInst, FreezeInst, BinaryOperator>(V))
      for (const Value *Each : cast<Instruction>(V)->operand_values())
        Worklist.push_back({Each, In});
  }
  return !Worklist.empty();
}

/// Adds what the module stores in the variable that Load reads, and its
/// initializer.
void Origins::addStored(const LoadInst &Load, const Caller *In) {
  const DataLayout &DL = Load.getDataLayout();
  // Also an element of a table that a variable chooses.
  if (auto *Global = dyn_cast<GlobalVariable>(
          getUnderlyingObject(Load.getPointerOperand()));
      Global && Global->hasInitializer())
    Worklist.push_back({Global->getInitializer(), nullptr});
  Cell At = cellOf(Load.getPointerOperand(), DL);
  if (isa<GlobalVariable>(At.first))
    In = nullptr;
  else if (!isa<AllocaInst>(At.first))
    return;
  // A second read of the variable adds nothing.
  if (!Variables.insert({At, In}).second)
    return;
  SmallVector<const User *, 16> Users(At.first->users());
  for (unsigned N = 0; N != Users.size(); ++N) {
    if (isa<GEPOperator>(Users[N]))
      append_range(Users, Users[N]->users());
    else if (auto *Store = dyn_cast<StoreInst>(Users[N]);
             Store && cellOf(Store->getPointerOperand(), DL) == At)
      Worklist.push_back({Store->getValueOperand(), In});
  }
}

void Origins::addArguments(const Argument &Parameter, const Caller *In) {
  const Function &F = *Parameter.getParent();
  auto Add = [&](const CallBase &Call, const Caller *Around) {
    if (Call.arg_size() > Parameter.getArgNo())
      Worklist.push_back({Call.getArgOperand(Parameter.getArgNo()), Around});
  };
  if (In && In->Call->getCalledFunction() == &F)
    return Add(*In->Call, In->Around);
  for (const Use &U : F.uses())
    if (auto *Call = dyn_cast<CallBase>(U.getUser());
        Call && Call->isCallee(&U))
      Add(*Call, nullptr);
}

void Origins::addResults(const CallBase &Call, const Caller *In) {
  const Function *Callee = Call.getCalledFunction();
  if (!Callee || Callee->isDeclaration())
    return;
  Callers.push_back({&Call, In});
  for (const BasicBlock &B : *Callee)
    if (auto *Return = dyn_cast<ReturnInst>(B.getTerminator());
        Return && Return->getReturnValue())
      Worklist.push_back({Return->getReturnValue(), &Callers.back()});
}

} // namespace

static bool isDevicePath(StringRef Path) {
  static constexpr StringLiteral Memory[] = {"/dev/shm",  "/dev/hugepages",
                                             "/dev/zero", "/dev/ashmem",
                                             "/dev/dax",  "/dev/pmem"};
  return Path.starts_with("/sys/") ||
         (Path.starts_with("/dev/") &&
          none_of(Memory, [=](StringRef Is) { return Path.starts_with(Is); }));
}

/// Returns true if V is the path of a device, or a buffer that a call such as
/// snprintf fills by a format of such a path.
static bool namesDeviceFile(Origin Of) {
  auto IsPath = [](const Value *Text) {
    StringRef Path;
    return Text->getType()->isPointerTy() &&
           getConstantStringInfo(Text, Path) && isDevicePath(Path);
  };
  auto IsFilled = [&](const User *U) {
    auto *Call = dyn_cast<CallBase>(U);
    return Call && any_of(Call->args(), IsPath);
  };
  return IsPath(Of.V) ||
         (isa<AllocaInst>(Of.V) && any_of(Of.V->users(), IsFilled));
}

/// Returns the name of the function of another unit that V calls.
static StringRef libraryCall(const Value *V) {
  auto *Call = dyn_cast<CallBase>(V);
  const Function *Callee = Call ? Call->getCalledFunction() : nullptr;
  return Callee && Callee->isDeclaration() ? Callee->getName() : "";
}

/// Returns true if argument N of the call Of.V has an origin for which Is
/// returns true.
static bool gets(Origin Of, unsigned N, function_ref<bool(Origin)> Is) {
  auto *Call = cast<CallBase>(Of.V);
  return N < Call->arg_size() &&
         Origins({Call->getArgOperand(N), Of.In}).any(Is);
}

/// Returns true if Of is a file descriptor of a device: of its file, or one
/// that a driver returns, as VFIO does.
static bool opensDevice(Origin Of) {
  switch (placesOf(libraryCall(Of.V))) {
  case FindsPlace::Opens:
    return gets(Of, 0, namesDeviceFile);
  case FindsPlace::OpensAt:
    return gets(Of, 1, namesDeviceFile);
  case FindsPlace::Maps:
  case FindsPlace::Nothing:
    break;
  }
  return libraryCall(Of.V) == "ioctl";
}

static bool mapsDevice(Origin Of) {
  return placesOf(libraryCall(Of.V)) == FindsPlace::Maps &&
         gets(Of, 4, opensDevice);
}

static constexpr StringLiteral DeviceMark = "vf.device";

SmallVector<Instruction *, 4> markReadsOfDevice(Function &F) {
  SmallVector<Instruction *, 4> Marked;
  for (Instruction &I : instructions(F))
    if (isa<LoadInst>(I) && !I.hasMetadata(DeviceMark)) {
      I.setMetadata(DeviceMark, MDNode::get(F.getContext(), {}));
      Marked.push_back(&I);
    }
  return Marked;
}

void unmarkReads(ArrayRef<Instruction *> Marked) {
  for (Instruction *I : Marked)
    I->setMetadata(DeviceMark, nullptr);
}

/// Returns true if Access reads memory: a load, or one by assembly.
static bool reads(const Instruction &Access) {
  auto *Call = dyn_cast<CallBase>(&Access);
  return Call ? classifyCall(*Call).Effect == CallEffect::AsmLoad
              : isa<LoadInst>(Access);
}

/// A word that the program exchanges is memory: devices have no use for that.
bool accessesDevice(const Instruction &Access, const Value *Address) {
  if (isDeviceAddress(Address))
    return true;
  const Module &M = *Access.getModule();
  return reads(Access) &&
         (Access.hasMetadata(DeviceMark) ||
          ((M.getFunction("mmap") || M.getFunction("mmap64")) &&
           Origins({Address, nullptr}).any(mapsDevice)));
}

} // namespace vfriendly
