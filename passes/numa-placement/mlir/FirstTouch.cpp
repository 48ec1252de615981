//===- FirstTouch.cpp - vf-first-touch ------------------------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Linux places a page on the node of the thread that writes it first. If one
// thread fills a buffer that a team of threads uses, all of its pages would be
// on the node of that thread:
//
//   %m = memref.alloc(%n)
//   vf.numa.place %m, blocks          <- inserted
//   scf.for ... { store %m[%i] }      one thread
//   scf.parallel ... { load %m[%i] }  all threads
//
//===----------------------------------------------------------------------===//

#include "passes/mlir/Passes.h"

#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace vfriendly::vf {

#define GEN_PASS_DEF_VFFIRSTTOUCH
#include "VfPasses.h.inc"

namespace {

constexpr auto Category =
    remark::RemarkOpts::name("FirstTouch").category("vf-first-touch");

/// Returns true for an operation that runs its region in parallel. Compares
/// names, so that no dialect of parallelism has to be loaded.
bool isParallel(Operation *Op) {
  StringRef Name = Op->getName().getStringRef();
  return Name == "scf.parallel" || Name == "scf.forall" ||
         Name == "affine.parallel" || Name == "omp.parallel";
}

/// Returns the outermost parallel operation around Op, in the same function.
Operation *parallelAround(Operation *Op) {
  Operation *Found = nullptr;
  for (; Op && !Op->hasTrait<OpTrait::IsIsolatedFromAbove>();
       Op = Op->getParentOp())
    if (isParallel(Op))
      Found = Op;
  return Found;
}

/// Returns true if V is the first induction variable of a parallel loop; for
/// OpenMP this is an argument of omp.loop_nest.
bool isFirstParallelIndex(Value V) {
  auto Argument = dyn_cast<BlockArgument>(V);
  if (!Argument || Argument.getArgNumber() != 0)
    return false;
  Operation *Loop = Argument.getOwner()->getParentOp();
  StringRef Name = Loop->getName().getStringRef();
  return Name == "omp.loop_nest" ? parallelAround(Loop) != nullptr
                                 : isParallel(Loop);
}

/// The uses of a buffer, through its views.
struct Uses {
  SmallVector<Operation *> Serial, Parallel;
  /// True if all parallel uses index the outermost dimension of the buffer by
  /// the first induction variable of a parallel loop.
  bool InBlocks = true;
};

void addUse(Operation *User, Value Buffer, Uses &To) {
  if (!parallelAround(User)) {
    To.Serial.push_back(User);
    return;
  }
  To.Parallel.push_back(User);
  std::optional<OperandRange> Indices;
  if (auto Load = dyn_cast<memref::LoadOp>(User))
    Indices = Load.getIndices();
  else if (auto Store = dyn_cast<memref::StoreOp>(User);
           Store && Store.getMemref() == Buffer)
    Indices = Store.getIndices();
  To.InBlocks &=
      Indices && !Indices->empty() && isFirstParallelIndex(Indices->front());
}

Uses usesOf(Value Buffer) {
  Uses Found;
  llvm::SetVector<Value> Views;
  Views.insert(Buffer);
  for (unsigned I = 0; I != Views.size(); ++I)
    for (Operation *User : Views[I].getUsers()) {
      if (isa<memref::DeallocOp>(User))
        continue;
      auto View = dyn_cast<ViewLikeOpInterface>(User);
      if (View && View.getViewSource() == Views[I] &&
          View->getNumResults() == 1)
        Views.insert(View->getResult(0));
      else
        addUse(User, Views[I], Found);
    }
  return Found;
}

bool writes(Operation *Op, Value Buffer) {
  if (auto Store = dyn_cast<memref::StoreOp>(Op))
    return Store.getMemref() == Buffer;
  // Records the uses by operations of linalg and memref on whole buffers.
  auto Effects = dyn_cast<MemoryEffectOpInterface>(Op);
  return Effects && Effects.getEffectOnValue<MemoryEffects::Write>(Buffer);
}

class FirstTouch : public impl::VfFirstTouchBase<FirstTouch> {
  void runOnOperation() override {
    getOperation().walk([](memref::AllocOp Alloc) { visit(Alloc); });
  }

  static void left(memref::AllocOp Alloc, StringRef Why) {
    remark::missed(Alloc.getLoc(), Category) << ("kept: " + Why).str();
  }

  static void visit(memref::AllocOp Alloc) {
    Value Buffer = Alloc.getMemref();
    if (llvm::any_of(Buffer.getUsers(), llvm::IsaPred<NumaPlaceOp>) ||
        parallelAround(Alloc))
      return;
    Uses Found = usesOf(Buffer);
    if (Found.Parallel.empty() || Found.Serial.empty())
      return;
    Block *Here = Alloc->getBlock();
    Operation *FirstWrite = nullptr, *FirstParallel = nullptr;
    auto earliest = [&](Operation *&First, Operation *Each) {
      Each = Here->findAncestorOpInBlock(*Each);
      if (Each && (!First || Each->isBeforeInBlock(First)))
        First = Each;
    };
    for (Operation *Each : Found.Serial)
      if (writes(Each, Buffer))
        earliest(FirstWrite, Each);
    for (Operation *Each : Found.Parallel)
      earliest(FirstParallel, Each);
    if (!FirstWrite || !FirstParallel)
      return;
    if (!FirstWrite->isBeforeInBlock(FirstParallel))
      return left(Alloc, "a parallel loop uses it first");
    if (!canCallRuntime(Alloc))
      return left(Alloc, "it may run where the runtime cannot be called");
    MemRefType Type = Alloc.getType();
    if (!Type.getLayout().isIdentity() || Type.getMemorySpace())
      return left(Alloc, "its layout or memory space is not the default");
    if (std::optional<int64_t> Bytes = staticBytes(Type);
        Bytes && *Bytes < MinPlacedBytes) {
      remark::analysis(Alloc.getLoc(), Category)
          << "filled serially and used in parallel, but smaller than 64 KiB";
      return;
    }
    Policy Chosen = Found.InBlocks ? Policy::Blocks : Policy::Interleave;
    remark::passed(Alloc.getLoc(), Category)
        << ("filled serially and used in parallel: placed as " +
            stringifyPolicy(Chosen))
               .str();
    OpBuilder Builder(Alloc->getContext());
    Builder.setInsertionPointAfter(Alloc);
    NumaPlaceOp::create(Builder, Alloc.getLoc(), Buffer, Chosen);
  }
};

} // namespace

} // namespace vfriendly::vf
