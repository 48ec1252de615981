/*===- link.c - Takes libvfrt.a into a program -----------------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Rewritten objects have weak references to the runtime. A weak reference
 * neither extracts a member from an archive nor keeps a library under
 * --as-needed. This object, vfrt-link.o, has strong references: a link that
 * names it before libvfrt gets the runtime, with any linker.
 *===----------------------------------------------------------------------===*/

__asm__(".globl vf_spin_wait\n.globl vf_spin_wait_bounded\n"
        ".globl vf_pool_alloc\n.globl vf_numa_place");
