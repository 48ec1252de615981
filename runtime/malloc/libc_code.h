/*===- malloc/libc_code.h - Whether libc itself calls us ------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_MALLOC_LIBC_CODE_H
#define VFRIENDLY_MALLOC_LIBC_CODE_H

#include <stdbool.h>

/* Whether the code at that address is libc's or the dynamic linker's, or that
 * cannot be told yet, before our constructors. Takes no lock. */
bool vf_is_libc_code(const void *code);

#endif /* VFRIENDLY_MALLOC_LIBC_CODE_H */
