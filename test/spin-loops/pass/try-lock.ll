; Part of the vfriendly project, under the Apache License v2.0 with LLVM
; Exceptions. See LICENSE for license information.
; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; A read-modify-write is tried until it takes the lock: analysis and rewrite.
;
; RUN: %print_loops %s 2>&1 | FileCheck %s --check-prefix=LOOPS --implicit-check-not="not_{{.*}}: {{(try|flag)}}"
; RUN: %vf_opt -passes='vf-spin-loops<mode=block>,verify' -S %s | FileCheck %s

target triple = "x86_64-pc-linux-gnu"

@lock = global i32 0

; LOOPS: cas: loop: try-lock; @lock x4 acquire try{{$}}
; CHECK-LABEL: define void @cas(
; The value the failed try saw is what the runtime compares.
; CHECK-DAG: %[[OLD:.*]] = extractvalue { i32, i1 } %x, 0
; CHECK-DAG: %[[WIDE:.*]] = zext i32 %[[OLD]] to i64
; CHECK-DAG: call preserve_mostcc i64 @vf_spin_wait_or_fallback(ptr @lock, i64 %[[WIDE]], i64 %vf.state, i32 8452)
define void @cas() {
entry:
  br label %loop
loop:
  %x = cmpxchg weak ptr @lock, i32 0, i32 1 acquire monotonic
  %ok = extractvalue { i32, i1 } %x, 1
  br i1 %ok, label %exit, label %loop
exit:
  ret void
}

; LOOPS: exchange: loop: try-lock; @lock x4 acquire try{{$}}
; CHECK-LABEL: define void @exchange(
; CHECK-DAG: call preserve_mostcc i64 @vf_spin_wait_or_fallback(ptr @lock, i64 %{{.*}}, i64 %vf.state, i32 8452)
define void @exchange() {
entry:
  br label %loop
loop:
  %v = atomicrmw xchg ptr @lock, i32 1 acquire
  %c = icmp eq i32 %v, 0
  br i1 %c, label %exit, label %loop
exit:
  ret void
}

; LOOPS: or: loop: try-lock; @lock x4 seq_cst try{{$}}
; CHECK-LABEL: define void @or(
; CHECK-DAG: call preserve_mostcc i64 @vf_spin_wait_or_fallback(ptr @lock,
define void @or() {
entry:
  br label %loop
loop:
  %v = atomicrmw or ptr @lock, i32 8 seq_cst
  %b = and i32 %v, 8
  %c = icmp eq i32 %b, 0
  br i1 %c, label %exit, label %loop
exit:
  ret void
}

; LOOPS: not_expected_reread: loop: lock-free retry
; Why not: the expected value was just read, so the next try can succeed.
; CHECK-LABEL: define void @not_expected_reread(
; CHECK-NOT: vf_spin_wait
; CHECK: ret void
define void @not_expected_reread() {
entry:
  br label %loop
loop:
  %v = load atomic i32, ptr @lock monotonic, align 4
  %n = add i32 %v, 1
  %x = cmpxchg weak ptr @lock, i32 %v, i32 %n acquire monotonic
  %ok = extractvalue { i32, i1 } %x, 1
  br i1 %ok, label %exit, label %loop
exit:
  ret void
}

; Why not: each try adds to the word.
; CHECK-LABEL: define void @not_add(
; CHECK-NOT: vf_spin_wait
; CHECK: ret void
define void @not_add() {
entry:
  br label %loop
loop:
  %v = atomicrmw add ptr @lock, i32 1 seq_cst
  %c = icmp sgt i32 %v, 10
  br i1 %c, label %exit, label %loop
exit:
  ret void
}

; Why not: each try inverts what it finds (nand, uinc_wrap and the like change
; the word each time).
; CHECK-LABEL: define void @not_nand(
; CHECK-NOT: vf_spin_wait
; CHECK: ret void
define void @not_nand() {
entry:
  br label %loop
loop:
  %v = atomicrmw nand ptr @lock, i32 1 seq_cst
  %c = icmp sgt i32 %v, 10
  br i1 %c, label %exit, label %loop
exit:
  ret void
}

; Why not: it stays as long as the exchange succeeds.
; CHECK-LABEL: define void @not_success(
; CHECK-NOT: vf_spin_wait
; CHECK: ret void
define void @not_success() {
entry:
  br label %loop
loop:
  %x = cmpxchg ptr @lock, i32 0, i32 1 acquire monotonic
  %ok = extractvalue { i32, i1 } %x, 1
  br i1 %ok, label %loop, label %exit
exit:
  ret void
}

define void @unlock() {
  store atomic i32 0, ptr @lock release, align 4
  ret void
}
