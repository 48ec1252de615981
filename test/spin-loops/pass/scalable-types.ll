; Part of the vfriendly project, under the Apache License v2.0 with LLVM
; Exceptions. See LICENSE for license information.
; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; A poll whose size is known to the CPU alone: nothing may be asked about it.
;
; RUN: %vf_opt -passes='vf-spin-loops<mode=block>,verify' -S %s | FileCheck %s

target triple = "aarch64-unknown-linux-gnu"

; CHECK-LABEL: define void @wait(
; CHECK-DAG: call preserve_mostcc i64 @vf_spin_wait_or_fallback(ptr %p, i64 0, i64 %vf.state, i32 0)
; CHECK-DAG: load <vscale x 4 x i32>, ptr %p
define void @wait(ptr %p) "target-features"="+sve" {
entry:
  br label %loop
loop:
  %v = load <vscale x 4 x i32>, ptr %p
  %e = extractelement <vscale x 4 x i32> %v, i32 0
  %c = icmp eq i32 %e, 0
  br i1 %c, label %loop, label %exit
exit:
  ret void
}
