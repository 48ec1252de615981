//===- PoolAllocs.cpp - vf-pool-allocs ------------------------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A buffer that each iteration allocates and frees:
//
//   scf.for %i = ... {                %m = memref.alloc(%n)
//     %m = memref.alloc(%n)     =>    scf.for %i = ... {
//     ... %m ...                        ... %m ...
//     memref.dealloc %m               }
//   }                                 memref.dealloc %m
//
// The contents of memory are undefined after its allocation and dead after its
// release, so no iteration can observe that it uses the buffer of the previous
// one. If the size differs between iterations, the loop gets a pool instead,
// and each iteration allocates from the pool.
//
// MLIR's own buffer-hoisting and buffer-loop-hoisting run before deallocations
// are inserted. This pass handles pairs of allocation and deallocation, and
// sizes that differ.
//
//===----------------------------------------------------------------------===//

#include "passes/mlir/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace vfriendly::vf {

#define GEN_PASS_DEF_VFPOOLALLOCS
#include "VfPasses.h.inc"

namespace {

constexpr auto Category =
    remark::RemarkOpts::name("Allocation").category("vf-pool-allocs");

/// An allocation and its only release, in one iteration of a sequential loop.
struct Pair {
  memref::AllocOp Alloc;
  memref::DeallocOp Dealloc;
  LoopLikeOpInterface Loop;
};

/// Sets Found to Alloc, the sequential loop around Alloc, if there is one, and
/// the release. Returns the reason why Alloc is not rewritten in this loop, or
/// an empty string.
StringRef findPair(memref::AllocOp Alloc, Pair &Found) {
  Operation *Parent = Alloc->getParentOp();
  // Excludes parallel loops, because their iterations need a buffer each.
  if (!isa<scf::ForOp, affine::AffineForOp>(Parent))
    return "";
  Found.Alloc = Alloc;
  Found.Loop = cast<LoopLikeOpInterface>(Parent);
  if (Alloc.getType().getMemorySpace())
    return "it is not in the default memory space";
  for (Operation *User : Alloc->getUsers()) {
    if (auto Dealloc = dyn_cast<memref::DeallocOp>(User)) {
      if (Found.Dealloc)
        return "it is freed in several places";
      Found.Dealloc = Dealloc;
    } else if (isa<memref::ReallocOp>(User)) {
      return "its size is changed";
    } else if (User->hasTrait<OpTrait::IsTerminator>()) {
      return "the next iteration uses it";
    }
  }
  if (!Found.Dealloc)
    return "it is not freed in the loop";
  if (Found.Dealloc->getBlock() != Alloc->getBlock())
    return "it is not freed in every iteration";
  return "";
}

/// Maximum number of operations that compute the size of one allocation; with
/// more, the allocation is left unchanged.
constexpr unsigned MaxSizeOps = 16;

/// Returns true if the allocation's sizes are the same in all iterations, and
/// adds to Inside the operations of the loop that compute them. These
/// operations are pure, so they may be moved before the loop even if the loop
/// is executed zero times.
bool hasSameSizeInAllIterations(Pair &P, SetVector<Operation *> &Inside) {
  SmallVector<Value> Left(P.Alloc->getOperands());
  while (!Left.empty()) {
    Value Size = Left.pop_back_val();
    if (P.Loop.isDefinedOutsideOfLoop(Size))
      continue;
    Operation *Def = Size.getDefiningOp();
    if (!Def || Def->getNumRegions() || !isPure(Def) ||
        Inside.size() == MaxSizeOps)
      return false;
    if (Inside.insert(Def))
      llvm::append_range(Left, Def->getOperands());
  }
  return true;
}

/// Returns the reason why the allocation cannot come from a pool, or an empty
/// string.
StringRef whyNoPool(Pair &P) {
  MemRefType Type = P.Alloc.getType();
  auto Vector = dyn_cast<VectorType>(Type.getElementType());
  if (!Type.getLayout().isIdentity() || (Vector && Vector.isScalable()))
    return "pools do not support its layout";
  if (!canCallRuntime(P.Alloc))
    return "it may run where the runtime cannot be called";
  // Memory of a pool may have been written already.
  if (llvm::any_of(P.Alloc->getUsers(), llvm::IsaPred<NumaPlaceOp>))
    return "it is placed on NUMA nodes before it is written";
  return "";
}

/// Replaces each memref.dim of the allocation, or of a memref.cast of it, by
/// the size. Affine operations accept the memref.dim of a memref.alloc as a
/// symbol if the size is a symbol, but do not accept the memref.dim of a
/// vf.pool.alloc.
void replaceDims(memref::AllocOp Alloc) {
  MemRefType Type = Alloc.getType();
  SmallVector<Value> Names{Alloc.getMemref()};
  while (!Names.empty()) {
    for (Operation *User :
         llvm::make_early_inc_range(Names.pop_back_val().getUsers())) {
      if (auto Cast = dyn_cast<memref::CastOp>(User))
        Names.push_back(Cast.getDest());
      auto Dim = dyn_cast<memref::DimOp>(User);
      std::optional<int64_t> Number =
          Dim ? Dim.getConstantIndex() : std::nullopt;
      if (!Number || *Number < 0 || *Number >= Type.getRank())
        continue;
      // Keeps a memref.dim at the top level of an affine scope, where every
      // index is a symbol. The size may not be a symbol, because it may be
      // computed at another level.
      if (Dim->getParentOp()->hasTrait<OpTrait::AffineScope>())
        continue;
      Value Size;
      if (Type.isDynamicDim(*Number)) {
        Size = Alloc.getDynamicSizes()[Type.getDynamicDimIndex(*Number)];
      } else {
        OpBuilder Builder(Dim);
        Size = arith::ConstantIndexOp::create(Builder, Dim.getLoc(),
                                              Type.getDimSize(*Number));
      }
      Dim.replaceAllUsesWith(Size);
      Dim.erase();
    }
  }
}

class PoolAllocs : public impl::VfPoolAllocsBase<PoolAllocs> {
  void runOnOperation() override {
    // Visits inner loops first: an allocation that was moved out of an inner
    // loop may then be moved out of the next outer loop.
    SmallVector<memref::AllocOp> Allocs;
    getOperation().walk<WalkOrder::PostOrder>(
        [&](memref::AllocOp Alloc) { Allocs.push_back(Alloc); });
    for (memref::AllocOp Alloc : Allocs)
      while (moveOut(Alloc))
        ;
  }

  /// Tries to move Alloc before its loop. Returns true if Alloc was moved.
  bool moveOut(memref::AllocOp Alloc) {
    Pair P;
    StringRef Why = findPair(Alloc, P);
    if (!P.Loop)
      return false;
    if (!Why.empty()) {
      remark::missed(Alloc.getLoc(), Category) << ("kept: " + Why).str();
      return false;
    }
    SetVector<Operation *> Inside;
    if (hasSameSizeInAllIterations(P, Inside)) {
      remark::passed(Alloc.getLoc(), Category)
          << "allocated once for all iterations";
      auto Computing = Inside.takeVector();
      llvm::sort(Computing, [](Operation *A, Operation *B) {
        return A->isBeforeInBlock(B);
      });
      for (Operation *Op : Computing)
        Op->moveBefore(P.Loop);
      P.Alloc->moveBefore(P.Loop);
      // Must precede the first write of the memory, which is now in the first
      // iteration.
      for (Operation *User : llvm::make_early_inc_range(P.Alloc->getUsers()))
        if (isa<NumaPlaceOp>(User) && User->getParentOp() == P.Loop)
          User->moveAfter(P.Alloc);
      P.Dealloc->moveAfter(P.Loop);
      return true;
    }
    if (StringRef No = whyNoPool(P); !No.empty()) {
      remark::missed(Alloc.getLoc(), Category)
          << ("kept: its size differs between iterations, and " + No).str();
      return false;
    }
    remark::passed(Alloc.getLoc(), Category)
        << "allocated from a pool: its size differs between iterations";
    toPool(P);
    return false;
  }

  void toPool(Pair &P) {
    replaceDims(P.Alloc);
    OpBuilder Builder(P.Loop);
    Value Pool = PoolCreateOp::create(Builder, P.Loop.getLoc());
    Builder.setInsertionPointAfter(P.Loop);
    PoolDestroyOp::create(Builder, P.Loop.getLoc(), Pool);
    Builder.setInsertionPoint(P.Alloc);
    auto New = PoolAllocOp::create(Builder, P.Alloc.getLoc(), P.Alloc.getType(),
                                   Pool, P.Alloc.getDynamicSizes(),
                                   P.Alloc.getAlignmentAttr());
    Builder.setInsertionPoint(P.Dealloc);
    PoolFreeOp::create(Builder, P.Dealloc.getLoc(), Pool, New.getMemref());
    P.Dealloc.erase();
    P.Alloc.replaceAllUsesWith(New.getMemref());
    P.Alloc.erase();
  }
};

} // namespace

} // namespace vfriendly::vf
