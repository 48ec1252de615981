; Part of the vfriendly project, under the Apache License v2.0 with LLVM
; Exceptions. See LICENSE for license information.
; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; A wait is told that it will be notified (256) if each writer in sight that may
; end it does notify, and one of them surely is in the program.
;
; RUN: %vf_opt -passes='vf-spin-loops<mode=block>,verify' -S %s | FileCheck %s

target triple = "x86_64-pc-linux-gnu"

@loud = global i32 0
@silent = global i32 0
@both = global i32 0
@kept = global i32 0
@inline = global i32 0
@elsewhere = global i32 0
@returned = global i32 0
@assembly = global i32 0

; CHECK-LABEL: define void @waits(
; CHECK: @vf_spin_wait_or_fallback(ptr @loud, i64 %{{.*}}, i64 %{{.*}}, i32 8452)
; Why not: its writer is not to be changed.
; CHECK: @vf_spin_wait_or_fallback(ptr @silent, i64 %{{.*}}, i64 %{{.*}}, i32 4)
; CHECK: @vf_spin_wait_or_fallback(ptr @both, i64 %{{.*}}, i64 %{{.*}}, i32 4)
; CHECK: @vf_spin_wait_or_fallback(ptr @kept, i64 %{{.*}}, i64 %{{.*}}, i32 4)
; Why not: the linker may take the writer from a file that has no wait.
; CHECK: @vf_spin_wait_or_fallback(ptr @inline, i64 %{{.*}}, i64 %{{.*}}, i32 4)
; CHECK: @vf_spin_wait_or_fallback(ptr @elsewhere, i64 %{{.*}}, i64 %{{.*}}, i32 4)
; Why not: nothing can follow a call whose result is returned at once.
; CHECK: @vf_spin_wait_or_fallback(ptr @returned, i64 %{{.*}}, i64 %{{.*}}, i32 4)
; CHECK: @vf_spin_wait_or_fallback(ptr @assembly, i64 %{{.*}}, i64 %{{.*}}, i32 8452)
define void @waits() {
entry:
  br label %a
a:
  %va = load atomic i32, ptr @loud acquire, align 4
  %ca = icmp eq i32 %va, 0
  br i1 %ca, label %a, label %b
b:
  %vb = load atomic i32, ptr @silent acquire, align 4
  %cb = icmp eq i32 %vb, 0
  br i1 %cb, label %b, label %c
c:
  %vc = load atomic i32, ptr @both acquire, align 4
  %cc = icmp eq i32 %vc, 0
  br i1 %cc, label %c, label %d
d:
  %vd = load atomic i32, ptr @kept acquire, align 4
  %cd = icmp eq i32 %vd, 0
  br i1 %cd, label %d, label %e
e:
  %ve = load atomic i32, ptr @inline acquire, align 4
  %ce = icmp eq i32 %ve, 0
  br i1 %ce, label %e, label %f
f:
  %vf = load atomic i32, ptr @elsewhere acquire, align 4
  %cf = icmp eq i32 %vf, 0
  br i1 %cf, label %f, label %g
g:
  %vg = load atomic i32, ptr @returned acquire, align 4
  %cg = icmp eq i32 %vg, 0
  br i1 %cg, label %g, label %h
h:
  %vh = load atomic i32, ptr @assembly acquire, align 4
  %ch = icmp eq i32 %vh, 0
  br i1 %ch, label %h, label %exit
exit:
  ret void
}

; CHECK-LABEL: define void @set(
; CHECK: call void @vf_spin_notify(ptr @loud)
; CHECK: call void @vf_spin_notify(ptr @both)
; CHECK: call void asm
; CHECK: call void @vf_spin_notify(ptr @assembly)
define void @set() {
  store atomic i32 1, ptr @loud release, align 4
  store atomic i32 1, ptr @both release, align 4
  call void asm sideeffect "movl $1, $0", "=*m,r,~{memory}"(ptr elementtype(i32) @assembly, i32 1)
  ret void
}

; CHECK-LABEL: define void @set_unoptimized(
; CHECK-NEXT: store
; CHECK-NEXT: store
; CHECK-NEXT: ret
define void @set_unoptimized() noinline optnone {
  store atomic i32 1, ptr @silent release, align 4
  store atomic i32 1, ptr @both release, align 4
  ret void
}

; CHECK-LABEL: define void @set_kept(
; CHECK-NEXT: store
; CHECK-NEXT: ret
define void @set_kept() "vf.spin.keep" {
  store atomic i32 1, ptr @kept release, align 4
  ret void
}

; These notify nevertheless: they may be inlined, or taken.
; CHECK-LABEL: define linkonce_odr void @set_inline(
; CHECK: call void @vf_spin_notify(ptr @inline)
define linkonce_odr void @set_inline() noinline {
  store atomic i32 1, ptr @inline release, align 4
  ret void
}
; CHECK-LABEL: define available_externally void @set_elsewhere(
; CHECK: call void @vf_spin_notify(ptr @elsewhere)
define available_externally void @set_elsewhere() noinline {
  store atomic i32 1, ptr @elsewhere release, align 4
  ret void
}

define internal void @store(ptr %p) noinline {
  store atomic i32 1, ptr %p release, align 4
  ret void
}
; CHECK-LABEL: define void @set_returned(
; CHECK-NEXT: musttail call void @store(ptr @returned)
; CHECK-NEXT: ret void
define void @set_returned(ptr %unused) {
  musttail call void @store(ptr @returned)
  ret void
}
