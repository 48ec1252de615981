; Part of the vfriendly project, under the Apache License v2.0 with LLVM
; Exceptions. See LICENSE for license information.
; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; See x86_64.ll. This file makes no system calls: a wait calls the C library's
; sched_yield until it ends. In a program without that function the loop spins
; as written.

@vf_spin_armed = extern_weak global i32
$vf_spin_never_armed = comdat any
@vf_spin_never_armed = linkonce_odr hidden global i32 0, comdat, align 4

declare extern_weak i64 @vf_spin_wait(ptr, i64, i64, i32) nonlazybind
declare extern_weak void @vf_spin_notify(ptr) nonlazybind
declare extern_weak i32 @sched_yield()

$vf_spin_wait_or_fallback = comdat any
define linkonce_odr hidden i64 @vf_spin_wait_or_fallback(ptr %addr, i64 %seen, i64 %state, i32 %how) noinline cold nounwind uwtable comdat {
entry:
  %have = icmp ne ptr @vf_spin_wait, null
  br i1 %have, label %runtime, label %fallback

runtime:
  %next = tail call i64 @vf_spin_wait(ptr %addr, i64 %seen, i64 %state, i32 %how) nounwind
  ret i64 %next

fallback:
  %iteration = add i64 %state, 1
  %short = icmp ult i64 %iteration, 128
  %can.yield = icmp ne ptr @sched_yield, null
  %long = xor i1 %short, true
  %yields = and i1 %long, %can.yield
  br i1 %yields, label %yield, label %done

yield:
  ; sched_yield never fails on Linux, so it leaves errno alone.
  %y = call i32 @sched_yield()
  br label %done

done:
  ret i64 %iteration
}

declare extern_weak { i64, i64 } @vf_spin_wait_bounded(ptr, i64, i64, i32, i64, ptr) nonlazybind

; A bounded wait: calls libvfrt if it is linked. Otherwise the loop spins as
; written, and makes the next call after 65536 polls.
$vf_spin_wait_bounded_or_fallback = comdat any
define linkonce_odr hidden { i64, i64 } @vf_spin_wait_bounded_or_fallback(ptr %addr, i64 %seen, i64 %state, i32 %how, i64 %left, ptr %cost) noinline cold nounwind uwtable comdat {
  %have = icmp ne ptr @vf_spin_wait_bounded, null
  br i1 %have, label %runtime, label %fallback

runtime:
  %next = call { i64, i64 } @vf_spin_wait_bounded(ptr %addr, i64 %seen, i64 %state, i32 %how, i64 %left, ptr %cost) nounwind
  ret { i64, i64 } %next

fallback:
  ret { i64, i64 } { i64 65535, i64 0 }
}
