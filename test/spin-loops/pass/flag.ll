; Part of the vfriendly project, under the Apache License v2.0 with LLVM
; Exceptions. See LICENSE for license information.
; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; A flag is polled: what the analysis sees, and what becomes of it.
;
; RUN: %print_loops %s 2>&1 | FileCheck %s --check-prefix=LOOPS --implicit-check-not=not_
; RUN: %vf_opt -passes='vf-spin-loops<mode=block>,verify' -S %s | FileCheck %s

target triple = "x86_64-pc-linux-gnu"

@plain = global i32 0
@vol = global i32 0
@at = global i64 0
@ptr = global ptr null
@byte = global i8 0
@real = global double 0.0

; LOOPS: wait_plain: loop: flag poll; @plain x4 plain{{$}}
; CHECK-LABEL: define void @wait_plain(
; CHECK-DAG: load atomic i32, ptr @plain acquire, align 4
; CHECK-DAG: call preserve_mostcc i64 @vf_spin_wait_or_fallback(ptr @plain, i64 %{{.*}}, i64 %vf.state, i32 8452)
define void @wait_plain() {
entry:
  br label %loop
loop:
  %v = load i32, ptr @plain
  %c = icmp eq i32 %v, 0
  br i1 %c, label %loop, label %exit
exit:
  ret void
}

; LOOPS: wait_volatile: loop: flag poll; @vol x4 volatile{{$}}
; CHECK-LABEL: define void @wait_volatile(
; The runtime may not read volatile memory: size 0.
; CHECK-DAG: load volatile i32, ptr @vol
; CHECK-DAG: call preserve_mostcc i64 @vf_spin_wait_or_fallback(ptr @vol, i64 0, i64 %vf.state, i32 8448)
define void @wait_volatile() {
entry:
  br label %loop
loop:
  %v = load volatile i32, ptr @vol
  %c = icmp eq i32 %v, 0
  br i1 %c, label %loop, label %exit
exit:
  ret void
}

; LOOPS: wait_atomic: loop: flag poll; @at x8 monotonic{{$}}
; CHECK-LABEL: define void @wait_atomic(
; What is atomic keeps its order.
; CHECK-DAG: load atomic i64, ptr @at monotonic, align 8
; CHECK-DAG: call preserve_mostcc i64 @vf_spin_wait_or_fallback(ptr @at, i64 %v, i64 %vf.state, i32 8456)
define void @wait_atomic() {
entry:
  br label %loop
loop:
  %v = load atomic i64, ptr @at monotonic, align 8
  %c = icmp eq i64 %v, 0
  br i1 %c, label %loop, label %exit
exit:
  ret void
}

; LOOPS: wait_pointer: loop: flag poll; @ptr x8 plain{{$}}
; CHECK-LABEL: define void @wait_pointer(
; CHECK-DAG: load atomic ptr, ptr @ptr acquire, align 8
; CHECK-DAG: ptrtoint ptr %v to i64
define void @wait_pointer() {
entry:
  br label %loop
loop:
  %v = load ptr, ptr @ptr
  %c = icmp eq ptr %v, null
  br i1 %c, label %loop, label %exit
exit:
  ret void
}

; LOOPS: wait_byte: loop: flag poll; @byte x1 plain{{$}}
; CHECK-LABEL: define void @wait_byte(
; CHECK-DAG: load atomic i8, ptr @byte acquire, align 1
; CHECK-DAG: zext i8 %v to i64
define void @wait_byte() {
entry:
  br label %loop
loop:
  %v = load i8, ptr @byte
  %c = icmp eq i8 %v, 0
  br i1 %c, label %loop, label %exit
exit:
  ret void
}

; LOOPS: wait_real: loop: flag poll; @real x8 plain{{$}}
; CHECK-LABEL: define void @wait_real(
; CHECK-DAG: load atomic double, ptr @real acquire, align 8
; CHECK-DAG: bitcast double %v to i64
define void @wait_real() {
entry:
  br label %loop
loop:
  %v = load double, ptr @real
  %c = fcmp oeq double %v, 0.0
  br i1 %c, label %loop, label %exit
exit:
  ret void
}

; LOOPS: wait_switched: loop: flag poll; @at x8 acquire{{$}}
; CHECK-LABEL: define i32 @wait_switched(
; CHECK-DAG: call preserve_mostcc i64 @vf_spin_wait_or_fallback(
define i32 @wait_switched() {
entry:
  br label %loop
loop:
  %v = load atomic i64, ptr @at acquire, align 8
  switch i64 %v, label %loop [ i64 1, label %one
                               i64 2, label %two ]
one:
  ret i32 1
two:
  ret i32 2
}

; LOOPS: wait_located: loop: flag poll; {{.*}}%p x4 plain{{.*}}
; CHECK-LABEL: define void @wait_located(
; The pointer is polled too, and what it pointed to may be gone: size 0.
; CHECK-DAG: call preserve_mostcc i64 @vf_spin_wait_or_fallback(ptr %p, i64 0, i64 %vf.state, i32 {{(0|256)}})
define void @wait_located() {
entry:
  br label %loop
loop:
  %p = load ptr, ptr @ptr
  %v = load i32, ptr %p
  %c = icmp eq i32 %v, 0
  br i1 %c, label %loop, label %exit
exit:
  ret void
}

; Why not: invariant memory never changes.
; CHECK-LABEL: define void @not_invariant(
; CHECK-NOT: vf_spin_wait
; CHECK: ret void
define void @not_invariant(ptr %p) {
entry:
  br label %loop
loop:
  %v = load i32, ptr %p, !invariant.load !0
  %c = icmp eq i32 %v, 0
  br i1 %c, label %loop, label %exit
exit:
  ret void
}

; Why not: the loop writes memory that others may read.
; CHECK-LABEL: define void @not_storing(
; CHECK-NOT: vf_spin_wait
; CHECK: ret void
define void @not_storing(ptr %p) {
entry:
  br label %loop
loop:
  %n = phi i32 [ 0, %entry ], [ %m, %loop ]
  %m = add i32 %n, 1
  store i32 %m, ptr %p
  %v = load atomic i64, ptr @at acquire, align 8
  %c = icmp eq i64 %v, 0
  br i1 %c, label %loop, label %exit
exit:
  ret void
}

; Why not: its end is its own doing.
; CHECK-LABEL: define void @not_counting(
; CHECK-NOT: vf_spin_wait
; CHECK: ret void
define void @not_counting(i32 %n) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %v = load atomic i64, ptr @at acquire, align 8
  %j = add i32 %i, 1
  %c = icmp ult i32 %j, %n
  br i1 %c, label %loop, label %exit
exit:
  ret void
}

define void @set() {
  store i32 1, ptr @plain
  store volatile i32 1, ptr @vol
  store atomic i64 1, ptr @at release, align 8
  store ptr @plain, ptr @ptr
  store i8 1, ptr @byte
  store double 1.0, ptr @real
  ret void
}

; What the pass adds last.
; CHECK: define linkonce_odr hidden preserve_mostcc i64 @vf_spin_wait_or_fallback(

!0 = !{}
