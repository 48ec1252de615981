; Part of the vfriendly project, under the Apache License v2.0 with LLVM
; Exceptions. See LICENSE for license information.
; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; The functions that each rewritten object file contains: they call libvfrt, or
; wait without it if it is not linked. The contract is that of vf_spin_wait in
; vfriendly/spin_wait.h; here the state is the number of failed polls, which is
; 64 at the first call (VF_SPIN_POLLS_UNCALLED).
;
; Without the runtime no writer notifies, so the wait pauses 64 times (a few
; microseconds, enough for a hand-over between running threads), yields 4096
; times (about a millisecond if no other thread wants the CPU, longer
; otherwise), then sleeps 50 us at a time, less than 1/16 of the time that it
; has waited until then. With VF_SPIN_NO_SLEEP (0x200) it yields for ever.
; Before the first yield, before the first sleep, and then every 256 calls it
; tests whether the process may get a signal after using more CPU time
; (linux.ll); if so, it only pauses, with bit 63 of the state set, and tests
; again after 2^18 pauses, 10 ms. System calls are made directly, so that they
; do not change errno. preserve_mostcc preserves most of the caller's registers,
; so that a wait whose first poll succeeds needs no stack frame.

@vf_spin_armed = extern_weak global i32
$vf_spin_never_armed = comdat any
@vf_spin_never_armed = linkonce_odr hidden global i32 0, comdat, align 4

declare extern_weak i64 @vf_spin_wait(ptr, i64, i64, i32) nonlazybind
declare extern_weak void @vf_spin_notify(ptr) nonlazybind
declare void @llvm.x86.sse2.pause()

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
  call void @llvm.x86.sse2.pause()
  %burnt = and i64 %iteration, 262143
  %enough = icmp eq i64 %burnt, 0
  br i1 %enough, label %ask, label %burns

burns:
  ret i64 %iteration

counting:
  %short = icmp ult i64 %iteration, 128
  br i1 %short, label %pause, label %long

pause:
  call void @llvm.x86.sse2.pause()
  ret i64 %iteration

long:
  %part = and i64 %iteration, 255
  %due = icmp eq i64 %part, 128
  br i1 %due, label %ask, label %longer

ask:
  ; getitimer, prlimit64, rt_sigaction, rt_sigprocmask, timer_gettime
  %otherwise = phi i64 [ 129, %burn ], [ %iteration, %long ]
  %counts = call i1 @vf_spin_cpu_time_counts(i64 36, i64 302, i64 13, i64 14, i64 224)
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
  ; sched_yield is 24
  %y = call i64 asm sideeffect "syscall", "={ax},{ax},~{rcx},~{r11},~{memory},~{dirflag},~{fpsr},~{flags}"(i64 24)
  ret i64 %now

sleep:
  ; nanosleep is 35; a signal ends it early, which is fine
  store i64 0, ptr %time, align 8
  %nsec = getelementptr inbounds i8, ptr %time, i64 8
  store i64 50000, ptr %nsec, align 8
  %s = call i64 asm sideeffect "syscall", "={ax},{ax},{di},{si},~{rcx},~{r11},~{memory},~{dirflag},~{fpsr},~{flags}"(i64 35, ptr %time, ptr null)
  ret i64 %now
}

; Makes a system call for linux.ll, the part common to all processors.
$vf_spin_syscall = comdat any
define linkonce_odr hidden i64 @vf_spin_syscall(i64 %number, i64 %a, i64 %b, i64 %c, i64 %d) noinline cold nounwind uwtable comdat {
  %result = call i64 asm sideeffect "syscall", "={ax},{ax},{di},{si},{dx},{r10},~{rcx},~{r11},~{memory},~{dirflag},~{fpsr},~{flags}"(i64 %number, i64 %a, i64 %b, i64 %c, i64 %d)
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
