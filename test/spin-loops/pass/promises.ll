; Part of the vfriendly project, under the Apache License v2.0 with LLVM
; Exceptions. See LICENSE for license information.
; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; A function that waits keeps no promise that lets LLVM delete or move calls of
; it; nor do its callers.
;
; RUN: %vf_opt -passes='vf-spin-loops<mode=block>,verify' -S %s | FileCheck %s
; RUN: %vf_opt -passes='vf-spin-loops<mode=block>,default<O2>' -S %s | FileCheck %s --check-prefix=O2

target triple = "x86_64-pc-linux-gnu"

@flag = global i32 0

; CHECK: define void @wait() [[WAITS:#[0-9]+]] {
define void @wait() #0 {
entry:
  br label %loop
loop:
  %v = load i32, ptr @flag
  %c = icmp eq i32 %v, 0
  br i1 %c, label %loop, label %exit
exit:
  ret void
}

; CHECK: define void @caller() [[WAITS]] {
; CHECK: call void @wait() [[CALLS:#[0-9]+]]
; O2-LABEL: define {{.*}}void @caller(
; O2: @vf_spin_wait_or_fallback(
define void @caller() #0 {
  call void @wait() #1
  ret void
}

; CHECK: define void @callers_caller() [[WAITS]] {
; CHECK: call void @caller() [[CALLS]]
define void @callers_caller() #0 {
  call void @caller() #1
  ret void
}

; Called by another name.
@alias = alias void (), ptr @wait
; CHECK: define void @alias_caller() [[WAITS]] {
; CHECK: call void @alias() [[CALLS]]
define void @alias_caller() #0 {
  call void @alias() #1
  ret void
}

; A function that writes, and so may wake, is changed too.
; CHECK: define void @set() [[WAITS]] {
define void @set() #0 {
  store i32 1, ptr @flag
  ret void
}

; Whoever has nothing to do with it keeps its promises.
; CHECK: define i32 @unrelated(i32 %x) [[KEEPS:#[0-9]+]] {
define i32 @unrelated(i32 %x) #2 {
  ret i32 %x
}

; CHECK-DAG: attributes [[WAITS]] = { nounwind uwtable }
; CHECK-DAG: attributes [[CALLS]] = { nounwind }
; CHECK-DAG: attributes [[KEEPS]] = { {{.*}}mustprogress{{.*}}norecurse{{.*}}willreturn{{.*}} }

attributes #0 = { uwtable mustprogress nofree norecurse nosync nounwind willreturn memory(readwrite, inaccessiblemem: none) }
attributes #1 = { nofree nosync nounwind willreturn memory(readwrite, inaccessiblemem: none) }
attributes #2 = { mustprogress nofree norecurse nosync nounwind willreturn memory(none) }
