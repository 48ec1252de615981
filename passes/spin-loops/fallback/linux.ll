; Part of the vfriendly project, under the Apache License v2.0 with LLVM
; Exceptions. See LICENSE for license information.
; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; The common part of the fallbacks for Linux: the build appends this file to
; that of each processor.
;
; The functions test whether the process may get a signal once it has used more
; CPU time; if so, a wait only pauses. runtime/platform/linux/cpu_timers.h
; explains which signals these are and why the test is made in this way; keep
; both files consistent. The structures consist of 64-bit words: itimerval and
; itimerspec have it_value in words 2 and 3, rlimit has the soft limit in word
; 0, and the kernel's sigaction has the handler in word 0.

$vf_spin_timer_runs = comdat any
define linkonce_odr hidden i1 @vf_spin_timer_runs(i64 %call, i64 %first, i64 %end) noinline cold nounwind uwtable comdat {
entry:
  %timer = alloca [4 x i64], align 8
  %address = ptrtoint ptr %timer to i64
  br label %each

each:
  %id = phi i64 [ %first, %entry ], [ %next, %more ]
  %error = call i64 @vf_spin_syscall(i64 %call, i64 %id, i64 %address, i64 0, i64 0)
  %exists = icmp eq i64 %error, 0
  br i1 %exists, label %look, label %more

look:
  %seconds.at = getelementptr inbounds i8, ptr %timer, i64 16
  %rest.at = getelementptr inbounds i8, ptr %timer, i64 24
  %seconds = load volatile i64, ptr %seconds.at, align 8
  %rest = load volatile i64, ptr %rest.at, align 8
  %left = or i64 %seconds, %rest
  %runs = icmp ne i64 %left, 0
  br i1 %runs, label %found, label %more

found:
  ret i1 true

more:
  %next = add i64 %id, 1
  %over = icmp eq i64 %next, %end
  br i1 %over, label %none, label %each

none:
  ret i1 false
}

$vf_spin_is_limited = comdat any
define linkonce_odr hidden i1 @vf_spin_is_limited(i64 %prlimit, i64 %resource) noinline cold nounwind uwtable comdat {
  %limit = alloca [2 x i64], align 8
  %address = ptrtoint ptr %limit to i64
  ; process 0 is this one
  %error = call i64 @vf_spin_syscall(i64 %prlimit, i64 0, i64 %resource, i64 0, i64 %address)
  %soft = load volatile i64, ptr %limit, align 8
  %exists = icmp eq i64 %error, 0
  %ends = icmp ne i64 %soft, -1
  %limited = and i1 %exists, %ends
  ret i1 %limited
}

$vf_spin_cpu_time_counts = comdat any
define linkonce_odr hidden i1 @vf_spin_cpu_time_counts(i64 %getitimer, i64 %prlimit, i64 %sigaction, i64 %sigprocmask, i64 %timer_gettime) noinline cold nounwind uwtable comdat {
entry:
  %memory = alloca [4 x i64], align 8
  %address = ptrtoint ptr %memory to i64
  ; ITIMER_VIRTUAL is 1, ITIMER_PROF is 2
  %interval = call i1 @vf_spin_timer_runs(i64 %getitimer, i64 1, i64 3)
  br i1 %interval, label %counts, label %limit

limit:
  ; RLIMIT_CPU is 0, RLIMIT_RTTIME is 15
  %cpu = call i1 @vf_spin_is_limited(i64 %prlimit, i64 0)
  %realtime = call i1 @vf_spin_is_limited(i64 %prlimit, i64 15)
  %limited = or i1 %cpu, %realtime
  br i1 %limited, label %action, label %timers

action:
  ; SIGXCPU is 24, SIG_DFL and SIG_IGN are 0 and 1
  %no.action = call i64 @vf_spin_syscall(i64 %sigaction, i64 24, i64 0, i64 %address, i64 8)
  %handler = load volatile i64, ptr %memory, align 8
  %has.action = icmp eq i64 %no.action, 0
  %has.handler = icmp ugt i64 %handler, 1
  %is.handled = and i1 %has.action, %has.handler
  br i1 %is.handled, label %counts, label %mask

mask:
  %no.mask = call i64 @vf_spin_syscall(i64 %sigprocmask, i64 0, i64 0, i64 %address, i64 8)
  %blocked = load volatile i64, ptr %memory, align 8
  %bit = and i64 %blocked, 8388608
  %has.mask = icmp eq i64 %no.mask, 0
  %has.bit = icmp ne i64 %bit, 0
  %is.blocked = and i1 %has.mask, %has.bit
  br i1 %is.blocked, label %counts, label %timers

timers:
  %posix = call i1 @vf_spin_timer_runs(i64 %timer_gettime, i64 0, i64 16)
  ret i1 %posix

counts:
  ret i1 true
}
