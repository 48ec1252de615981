; Part of the vfriendly project, under the Apache License v2.0 with LLVM
; Exceptions. See LICENSE for license information.
; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; RUN: %print_loops %s 2>&1 | FileCheck %s --check-prefix=LOOPS --implicit-check-not=not_
; RUN: %vf_opt -passes='vf-spin-loops<mode=block>,verify' -S %s | FileCheck %s

target triple = "x86_64-pc-linux-gnu"

@flag = global i32 0
declare i64 @llvm.readcyclecounter()
declare i64 @time(ptr)

; LOOPS: counted: loop: flag poll, bounded; @flag x4 acquire{{$}}
; The copy polls, and counts polls only; the call gets how many are left, and what
; it skips is added to the counter before the loop as written goes on.
; CHECK-LABEL: define void @counted(
; CHECK: br i1 true, label %[[CHUNK:.*]], label %[[WRITTEN:.*]]
; CHECK: [[CHUNK]]:
; CHECK-NEXT: phi i32 [ 0, %{{.*}} ], [ %[[I:.*]], %.vf.call ]
; CHECK: loop.vf.copy:
; CHECK: load atomic i32, ptr @flag acquire
; CHECK: %[[J:.*]] = add i32
; CHECK: .vf.left:
; CHECK: %[[LEFT:.*]] = sub nuw i64 99999, %vf.done
; CHECK: .vf.call:
; CHECK: call preserve_mostcc { i64, i64 } @vf_spin_wait_bounded_or_fallback(ptr @flag, i64 %{{.*}}, i64 %vf.state, i32 {{[0-9]+}}, i64 %[[LEFT]], ptr @vf.spin.cost)
; CHECK: %[[SKIP:.*]] = call i64 @llvm.umin.i64(i64 %{{.*}}, i64 %[[LEFT]])
; CHECK: %[[SKIP32:.*]] = trunc i64 %[[SKIP]] to i32
; CHECK: %[[BY:.*]] = mul i32 %[[SKIP32]], 1
; CHECK: %[[I]] = add i32 %[[J]], %[[BY]]
; CHECK: [[WRITTEN]]:
; CHECK: phi i32 [ 0, %{{.*}} ], [ %[[J]], %.vf.left ], [ %[[I]], %.vf.call ]
; CHECK: loop:
; CHECK: icmp ult i32 %j, 100000
; CHECK: ret void
define void @counted() {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %j, %next ]
  %v = load atomic i32, ptr @flag acquire, align 4
  %c = icmp eq i32 %v, 0
  br i1 %c, label %next, label %exit
next:
  %j = add i32 %i, 1
  %more = icmp ult i32 %j, 100000
  br i1 %more, label %loop, label %exit
exit:
  ret void
}

; The copy has scopes of its own: a scope says that two accesses of one iteration do not alias, and an
; iteration of the copy is followed by one of the loop as written.
; LOOPS: scoped: loop: flag poll, bounded; @flag x4 acquire{{$}}
; CHECK-LABEL: define void @scoped(
; CHECK: loop.vf.copy:
; CHECK: call void @llvm.experimental.noalias.scope.decl(metadata ![[COPY:[0-9]+]])
; CHECK: load atomic i32, {{.*}} !alias.scope ![[COPY]]
; CHECK: loop:
; CHECK: call void @llvm.experimental.noalias.scope.decl(metadata ![[OWN:[0-9]+]])
; CHECK: load atomic i32, {{.*}} !alias.scope ![[OWN]]
; CHECK: ret void
define void @scoped() {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %j, %next ]
  call void @llvm.experimental.noalias.scope.decl(metadata !100)
  %v = load atomic i32, ptr @flag acquire, align 4, !alias.scope !100
  %c = icmp eq i32 %v, 0
  br i1 %c, label %next, label %exit
next:
  %j = add i32 %i, 1
  %more = icmp ult i32 %j, 100000
  br i1 %more, label %loop, label %exit
exit:
  ret void
}
declare void @llvm.experimental.noalias.scope.decl(metadata)
!100 = !{!101}
!101 = distinct !{!101, !102, !"look: at"}
!102 = distinct !{!102, !"look"}

; Two words: both are read once more, and only if they are as the last iteration found
; them is anything skipped. Otherwise a block of polls follows, and another look.
; LOOPS: two_words: loop: flag poll, bounded; @flag x4 acquire; @other x4 monotonic{{$}}
; CHECK-LABEL: define void @two_words(
; CHECK: phi i32 [ 0, %{{.*}} ], [ %[[I:.*]], %.vf.call ], [ %[[J:.*]], %.vf.look ]
; CHECK: %[[BEGIN:.*]] = phi i64
; CHECK: loop.vf.copy:
; CHECK: %[[A:.*]] = load atomic i32, ptr @flag acquire
; CHECK: %[[B:.*]] = load atomic i32, ptr @other monotonic
; CHECK: .vf.look:
; CHECK: %[[A2:.*]] = load atomic i32, ptr @flag acquire
; CHECK: %[[SAMEA:.*]] = icmp eq i32 %[[A]], %[[A2]]
; CHECK: %[[B2:.*]] = load atomic i32, ptr @other monotonic
; CHECK: %[[SAMEB:.*]] = icmp eq i32 %[[B]], %[[B2]]
; CHECK: %[[SAME:.*]] = and i1 %[[SAMEA]], %[[SAMEB]]
; CHECK: br i1 %[[SAME]], label %.vf.call, label %
; CHECK: .vf.call:
; CHECK: @vf_spin_wait_bounded_or_fallback(
; CHECK: ret void
@other = global i32 0
define void @two_words() {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %j, %next ]
  %a = load atomic i32, ptr @flag acquire, align 4
  %b = load atomic i32, ptr @other monotonic, align 4
  %or = or i32 %a, %b
  %c = icmp eq i32 %or, 0
  br i1 %c, label %next, label %exit
next:
  %j = add i32 %i, 1
  %more = icmp ult i32 %j, 100000
  br i1 %more, label %loop, label %exit
exit:
  ret void
}

; LOOPS: timed: loop: flag poll, bounded; @flag x4 acquire{{$}}
; The wait may pause and yield, but not sleep (512), as its end is a time.
; CHECK-LABEL: define void @timed(
; CHECK: call preserve_mostcc i64 @vf_spin_wait_or_fallback(ptr null, i64 0, i64 %vf.state, i32 512)
; CHECK: ret void
define void @timed(i64 %end) {
entry:
  br label %loop
loop:
  %v = load atomic i32, ptr @flag acquire, align 4
  %c = icmp eq i32 %v, 0
  br i1 %c, label %next, label %exit
next:
  %t = call i64 @llvm.readcyclecounter()
  %more = icmp ult i64 %t, %end
  br i1 %more, label %loop, label %exit
exit:
  ret void
}

; LOOPS: joined: loop: flag poll, bounded; @flag x4 acquire{{$}}
; Both in one condition.
define void @joined(i64 %end) {
entry:
  br label %loop
loop:
  %v = load atomic i32, ptr @flag acquire, align 4
  %c = icmp eq i32 %v, 0
  %t = call i64 @time(ptr null)
  %more = icmp ult i64 %t, %end
  %stay = and i1 %c, %more
  br i1 %stay, label %loop, label %exit
exit:
  ret void
}

; Why not: only the clock can end it.
; CHECK-LABEL: define void @not_clock(
; CHECK-NOT: vf_spin_wait
; CHECK-NOT: sse2.pause
; CHECK: ret void
define void @not_clock(i64 %end) {
entry:
  br label %loop
loop:
  %t = call i64 @llvm.readcyclecounter()
  %more = icmp ult i64 %t, %end
  br i1 %more, label %loop, label %exit
exit:
  ret void
}

; Why not: each iteration looks at another word.
; CHECK-LABEL: define void @not_search(
; CHECK-NOT: vf_spin_wait
; CHECK-NOT: sse2.pause
; CHECK: ret void
define void @not_search(ptr %a) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %p = getelementptr i32, ptr %a, i64 %i
  %v = load atomic i32, ptr %p acquire, align 4
  %j = add i64 %i, 1
  %c = icmp eq i32 %v, 0
  br i1 %c, label %loop, label %exit
exit:
  ret void
}

define void @set() {
  store atomic i32 1, ptr @flag release, align 4
  ret void
}

; The loop as written polls first: it may end before it looks at a bound that is
; poison. The copy is chosen by the bound before that, by a value of its own.
; CHECK-LABEL: define i32 @poison_bound(
; CHECK: %[[FROZEN:.*]] = freeze i32 %{{.*}}
; CHECK: %vf.bound = zext i32 %[[FROZEN]] to i64
; CHECK: icmp ugt i64 %vf.bound, 64
define i32 @poison_bound(i32 %x) {
entry:
  %n = shl nuw i32 %x, 4
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %j, %next ]
  %v = load atomic i32, ptr @flag acquire, align 4
  %c = icmp eq i32 %v, 0
  br i1 %c, label %next, label %exit
next:
  %j = add i32 %i, 1
  %more = icmp ne i32 %j, %n
  br i1 %more, label %loop, label %exit
exit:
  ret i32 %i
}

; Why not: what is neither undef nor poison needs no freeze.
; CHECK-LABEL: define i32 @sound_bound(
; CHECK-NOT: freeze
; CHECK: icmp ugt i64 %vf.bound, 64
define i32 @sound_bound(i32 noundef %n) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %j, %next ]
  %v = load atomic i32, ptr @flag acquire, align 4
  %c = icmp eq i32 %v, 0
  br i1 %c, label %next, label %exit
next:
  %j = add i32 %i, 1
  %more = icmp ne i32 %j, %n
  br i1 %more, label %loop, label %exit
exit:
  ret i32 %i
}

; The counter is tested first, as loops are before LLVM rotates them. The runtime is
; called only while polls are left, so it may compare the word before a sleep.
; CHECK-LABEL: define void @tests_its_count_first(
; CHECK: %[[SEEN:.*]] = zext i32 %{{.*}} to i64
; CHECK: @vf_spin_wait_bounded_or_fallback(ptr @flag, i64 %[[SEEN]], i64 %vf.state, i32 73988,
define void @tests_its_count_first() {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %j, %next ]
  %more = icmp ult i32 %i, 100000
  br i1 %more, label %poll, label %exit
poll:
  call void @llvm.x86.sse2.pause()
  %v = load atomic i32, ptr @flag acquire, align 4
  %c = icmp eq i32 %v, 0
  br i1 %c, label %next, label %exit
next:
  %j = add i32 %i, 1
  br label %loop
exit:
  ret void
}

; Why not: an exit that is no test of a counter may end the loop before it reads
; through the pointer again, and its memory may be freed then.
; CHECK-LABEL: define void @may_end_before_it_polls(
; CHECK: @vf_spin_wait_bounded_or_fallback(ptr %p, i64 0, i64 %vf.state, i32 {{65536|65792}},
define void @may_end_before_it_polls(ptr %p, i1 %valid) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %j, %next ]
  br i1 %valid, label %poll, label %exit
poll:
  call void @llvm.x86.sse2.pause()
  %v = load atomic i32, ptr %p acquire, align 4
  %c = icmp eq i32 %v, 0
  br i1 %c, label %next, label %exit
next:
  %j = add i32 %i, 1
  %more = icmp ult i32 %j, 100000
  br i1 %more, label %loop, label %exit
exit:
  ret void
}
declare void @llvm.x86.sse2.pause()
; CHECK: ![[COPY]] = !{![[COPIED:[0-9]+]]}
; CHECK: ![[COPIED]] = distinct !{![[COPIED]], !{{[0-9]+}}, !"look: at:vf.copy"}
; CHECK: ![[OWN]] = !{![[SCOPE:[0-9]+]]}
; CHECK: ![[SCOPE]] = distinct !{![[SCOPE]], !{{[0-9]+}}, !"look: at"}
