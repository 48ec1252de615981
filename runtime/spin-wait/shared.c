/*===- spin-wait/shared.c - State shared by copies of libvfrt -------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * A process may contain several copies of libvfrt: one linked statically into
 * the executable, others in plugins opened with RTLD_LOCAL. A notify through
 * one copy must wake a wait through another, and code that the pass rewrites
 * reads vf_spin_armed through the GOT of the module that contains the store.
 *
 * common/process_wide.h describes how the copies find each other.
 *
 * A copy shares nothing if a linker script discards its notes. Notifies through
 * one copy then miss waits through another. Because of the timeouts and
 * `suspect` in block.c, these waits end late, but do end.
 *===----------------------------------------------------------------------===*/

#include "spin-wait/shared.h"
#include "common/process_wide.h"

#define VF_SHARED_SIZE 16640

VF_PROCESS_WIDE(vf_spin_shared_1, VF_SHARED_SIZE);
VF_PROCESS_WIDE(vf_spin_armed, 4);

_Static_assert(sizeof(struct vf_spin_shared) == VF_SHARED_SIZE,
               "VF_SHARED_SIZE is what the assembler reserves");
