; Part of the vfriendly project, under the Apache License v2.0 with LLVM
; Exceptions. See LICENSE for license information.
; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; What is not LLVM's to move, or where it must not be moved: nothing of this file changes.
;
; RUN: %vf_opt -passes='vf-heap-churn,verify' -S %s -o - | FileCheck %s --implicit-check-not='!vf.heap' --implicit-check-not=vf_pool
;
; Each function has one allocation, and one free in it, before and after.
; CHECK-COUNT-20: call {{.*}}@malloc(i64

declare noalias ptr @malloc(i64) allockind("alloc,uninitialized") allocsize(0) "alloc-family"="malloc"
declare void @free(ptr allocptr nocapture) nounwind willreturn allockind("free") "alloc-family"="malloc"
declare ptr @realloc(ptr allocptr nocapture, i64) allockind("realloc") allocsize(1) "alloc-family"="malloc"
declare i32 @look(ptr nocapture) nounwind willreturn nofree nocallback memory(argmem: read)
declare i32 @may_free(ptr nocapture) nounwind willreturn nocallback
declare i32 @by_value(ptr byval(i32) nocapture) nounwind willreturn nofree nocallback
declare i32 @setjmp(ptr) returns_twice
declare ptr @llvm.ptr.annotation.p0.p0(ptr, ptr, ptr, i32, ptr)
declare i64 @llvm.objectsize.i64.p0(ptr, i1 immarg, i1 immarg, i1 immarg)
declare i64 @malloc_usable_size(ptr)

define i32 @not_optimized() noinline optnone {
  %p = call ptr @malloc(i64 16)
  store i32 1, ptr %p
  call void @free(ptr %p)
  ret i32 1
}

define i32 @naked() naked noinline {
  %p = call ptr @malloc(i64 16)
  call void @free(ptr %p)
  unreachable
}

define i32 @sanitized() sanitize_address {
  %p = call ptr @malloc(i64 16)
  store i32 1, ptr %p
  %r = call i32 @look(ptr %p)
  call void @free(ptr %p)
  ret i32 %r
}

; Split later, and the frame is the heap's then.
define i32 @coroutine() presplitcoroutine {
  %p = call ptr @malloc(i64 16)
  store i32 1, ptr %p
  %r = call i32 @look(ptr %p)
  call void @free(ptr %p)
  ret i32 %r
}

; Behind the second return it may be freed already.
define i32 @twice(ptr %b) {
  %p = call ptr @malloc(i64 16)
  store i32 1, ptr %p
  %again = call i32 @setjmp(ptr %b) returns_twice
  %r = call i32 @look(ptr %p)
  call void @free(ptr %p)
  ret i32 %r
}

; Someone's own malloc.
define i32 @not_builtin() {
  %p = call ptr @malloc(i64 16) nobuiltin
  store i32 1, ptr %p
  %r = call i32 @look(ptr %p)
  call void @free(ptr %p) nobuiltin
  ret i32 %r
}

define i32 @no_builtins() "no-builtins" {
  %p = call ptr @malloc(i64 16) nobuiltin
  store i32 1, ptr %p
  %r = call i32 @look(ptr %p)
  call void @free(ptr %p) nobuiltin
  ret i32 %r
}

; Its declaration promises more than a frame does: the load relies on it.
define i32 @aligned() {
  %p = call align 64 ptr @malloc(i64 64)
  store i32 1, ptr %p, align 64
  %r = call i32 @look(ptr %p)
  call void @free(ptr %p)
  ret i32 %r
}

; A device may look at it.
define i32 @volatile() {
  %p = call ptr @malloc(i64 16)
  store volatile i32 1, ptr %p
  call void @free(ptr %p)
  ret i32 1
}

; What is freed is not what was taken.
define i32 @freed_by_callee() {
  %p = call ptr @malloc(i64 16)
  store i32 1, ptr %p
  %r = call i32 @may_free(ptr %p)
  ret i32 %r
}

define i32 @changed() {
  %p = call ptr @malloc(i64 16)
  %q = call ptr @realloc(ptr %p, i64 32)
  %r = call i32 @look(ptr %q)
  call void @free(ptr %q)
  ret i32 %r
}

; Its address is seen.
define i1 @compared(ptr %other) {
  %p = call ptr @malloc(i64 16)
  store i32 1, ptr %p
  %r = icmp eq ptr %p, %other
  call void @free(ptr %p)
  ret i1 %r
}

define i64 @number() {
  %p = call ptr @malloc(i64 16)
  %r = ptrtoint ptr %p to i64
  call void @free(ptr %p)
  ret i64 %r
}

; The difference of an address and zero is the address, in the second iteration.
define i64 @half_a_difference(i1 %c) {
entry:
  br i1 %c, label %take, label %join
take:
  %p = call ptr @malloc(i64 16)
  %n = ptrtoint ptr %p to i64
  br label %join
join:
  %m = phi i64 [ 0, %take ], [ 0, %entry ]
  %k = phi i64 [ %n, %take ], [ 0, %entry ]
  %q = phi ptr [ %p, %take ], [ null, %entry ]
  %r = sub i64 %k, %m
  call void @free(ptr %q)
  ret i64 %r
}

; The distance between what two earlier iterations have taken is none within a block, and in the
; second iteration it is the address.
define i64 @two_rounds(i32 %n) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %sum = phi i64 [ 0, %entry ], [ %more, %loop ]
  %a = phi i64 [ 0, %entry ], [ %number, %loop ]
  %b = phi i64 [ 0, %entry ], [ %a, %loop ]
  %p = call ptr @malloc(i64 16)
  %number = ptrtoint ptr %p to i64
  %distance = sub i64 %a, %b
  %more = add i64 %sum, %distance
  %v = call i32 @look(ptr %p)
  call void @free(ptr %p)
  %next = add i32 %i, %v
  %done = icmp eq i32 %next, %n
  br i1 %done, label %exit, label %loop
exit:
  ret i64 %more
}

; What an annotation returns is the same block, and is freed.
define i32 @annotated(i32 %n) {
  %p = call ptr @malloc(i64 16)
  %q = call ptr @llvm.ptr.annotation.p0.p0(ptr %p, ptr null, ptr null, i32 1, ptr null)
  store i32 1, ptr %q
  call void @free(ptr %q)
  ret i32 1
}

; No pool either: one of the two frees would be given its blocks.
define i32 @annotated_run(i1 %c) {
entry:
  %v = alloca [64 x ptr]
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %n, %loop ]
  %p = call ptr @malloc(i64 40)
  %s = getelementptr inbounds [64 x ptr], ptr %v, i64 0, i64 %i
  store ptr %p, ptr %s
  %n = add i64 %i, 1
  %d = icmp eq i64 %n, 64
  br i1 %d, label %out, label %loop
out:
  %j = phi i64 [ 0, %loop ], [ %m, %next ]
  %t = getelementptr inbounds [64 x ptr], ptr %v, i64 0, i64 %j
  %q = load ptr, ptr %t
  br i1 %c, label %one, label %two
one:
  call void @free(ptr %q)
  br label %next
two:
  %r = call ptr @llvm.ptr.annotation.p0.p0(ptr %q, ptr null, ptr null, i32 1, ptr null)
  call void @free(ptr %r)
  br label %next
next:
  %m = add i64 %j, 1
  %e = icmp eq i64 %m, 64
  br i1 %e, label %done, label %out
done:
  ret i32 1
}

; How much there is, is seen.
define i64 @measured(i64 %n) {
  %p = call ptr @malloc(i64 %n)
  %r = call i64 @malloc_usable_size(ptr %p)
  call void @free(ptr %p)
  ret i64 %r
}

; What the iteration before has left is read: two blocks at a time, one frame.
define i32 @round_before(i32 %n) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %sum = phi i32 [ 0, %entry ], [ %more, %loop ]
  %before = phi ptr [ poison, %entry ], [ %p, %loop ]
  %p = call ptr @malloc(i64 16)
  store i32 %i, ptr %p
  %first = icmp eq i32 %i, 0
  %q = select i1 %first, ptr %p, ptr %before
  %v = call i32 @look(ptr %q)
  %more = add i32 %sum, %v
  %next = add i32 %i, 1
  %done = icmp eq i32 %next, %n
  br i1 %done, label %exit, label %loop
exit:
  ret i32 %more
}

; A size that the program may print.
define i32 @told_size(ptr %n) {
  %p = call ptr @malloc(i64 200)
  %r = call i64 @llvm.objectsize.i64.p0(ptr %p, i1 false, i1 true, i1 true)
  store i64 %r, ptr %n
  call void @free(ptr %p)
  ret i32 0
}
