/*===- malloc/start.h - Placement of constructors -------------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_MALLOC_START_H
#define VFRIENDLY_MALLOC_START_H

/* Places a constructor with the others at the start of the code, where the
 * linker puts this section: a process that never allocates then has page faults
 * on the first 64 KiB of the library only. */
#define VF_AT_START __attribute__((section(".text.startup")))

#endif /* VFRIENDLY_MALLOC_START_H */
