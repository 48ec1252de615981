; Part of the vfriendly project, under the Apache License v2.0 with LLVM
; Exceptions. See LICENSE for license information.
; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; Functions whose code may not be changed, or only in part.
;
; RUN: %vf_opt -passes='vf-spin-loops<mode=block>,verify' -S -pass-remarks-missed=vf-spin-loops %s 2>&1 | FileCheck %s

target triple = "x86_64-pc-linux-gnu"

@flag = global i32 0
@address = global ptr null

; CHECK-DAG: loops of this function are not analysed without optimization
; CHECK-DAG: left as it is: the function is naked
; CHECK-DAG: left as it is: code without a red zone is kernel code
; CHECK-DAG: left as it is: this is the runtime itself
; CHECK-DAG: left as it is: its back edge is an indirect branch

; CHECK-LABEL: define void @not_optnone(
; CHECK-NOT: vf_spin_wait
; CHECK: ret void
define void @not_optnone() optnone noinline {
entry:
  br label %loop
loop:
  %v = load atomic i32, ptr @flag acquire, align 4
  %c = icmp eq i32 %v, 0
  br i1 %c, label %loop, label %exit
exit:
  ret void
}

; CHECK-LABEL: define void @not_naked(
; CHECK-NOT: vf_spin_wait
; CHECK: unreachable
define void @not_naked() naked {
entry:
  br label %loop
loop:
  %v = load atomic i32, ptr @flag acquire, align 4
  %c = icmp eq i32 %v, 0
  br i1 %c, label %loop, label %exit
exit:
  unreachable
}

; CHECK-LABEL: define void @not_noredzone(
; CHECK-NOT: vf_spin_wait
; CHECK: ret void
define void @not_noredzone() noredzone {
entry:
  br label %loop
loop:
  %v = load atomic i32, ptr @flag acquire, align 4
  %c = icmp eq i32 %v, 0
  br i1 %c, label %loop, label %exit
exit:
  ret void
}

; A wait suspends nothing, so a coroutine may wait like any other function.
; CHECK-LABEL: define void @coroutine(
; CHECK: call preserve_mostcc i64 @vf_spin_wait_or_fallback(
; CHECK: ret void
define void @coroutine() presplitcoroutine {
entry:
  br label %loop
loop:
  %v = load atomic i32, ptr @flag acquire, align 4
  %c = icmp eq i32 %v, 0
  br i1 %c, label %loop, label %exit
exit:
  ret void
}

; CHECK-LABEL: define void @vf_mutex_lock(
; CHECK-NOT: vf_spin_wait
; CHECK: ret void
define void @vf_mutex_lock() {
entry:
  br label %loop
loop:
  %v = load atomic i32, ptr @flag acquire, align 4
  %c = icmp eq i32 %v, 0
  br i1 %c, label %loop, label %exit
exit:
  ret void
}

; A computed goto leads where it leads: no block fits on the edge.
; CHECK-LABEL: define void @not_indirectbr(
; CHECK-NOT: vf_spin_wait
; CHECK: ret void
define void @not_indirectbr() {
entry:
  br label %loop
loop:
  %v = load atomic i32, ptr @flag acquire, align 4
  %c = icmp eq i32 %v, 0
  br i1 %c, label %latch, label %exit
latch:
  %a = load ptr, ptr @address
  indirectbr ptr %a, [label %loop, label %other]
other:
  br label %exit
exit:
  ret void
}

; setjmp in the function: the loop may be entered a second time, with its
; registers as they were. The wait's state is a register: 0 again, or a number
; from before; either is legal.
; CHECK-LABEL: define void @with_setjmp(
; CHECK: call preserve_mostcc i64 @vf_spin_wait_or_fallback(
; CHECK: ret void
define void @with_setjmp(ptr %buf) {
entry:
  %r = call i32 @setjmp(ptr %buf) returns_twice
  br label %loop
loop:
  %v = load atomic i32, ptr @flag acquire, align 4
  %c = icmp eq i32 %v, 0
  br i1 %c, label %loop, label %exit
exit:
  ret void
}

; Why not: a longjmp out of each iteration, or into it, is no wait.
; CHECK-LABEL: define void @not_setjmp_inside(
; CHECK-NOT: vf_spin_wait
; CHECK: ret void
define void @not_setjmp_inside(ptr %buf) {
entry:
  br label %loop
loop:
  %r = call i32 @setjmp(ptr %buf) returns_twice
  %v = load atomic i32, ptr @flag acquire, align 4
  %c = icmp eq i32 %v, 0
  br i1 %c, label %loop, label %exit
exit:
  ret void
}

; Why not: what is invoked may have an effect, and throw.
; CHECK-LABEL: define void @not_invoke(
; CHECK-NOT: vf_spin_wait
; CHECK: ret void
define void @not_invoke() personality ptr @__gxx_personality_v0 {
entry:
  br label %loop
loop:
  invoke void @may_throw() to label %next unwind label %pad
next:
  %v = load atomic i32, ptr @flag acquire, align 4
  %c = icmp eq i32 %v, 0
  br i1 %c, label %loop, label %exit
pad:
  %l = landingpad { ptr, i32 } cleanup
  resume { ptr, i32 } %l
exit:
  ret void
}

; Why not: each iteration takes an argument from the list.
; CHECK-LABEL: define i32 @not_va_arg(
; CHECK-NOT: vf_spin_wait
; CHECK-NOT: pause
; CHECK: ret i32
define i32 @not_va_arg(ptr %list) {
entry:
  br label %loop
loop:
  %last = va_arg ptr %list, i32
  %v = load atomic i32, ptr @flag acquire, align 4
  %c = icmp eq i32 %v, 0
  br i1 %c, label %loop, label %exit
exit:
  ret i32 %last
}

define void @set() {
  store atomic i32 1, ptr @flag release, align 4
  ret void
}
declare i32 @setjmp(ptr) returns_twice
declare void @may_throw()
declare i32 @__gxx_personality_v0(...)
