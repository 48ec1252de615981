; Part of the vfriendly project, under the Apache License v2.0 with LLVM
; Exceptions. See LICENSE for license information.
; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; Plain polls that cannot be made atomic keep their load: it stands behind the
; opaque call, which may change memory for all LLVM knows.
;
; RUN: %vf_opt -passes='vf-spin-loops<mode=block>,verify' -S %s | FileCheck %s
; RUN: %vf_opt -passes='vf-spin-loops<mode=block>,default<O2>' -S %s | FileCheck %s --check-prefix=O2

target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

@wide = global i128 0
@vec = global <4 x i32> zeroinitializer
@word = global i32 0
@odd = global i24 0
@bit = global i1 false
@ld = global x86_fp80 zeroinitializer

; CHECK-LABEL: define void @i128(
; CHECK-DAG: load i128, ptr @wide
; CHECK-DAG: call preserve_mostcc i64 @vf_spin_wait_or_fallback(ptr @wide, i64 0,
; CHECK: ret void
; The poll is still in the loop after LLVM's own passes.
; O2-LABEL: define void @i128(
; O2: call preserve_mostcc i64 @vf_spin_wait_or_fallback(
; O2-NEXT: load i128, ptr @wide
define void @i128() {
entry:
  br label %loop
loop:
  %v = load i128, ptr @wide
  %c = icmp eq i128 %v, 0
  br i1 %c, label %loop, label %exit
exit:
  ret void
}

; CHECK-LABEL: define void @vector(
; CHECK-DAG: load <4 x i32>, ptr @vec
; CHECK-DAG: call preserve_mostcc i64 @vf_spin_wait_or_fallback(ptr @vec, i64 0,
; CHECK: ret void
define void @vector() {
entry:
  br label %loop
loop:
  %v = load <4 x i32>, ptr @vec
  %e = extractelement <4 x i32> %v, i32 2
  %c = icmp eq i32 %e, 0
  br i1 %c, label %loop, label %exit
exit:
  ret void
}

; CHECK-LABEL: define void @unaligned(
; CHECK-DAG: load i32, ptr @word, align 1
; The runtime reads aligned words only: size 0.
; CHECK-DAG: call preserve_mostcc i64 @vf_spin_wait_or_fallback(ptr @word, i64 0, i64 %vf.state, i32 8448)
; CHECK: ret void
define void @unaligned() {
entry:
  br label %loop
loop:
  %v = load i32, ptr @word, align 1
  %c = icmp eq i32 %v, 0
  br i1 %c, label %loop, label %exit
exit:
  ret void
}

; CHECK-LABEL: define void @i24(
; CHECK-DAG: load i24, ptr @odd
; CHECK-DAG: call preserve_mostcc i64 @vf_spin_wait_or_fallback(ptr @odd, i64 0,
; CHECK: ret void
define void @i24() {
entry:
  br label %loop
loop:
  %v = load i24, ptr @odd
  %c = icmp eq i24 %v, 0
  br i1 %c, label %loop, label %exit
exit:
  ret void
}

; CHECK-LABEL: define void @i1(
; CHECK-DAG: load i1, ptr @bit
; CHECK-DAG: call preserve_mostcc i64 @vf_spin_wait_or_fallback(ptr @bit,
; CHECK: ret void
define void @i1() {
entry:
  br label %loop
loop:
  %v = load i1, ptr @bit
  br i1 %v, label %exit, label %loop
exit:
  ret void
}

; CHECK-LABEL: define void @long_double(
; CHECK-DAG: load x86_fp80, ptr @ld
; CHECK-DAG: call preserve_mostcc i64 @vf_spin_wait_or_fallback(ptr @ld, i64 0,
; CHECK: ret void
define void @long_double() {
entry:
  br label %loop
loop:
  %v = load x86_fp80, ptr @ld
  %c = fcmp oeq x86_fp80 %v, 0xK00000000000000000000
  br i1 %c, label %loop, label %exit
exit:
  ret void
}

define void @set() {
  store i128 1, ptr @wide
  store <4 x i32> <i32 1, i32 1, i32 1, i32 1>, ptr @vec
  store i32 1, ptr @word
  store i24 1, ptr @odd
  store i1 true, ptr @bit
  store x86_fp80 0xK3FFF8000000000000000, ptr @ld
  ret void
}
