; Part of the vfriendly project, under the Apache License v2.0 with LLVM
; Exceptions. See LICENSE for license information.
; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; Each target's hint, and what blocking needs of it.
;
; RUN: %vf_opt -mtriple=x86_64-pc-linux-gnu -passes='vf-spin-loops<mode=pause>,verify' -S %s | FileCheck %s --check-prefixes=PAUSE,X86
; RUN: %vf_opt -mtriple=i686-pc-linux-gnu -passes='vf-spin-loops<mode=pause>,verify' -S %s | FileCheck %s --check-prefixes=PAUSE,X86
; RUN: %vf_opt -mtriple=aarch64-linux-gnu -passes='vf-spin-loops<mode=pause>,verify' -S %s | FileCheck %s --check-prefixes=PAUSE,A64
; RUN: %vf_opt -mtriple=riscv64-linux-gnu -passes='vf-spin-loops<mode=pause>,verify' -S %s | FileCheck %s --check-prefixes=PAUSE,RV
; RUN: %vf_opt -mtriple=riscv32-unknown-elf -passes='vf-spin-loops<mode=pause>,verify' -S %s | FileCheck %s --check-prefixes=PAUSE,RV
;
; No hint is known: nothing to do, and said so.
; RUN: %vf_opt -mtriple=powerpc64le-linux-gnu -passes='vf-spin-loops<mode=pause>,verify' -pass-remarks-missed=vf-spin-loops -S %s 2>&1 | FileCheck %s --check-prefix=NOHINT
;
; Blocking: 64-bit Linux, whatever the processor.
; RUN: %vf_opt -mtriple=x86_64-pc-linux-gnu -passes='vf-spin-loops<mode=block>,verify' -S %s | FileCheck %s --check-prefixes=BLOCK,MOST
; RUN: %vf_opt -mtriple=aarch64-linux-gnu -passes='vf-spin-loops<mode=block>,verify' -S %s | FileCheck %s --check-prefixes=BLOCK,MOST
; RUN: %vf_opt -mtriple=riscv64-linux-gnu -passes='vf-spin-loops<mode=block>,verify' -S %s | FileCheck %s --check-prefixes=BLOCK,PLAINCC
; RUN: %vf_opt -mtriple=powerpc64le-linux-gnu -passes='vf-spin-loops<mode=block>,verify' -S %s | FileCheck %s --check-prefixes=BLOCK,PLAINCC
;
; Elsewhere it is the hint, and the remark says why.
; RUN: %vf_opt -mtriple=i686-pc-linux-gnu -passes='vf-spin-loops<mode=block>,verify' -pass-remarks=vf-spin-loops -S %s 2>&1 | FileCheck %s --check-prefix=FALLBACK --implicit-check-not=vf_spin_wait
; RUN: %vf_opt -mtriple=x86_64-apple-macosx -passes='vf-spin-loops<mode=block>,verify' -pass-remarks=vf-spin-loops -S %s 2>&1 | FileCheck %s --check-prefix=FALLBACK --implicit-check-not=vf_spin_wait
; RUN: %vf_opt -mtriple=x86_64-pc-windows-msvc -passes='vf-spin-loops<mode=block>,verify' -pass-remarks=vf-spin-loops -S %s 2>&1 | FileCheck %s --check-prefix=FALLBACK --implicit-check-not=vf_spin_wait
; RUN: %vf_opt -mtriple=riscv32-linux-gnu -passes='vf-spin-loops<mode=block>,verify' -pass-remarks=vf-spin-loops -S %s 2>&1 | FileCheck %s --check-prefix=FALLBACK --implicit-check-not=vf_spin_wait
;
; Machine code comes of each.
; RUN: %vf_opt -mtriple=x86_64-pc-linux-gnu -passes='vf-spin-loops<mode=block>' %s | llc -o - | FileCheck %s --check-prefix=X86ASM
; RUN: %vf_opt -mtriple=aarch64-linux-gnu -passes='vf-spin-loops<mode=pause>' %s | llc -o - | FileCheck %s --check-prefix=A64ASM
; RUN: %vf_opt -mtriple=aarch64-linux-gnu -passes='vf-spin-loops<mode=block>' %s | llc -o - | FileCheck %s --check-prefix=A64BLOCK
; RUN: %vf_opt -mtriple=riscv64-linux-gnu -passes='vf-spin-loops<mode=pause>' %s | llc -filetype=obj -o %t.rv.o
; RUN: llvm-objdump -d --mattr=+zihintpause %t.rv.o | FileCheck %s --check-prefix=RVASM
; RUN: %vf_opt -mtriple=riscv64-linux-gnu -passes='vf-spin-loops<mode=block>' %s | llc -filetype=obj -o /dev/null

; PAUSE-LABEL: define void @wait(
; X86: call void @llvm.x86.sse2.pause()
; A64: call void @llvm.aarch64.isb(i32 15)
; RV: call void asm sideeffect ".insn i 0x0F, 0, x0, x0, 0x010", "~{memory}"()
; PAUSE: br label %loop
; NOHINT: left as it is: the target has no spin hint
; BLOCK-LABEL: define void @wait(
; MOST: call preserve_mostcc i64 @vf_spin_wait_or_fallback(
; PLAINCC: call i64 @vf_spin_wait_or_fallback(
; FALLBACK-DAG: give the CPU's spin hint, and nothing else: blocking needs a 64-bit Linux ELF target
; FALLBACK-DAG: call void {{@llvm.x86.sse2.pause|asm sideeffect ".insn i 0x0F}}
; X86ASM: callq vf_spin_wait_or_fallback
; A64ASM: isb
; A64BLOCK: bl vf_spin_wait_or_fallback
; RVASM: pause
@flag = global i32 0

define void @wait() {
entry:
  br label %loop
loop:
  %v = load atomic i32, ptr @flag acquire, align 4
  %c = icmp eq i32 %v, 0
  br i1 %c, label %loop, label %exit
exit:
  ret void
}
define void @set() {
  store atomic i32 1, ptr @flag release, align 4
  ret void
}
