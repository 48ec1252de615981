//===- VfOps.td - The vf dialect ---------------------------*- tablegen -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_VF_OPS
#define VFRIENDLY_VF_OPS

include "mlir/Dialect/Bufferization/IR/AllocationOpInterface.td"
include "mlir/Dialect/LLVMIR/LLVMTypes.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinTypes.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Vf_Dialect : Dialect {
  let name = "vf";
  let cppNamespace = "::vfriendly::vf";
  let summary = "Waits, pools and placement for code in virtual machines";
  let description = [{
    Operations for what the runtime libvfrt does: waiting for memory to change,
    allocating from pools, and placing memory on NUMA nodes. Each lowers to a
    call into libvfrt by `-convert-vf-to-llvm` or `-convert-to-llvm`.
  }];
  let useDefaultTypePrinterParser = 1;
}

class Vf_Op<string mnemonic, list<Trait> traits = []>
    : Op<Vf_Dialect, mnemonic, traits>;

/// The time that waits and hints consume. Ops that write this resource are not
/// removed as dead or reordered with each other, and do not alias memory.
def Vf_Time : Resource<"::vfriendly::vf::TimeResource">;

def Vf_PoolType : TypeDef<Vf_Dialect, "Pool"> {
  let mnemonic = "pool";
  let summary = "A pool of memory that is released as a whole";
  let description = [{
    A handle of `vf_pool` (vfriendly/pool.h). One thread, the first to allocate
    from it, owns the pool; any thread may free.
  }];
}

def Vf_PolicyFirstTouch : I32EnumAttrCase<"FirstTouch", 0, "ft">;
def Vf_PolicyInterleave : I32EnumAttrCase<"Interleave", 1, "r4k">;
def Vf_PolicyBlocks : I32EnumAttrCase<"Blocks", 2, "blocks">;
def Vf_PolicyWeighted : I32EnumAttrCase<"Weighted", 3, "weighted">;
def Vf_Policy : I32EnumAttr<"Policy", "a placement of pages on NUMA nodes",
    [Vf_PolicyFirstTouch, Vf_PolicyInterleave, Vf_PolicyBlocks,
     Vf_PolicyWeighted]> {
  let cppNamespace = "::vfriendly::vf";
}

/// An element of a memref, or the pointee of a pointer.
def Vf_Address : AnyTypeOf<[AnyMemRef, LLVM_AnyPointer], "memref or pointer">;

def Vf_RelaxOp : Vf_Op<"relax", [MemoryEffects<[MemWrite<Vf_Time>]>]> {
  let summary = "Tells the CPU that this is a wait";
  let description = [{
    The spin hint of the target: PAUSE on x86, ISB on AArch64, PAUSE on RISC-V;
    nothing where the target has none.

    ```mlir
    vf.relax
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Vf_SpinWaitOp : Vf_Op<"spin_wait",
    [MemoryEffects<[MemWrite<Vf_Time>]>]> {
  let summary = "One failed poll: pauses, yields or blocks for a bounded time";
  let description = [{
    Waits for the memory to stop holding `observed`, for a bounded time, and may
    return early at any time: the loop around it tests its condition again.
    `state` is 0 for the first failed poll of a wait, then what the last call
    returned.

    `notified` asserts that every writer that may end the wait runs `vf.notify`.
    If a writer does not, the wait ends late, but it does end. `no_sleep` is for
    locks that are handed over in a fixed order, `trylock` for attempts to take a
    lock.

    The address must be readable, and aligned to its size, for as long as the
    call takes.

    ```mlir
    %next = vf.spin_wait %flag[%i], %seen, %state notified : memref<?xi32>, i32
    ```
  }];
  let arguments = (ins
    Arg<Vf_Address, "the polled memory", [MemRead]>:$address,
    Variadic<Index>:$indices,
    AnyType:$observed,
    I64:$state,
    UnitAttr:$notified,
    UnitAttr:$no_sleep,
    UnitAttr:$trylock);
  let results = (outs I64:$next);
  let assemblyFormat = [{
    $address (`[` $indices^ `]`)? `,` $observed `,` $state
    (`notified` $notified^)? (`no_sleep` $no_sleep^)? (`trylock` $trylock^)?
    attr-dict `:` type($address) `,` type($observed)
  }];
  let hasVerifier = 1;
}

def Vf_BackoffOp : Vf_Op<"backoff",
    [MemoryEffects<[MemWrite<Vf_Time>]>]> {
  let summary = "One failed poll of a wait that polls several places";
  let description = [{
    Like `vf.spin_wait`, for a wait that polls several places: it pauses, yields
    and then sleeps for a part of the time waited so far.

    ```mlir
    %next = vf.backoff %state
    ```
  }];
  let arguments = (ins I64:$state, UnitAttr:$no_sleep, UnitAttr:$trylock);
  let results = (outs I64:$next);
  let assemblyFormat = [{
    $state (`no_sleep` $no_sleep^)? (`trylock` $trylock^)? attr-dict
  }];
}

def Vf_NotifyOp : Vf_Op<"notify", [MemoryEffects<[MemWrite<Vf_Time>]>]> {
  let summary = "Wakes every vf.spin_wait on an address";
  let description = [{
    Must follow the store that ends the wait. Costs one relaxed load if no thread
    waits.

    ```mlir
    memref.store %one, %flag[%i] : memref<?xi32>
    vf.notify %flag[%i] : memref<?xi32>
    ```
  }];
  // The read effect on the written memory keeps this op after the store.
  let arguments = (ins
    Arg<Vf_Address, "the memory that was written", [MemRead]>:$address,
    Variadic<Index>:$indices);
  let assemblyFormat = [{
    $address (`[` $indices^ `]`)? attr-dict `:` type($address)
  }];
  let hasVerifier = 1;
  let hasCanonicalizeMethod = 1;
}

def Vf_PoolCreateOp : Vf_Op<"pool.create"> {
  let summary = "Creates an empty pool";
  let description = [{
    ```mlir
    %pool = vf.pool.create
    ```
  }];
  let results = (outs Res<Vf_PoolType, "", [MemAlloc]>:$pool);
  let assemblyFormat = "attr-dict";
  let hasCanonicalizeMethod = 1;
}

def Vf_PoolAllocOp : Vf_Op<"pool.alloc",
    [DeclareOpInterfaceMethods<AllocationOpInterface,
                               ["buildDealloc", "buildClone"]>]> {
  let summary = "Allocates a memref from a pool";
  let description = [{
    Like `memref.alloc`, but allocates from the pool: the memref lives until
    `vf.pool.free` frees it or the pool is destroyed. It has the identity layout
    and the default memory space.

    ```mlir
    %m = vf.pool.alloc %pool(%n) {alignment = 64 : i64} : memref<?x4xf32>
    ```
  }];
  let arguments = (ins
    Arg<Vf_PoolType, "", [MemRead, MemWrite]>:$pool,
    Variadic<Index>:$sizes,
    ConfinedAttr<OptionalAttr<I64Attr>, [IntPositive, IntPowerOf2]>:$alignment);
  let results = (outs Res<MemRefOf<[AnyType]>, "", [MemAlloc]>:$memref);
  let assemblyFormat = [{
    $pool `(` $sizes `)` attr-dict `:` type($memref)
  }];
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}

def Vf_PoolFreeOp : Vf_Op<"pool.free"> {
  let summary = "Gives a memref back to its pool";
  let description = [{
    ```mlir
    vf.pool.free %pool, %m : memref<?xf32>
    ```
  }];
  let arguments = (ins
    Arg<Vf_PoolType, "", [MemRead, MemWrite]>:$pool,
    Arg<AnyStridedMemRef, "", [MemFree]>:$memref);
  let assemblyFormat = "$pool `,` $memref attr-dict `:` type($memref)";
}

def Vf_PoolDestroyOp : Vf_Op<"pool.destroy"> {
  let summary = "Frees a pool and all memrefs in it";
  let description = [{
    ```mlir
    vf.pool.destroy %pool
    ```
  }];
  let arguments = (ins Arg<Vf_PoolType, "", [MemFree]>:$pool);
  let assemblyFormat = "$pool attr-dict";
}

def Vf_NumaPlaceOp : Vf_Op<"numa.place", [MemoryEffects<[MemWrite<Vf_Time>]>]> {
  let summary = "Chooses the NUMA nodes of memory that is not written yet";
  let description = [{
    Must precede the first write of the memory. `blocks`: as many parts as
    threads, each on the node of its thread; `r4k`: pages in turn over all nodes;
    `weighted`: pages in proportion to the nodes' bandwidth; `ft`: each page on
    the node that touches it first, the kernel's default. Never fails: memory
    that cannot be placed is left as it is.

    ```mlir
    vf.numa.place %m, blocks : memref<?x?xf64>
    ```
  }];
  // The read effect on the memory keeps this op before all later writes.
  let arguments = (ins
    Arg<AnyStridedMemRef, "the memory to place", [MemRead]>:$memref,
    Vf_Policy:$policy);
  let assemblyFormat = "$memref `,` $policy attr-dict `:` type($memref)";
  let hasVerifier = 1;
}

#endif // VFRIENDLY_VF_OPS
