//===- VfDialect.cpp - The vf dialect -------------------------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/mlir/VfDialect.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace vfriendly::vf;

#include "VfDialect.cpp.inc"
#include "VfEnums.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "VfTypes.cpp.inc"

void VfDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "VfOps.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "VfTypes.cpp.inc"
      >();
}

std::optional<int64_t> vfriendly::vf::staticBytes(MemRefType Memref) {
  Type Element = Memref.getElementType();
  if (!Memref.hasStaticShape() || !Element.isIntOrFloat())
    return std::nullopt;
  return Memref.getNumElements() *
         llvm::divideCeil(Element.getIntOrFloatBitWidth(), 8);
}

bool vfriendly::vf::isInDefaultSpace(Type Address) {
  if (auto Memref = dyn_cast<MemRefType>(Address))
    return !Memref.getMemorySpace();
  return cast<LLVM::LLVMPointerType>(Address).getAddressSpace() == 0;
}

/// Verifies the address, which the runtime takes as a plain pointer, and the
/// number of indices: a memref needs as many as it has dimensions, a pointer
/// none.
static LogicalResult verifyAddress(Operation *Op, Type Address,
                                   unsigned Indices) {
  auto Memref = dyn_cast<MemRefType>(Address);
  if (!isInDefaultSpace(Address))
    return Op->emitOpError("needs memory of the default memory space");
  unsigned Rank = Memref ? Memref.getRank() : 0;
  if (Indices != Rank)
    return Op->emitOpError("has ")
           << Indices << " indices for " << (Memref ? "a memref of rank " : "")
           << (Memref ? Twine(Rank) : Twine("a pointer"));
  return success();
}

//===----------------------------------------------------------------------===//
// Waits
//===----------------------------------------------------------------------===//

LogicalResult SpinWaitOp::verify() {
  Type Address = getAddress().getType(), Seen = getObserved().getType();
  if (failed(verifyAddress(*this, Address, getIndices().size())))
    return failure();
  unsigned Bits = 0;
  if (Seen.isIntOrFloat())
    Bits = Seen.getIntOrFloatBitWidth();
  else if (Seen.isIndex() || isa<LLVM::LLVMPointerType>(Seen))
    Bits = 64;
  if (Bits != 8 && Bits != 16 && Bits != 32 && Bits != 64)
    return emitOpError("observes ")
           << Seen << "; it needs an integer, index, float or pointer of 8, "
           << "16, 32 or 64 bits";
  if (auto Memref = dyn_cast<MemRefType>(Address))
    if (Memref.getElementType() != Seen)
      return emitOpError("observes ") << Seen << " in a " << Memref;
  return success();
}

LogicalResult NotifyOp::verify() {
  return verifyAddress(*this, getAddress().getType(), getIndices().size());
}

/// Erases the first of two adjacent notifies of the same address: no woken
/// thread has run between them.
LogicalResult NotifyOp::canonicalize(NotifyOp Op, PatternRewriter &Rewriter) {
  auto Next = dyn_cast_or_null<NotifyOp>(Op->getNextNode());
  if (!Next || Next.getAddress() != Op.getAddress() ||
      Next.getIndices() != Op.getIndices())
    return failure();
  Rewriter.eraseOp(Op);
  return success();
}

//===----------------------------------------------------------------------===//
// Pools
//===----------------------------------------------------------------------===//

/// Erases a pool without allocations.
LogicalResult PoolCreateOp::canonicalize(PoolCreateOp Op,
                                         PatternRewriter &Rewriter) {
  if (!llvm::all_of(Op->getUsers(), llvm::IsaPred<PoolDestroyOp>))
    return failure();
  for (Operation *User : llvm::make_early_inc_range(Op->getUsers()))
    Rewriter.eraseOp(User);
  Rewriter.eraseOp(Op);
  return success();
}

LogicalResult PoolAllocOp::verify() {
  auto Memref = cast<MemRefType>(getMemref().getType());
  if (!Memref.getLayout().isIdentity())
    return emitOpError("allocates memory of the identity layout only");
  if (Memref.getMemorySpace())
    return emitOpError("allocates in the default memory space only");
  if (getSizes().size() != size_t(Memref.getNumDynamicDims()))
    return emitOpError("has ")
           << getSizes().size() << " sizes for " << Memref.getNumDynamicDims()
           << " dynamic dimensions";
  return success();
}

std::optional<Operation *> PoolAllocOp::buildDealloc(OpBuilder &Builder,
                                                     Value Allocated) {
  auto Alloc = Allocated.getDefiningOp<PoolAllocOp>();
  if (!Alloc)
    return std::nullopt;
  return PoolFreeOp::create(Builder, Allocated.getLoc(), Alloc.getPool(),
                            Allocated)
      .getOperation();
}

std::optional<Value> PoolAllocOp::buildClone(OpBuilder &Builder,
                                             Value Allocated) {
  auto Alloc = Allocated.getDefiningOp<PoolAllocOp>();
  if (!Alloc)
    return std::nullopt;
  Location Loc = Allocated.getLoc();
  auto Copy = cast<PoolAllocOp>(Builder.clone(*Alloc));
  memref::CopyOp::create(Builder, Loc, Allocated, Copy.getMemref());
  return Copy.getMemref();
}

namespace {

/// Makes constant sizes a part of the type.
struct FoldSizes : OpRewritePattern<PoolAllocOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(PoolAllocOp Op,
                                PatternRewriter &Rewriter) const override {
    auto Old = cast<MemRefType>(Op.getMemref().getType());
    SmallVector<int64_t> Shape(Old.getShape());
    SmallVector<Value> Sizes;
    unsigned Next = 0;
    for (int64_t &Dim : Shape) {
      if (!ShapedType::isDynamic(Dim))
        continue;
      Value Size = Op.getSizes()[Next++];
      std::optional<int64_t> Known = getConstantIntValue(Size);
      if (Known && *Known >= 0)
        Dim = *Known;
      else
        Sizes.push_back(Size);
    }
    if (Sizes.size() == Op.getSizes().size())
      return failure();
    auto New = MemRefType::get(Shape, Old.getElementType());
    auto Alloc = PoolAllocOp::create(Rewriter, Op.getLoc(), New, Op.getPool(),
                                     Sizes, Op.getAlignmentAttr());
    Rewriter.replaceOpWithNewOp<memref::CastOp>(Op, Old, Alloc.getMemref());
    return success();
  }
};

/// Erases a pool allocation whose only uses are frees, and these frees.
struct EraseUnused : OpRewritePattern<PoolAllocOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(PoolAllocOp Op,
                                PatternRewriter &Rewriter) const override {
    if (!llvm::all_of(Op->getUsers(), llvm::IsaPred<PoolFreeOp>))
      return failure();
    for (Operation *User : llvm::make_early_inc_range(Op->getUsers()))
      Rewriter.eraseOp(User);
    Rewriter.eraseOp(Op);
    return success();
  }
};

} // namespace

void PoolAllocOp::getCanonicalizationPatterns(RewritePatternSet &Patterns,
                                              MLIRContext *Context) {
  Patterns.add<FoldSizes, EraseUnused>(Context);
}

//===----------------------------------------------------------------------===//
// Placement
//===----------------------------------------------------------------------===//

LogicalResult NumaPlaceOp::verify() {
  auto Memref = cast<MemRefType>(getMemref().getType());
  if (!Memref.getLayout().isIdentity())
    return emitOpError("places memory of the identity layout only");
  if (Memref.getMemorySpace())
    return emitOpError("places memory of the default memory space only");
  return success();
}

#define GET_OP_CLASSES
#include "VfOps.cpp.inc"
