/*===- platform/x86-64/glibc.h - What glibc has by processor ---------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_PLATFORM_GLIBC_H
#define VFRIENDLY_PLATFORM_GLIBC_H

/* The version of the functions that glibc has had since its first release for
 * this processor. */
#define VF_GLIBC_FIRST "GLIBC_2.2.5"

/* The offset from the thread pointer to the thread's id in libc's struct
 * pthread, which begins there. 2.34 to 2.41 have the same. */
#define VF_LIBC_TID_OFFSET 0x2d0

/* The value of a free pthread_spinlock_t. */
#define VF_LIBC_SPIN_FREE 1

#endif /* VFRIENDLY_PLATFORM_GLIBC_H */
