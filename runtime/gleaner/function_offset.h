/*===- gleaner/function_offset.h - Where a function is in its file --------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_GLEANER_FUNCTION_OFFSET_H
#define VFRIENDLY_GLEANER_FUNCTION_OFFSET_H

#include <stdint.h>

/* Returns the offset in the ELF file at which the function's code begins, or 0
 * if the file is no 64-bit ELF file or its symbol tables lack the function. */
uint64_t gl_function_offset(const char *path, const char *function);

#endif /* VFRIENDLY_GLEANER_FUNCTION_OFFSET_H */
