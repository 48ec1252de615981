; Part of the vfriendly project, under the Apache License v2.0 with LLVM
; Exceptions. See LICENSE for license information.
; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; RUN: %print_loops %s 2>&1 | FileCheck %s --check-prefix=LOOPS --implicit-check-not=not_
; RUN: %vf_opt -passes='vf-spin-loops<mode=block>,verify' -S %s | FileCheck %s

target triple = "x86_64-pc-linux-gnu"

%node = type { ptr, i32 }

; LOOPS: clh: loop: queue lock; {{.*}} x4 acquire{{$}}
; CHECK-LABEL: define void @clh(
; 772 = 0x304: never sleeps without a notify, notified, 4 bytes.
; CHECK: call preserve_mostcc i64 @vf_spin_wait_or_fallback(ptr %word, i64 %{{.*}}, i64 %vf.state, i32 8964)
define void @clh(ptr %tail, ptr %mine) {
entry:
  %before = atomicrmw xchg ptr %tail, ptr %mine acq_rel
  %link = getelementptr inbounds %node, ptr %mine, i32 0, i32 0
  store atomic ptr %mine, ptr %link monotonic, align 8
  %word = getelementptr inbounds %node, ptr %mine, i32 0, i32 1
  br label %loop
loop:
  %v = load atomic i32, ptr %word acquire, align 4
  %c = icmp eq i32 %v, 0
  br i1 %c, label %exit, label %loop
exit:
  ret void
}

; LOOPS: on_stack: loop: queue lock; {{.*}} x4 acquire{{$}}
define void @on_stack(ptr %tail) {
entry:
  %mine = alloca %node
  %word = getelementptr inbounds %node, ptr %mine, i32 0, i32 1
  store i32 1, ptr %word
  %before = atomicrmw xchg ptr %tail, ptr %mine acq_rel
  br label %loop
loop:
  %v = load atomic i32, ptr %word acquire, align 4
  %c = icmp eq i32 %v, 0
  br i1 %c, label %exit, label %loop
exit:
  ret void
}

; Why not: the node has been shown to nobody.
; CHECK-LABEL: define void @not_shown(
; CHECK-NOT: vf_spin_wait
; CHECK: ret void
define void @not_shown() {
entry:
  %mine = alloca %node
  %word = getelementptr inbounds %node, ptr %mine, i32 0, i32 1
  store i32 1, ptr %word
  br label %loop
loop:
  %v = load atomic i32, ptr %word acquire, align 4
  %c = icmp eq i32 %v, 0
  br i1 %c, label %exit, label %loop
exit:
  ret void
}

; Why not: each iteration is a step along the queue.
; CHECK-LABEL: define void @not_walk(
; CHECK-NOT: vf_spin_wait
; CHECK: ret void
define void @not_walk(ptr %first) {
entry:
  br label %loop
loop:
  %n = phi ptr [ %first, %entry ], [ %next, %loop ]
  %next = load atomic ptr, ptr %n acquire, align 8
  %c = icmp eq ptr %next, null
  br i1 %c, label %exit, label %loop
exit:
  ret void
}

define void @release(ptr %mine) {
  %word = getelementptr inbounds %node, ptr %mine, i32 0, i32 1
  store atomic i32 0, ptr %word release, align 4
  ret void
}
