; Part of the vfriendly project, under the Apache License v2.0 with LLVM
; Exceptions. See LICENSE for license information.
; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; RUN: %print_loops %s 2>&1 | FileCheck %s --check-prefix=LOOPS --implicit-check-not=not_
; RUN: %vf_opt -passes='vf-spin-loops<mode=block>,verify' -S %s | FileCheck %s
; RUN: %vf_opt -passes='vf-spin-loops<mode=pause>,verify' -S %s | FileCheck %s --check-prefix=PAUSE

target triple = "x86_64-pc-linux-gnu"

@flag = global i32 0
declare i32 @sched_yield()
declare i32 @usleep(i32)
declare void @unknown()
declare void @llvm.x86.sse2.pause()

; LOOPS: pauses: loop: flag poll, pauses; @flag x4 acquire{{$}}
; CHECK-LABEL: define void @pauses(
; CHECK: call preserve_mostcc i64 @vf_spin_wait_or_fallback(
; One hint is enough.
; PAUSE-LABEL: define void @pauses(
; PAUSE-COUNT-1: call void @llvm.x86.sse2.pause()
; PAUSE-NOT: call void @llvm.x86.sse2.pause()
; PAUSE: ret void
define void @pauses() {
entry:
  br label %loop
loop:
  call void @llvm.x86.sse2.pause()
  %v = load atomic i32, ptr @flag acquire, align 4
  %c = icmp eq i32 %v, 0
  br i1 %c, label %loop, label %exit
exit:
  ret void
}

; LOOPS: yields: loop: flag poll, yields; @flag x4 acquire{{$}}
; CHECK-LABEL: define void @yields(
; CHECK: call preserve_mostcc i64 @vf_spin_wait_or_fallback(
define void @yields() {
entry:
  br label %loop
loop:
  %y = call i32 @sched_yield()
  %v = load atomic i32, ptr @flag acquire, align 4
  %c = icmp eq i32 %v, 0
  br i1 %c, label %loop, label %exit
exit:
  ret void
}

; LOOPS: sleeps: loop: flag poll, sleeps; @flag x4 acquire{{$}}
; CHECK-LABEL: define void @sleeps(
; CHECK-NOT: vf_spin_wait
; CHECK: ret void
define void @sleeps() {
entry:
  br label %loop
loop:
  %s = call i32 @usleep(i32 10)
  %v = load atomic i32, ptr @flag acquire, align 4
  %c = icmp eq i32 %v, 0
  br i1 %c, label %loop, label %exit
exit:
  ret void
}

; Why not: an unknown function may do anything.
; CHECK-LABEL: define void @not_unknown(
; CHECK-NOT: vf_spin_wait
; CHECK: ret void
define void @not_unknown() {
entry:
  br label %loop
loop:
  call void @unknown()
  %v = load atomic i32, ptr @flag acquire, align 4
  %c = icmp eq i32 %v, 0
  br i1 %c, label %loop, label %exit
exit:
  ret void
}

define void @set() {
  store atomic i32 1, ptr @flag release, align 4
  ret void
}
