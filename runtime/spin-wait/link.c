/*===- link.c - Links libvfrt.a into a program -----------------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Rewritten objects have weak references to the runtime. A weak reference
 * neither extracts a member from an archive nor keeps a library that is linked
 * with --as-needed. This object, vfrt-link.o, has strong references: if it
 * precedes libvfrt on the command line, every linker includes the runtime.
 *===----------------------------------------------------------------------===*/

__asm__(".globl vf_spin_wait\n.globl vf_spin_wait_bounded\n"
        ".globl vf_pool_alloc\n.globl vf_numa_place");
