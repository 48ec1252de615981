/*===- platform/aarch64/glibc.h - What glibc has by processor --------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_PLATFORM_GLIBC_H
#define VFRIENDLY_PLATFORM_GLIBC_H

/* The version of the functions that glibc has had since its first release for
 * this processor. */
#define VF_GLIBC_FIRST "GLIBC_2.17"

/* The value of a free pthread_spinlock_t. */
#define VF_LIBC_SPIN_FREE 0

#endif /* VFRIENDLY_PLATFORM_GLIBC_H */
