; Part of the vfriendly project, under the Apache License v2.0 with LLVM
; Exceptions. See LICENSE for license information.
; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; Swift's error register looks like memory that a call writes: nobody waits for
; it, and its address may not be handed on.
;
; RUN: %vf_opt -passes='vf-spin-loops<mode=block>,verify' -S %s | FileCheck %s --implicit-check-not="call {{.*}}@vf_spin_wait"

target triple = "x86_64-pc-linux-gnu"

declare void @fails(ptr swifterror)

; CHECK-LABEL: define void @until_error(
define void @until_error() {
entry:
  %e = alloca swifterror ptr
  store ptr null, ptr %e
  call void @fails(ptr swifterror %e)
  br label %loop
loop:
  %v = load ptr, ptr %e
  %c = icmp eq ptr %v, null
  br i1 %c, label %loop, label %exit
exit:
  ret void
}
