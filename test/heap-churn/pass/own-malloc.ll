; Part of the vfriendly project, under the Apache License v2.0 with LLVM
; Exceptions. See LICENSE for license information.
; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; An allocator of the program's own takes all its memory back when it is reset: a buffer that
; is kept for the next iteration would then be another's as well.
;
; RUN: %vf_opt -passes='vf-heap-churn,verify' -S %s -o - | FileCheck %s

@used = internal global i64 0
@memory = internal global [65536 x i8] zeroinitializer

define noalias ptr @malloc(i64 %n) noinline nounwind willreturn allockind("alloc,uninitialized") allocsize(0) "alloc-family"="malloc" {
  %at = load i64, ptr @used
  %p = getelementptr i8, ptr @memory, i64 %at
  %after = add i64 %at, %n
  store i64 %after, ptr @used
  ret ptr %p
}
define void @free(ptr allocptr nocapture %p) noinline nounwind willreturn allockind("free") "alloc-family"="malloc" {
  ret void
}
define void @reset() noinline nounwind willreturn {
  store i64 0, ptr @used
  ret void
}
declare i32 @look(ptr nocapture) nounwind willreturn nofree nocallback memory(argmem: read)

; CHECK-LABEL: @rounds(
; CHECK: loop:
; CHECK: call ptr @malloc
; CHECK: call void @free
; CHECK: br i1
define i32 @rounds(i64 %n, i32 %k) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %p = call ptr @malloc(i64 %n)
  store i32 %i, ptr %p
  %r = call i32 @look(ptr %p)
  call void @free(ptr %p)
  call void @reset()
  %next = add i32 %i, %r
  %done = icmp eq i32 %next, %k
  br i1 %done, label %exit, label %loop
exit:
  ret i32 %r
}
