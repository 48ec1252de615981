; Part of the vfriendly project, under the Apache License v2.0 with LLVM
; Exceptions. See LICENSE for license information.
; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; A pointer that steps through a table has one more path to the object with each step, and
; a call may disagree with its callee about types: the compiler ends, and places nothing.
;
; RUN: %vf_opt -passes=vf-numa-placement -S %s -o - | FileCheck %s
; CHECK: define void @forward
; CHECK-NOT: vf_numa

@slots = internal global [64 x ptr] zeroinitializer

; Stores the block in each slot, and writes it.
define void @forward(i1 %more) {
entry:
  %m = call noalias ptr @malloc(i64 65536)
  br label %loop
loop:
  %p = phi ptr [ @slots, %entry ], [ %next, %loop ]
  store ptr %m, ptr %p
  %next = getelementptr i8, ptr %p, i64 8
  br i1 %more, label %loop, label %exit
exit:
  %id = alloca i64
  %started = call i32 @pthread_create(ptr %id, ptr null, ptr @body, ptr %m)
  ret void
}

; The same towards lower addresses, by a function that calls itself.
define void @backward(ptr %p, ptr %m) {
  store ptr %m, ptr %p
  %next = getelementptr i8, ptr %p, i64 -8
  call void @backward(ptr %next, ptr %m)
  ret void
}

define void @start_backward() {
  %m = call noalias ptr @malloc(i64 65536)
  call void @backward(ptr @slots, ptr %m)
  %id = alloca i64
  %started = call i32 @pthread_create(ptr %id, ptr null, ptr @body, ptr %m)
  ret void
}

; Types that disagree.
define ptr @nothing(ptr %p) {
  %m = call noalias ptr @malloc(i64 65536)
  store ptr %m, ptr %p
  ret ptr %m
}

define void @wrong_types() {
  %a = call ptr @nothing(i64 0)
  %b = call ptr @no_value()
  %m = call noalias ptr @malloc(i64 65536)
  store ptr %m, ptr %b
  ret void
}

define void @no_value() {
  ret void
}

define ptr @body(ptr %block) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %at = getelementptr i8, ptr %block, i64 %i
  store i8 1, ptr %at
  %next = add i64 %i, 1
  %ends = icmp eq i64 %next, 65536
  br i1 %ends, label %exit, label %loop
exit:
  ret ptr null
}

declare noalias ptr @malloc(i64) allockind("alloc,uninitialized") allocsize(0) "alloc-family"="malloc"
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
