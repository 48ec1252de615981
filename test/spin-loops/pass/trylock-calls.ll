; Part of the vfriendly project, under the Apache License v2.0 with LLVM
; Exceptions. See LICENSE for license information.
; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; RUN: %print_loops %s 2>&1 | FileCheck %s --check-prefix=LOOPS --implicit-check-not=not_
; RUN: %vf_opt -passes='vf-spin-loops<mode=block>,verify' -S %s | FileCheck %s

target triple = "x86_64-pc-linux-gnu"

declare i32 @pthread_mutex_trylock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @sem_trywait(ptr)

; LOOPS: mutex: loop: trylock calls; a call
; CHECK-LABEL: define void @mutex(
; No address to look at: 0 bytes, and nobody who could notify.
; CHECK: call preserve_mostcc i64 @vf_spin_wait_or_fallback(ptr null, i64 0, i64 %vf.state, i32 1024)
; CHECK: call i32 @pthread_mutex_trylock(
define void @mutex(ptr %m) {
entry:
  br label %loop
loop:
  %r = call i32 @pthread_mutex_trylock(ptr %m)
  %c = icmp eq i32 %r, 0
  br i1 %c, label %exit, label %loop
exit:
  ret void
}

; LOOPS: semaphore: loop: trylock calls; a call
define void @semaphore(ptr %s) {
entry:
  br label %loop
loop:
  %r = call i32 @sem_trywait(ptr %s)
  %c = icmp eq i32 %r, 0
  br i1 %c, label %exit, label %loop
exit:
  ret void
}

; Why not: what the function behind the pointer does is not known.
; CHECK-LABEL: define void @not_indirect(
; CHECK-NOT: vf_spin_wait
; CHECK: ret void
define void @not_indirect(ptr %trylock, ptr %m) {
entry:
  br label %loop
loop:
  %r = call i32 %trylock(ptr %m)
  %c = icmp eq i32 %r, 0
  br i1 %c, label %exit, label %loop
exit:
  ret void
}

; Why not: it gives the lock back each time.
; CHECK-LABEL: define void @not_unlocking(
; CHECK-NOT: vf_spin_wait
; CHECK: ret void
define void @not_unlocking(ptr %m) {
entry:
  br label %loop
loop:
  %r = call i32 @pthread_mutex_trylock(ptr %m)
  %u = call i32 @pthread_mutex_unlock(ptr %m)
  %c = icmp eq i32 %r, 0
  br i1 %c, label %loop, label %exit
exit:
  ret void
}
