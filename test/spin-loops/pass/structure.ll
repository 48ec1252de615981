; Part of the vfriendly project, under the Apache License v2.0 with LLVM
; Exceptions. See LICENSE for license information.
; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; What a rewritten loop looks like, to the instruction.
;
; RUN: %vf_opt -passes='vf-spin-loops<mode=block>,verify' -S %s -o %t.once.ll
; RUN: FileCheck %s < %t.once.ll
; Decided once: a second run, and a run in another mode, change nothing.
; RUN: %vf_opt -passes=verify -S < %t.once.ll > %t.read.ll
; RUN: %vf_opt -passes='vf-spin-loops<mode=block>,verify' -S < %t.once.ll > %t.twice.ll
; RUN: diff %t.read.ll %t.twice.ll
; RUN: %vf_opt -passes='vf-spin-loops<mode=pause>,verify' -S < %t.once.ll > %t.other.ll
; RUN: diff %t.read.ll %t.other.ll
; Off: nothing is changed but the marks, and a remark says so.
; RUN: %vf_opt -passes='vf-spin-loops<mode=off>,verify' -pass-remarks-missed=vf-spin-loops -S %s 2>&1 | FileCheck %s --check-prefix=OFF --implicit-check-not="call {{.*}}@vf_spin" --implicit-check-not=sse2.pause --implicit-check-not="atomic i32, ptr @plain"
; The printed pipeline names the mode.
; RUN: %vf_opt -passes='vf-spin-loops<mode=pause>' -print-pipeline-passes -disable-output %s | FileCheck %s --check-prefix=PIPELINE
; PIPELINE: vf-spin-loops<mode=pause>
; OFF: left as it is: rewriting is switched off

target triple = "x86_64-pc-linux-gnu"

%pair = type { i32, i32 }

@plain = global i32 0
@vol = global i32 0
@at = global i32 0
@rmw = global i32 0
@cas = global i32 0
@silent = global i32 0

; CHECK-DAG: @vf_spin_armed = extern_weak global i32
; CHECK-DAG: @vf_spin_never_armed = linkonce_odr hidden global i32 0, comdat, align 4

; The state: a phi on the header, 0 from outside; from inside the number of polls
; up to 64, after that the call's result.
; No alloca, and no call on the way by.
; CHECK-LABEL: define i32 @wait_plain(
; CHECK-NEXT:  entry:
; CHECK-NEXT:    br label %loop
; CHECK:       [[EDGE:.*]]: {{.*}}; preds = %loop
; CHECK-NEXT:    [[LATER:%.*]] = icmp uge i64 %vf.state, 64
; CHECK-NEXT:    [[COUNTED:%.*]] = add i64 %vf.state, 1
; CHECK-NEXT:    br i1 [[LATER]], label %[[CALLS:[0-9]+]], label %[[LATCH:[0-9]+]], !prof
; CHECK:       [[CALLS]]:
; CHECK-NEXT:    [[SEEN:%.*]] = zext i32 %v to i64
; CHECK-NEXT:    [[RESULT:%.*]] = call preserve_mostcc i64 @vf_spin_wait_or_fallback(ptr @plain, i64 [[SEEN]], i64 %vf.state, i32 8452) [[CALL:#[0-9]+]]
; CHECK-NEXT:    br label %[[LATCH]]
; CHECK:       [[LATCH]]:
; CHECK-NEXT:    [[STATE:%.*]] = phi i64 [ [[COUNTED]], %[[EDGE]] ], [ [[RESULT]], %[[CALLS]] ]
; CHECK-NEXT:    br label %loop, !llvm.loop [[LOOP:![0-9]+]]
; CHECK:       loop:
; CHECK-NEXT:    %vf.state = phi i64 [ [[STATE]], %[[LATCH]] ], [ 0, %entry ]
; CHECK-NEXT:    %v = load atomic i32, ptr @plain acquire, align 4
; CHECK-NEXT:    %c = icmp eq i32 %v, 0
; CHECK-NEXT:    br i1 %c, label %[[EDGE]], label %exit
define i32 @wait_plain(ptr %data) {
entry:
  br label %loop
loop:
  %v = load i32, ptr @plain
  %c = icmp eq i32 %v, 0
  br i1 %c, label %loop, label %exit
exit:
  %d = load i32, ptr %data
  ret i32 %d
}

define void @wait_vol() {
entry:
  br label %loop
loop:
  %v = load volatile i32, ptr @vol
  %c = icmp eq i32 %v, 0
  br i1 %c, label %loop, label %exit
exit:
  ret void
}

define void @wait_at() {
entry:
  br label %loop
loop:
  %v = load atomic i32, ptr @at acquire, align 4
  %c = icmp eq i32 %v, 0
  br i1 %c, label %loop, label %exit
exit:
  ret void
}

define void @wait_rmw() {
entry:
  br label %loop
loop:
  %v = load atomic i32, ptr @rmw acquire, align 4
  %c = icmp eq i32 %v, 0
  br i1 %c, label %loop, label %exit
exit:
  ret void
}

define void @wait_cas() {
entry:
  br label %loop
loop:
  %v = load atomic i32, ptr @cas acquire, align 4
  %c = icmp eq i32 %v, 0
  br i1 %c, label %loop, label %exit
exit:
  ret void
}

; No writer in sight: not notified (4, not 260).
; CHECK-LABEL: define void @wait_silent(
; CHECK: call preserve_mostcc i64 @vf_spin_wait_or_fallback(ptr @silent, i64 %{{.*}}, i64 %vf.state, i32 4)
define void @wait_silent() {
entry:
  br label %loop
loop:
  %v = load atomic i32, ptr @silent acquire, align 4
  %c = icmp eq i32 %v, 0
  br i1 %c, label %loop, label %exit
exit:
  ret void
}

; A wait with the address in an argument, and its own frame.
; CHECK-LABEL: define void @wait_field(
; CHECK: call preserve_mostcc i64 @vf_spin_wait_or_fallback(ptr %f, i64 %{{.*}}, i64 %vf.state, i32 8452)
define void @wait_field(ptr %p) {
entry:
  %f = getelementptr %pair, ptr %p, i32 0, i32 1
  br label %loop
loop:
  %v = load atomic i32, ptr %f acquire, align 4
  %c = icmp eq i32 %v, 0
  br i1 %c, label %loop, label %exit
exit:
  ret void
}

; Writers: one relaxed load and an unlikely branch after each, no fence.
; CHECK-LABEL: define void @write_plain(
; The partner of an acquire load on plain memory: a release store.
; CHECK-NEXT:  store atomic i32 1, ptr @plain release, align 4, !vf.spin.notifies
; CHECK-NEXT:  [[HAVE:%.*]] = icmp ne ptr @vf_spin_armed, null
; CHECK-NEXT:  [[WORD:%.*]] = select i1 [[HAVE]], ptr @vf_spin_armed, ptr @vf_spin_never_armed
; CHECK-NEXT:  [[ARMED:%.*]] = load atomic i32, ptr [[WORD]] monotonic, align 4
; CHECK-NEXT:  [[ANY:%.*]] = icmp ne i32 [[ARMED]], 0
; CHECK-NEXT:  br i1 [[ANY]], label %{{.*}}, label %{{.*}}, !prof [[UNLIKELY:![0-9]+]]
; CHECK:       call void @vf_spin_notify(ptr @plain) [[CALL]]
; CHECK-NOT:   fence
; CHECK:       ret void
define void @write_plain() {
  store i32 1, ptr @plain
  ret void
}

; Volatile stays volatile.
; CHECK-LABEL: define void @write_vol(
; CHECK: store volatile i32 1, ptr @vol, align 4, !vf.spin.notifies
; CHECK: call void @vf_spin_notify(ptr @vol)
define void @write_vol() {
  store volatile i32 1, ptr @vol
  ret void
}

; Atomic keeps its order.
; CHECK-LABEL: define void @write_at(
; CHECK: store atomic i32 1, ptr @at monotonic, align 4, !vf.spin.notifies
; CHECK: call void @vf_spin_notify(ptr @at)
define void @write_at() {
  store atomic i32 1, ptr @at monotonic, align 4
  ret void
}

; CHECK-LABEL: define i32 @write_rmw(
; CHECK: atomicrmw add ptr @rmw, i32 1 release, align 4, !vf.spin.notifies
; CHECK: call void @vf_spin_notify(ptr @rmw)
; CHECK: ret i32 %old
define i32 @write_rmw() {
  %old = atomicrmw add ptr @rmw, i32 1 release
  ret i32 %old
}

; CHECK-LABEL: define i1 @write_cas(
; CHECK: cmpxchg ptr @cas, i32 0, i32 1 release monotonic, align 4, !vf.spin.notifies
; CHECK: call void @vf_spin_notify(ptr @cas)
define i1 @write_cas() {
  %x = cmpxchg ptr @cas, i32 0, i32 1 release monotonic
  %ok = extractvalue { i32, i1 } %x, 1
  ret i1 %ok
}

; A store of another field of the same structure ends no wait.
; CHECK-LABEL: define void @write_other_field(
; CHECK-NOT: vf_spin_wait
; CHECK: ret void
define void @write_other_field(ptr %p) {
  %f = getelementptr %pair, ptr %p, i32 0, i32 0
  store i32 1, ptr %f
  ret void
}

; CHECK-LABEL: define void @write_field(
; CHECK: call void @vf_spin_notify(ptr %f)
define void @write_field(ptr %p) {
  %f = getelementptr %pair, ptr %p, i32 0, i32 1
  store atomic i32 1, ptr %f release, align 4
  ret void
}

; The call says what is true of it and nothing else: with memory(...) or
; willreturn, LLVM moves the polls out of the loop.
; CHECK: attributes [[CALL]] = { cold nounwind }
; CHECK-DAG: [[LOOP]] = distinct !{[[LOOP]], {{.*}}![[DECIDED:[0-9]+]]{{.*}}}
; CHECK-DAG: ![[DECIDED]] = !{!"vf.spin.decided", i32 1}
