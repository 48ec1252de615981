; Part of the vfriendly project, under the Apache License v2.0 with LLVM
; Exceptions. See LICENSE for license information.
; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; RUN: %print_loops %s 2>&1 | FileCheck %s --check-prefix=LOOPS
; RUN: %vf_opt -passes='vf-spin-loops<mode=block>,verify' -S %s | FileCheck %s

target triple = "x86_64-pc-linux-gnu"

@version = global i32 0
@value = global i32 0

; LOOPS: reader: loop: seqlock reader;
; CHECK-LABEL: define i32 @reader(
; Between two writes there is nothing to block for.
; CHECK-NOT: vf_spin_wait
; CHECK: call void @llvm.x86.sse2.pause()
define i32 @reader() {
entry:
  br label %loop
loop:
  %before = load atomic i32, ptr @version acquire, align 4
  %odd = and i32 %before, 1
  %busy = icmp ne i32 %odd, 0
  br i1 %busy, label %again, label %read
read:
  %v = load atomic i32, ptr @value monotonic, align 4
  fence acquire
  %after = load atomic i32, ptr @version monotonic, align 4
  %same = icmp eq i32 %before, %after
  br i1 %same, label %exit, label %again
again:
  br label %loop
exit:
  ret i32 %v
}

; LOOPS: not_reread: loop: lock-free retry;
; Why not: no iteration waits, each reads afresh.
; CHECK-LABEL: define i32 @not_reread(
; CHECK-NOT: vf_spin_wait
; CHECK: ret i32
define i32 @not_reread() {
entry:
  br label %loop
loop:
  %before = load atomic i32, ptr @version acquire, align 4
  %v = load atomic i32, ptr @value monotonic, align 4
  %after = load atomic i32, ptr @version acquire, align 4
  %same = icmp eq i32 %before, %after
  br i1 %same, label %exit, label %loop
exit:
  ret i32 %v
}

define void @write() {
  %a = atomicrmw add ptr @version, i32 1 acquire
  store atomic i32 1, ptr @value monotonic, align 4
  %b = atomicrmw add ptr @version, i32 1 release
  ret void
}
