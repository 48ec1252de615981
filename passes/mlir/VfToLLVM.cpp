//===- VfToLLVM.cpp - Lowers the vf dialect to calls into libvfrt ---------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The calls use the functions, flags and policies that
// runtime/include/vfriendly declares in spin_wait.h, pool.h and numa.h.
//
//===----------------------------------------------------------------------===//

#include "passes/mlir/Passes.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ConvertToLLVM/ToLLVMInterface.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Dialect/LLVMIR/FunctionCallUtils.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

using namespace mlir;

namespace vfriendly::vf {

#define GEN_PASS_DEF_CONVERTVFTOLLVM
#include "VfPasses.h.inc"

namespace {

/// VF_SPIN_* of spin_wait.h.
enum : uint32_t {
  /// With VF_SPIN_UNSEEN: code outside of the module may write the memory, too.
  Notified = 0x2100,
  NoSleep = 0x200,
  Trylock = 0x400,
};

/// Base class of all lowerings: builds calls of the runtime, constants and
/// addresses.
template <typename OpT> class ToRuntime : public ConvertOpToLLVMPattern<OpT> {
public:
  using ConvertOpToLLVMPattern<OpT>::ConvertOpToLLVMPattern;

protected:
  using Rewriter = ConversionPatternRewriter;

  Type pointer() const {
    return LLVM::LLVMPointerType::get(&this->getTypeConverter()->getContext());
  }
  Type integer(unsigned Bits) const {
    return IntegerType::get(&this->getTypeConverter()->getContext(), Bits);
  }

  static Value constant(Rewriter &R, Location Loc, Type T, int64_t Of) {
    return LLVM::ConstantOp::create(R, Loc, T, R.getIntegerAttr(T, Of));
  }

  /// Emits a call of Name in libvfrt; a null Result means void.
  FailureOr<LLVM::CallOp> call(Rewriter &R, Operation *Op, StringRef Name,
                               Type Result, ValueRange Arguments) const {
    Operation *Module = Op->getParentWithTrait<OpTrait::SymbolTable>();
    SmallVector<Type> Types(Arguments.getTypes());
    Type Returned = Result ? Result : LLVM::LLVMVoidType::get(Op->getContext());
    FailureOr<LLVM::LLVMFuncOp> Callee =
        LLVM::lookupOrCreateFn(R, Module, Name, Types, Returned);
    if (failed(Callee))
      return failure();
    return LLVM::CallOp::create(R, Op->getLoc(), *Callee, Arguments);
  }

  /// Replaces Op by a call of Name, whose result is ignored if Op has none.
  LogicalResult callInstead(Rewriter &R, Operation *Op, StringRef Name,
                            Type Result, ValueRange Arguments) const {
    auto Call = call(R, Op, Name, Result, Arguments);
    if (failed(Call))
      return failure();
    if (Op->getNumResults())
      R.replaceOp(Op, *Call);
    else
      R.eraseOp(Op);
    return success();
  }

  /// Returns the address of the element of the memref Of at Indices. If Of is a
  /// pointer, returns that pointer. Given is the converted value of Of.
  Value elementOf(Rewriter &R, Location Loc, Value Of, Value Given,
                  ValueRange Indices) const {
    if (auto Memref = dyn_cast<MemRefType>(Of.getType()))
      return this->getStridedElementPtr(R, Loc, Memref, Given, Indices);
    return Given;
  }

  /// Returns the size in bytes of a memref of identity layout. Sizes are the
  /// sizes of its dynamic dimensions.
  Value bytesOf(Rewriter &R, Location Loc, MemRefType Memref,
                ValueRange Sizes) const {
    SmallVector<Value> Shape, Strides;
    Value Bytes;
    this->getMemRefDescriptorSizes(Loc, Memref, Sizes, R, Shape, Strides, Bytes,
                                   /*sizeInBytes=*/true);
    return Bytes;
  }
};

struct LowerRelax : ToRuntime<RelaxOp> {
  using ToRuntime::ToRuntime;
  LogicalResult matchAndRewrite(RelaxOp Op, OpAdaptor,
                                Rewriter &R) const override {
    auto Module = Op->getParentOfType<ModuleOp>();
    auto Named = Module ? Module->getAttrOfType<StringAttr>(
                              LLVM::LLVMDialect::getTargetTripleAttrName())
                        : StringAttr();
    llvm::Triple Target(Named ? Named.getValue().str()
                              : llvm::sys::getDefaultTargetTriple());
    StringRef Hint = Target.isX86()       ? "pause"
                     : Target.isAArch64() ? "isb"
                     // RISC-V's PAUSE: an encoding of FENCE for which older
                     // assemblers have no name.
                     : Target.isRISCV() ? ".insn i 0x0F, 0, x0, x0, 0x010"
                                        : "";
    if (!Hint.empty())
      LLVM::InlineAsmOp::create(
          R, Op.getLoc(), TypeRange(), ValueRange(), Hint, "~{memory}",
          /*has_side_effects=*/true, /*is_align_stack=*/false,
          LLVM::TailCallKind::None,
          LLVM::AsmDialectAttr::get(Op.getContext(), LLVM::AsmDialect::AD_ATT),
          ArrayAttr());
    R.eraseOp(Op);
    return success();
  }
};

struct LowerSpinWait : ToRuntime<SpinWaitOp> {
  using ToRuntime::ToRuntime;
  LogicalResult matchAndRewrite(SpinWaitOp Op, OpAdaptor Adaptor,
                                Rewriter &R) const override {
    Location Loc = Op.getLoc();
    Value Seen = Adaptor.getObserved();
    Type I64 = integer(64);
    unsigned Bits = 64;
    if (isa<LLVM::LLVMPointerType>(Seen.getType())) {
      Seen = LLVM::PtrToIntOp::create(R, Loc, I64, Seen);
    } else {
      Bits = Seen.getType().getIntOrFloatBitWidth();
      if (isa<FloatType>(Seen.getType()))
        Seen = LLVM::BitcastOp::create(R, Loc, integer(Bits), Seen);
      if (Bits < 64)
        Seen = LLVM::ZExtOp::create(R, Loc, I64, Seen);
    }
    uint32_t How = Bits / 8 | (Op.getNotified() ? Notified : 0) |
                   (Op.getNoSleep() ? NoSleep : 0) |
                   (Op.getTrylock() ? Trylock : 0);
    Value Address = elementOf(R, Loc, Op.getAddress(), Adaptor.getAddress(),
                              Adaptor.getIndices());
    return callInstead(R, Op, "vf_spin_wait", I64,
                       {Address, Seen, Adaptor.getState(),
                        constant(R, Loc, integer(32), How)});
  }
};

struct LowerBackoff : ToRuntime<BackoffOp> {
  using ToRuntime::ToRuntime;
  LogicalResult matchAndRewrite(BackoffOp Op, OpAdaptor Adaptor,
                                Rewriter &R) const override {
    uint32_t How =
        (Op.getNoSleep() ? NoSleep : 0) | (Op.getTrylock() ? Trylock : 0);
    return callInstead(
        R, Op, "vf_spin_backoff", integer(64),
        {Adaptor.getState(), constant(R, Op.getLoc(), integer(32), How)});
  }
};

struct LowerNotify : ToRuntime<NotifyOp> {
  using ToRuntime::ToRuntime;
  LogicalResult matchAndRewrite(NotifyOp Op, OpAdaptor Adaptor,
                                Rewriter &R) const override {
    Value Address = elementOf(R, Op.getLoc(), Op.getAddress(),
                              Adaptor.getAddress(), Adaptor.getIndices());
    // Emits no test whether a thread waits before the call, because
    // vf_spin_notify makes this test first.
    return callInstead(R, Op, "vf_spin_notify", Type(), Address);
  }
};

struct LowerPoolCreate : ToRuntime<PoolCreateOp> {
  using ToRuntime::ToRuntime;
  LogicalResult matchAndRewrite(PoolCreateOp Op, OpAdaptor,
                                Rewriter &R) const override {
    return callInstead(R, Op, "vf_pool_create", pointer(), {});
  }
};

struct LowerPoolDestroy : ToRuntime<PoolDestroyOp> {
  using ToRuntime::ToRuntime;
  LogicalResult matchAndRewrite(PoolDestroyOp Op, OpAdaptor Adaptor,
                                Rewriter &R) const override {
    return callInstead(R, Op, "vf_pool_destroy", Type(), Adaptor.getPool());
  }
};

struct LowerPoolAlloc : ToRuntime<PoolAllocOp> {
  using ToRuntime::ToRuntime;

  /// Returns the alignment that LLVM assumes for accesses to the elements of
  /// Memref if the elements are vectors, and nullopt otherwise. For long
  /// vectors this alignment exceeds that of memory from a pool.
  static std::optional<uint64_t> vectorAlignment(MemRefType Memref) {
    auto Vector = dyn_cast<VectorType>(Memref.getElementType());
    if (!Vector || !Vector.getElementType().isIntOrFloat())
      return std::nullopt;
    // A vector of several dimensions becomes an array of LLVM vectors, each
    // with the elements of the last dimension.
    uint64_t Elements = Vector.getRank() ? Vector.getShape().back() : 1;
    return llvm::PowerOf2Ceil(
        llvm::divideCeil(Elements * Vector.getElementTypeBitWidth(), 8));
  }

  LogicalResult matchAndRewrite(PoolAllocOp Op, OpAdaptor Adaptor,
                                Rewriter &R) const override {
    Location Loc = Op.getLoc();
    auto Memref = cast<MemRefType>(Op.getMemref().getType());
    SmallVector<Value> Shape, Strides;
    Value Bytes;
    this->getMemRefDescriptorSizes(Loc, Memref, Adaptor.getSizes(), R, Shape,
                                   Strides, Bytes, /*sizeInBytes=*/true);
    FailureOr<LLVM::CallOp> Call;
    std::optional<uint64_t> Alignment = Op.getAlignment();
    if (!Alignment)
      Alignment = vectorAlignment(Memref);
    if (Alignment)
      Call = call(R, Op, "vf_pool_aligned_alloc", pointer(),
                  {Adaptor.getPool(),
                   constant(R, Loc, Bytes.getType(), *Alignment), Bytes});
    else
      Call =
          call(R, Op, "vf_pool_alloc", pointer(), {Adaptor.getPool(), Bytes});
    if (failed(Call))
      return failure();
    Value Block = Call->getResult();
    R.replaceOp(Op, {this->createMemRefDescriptor(Loc, Memref, Block, Block,
                                                  Shape, Strides, R)});
    return success();
  }
};

struct LowerPoolFree : ToRuntime<PoolFreeOp> {
  using ToRuntime::ToRuntime;
  LogicalResult matchAndRewrite(PoolFreeOp Op, OpAdaptor Adaptor,
                                Rewriter &R) const override {
    Value Block =
        MemRefDescriptor(Adaptor.getMemref()).allocatedPtr(R, Op.getLoc());
    return callInstead(R, Op, "vf_pool_free", Type(),
                       {Adaptor.getPool(), Block});
  }
};

struct LowerNumaPlace : ToRuntime<NumaPlaceOp> {
  using ToRuntime::ToRuntime;
  LogicalResult matchAndRewrite(NumaPlaceOp Op, OpAdaptor Adaptor,
                                Rewriter &R) const override {
    Location Loc = Op.getLoc();
    auto Memref = cast<MemRefType>(Op.getMemref().getType());
    MemRefDescriptor Descriptor(Adaptor.getMemref());
    SmallVector<Value> Dynamic;
    for (auto [Number, Size] : llvm::enumerate(Memref.getShape()))
      if (ShapedType::isDynamic(Size))
        Dynamic.push_back(Descriptor.size(R, Loc, Number));
    Value Bytes = this->bytesOf(R, Loc, Memref, Dynamic);
    Value Begin =
        Descriptor.bufferPtr(R, Loc, *this->getTypeConverter(), Memref);
    Value Policy =
        constant(R, Loc, integer(32), static_cast<int64_t>(Op.getPolicy()));
    // Ignores the result of vf_numa_place, because the program cannot react to
    // a failure: see numa.h.
    return callInstead(R, Op, "vf_numa_place", integer(32),
                       {Begin, Bytes, Policy});
  }
};

void populate(LLVMTypeConverter &Converter, RewritePatternSet &Patterns) {
  Converter.addConversion([](PoolType Type) {
    return LLVM::LLVMPointerType::get(Type.getContext());
  });
  Patterns.add<LowerRelax, LowerSpinWait, LowerBackoff, LowerNotify,
               LowerPoolCreate, LowerPoolDestroy, LowerPoolAlloc, LowerPoolFree,
               LowerNumaPlace>(Converter);
}

struct ConvertVf : impl::ConvertVfToLLVMBase<ConvertVf> {
  void runOnOperation() override {
    LLVMTypeConverter Converter(&getContext());
    RewritePatternSet Patterns(&getContext());
    LLVMConversionTarget Target(getContext());
    populate(Converter, Patterns);
    Target.addIllegalDialect<VfDialect>();
    if (failed(applyPartialConversion(getOperation(), Target,
                                      std::move(Patterns))))
      signalPassFailure();
  }
};

struct ConvertInterface : ConvertToLLVMPatternInterface {
  using ConvertToLLVMPatternInterface::ConvertToLLVMPatternInterface;
  void loadDependentDialects(MLIRContext *Context) const final {
    Context->loadDialect<LLVM::LLVMDialect>();
  }
  void populateConvertToLLVMConversionPatterns(
      ConversionTarget &Target, LLVMTypeConverter &Converter,
      RewritePatternSet &Patterns) const final {
    Target.addIllegalDialect<VfDialect>();
    populate(Converter, Patterns);
  }
};

} // namespace

void registerConvertVfToLLVMInterface(DialectRegistry &Registry) {
  Registry.addExtension(+[](MLIRContext *, VfDialect *Dialect) {
    Dialect->addInterfaces<ConvertInterface>();
  });
}

} // namespace vfriendly::vf
