/*===- malloc/start.h - Placement of constructors -------------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_MALLOC_START_H
#define VFRIENDLY_MALLOC_START_H

/* Attribute that places a constructor in .text.startup, which the linker puts
 * at the start of the code. All constructors are then close together: a process
 * that never allocates has page faults only on the first 64 KiB of the library.
 */
#define VF_AT_START __attribute__((section(".text.startup")))

#endif /* VFRIENDLY_MALLOC_START_H */
