; Part of the vfriendly project, under the Apache License v2.0 with LLVM
; Exceptions. See LICENSE for license information.
; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; Functions that decide a candidate loop are looked into before LLVM inlines.
;
; RUN: %vf_opt -passes='vf-spin-loops<mode=block>,verify' -S %s | FileCheck %s

target triple = "x86_64-pc-linux-gnu"

@flag = global i32 0

define internal i1 @done(ptr %p) {
  %v = load i32, ptr %p
  %c = icmp ne i32 %v, 0
  ret i1 %c
}

define internal i1 @deep(ptr %p) {
  %c = call i1 @done(ptr %p)
  ret i1 %c
}

; CHECK-LABEL: define void @hidden(
; CHECK-DAG: load atomic i32, ptr @flag acquire
; CHECK-DAG: call preserve_mostcc i64 @vf_spin_wait_or_fallback(ptr @flag,
; CHECK: ret void
define void @hidden() {
entry:
  br label %loop
loop:
  %c = call i1 @deep(ptr @flag)
  br i1 %c, label %exit, label %loop
exit:
  ret void
}

; Why not: the author forbids inlining, and the call may do anything.
; CHECK-LABEL: define void @not_noinline(
; CHECK: call i1 @done(ptr @flag) #
; CHECK-NOT: vf_spin_wait
; CHECK: ret void
define void @not_noinline() {
entry:
  br label %loop
loop:
  %c = call i1 @done(ptr @flag) noinline
  br i1 %c, label %exit, label %loop
exit:
  ret void
}

; Why not: recursion has no end to look into.
; CHECK-LABEL: define void @not_recursive(
; CHECK-NOT: vf_spin_wait
; CHECK: ret void
define internal i1 @recursive(ptr %p) {
  %v = load i32, ptr %p
  %c = icmp ne i32 %v, 0
  br i1 %c, label %yes, label %again
again:
  %r = call i1 @recursive(ptr %p)
  ret i1 %r
yes:
  ret i1 true
}
define void @not_recursive() {
entry:
  br label %loop
loop:
  %c = call i1 @recursive(ptr @flag)
  br i1 %c, label %exit, label %loop
exit:
  ret void
}

; Calls outside of candidate loops stay LLVM's business.
; CHECK-LABEL: define i1 @not_in_loop(
; CHECK: call i1 @done(
define i1 @not_in_loop() {
  %c = call i1 @done(ptr @flag)
  ret i1 %c
}

define void @set() {
  store i32 1, ptr @flag
  ret void
}
