; Part of the vfriendly project, under the Apache License v2.0 with LLVM
; Exceptions. See LICENSE for license information.
; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; See x86_64.ll. This file differs in the instructions of the spin hint and of
; system calls.

@vf_spin_armed = extern_weak global i32
$vf_spin_never_armed = comdat any
@vf_spin_never_armed = linkonce_odr hidden global i32 0, comdat, align 4

declare extern_weak i64 @vf_spin_wait(ptr, i64, i64, i32) nonlazybind
declare extern_weak void @vf_spin_notify(ptr) nonlazybind
declare void @llvm.aarch64.isb(i32)

$vf_spin_wait_or_fallback = comdat any
define linkonce_odr hidden preserve_mostcc i64 @vf_spin_wait_or_fallback(ptr %addr, i64 %seen, i64 %state, i32 %how) noinline cold nounwind uwtable comdat {
entry:
  %time = alloca [2 x i64], align 8
  %have = icmp ne ptr @vf_spin_wait, null
  br i1 %have, label %runtime, label %fallback

runtime:
  %next = call i64 @vf_spin_wait(ptr %addr, i64 %seen, i64 %state, i32 %how) nounwind
  ret i64 %next

fallback:
  %iteration = add i64 %state, 1
  %burning = icmp slt i64 %iteration, 0
  br i1 %burning, label %burn, label %counting

burn:
  call void @llvm.aarch64.isb(i32 15)
  %burnt = and i64 %iteration, 262143
  %enough = icmp eq i64 %burnt, 0
  br i1 %enough, label %ask, label %burns

burns:
  ret i64 %iteration

counting:
  %short = icmp ult i64 %iteration, 128
  br i1 %short, label %pause, label %long

pause:
  call void @llvm.aarch64.isb(i32 15)
  ret i64 %iteration

long:
  %part = and i64 %iteration, 255
  %due = icmp eq i64 %part, 128
  br i1 %due, label %ask, label %longer

ask:
  ; getitimer, prlimit64, rt_sigaction, rt_sigprocmask, timer_gettime
  %otherwise = phi i64 [ 129, %burn ], [ %iteration, %long ]
  %counts = call i1 @vf_spin_cpu_time_counts(i64 102, i64 261, i64 134, i64 135, i64 108)
  br i1 %counts, label %begin.burning, label %longer

begin.burning:
  ret i64 -9223372036854775808

longer:
  %now = phi i64 [ %iteration, %long ], [ %otherwise, %ask ]
  %patient = icmp ult i64 %now, 4224
  %nosleep.bit = and i32 %how, 512
  %nosleep = icmp ne i32 %nosleep.bit, 0
  %yields = or i1 %patient, %nosleep
  br i1 %yields, label %yield, label %sleep

yield:
  ; sched_yield is 124
  %y = call i64 asm sideeffect "svc #0", "={x0},{x8},~{memory}"(i64 124)
  ret i64 %now

sleep:
  ; nanosleep is 101; a signal ends it early, which is fine
  store i64 0, ptr %time, align 8
  %nsec = getelementptr inbounds i8, ptr %time, i64 8
  store i64 50000, ptr %nsec, align 8
  %s = call i64 asm sideeffect "svc #0", "={x0},{x8},{x0},{x1},~{memory}"(i64 101, ptr %time, ptr null)
  ret i64 %now
}

; Makes a system call for linux.ll, the part common to all processors.
$vf_spin_syscall = comdat any
define linkonce_odr hidden i64 @vf_spin_syscall(i64 %number, i64 %a, i64 %b, i64 %c, i64 %d) noinline cold nounwind uwtable comdat {
  %result = call i64 asm sideeffect "svc #0", "={x0},{x8},{x0},{x1},{x2},{x3},~{memory}"(i64 %number, i64 %a, i64 %b, i64 %c, i64 %d)
  ret i64 %result
}

declare extern_weak { i64, i64 } @vf_spin_wait_bounded(ptr, i64, i64, i32, i64, ptr) nonlazybind

; A bounded wait: calls libvfrt if it is linked. Otherwise the loop spins as
; written, and makes the next call after 65536 polls.
$vf_spin_wait_bounded_or_fallback = comdat any
define linkonce_odr hidden preserve_mostcc { i64, i64 } @vf_spin_wait_bounded_or_fallback(ptr %addr, i64 %seen, i64 %state, i32 %how, i64 %left, ptr %cost) noinline cold nounwind uwtable comdat {
  %have = icmp ne ptr @vf_spin_wait_bounded, null
  br i1 %have, label %runtime, label %fallback

runtime:
  %next = call { i64, i64 } @vf_spin_wait_bounded(ptr %addr, i64 %seen, i64 %state, i32 %how, i64 %left, ptr %cost) nounwind
  ret { i64, i64 } %next

fallback:
  ret { i64, i64 } { i64 65535, i64 0 }
}
