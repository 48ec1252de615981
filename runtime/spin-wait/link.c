/*===- link.c - Takes libvfrt.a into a program -----------------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Rewritten objects refer to the runtime weakly, and a weak reference takes
 * nothing out of an archive, nor does it keep a shared library that is linked
 * as needed. This object, vfrt-link.o, refers to it strongly: a link that names
 * it before libvfrt gets the runtime, with any linker.
 *===----------------------------------------------------------------------===*/

__asm__(".globl vf_spin_wait\n.globl vf_spin_wait_bounded\n"
        ".globl vf_pool_alloc\n.globl vf_numa_place");
