/*===- numa-placement/preload/threads.h - Binding threads to CPUs ----------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_NUMA_PLACEMENT_PRELOAD_THREADS_H
#define VFRIENDLY_NUMA_PLACEMENT_PRELOAD_THREADS_H

/* Reads VF_NUMA_PIN. Called by the constructor, after vf_cpus_remember. */
void vf_pin_configure(void);

#endif /* VFRIENDLY_NUMA_PLACEMENT_PRELOAD_THREADS_H */
