; Part of the vfriendly project, under the Apache License v2.0 with LLVM
; Exceptions. See LICENSE for license information.
; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; RUN: %print_loops %s 2>&1 | FileCheck %s --check-prefix=LOOPS --implicit-check-not=not_
; RUN: %vf_opt -passes='vf-spin-loops<mode=block>,verify' -S %s | FileCheck %s

target triple = "x86_64-pc-linux-gnu"

@missing = global i32 0
@sense = global i32 0

; LOOPS: sense_reversing: loop: barrier; @sense x4 acquire{{$}}
; CHECK-LABEL: define void @sense_reversing(
; The last to come ends the wait of the others: its store notifies.
; CHECK: store atomic i32 %mine, ptr @sense release, align 4, !vf.spin.notifies
; CHECK: call void @vf_spin_notify(ptr @sense)
; CHECK: call preserve_mostcc i64 @vf_spin_wait_or_fallback(ptr @sense, i64 %{{.*}}, i64 %vf.state, i32 8452)
define void @sense_reversing(i32 %mine) {
entry:
  %n = atomicrmw sub ptr @missing, i32 1 acq_rel
  %last = icmp eq i32 %n, 1
  br i1 %last, label %open, label %loop
open:
  store atomic i32 %mine, ptr @sense release, align 4
  ret void
loop:
  %v = load atomic i32, ptr @sense acquire, align 4
  %c = icmp eq i32 %v, %mine
  br i1 %c, label %exit, label %loop
exit:
  ret void
}

; LOOPS: counting: loop: barrier; @missing x4 acquire{{$}}
define void @counting() {
entry:
  %n = atomicrmw sub ptr @missing, i32 1 acq_rel
  br label %loop
loop:
  %v = load atomic i32, ptr @missing acquire, align 4
  %c = icmp eq i32 %v, 0
  br i1 %c, label %exit, label %loop
exit:
  ret void
}

; Why not: work shared out by a counter.
; CHECK-LABEL: define i32 @not_shared_work(
; CHECK-NOT: vf_spin_wait
; CHECK: ret i32
define i32 @not_shared_work(ptr %work, i32 %n) {
entry:
  br label %loop
loop:
  %sum = phi i32 [ 0, %entry ], [ %sum.next, %loop ]
  %i = atomicrmw sub ptr @missing, i32 1 acq_rel
  %p = getelementptr i32, ptr %work, i32 %i
  %w = load i32, ptr %p
  %sum.next = add i32 %sum, %w
  %c = icmp sgt i32 %i, %n
  br i1 %c, label %loop, label %exit
exit:
  ret i32 %sum.next
}
