/*===- malloc/libc_code.h - Recognizing callers in libc -------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_MALLOC_LIBC_CODE_H
#define VFRIENDLY_MALLOC_LIBC_CODE_H

#include <stdbool.h>

/* Returns true if the code at that address belongs to libc or the dynamic
 * linker, or if this is unknown because our constructors have not run yet.
 * Takes no lock. */
bool vf_is_libc_code(const void *code);

#endif /* VFRIENDLY_MALLOC_LIBC_CODE_H */
