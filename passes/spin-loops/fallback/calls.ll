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
declare hidden i64 @vf_spin_alone(i64, i64)
declare hidden i64 @vf_spin_alone_bounded(i64, i64, i64, ptr, ptr)

$vf_spin_wait_or_fallback = comdat any
define linkonce_odr hidden i64 @vf_spin_wait_or_fallback(ptr %addr, i64 %seen, i64 %state, i32 %how) noinline cold nounwind uwtable comdat {
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
define linkonce_odr hidden { i64, i64 } @vf_spin_wait_bounded_or_fallback(ptr %addr, i64 %seen, i64 %state, i32 %how, i64 %left, ptr %cost) noinline cold nounwind uwtable comdat {
  %skip.at = alloca i64, align 8
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
