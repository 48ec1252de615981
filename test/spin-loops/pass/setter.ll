; Part of the vfriendly project, under the Apache License v2.0 with LLVM
; Exceptions. See LICENSE for license information.
; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; The word is written by a small function: its callers, who know which word it
; is, notify.
;
; RUN: %vf_opt -passes='vf-spin-loops<mode=block>,verify' -S %s | FileCheck %s

target triple = "x86_64-pc-linux-gnu"

@flag = global i32 0

define internal void @set(ptr %p, i32 %v) {
  store atomic i32 %v, ptr %p release, align 4
  ret void
}

; CHECK-LABEL: define void @wait(
; CHECK: call preserve_mostcc i64 @vf_spin_wait_or_fallback(ptr @flag, i64 %{{.*}}, i64 %vf.state, i32 8452)
define void @wait() {
entry:
  br label %loop
loop:
  %v = load atomic i32, ptr @flag acquire, align 4
  %c = icmp eq i32 %v, 0
  br i1 %c, label %loop, label %exit
exit:
  ret void
}

; CHECK-LABEL: define void @release(
; CHECK: call void @set(ptr @flag, i32 1)
; CHECK: call void @vf_spin_notify(ptr @flag)
define void @release() {
  call void @set(ptr @flag, i32 1)
  ret void
}

; Why not: it writes another word.
; CHECK-LABEL: define void @not_flag(
; CHECK-NOT: vf_spin_notify
; CHECK: ret void
define void @not_flag() {
  %local = alloca i32
  call void @set(ptr %local, i32 1)
  ret void
}
