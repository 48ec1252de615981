// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In place of jemalloc's header of that name, which needs jemalloc built: its tests'
// words, the rest of the standard, and three functions of its own.

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIZE_T_MAX SIZE_MAX
#define LG_SIZEOF_PTR 3
#define TEST_MALLOC_SIZE malloc_usable_size
#define JEMALLOC_FORMAT_PRINTF(text, rest) __attribute__((format(printf, text, rest)))
#define JEMALLOC_DIAGNOSTIC_PUSH
#define JEMALLOC_DIAGNOSTIC_POP
#define JEMALLOC_DIAGNOSTIC_IGNORE_ALLOC_SIZE_LARGER_THAN
#define malloc_snprintf snprintf
#define set_errno(number) (errno = (number))
#define get_errno() errno
#define BUFERROR_BUF 64
#define buferror(number, text, size) ((void)snprintf(text, size, "%s", strerror(number)))
#define FMTd32 PRId32
#define FMTu32 PRIu32
#define FMTx32 PRIx32
#define FMTd64 PRId64
#define FMTu64 PRIu64
#define FMTx64 PRIx64

#ifdef __cplusplus
extern "C" {
#endif
int mallctl(const char *name, void *old, size_t *size, void *value, size_t value_size);
int mallctlnametomib(const char *name, size_t *mib, size_t *length);
int mallctlbymib(const size_t *mib, size_t length, void *old, size_t *size, void *value,
                 size_t value_size);
#include "../include/test/test.h" // jemalloc's
#ifdef __cplusplus
}
#endif

#undef assert
#define assert(e) assert_true(e, "")
