// The module of the README's section on MLIR.
func.func @fill(%n: index, %size: index, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %m = memref.alloc(%size) : memref<?xf32>
    memref.store %v, %m[%c0] : memref<?xf32>
    memref.dealloc %m : memref<?xf32>
  }
  return
}
