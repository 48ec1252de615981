; Part of the vfriendly project, under the Apache License v2.0 with LLVM
; Exceptions. See LICENSE for license information.
; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; A polling path that shares its latch with working iterations gets a copy of the
; latch. Values of both copies are joined after the loop, two edges between the
; same blocks stay two, each loop has a loop ID of its own, and a value that the
; polling path only passes on has no phi.
;
; RUN: %vf_opt -passes='vf-spin-loops,verify' -S %s | FileCheck %s

target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"

declare void @work(i32)

; CHECK-LABEL: define i32 @shared_latch(
; CHECK:       header.vf.work:
; CHECK-NEXT:    %[[DONE:.*]] = phi i32 [ %now, %latch ], [ 0, %entry ]
; CHECK:         call {{.*}}@vf_spin_wait_or_fallback(
; CHECK:         br label %header, !llvm.loop ![[INNER:[0-9]+]]
; CHECK:       header:
; CHECK:         switch i32 %v, label %busy [
; CHECK-NEXT:      i32 0, label %latch.vf.poll
; CHECK-NEXT:      i32 1, label %latch.vf.poll
; CHECK:       busy:
; CHECK:         br label %latch
; CHECK:       latch:
; CHECK:         br i1 %over, label %exit, label %header.vf.work, !llvm.loop ![[OUTER:[0-9]+]]
; CHECK:       exit:
; CHECK-NEXT:    phi i32 [ %now, %latch ], [ %[[DONE]], %latch.vf.poll ]
; CHECK-NEXT:    phi i32 [ %s, %latch ], [ %s.vf.poll, %latch.vf.poll ]
; CHECK:       latch.vf.poll:
; CHECK:         br i1 %over.vf.poll, label %exit, label %header.vf.failed.poll
; CHECK-DAG:   ![[INNER]] = distinct !{![[INNER]],
; CHECK-DAG:   ![[OUTER]] = distinct !{![[OUTER]],
define i32 @shared_latch(ptr %flag) {
entry:
  br label %header

header:
  %done = phi i32 [ 0, %entry ], [ %now, %latch ]
  %v = load atomic i32, ptr %flag acquire, align 4
  switch i32 %v, label %busy [
    i32 0, label %latch
    i32 1, label %latch
  ]

busy:
  call void @work(i32 %v)
  %more = add i32 %done, 1
  br label %latch

latch:
  %now = phi i32 [ %done, %header ], [ %done, %header ], [ %more, %busy ]
  %s = load atomic i32, ptr %flag acquire, align 4
  %over = icmp ne i32 %s, 0
  br i1 %over, label %exit, label %header, !llvm.loop !0

exit:
  %result = phi i32 [ %s, %latch ]
  %sum = add i32 %result, %now
  ret i32 %sum
}

define void @writer(ptr %flag) {
  store atomic i32 1, ptr %flag release, align 4
  ret void
}

!0 = distinct !{!0, !1}
!1 = !{!"llvm.loop.mustprogress"}
