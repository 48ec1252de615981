/*===- platform/x86-64/hypervisor.h - Whether there is a hypervisor -------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_PLATFORM_HYPERVISOR_H
#define VFRIENDLY_PLATFORM_HYPERVISOR_H

#include <cpuid.h>

/* Returns 1 if the program runs in a virtual machine, 0 if not, and -1 if
 * unknown. Hypervisors set CPUID leaf 1, ECX bit 31; processors never do. */
static inline int vf_is_virtual(void) {
  unsigned a, b, c, d;
  return __get_cpuid(1, &a, &b, &c, &d) ? (int)(c >> 31) : -1;
}

#endif /* VFRIENDLY_PLATFORM_HYPERVISOR_H */
