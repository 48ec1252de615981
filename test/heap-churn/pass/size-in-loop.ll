; Part of the vfriendly project, under the Apache License v2.0 with LLVM
; Exceptions. See LICENSE for license information.
; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; A size that the loop computes from an argument: its last operand is no instruction. The
; compiler crashed here.
; RUN: opt -load-pass-plugin=%vf_plugin -passes='vf-heap-churn,verify' -pass-remarks=vf-heap-churn -S %s 2>&1 | FileCheck %s

declare noalias ptr @malloc(i64) nounwind willreturn allockind("alloc,uninitialized") allocsize(0) "alloc-family"="malloc"
declare void @free(ptr allocptr) nounwind willreturn allockind("free") "alloc-family"="malloc"
declare void @fill(ptr nocapture, i64) nounwind nocallback nofree willreturn memory(argmem: readwrite)

; CHECK: remark: {{.*}} the block that each iteration of the loop allocates and frees is allocated once
define void @from_argument(i64 %n, i32 %times) {
entry:
  br label %loop

loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %size = add i64 %n, 1
  %block = call ptr @malloc(i64 %size)
  call void @fill(ptr %block, i64 %size)
  call void @free(ptr %block)
  %next = add i32 %i, 1
  %more = icmp slt i32 %next, %times
  br i1 %more, label %loop, label %end

end:
  ret void
}
