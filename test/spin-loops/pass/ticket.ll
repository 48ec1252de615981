; Part of the vfriendly project, under the Apache License v2.0 with LLVM
; Exceptions. See LICENSE for license information.
; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; RUN: %print_loops %s 2>&1 | FileCheck %s --check-prefix=LOOPS --implicit-check-not=not_
; RUN: %vf_opt -passes='vf-spin-loops<mode=block>,verify' -S %s | FileCheck %s

target triple = "x86_64-pc-linux-gnu"

@next = global i32 0
@owner = global i32 0

; LOOPS: ticket: loop: ticket lock; @owner x4 acquire{{$}}
; CHECK-LABEL: define void @ticket(
; 772 = 0x304: never sleeps, but blocks since the writer below notifies; 4 bytes.
; CHECK: call preserve_mostcc i64 @vf_spin_wait_or_fallback(ptr @owner, i64 %{{.*}}, i64 %vf.state, i32 8964)
define void @ticket() {
entry:
  %mine = atomicrmw add ptr @next, i32 1 monotonic
  br label %loop
loop:
  %v = load atomic i32, ptr @owner acquire, align 4
  %c = icmp eq i32 %v, %mine
  br i1 %c, label %exit, label %loop
exit:
  ret void
}

; LOOPS: masked: loop: ticket lock; @owner x4 acquire{{$}}
define void @masked() {
entry:
  %got = atomicrmw add ptr @next, i32 65536 monotonic
  %mine = lshr i32 %got, 16
  br label %loop
loop:
  %v = load atomic i32, ptr @owner acquire, align 4
  %low = and i32 %v, 65535
  %c = icmp eq i32 %low, %mine
  br i1 %c, label %exit, label %loop
exit:
  ret void
}

; Why not: each iteration draws a number.
; CHECK-LABEL: define void @not_drawing(
; CHECK-NOT: vf_spin_wait
; CHECK: ret void
define void @not_drawing(i32 %goal) {
entry:
  br label %loop
loop:
  %v = atomicrmw add ptr @owner, i32 1 monotonic
  %c = icmp eq i32 %v, %goal
  br i1 %c, label %exit, label %loop
exit:
  ret void
}

define void @unlock() {
  %v = atomicrmw add ptr @owner, i32 1 release
  ret void
}
