; Part of the vfriendly project, under the Apache License v2.0 with LLVM
; Exceptions. See LICENSE for license information.
; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; The lock is read until it looks free, and only then tried.
;
; RUN: %print_loops %s 2>&1 | FileCheck %s --check-prefix=LOOPS
; RUN: %vf_opt -passes='vf-spin-loops<mode=block>,verify' -S %s | FileCheck %s

target triple = "x86_64-pc-linux-gnu"

@lock = global i32 0

; LOOPS: nested: poll: flag poll; @lock x4 monotonic{{$}}
; LOOPS: nested: try: test-and-test-and-set; @lock x4 acquire try{{$}}
; The inner loop waits; the outer one needs no wait of its own.
; CHECK-LABEL: define void @nested(
; CHECK-COUNT-1: call preserve_mostcc i64 @vf_spin_wait_or_fallback(ptr @lock,
; CHECK-NOT: vf_spin_wait_or_fallback
; CHECK: ret void
define void @nested() {
entry:
  br label %try
try:
  %old = atomicrmw xchg ptr @lock, i32 1 acquire
  %free = icmp eq i32 %old, 0
  br i1 %free, label %exit, label %poll
poll:
  %v = load atomic i32, ptr @lock monotonic, align 4
  %c = icmp eq i32 %v, 0
  br i1 %c, label %try, label %poll
exit:
  ret void
}

; LOOPS: joined: poll: test-and-test-and-set; {{.*}}@lock x4
; CHECK-LABEL: define void @joined(
; CHECK-DAG: call preserve_mostcc i64 @vf_spin_wait_or_fallback(ptr @lock,
; CHECK: ret void
define void @joined() {
entry:
  br label %poll
poll:
  %v = load atomic i32, ptr @lock monotonic, align 4
  %c = icmp eq i32 %v, 0
  br i1 %c, label %try, label %again
try:
  %old = atomicrmw xchg ptr @lock, i32 1 acquire
  %free = icmp eq i32 %old, 0
  br i1 %free, label %exit, label %again
again:
  br label %poll
exit:
  ret void
}

; Why not: it writes what it found each time round.
; CHECK-LABEL: define void @not_tracing(
; CHECK-NOT: vf_spin_wait
; CHECK: ret void
define void @not_tracing(ptr %trace) {
entry:
  br label %poll
poll:
  %v = load atomic i32, ptr @lock monotonic, align 4
  store i32 %v, ptr %trace
  %c = icmp eq i32 %v, 0
  br i1 %c, label %try, label %again
try:
  %old = atomicrmw xchg ptr @lock, i32 1 acquire
  %free = icmp eq i32 %old, 0
  br i1 %free, label %exit, label %again
again:
  br label %poll
exit:
  ret void
}

define void @unlock() {
  store atomic i32 0, ptr @lock release, align 4
  ret void
}
