; Part of the vfriendly project, under the Apache License v2.0 with LLVM
; Exceptions. See LICENSE for license information.
; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; Numbers of more than 64 bits, and the one whose negative has more.
;
; RUN: %vf_opt -passes='vf-spin-loops,verify' -S %s | FileCheck %s

; CHECK-LABEL: @wide(
; CHECK: atomicrmw sub ptr %p, i128
define void @wide(ptr %p) {
entry:
  br label %loop

loop:
  %old = atomicrmw sub ptr %p, i128 2658455991569831745807614120560689151 monotonic, align 16
  br label %loop
}

; CHECK-LABEL: @least(
; CHECK: atomicrmw sub ptr %p, i64 -9223372036854775808
define void @least(ptr %p) {
entry:
  br label %loop

loop:
  %old = atomicrmw sub ptr %p, i64 -9223372036854775808 monotonic, align 8
  br label %loop
}
