; Part of the vfriendly project, under the Apache License v2.0 with LLVM
; Exceptions. See LICENSE for license information.
; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; The functions that rewritten code calls. They call libvfrt if it is linked, and
; otherwise runtime/spin-wait/alone, which the build compiles to IR for each target.
; These functions are IR because C has no calling convention and no pair of i64
; that are the same on each target. The pass sets their calling convention
; (waitConvention).

@vf_spin_armed = extern_weak global i32
$vf_spin_never_armed = comdat any
@vf_spin_never_armed = linkonce_odr hidden global i32 0, comdat, align 4

declare extern_weak i64 @vf_spin_wait(ptr, i64, i64, i32) nonlazybind
declare extern_weak { i64, i64 } @vf_spin_wait_bounded(ptr, i64, i64, i32, i64, ptr) nonlazybind
declare extern_weak void @vf_spin_notify(ptr) nonlazybind
; libc has these functions under two names. Where the names differ, the program
; defines the first one: it may switch fibers, or simulate a clock, and a wait
; then only pauses (VF_SPIN_AWAKE, 16384). Other libcs have one name for each, so
; for them the pass removes the comparison.
declare extern_weak i32 @sched_yield() nonlazybind
declare extern_weak i32 @__sched_yield() nonlazybind
declare extern_weak i32 @nanosleep(ptr, ptr) nonlazybind
declare extern_weak i32 @__nanosleep(ptr, ptr) nonlazybind
declare hidden i64 @vf_spin_alone(i64, i64)
declare hidden i64 @vf_spin_alone_bounded(i64, i64, i64, ptr, ptr)

; The assembly keeps LLVM from taking two names for two functions.
$vf_spin_how = comdat any
define linkonce_odr hidden i32 @vf_spin_how(i32 %how) nounwind uwtable comdat {
  %yield = call ptr asm "", "=r,0"(ptr @sched_yield)
  %own.yield = call ptr asm "", "=r,0"(ptr @__sched_yield)
  %sleep = call ptr asm "", "=r,0"(ptr @nanosleep)
  %own.sleep = call ptr asm "", "=r,0"(ptr @__nanosleep)
  %other.yield = icmp ne ptr %yield, %own.yield
  %other.sleep = icmp ne ptr %sleep, %own.sleep
  %other = or i1 %other.yield, %other.sleep
  %awake = or i32 %how, 16384
  %result = select i1 %other, i32 %awake, i32 %how
  ret i32 %result
}

$vf_spin_wait_or_fallback = comdat any
define linkonce_odr hidden i64 @vf_spin_wait_or_fallback(ptr %addr, i64 %seen, i64 %state, i32 %asked) noinline cold nounwind uwtable comdat {
  %how = call i32 @vf_spin_how(i32 %asked)
  %have = icmp ne ptr @vf_spin_wait, null
  br i1 %have, label %runtime, label %alone

runtime:
  %next = call i64 @vf_spin_wait(ptr %addr, i64 %seen, i64 %state, i32 %how) nounwind
  ret i64 %next

alone:
  %flags = zext i32 %how to i64
  %waited = call i64 @vf_spin_alone(i64 %state, i64 %flags) nounwind
  ret i64 %waited
}

$vf_spin_wait_bounded_or_fallback = comdat any
define linkonce_odr hidden { i64, i64 } @vf_spin_wait_bounded_or_fallback(ptr %addr, i64 %seen, i64 %state, i32 %asked, i64 %left, ptr %cost) noinline cold nounwind uwtable comdat {
  %skip.at = alloca i64, align 8
  %how = call i32 @vf_spin_how(i32 %asked)
  %have = icmp ne ptr @vf_spin_wait_bounded, null
  br i1 %have, label %runtime, label %alone

runtime:
  %next = call { i64, i64 } @vf_spin_wait_bounded(ptr %addr, i64 %seen, i64 %state, i32 %how, i64 %left, ptr %cost) nounwind
  ret { i64, i64 } %next

alone:
  %flags = zext i32 %how to i64
  %waited = call i64 @vf_spin_alone_bounded(i64 %state, i64 %flags, i64 %left, ptr %cost, ptr %skip.at) nounwind
  %skip = load i64, ptr %skip.at, align 8
  %first = insertvalue { i64, i64 } poison, i64 %waited, 0
  %both = insertvalue { i64, i64 } %first, i64 %skip, 1
  ret { i64, i64 } %both
}
