/*===- platform/generic/hypervisor.h - Whether there is a hypervisor ------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_PLATFORM_HYPERVISOR_H
#define VFRIENDLY_PLATFORM_HYPERVISOR_H

/* Returns -1, unknown: no instruction that is available in user mode shows
 * whether the program runs in a virtual machine. */
static inline int vf_is_virtual(void) { return -1; }

#endif /* VFRIENDLY_PLATFORM_HYPERVISOR_H */
