; Part of the vfriendly project, under the Apache License v2.0 with LLVM
; Exceptions. See LICENSE for license information.
; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; What was true of memory that each iteration had for itself is not said of what they share.
;
; RUN: %vf_opt -passes='vf-heap-churn,verify' -S %s -o - | FileCheck %s

declare noalias ptr @malloc(i64) nounwind allockind("alloc,uninitialized") allocsize(0) "alloc-family"="malloc"
declare void @free(ptr allocptr nocapture) nounwind willreturn allockind("free") "alloc-family"="malloc"
declare i32 @look(ptr nocapture) nounwind willreturn nofree nocallback memory(argmem: read)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

; A call marked tail does not see the frame of its caller, for alias analysis.
; CHECK-LABEL: @tail(
; CHECK: alloca [16 x i8], align 16, !vf.heap
; CHECK-NEXT: {{^}}  call void @llvm.memset
; CHECK-NEXT: %r = call i32 @look
; CHECK-NEXT: ret
define i32 @tail() {
  %p = tail call ptr @malloc(i64 16)
  tail call void @llvm.memset.p0.i64(ptr %p, i8 1, i64 16, i1 false)
  %r = tail call i32 @look(ptr %p)
  tail call void @free(ptr %p)
  ret i32 %r
}

; An int in one iteration and a float in the next are at the same place: neither may go before the
; other. Nor may iterations run at the same time, nor is what is read the same in all.
; CHECK-LABEL: @types(
; CHECK: %r = call i32 @look
; CHECK: load i32, ptr %buffer, align 4{{$}}
; CHECK: store float 1.000000e+00, ptr %buffer, align 4{{$}}
; CHECK: ret
define i32 @types(i64 %n, i32 %k) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %join ]
  %p = call ptr @malloc(i64 %n)
  %r = call i32 @look(ptr %p)
  %c = trunc i32 %r to i1
  br i1 %c, label %left, label %right
left:
  %v = load i32, ptr %p, align 4, !tbaa !0, !invariant.load !5, !llvm.access.group !6
  br label %join
right:
  store float 1.0, ptr %p, align 4, !tbaa !3, !llvm.access.group !6
  br label %join
join:
  %w = phi i32 [ %v, %left ], [ 0, %right ]
  call void @free(ptr %p)
  %next = add i32 %i, 1
  %done = icmp eq i32 %next, %k
  br i1 %done, label %exit, label %loop
exit:
  ret i32 %w
}

; All of one type: that may still be said.
; CHECK-LABEL: @one_type(
; CHECK: store i32 {{.*}}!tbaa
define i32 @one_type(i64 %n, i32 %k) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %p = call ptr @malloc(i64 %n)
  store i32 %i, ptr %p, align 4, !tbaa !0
  %r = call i32 @look(ptr %p)
  call void @free(ptr %p)
  %next = add i32 %i, %r
  %done = icmp eq i32 %next, %k
  br i1 %done, label %exit, label %loop
exit:
  ret i32 %r
}

!0 = !{!1, !1, i64 0}
!1 = !{!"int", !2, i64 0}
!2 = !{!"omnipotent char", !8, i64 0}
!3 = !{!4, !4, i64 0}
!4 = !{!"float", !2, i64 0}
!5 = !{}
!6 = distinct !{}
!8 = !{!"Simple C/C++ TBAA"}
