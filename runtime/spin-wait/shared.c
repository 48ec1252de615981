/*===- spin-wait/shared.c - One block per process, not per copy -----------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * A process may hold several copies of libvfrt: one linked statically into the
 * executable, others into plugins opened with RTLD_LOCAL. A notify through one
 * must wake a wait through another, and the pass reads vf_spin_armed through
 * the GOT of whatever module the store is in.
 *
 * common/process_wide.h describes how the copies find each other.
 *
 * A copy whose symbols are not in a dynamic symbol table shares nothing: one
 * that is linked with --exclude-libs or a version script that hides vf_spin_*,
 * and a static copy in an executable that is linked without
 * --export-dynamic-symbol='vf_*' (libvfrt.a's CMake target adds it). Notifies
 * through one copy then miss waits through another; by the timeouts and
 * `suspect` of block.c this costs time, never progress.
 *===----------------------------------------------------------------------===*/

#include "spin-wait/shared.h"
#include "common/process_wide.h"

#define VF_SHARED_SIZE 16640

VF_PROCESS_WIDE(vf_spin_shared_1, VF_SHARED_SIZE);
VF_PROCESS_WIDE(vf_spin_armed, 4);

_Static_assert(sizeof(struct vf_spin_shared) == VF_SHARED_SIZE,
               "VF_SHARED_SIZE is what the assembler reserves");
