// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels as compilers of models have them: linalg on tensors, for one sample or request
// after the other. Each module prints a checksum. The first line is shared by all.

func.func private @fill(%t: tensor<?x?xf32>, %seed: index) -> tensor<?x?xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      outs(%t : tensor<?x?xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %c7 = arith.constant 7 : index
    %a = arith.muli %i, %c7 : index
    %b = arith.addi %a, %j : index
    %c = arith.addi %b, %seed : index
    %c13 = arith.constant 13 : index
    %d = arith.remui %c, %c13 : index
    %e = arith.index_cast %d : index to i32
    %f = arith.sitofp %e : i32 to f32
    linalg.yield %f : f32
  } -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}
// The sum of all elements.
func.func private @sum(%t: tensor<?x?xf32>) -> f32 {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]}
      ins(%t : tensor<?x?xf32>) outs(%z : tensor<f32>) {
  ^bb0(%x: f32, %o: f32):
    %s = arith.addf %x, %o : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  %x = tensor.extract %r[] : tensor<f32>
  return %x : f32
}
func.func private @product(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %m = tensor.dim %a, %c0 : tensor<?x?xf32>
  %n = tensor.dim %b, %c1 : tensor<?x?xf32>
  %e = tensor.empty(%m, %n) : tensor<?x?xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  %r = linalg.matmul ins(%a, %b : tensor<?x?xf32>, tensor<?x?xf32>) outs(%z : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}
func.func private @relu(%a: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %a, %c0 : tensor<?x?xf32>
  %n = tensor.dim %a, %c1 : tensor<?x?xf32>
  %e = tensor.empty(%m, %n) : tensor<?x?xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<?x?xf32>) outs(%e : tensor<?x?xf32>) {
  ^bb0(%x: f32, %o: f32):
    %zero = arith.constant 0.0 : f32
    %s = arith.maximumf %x, %zero : f32
    linalg.yield %s : f32
  } -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}
// Of each row.
func.func private @softmax(%a: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %low = arith.constant -1.0e30 : f32
  %m = tensor.dim %a, %c0 : tensor<?x?xf32>
  %n = tensor.dim %a, %c1 : tensor<?x?xf32>
  %e = tensor.empty(%m) : tensor<?xf32>
  %l = linalg.fill ins(%low : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %max = linalg.reduce ins(%a : tensor<?x?xf32>) outs(%l : tensor<?xf32>) dimensions = [1]
    (%x: f32, %o: f32) { %s = arith.maximumf %x, %o : f32
      linalg.yield %s : f32 }
  %e2 = tensor.empty(%m, %n) : tensor<?x?xf32>
  %exp = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
                         iterator_types = ["parallel", "parallel"]}
      ins(%a, %max : tensor<?x?xf32>, tensor<?xf32>) outs(%e2 : tensor<?x?xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %d = arith.subf %x, %y : f32
    %s = math.exp %d : f32
    linalg.yield %s : f32
  } -> tensor<?x?xf32>
  %e3 = tensor.empty(%m) : tensor<?xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e3 : tensor<?xf32>) -> tensor<?xf32>
  %sum = linalg.reduce ins(%exp : tensor<?x?xf32>) outs(%z : tensor<?xf32>) dimensions = [1]
    (%x: f32, %o: f32) { %s = arith.addf %x, %o : f32
      linalg.yield %s : f32 }
  %e4 = tensor.empty(%m, %n) : tensor<?x?xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%exp, %sum : tensor<?x?xf32>, tensor<?xf32>) outs(%e4 : tensor<?x?xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %s = arith.divf %x, %y : f32
    linalg.yield %s : f32
  } -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}
func.func private @input(%m: index, %n: index, %seed: index) -> tensor<?x?xf32> {
  %e = tensor.empty(%m, %n) : tensor<?x?xf32>
  %r = func.call @fill(%e, %seed) : (tensor<?x?xf32>, index) -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}

// ----- matmul: a matrix for each sample, of one size
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 24 : index
  %samples = arith.constant 100 : index
  %zero = arith.constant 0.0 : f32
  %b = call @input(%n, %n, %c1) : (index, index, index) -> tensor<?x?xf32>
  %total = scf.for %i = %c0 to %samples step %c1 iter_args(%t = %zero) -> f32 {
    %a = func.call @input(%n, %n, %i) : (index, index, index) -> tensor<?x?xf32>
    %p = func.call @product(%a, %b) : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
    %s = func.call @sum(%p) : (tensor<?x?xf32>) -> f32
    %u = arith.addf %t, %s : f32
    scf.yield %u : f32
  }
  vector.print %total : f32
  return
}
// ----- conv: an image for each sample, shapes known at compile time
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %samples = arith.constant 100 : index
  %zero = arith.constant 0.0 : f32
  %w = arith.constant dense<0.25> : tensor<3x3x4x8xf32>
  %total = scf.for %i = %c0 to %samples step %c1 iter_args(%t = %zero) -> f32 {
    %image = tensor.generate {
    ^bb0(%n: index, %y: index, %x: index, %c: index):
      %k = arith.addi %y, %i : index
      %v = arith.index_cast %k : index to i32
      %f = arith.sitofp %v : i32 to f32
      tensor.yield %f : f32
    } : tensor<1x18x18x4xf32>
    %e = tensor.empty() : tensor<1x16x16x8xf32>
    %z = linalg.fill ins(%zero : f32) outs(%e : tensor<1x16x16x8xf32>) -> tensor<1x16x16x8xf32>
    %p = linalg.conv_2d_nhwc_hwcf ins(%image, %w : tensor<1x18x18x4xf32>, tensor<3x3x4x8xf32>)
                                  outs(%z : tensor<1x16x16x8xf32>) -> tensor<1x16x16x8xf32>
    %flat = tensor.collapse_shape %p [[0, 1], [2, 3]] : tensor<1x16x16x8xf32> into tensor<16x128xf32>
    %any = tensor.cast %flat : tensor<16x128xf32> to tensor<?x?xf32>
    %r = func.call @relu(%any) : (tensor<?x?xf32>) -> tensor<?x?xf32>
    %s = func.call @sum(%r) : (tensor<?x?xf32>) -> f32
    %u = arith.addf %t, %s : f32
    scf.yield %u : f32
  }
  vector.print %total : f32
  return
}
// ----- softmax: rows of growing length
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant 8 : index
  %samples = arith.constant 100 : index
  %zero = arith.constant 0.0 : f32
  %total = scf.for %i = %c0 to %samples step %c1 iter_args(%t = %zero) -> f32 {
    %n = arith.addi %i, %rows : index
    %a = func.call @input(%rows, %n, %i) : (index, index, index) -> tensor<?x?xf32>
    %p = func.call @softmax(%a) : (tensor<?x?xf32>) -> tensor<?x?xf32>
    %s = func.call @sum(%p) : (tensor<?x?xf32>) -> f32
    %u = arith.addf %t, %s : f32
    scf.yield %u : f32
  }
  vector.print %total : f32
  return
}
// ----- attention: a request has a length of its own
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %width = arith.constant 16 : index
  %samples = arith.constant 100 : index
  %zero = arith.constant 0.0 : f32
  %total = scf.for %i = %c0 to %samples step %c1 iter_args(%t = %zero) -> f32 {
    %k5 = arith.remui %i, %width : index
    %n = arith.addi %k5, %c5 : index
    %q = func.call @input(%n, %width, %i) : (index, index, index) -> tensor<?x?xf32>
    %k = func.call @input(%width, %n, %c1) : (index, index, index) -> tensor<?x?xf32>
    %v = func.call @input(%n, %width, %c5) : (index, index, index) -> tensor<?x?xf32>
    %scores = func.call @product(%q, %k) : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
    %p = func.call @softmax(%scores) : (tensor<?x?xf32>) -> tensor<?x?xf32>
    %o = func.call @product(%p, %v) : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
    %s = func.call @sum(%o) : (tensor<?x?xf32>) -> f32
    %u = arith.addf %t, %s : f32
    scf.yield %u : f32
  }
  vector.print %total : f32
  return
}
// ----- mlp: three layers for each batch
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %batch = arith.constant 8 : index
  %width = arith.constant 32 : index
  %samples = arith.constant 100 : index
  %zero = arith.constant 0.0 : f32
  %w1 = call @input(%width, %width, %c0) : (index, index, index) -> tensor<?x?xf32>
  %w2 = call @input(%width, %width, %c1) : (index, index, index) -> tensor<?x?xf32>
  %total = scf.for %i = %c0 to %samples step %c1 iter_args(%t = %zero) -> f32 {
    %a = func.call @input(%batch, %width, %i) : (index, index, index) -> tensor<?x?xf32>
    %h = func.call @product(%a, %w1) : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
    %h1 = func.call @relu(%h) : (tensor<?x?xf32>) -> tensor<?x?xf32>
    %g = func.call @product(%h1, %w2) : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
    %g1 = func.call @relu(%g) : (tensor<?x?xf32>) -> tensor<?x?xf32>
    %o = func.call @product(%g1, %w1) : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
    %s = func.call @sum(%o) : (tensor<?x?xf32>) -> f32
    %u = arith.addf %t, %s : f32
    scf.yield %u : f32
  }
  vector.print %total : f32
  return
}
