// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A temporary tensor of each iteration, bufferized by upstream's passes: this pass hoists it
// after its deallocation was inserted, where upstream's hoisting must run before.
//
// REQUIRES: mlir
// DEFINE: %{bufferize} = one-shot-bufferize{bufferize-function-boundaries}
// RUN: vf-opt %s --pass-pipeline='builtin.module(%{bufferize},buffer-deallocation-pipeline,canonicalize)' | FileCheck %s --check-prefix=BEFORE
// RUN: vf-opt %s --pass-pipeline='builtin.module(%{bufferize},func.func(buffer-loop-hoisting),buffer-deallocation-pipeline,canonicalize)' | FileCheck %s --check-prefix=HOISTED
// RUN: vf-opt %s --pass-pipeline='builtin.module(%{bufferize},buffer-deallocation-pipeline,canonicalize,vf-pool-allocs)' | FileCheck %s --check-prefix=HOISTED
//
// Upstream's on the pairs: the deallocation stays in the loop, and frees the buffer again and
// again.
// RUN: vf-opt %s --pass-pipeline='builtin.module(%{bufferize},buffer-deallocation-pipeline,canonicalize,func.func(buffer-loop-hoisting))' | FileCheck %s --check-prefix=WRONG
// BEFORE: scf.for
// BEFORE: memref.alloc
// BEFORE: memref.dealloc
// BEFORE: scf.yield
// HOISTED: memref.alloc
// HOISTED: scf.for
// HOISTED: scf.yield
// HOISTED: memref.dealloc
// WRONG: memref.alloc
// WRONG: scf.for
// WRONG: memref.dealloc
// WRONG: scf.yield

func.func @kernel(%a: tensor<8x16x16xf32>, %b: tensor<16x16xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %sum = scf.for %i = %c0 to %c8 step %c1 iter_args(%s = %zero) -> f32 {
    %ai = tensor.extract_slice %a[%i, 0, 0] [1, 16, 16] [1, 1, 1] : tensor<8x16x16xf32> to tensor<16x16xf32>
    %e = tensor.empty() : tensor<16x16xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
    %m = linalg.matmul ins(%ai, %b : tensor<16x16xf32>, tensor<16x16xf32>) outs(%f : tensor<16x16xf32>) -> tensor<16x16xf32>
    %x = tensor.extract %m[%i, %i] : tensor<16x16xf32>
    %t = arith.addf %s, %x : f32
    scf.yield %t : f32
  }
  return %sum : f32
}
