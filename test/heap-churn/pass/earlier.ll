; Part of the vfriendly project, under the Apache License v2.0 with LLVM
; Exceptions. See LICENSE for license information.
; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; RUN: %vf_opt -passes='vf-heap-churn,verify' -S %s -o - | FileCheck %s

declare noalias ptr @malloc(i64) nounwind allockind("alloc,uninitialized") allocsize(0) "alloc-family"="malloc"
declare void @free(ptr allocptr nocapture) nounwind willreturn allockind("free") "alloc-family"="malloc"
declare i32 @look(ptr nocapture) nounwind willreturn nofree nocallback memory(argmem: read)
declare void @unknown()

; Control always comes back to the block of the first use, but the use in `sometimes` is of
; the same iteration: freed before the call, it would be read after its free.
; CHECK-LABEL: @next_round(
; CHECK: call i32 @look
; CHECK-NEXT: icmp
; CHECK: call void @unknown
; CHECK: call i32 @look
; CHECK: call void @free
; CHECK: call void @free
define i32 @next_round(i64 %n) {
entry:
  br label %loop
loop:
  %p = call ptr @malloc(i64 %n)
  %r = call i32 @look(ptr %p)
  %c = icmp eq i32 %r, 3
  br i1 %c, label %exit, label %more
more:
  call void @unknown()
  %d = trunc i32 %r to i1
  br i1 %d, label %sometimes, label %latch
sometimes:
  store i8 2, ptr %p
  %s = call i32 @look(ptr %p)
  br label %latch
latch:
  call void @free(ptr %p)
  call void @unknown()
  br label %loop
exit:
  call void @free(ptr %p)
  ret i32 %r
}

; Without that use it can be.
; CHECK-LABEL: @this_round(
; CHECK: call i32 @look
; CHECK-NEXT: call void @free
; CHECK-NOT: call void @free
; CHECK: call void @unknown
; CHECK-NOT: call void @free
; CHECK: ret
define i32 @this_round(i64 %n) {
entry:
  br label %loop
loop:
  %p = call ptr @malloc(i64 %n)
  %r = call i32 @look(ptr %p)
  %c = icmp eq i32 %r, 3
  br i1 %c, label %exit, label %more
more:
  call void @unknown()
  br label %latch
latch:
  call void @free(ptr %p)
  call void @unknown()
  br label %loop
exit:
  call void @free(ptr %p)
  ret i32 %r
}
