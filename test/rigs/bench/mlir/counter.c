/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Preloaded into mlir-runner: counts the allocations of the code it runs, which is in no
 * file, and those of libvfrt on its behalf, mappings included. Writes both to VF_TEST_MLIR_COUNT
 * at exit. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static unsigned long code, runtime;

/* What is known of a page of callers: a page belongs to one file. */
enum { PAGES = 1 << 14 };
static struct {
  uintptr_t page;
  int kind;
} known[PAGES];

static void count(void *caller) {
  uintptr_t page = (uintptr_t)caller >> 12;
  unsigned slot = page % PAGES;
  if (known[slot].page != page) {
    Dl_info info;
    int in_file = dladdr(caller, &info);
    known[slot].kind = !in_file ? 1
                       : info.dli_fname && strstr(info.dli_fname, "libvfrt") ? 2
                                                                               : 0;
    known[slot].page = page;
  }
  code += known[slot].kind == 1;
  runtime += known[slot].kind == 2;
}

void *malloc(size_t size) {
  count(__builtin_return_address(0));
  return __libc_malloc(size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  count(__builtin_return_address(0));
  return __libc_memalign(alignment, size);
}

void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset) {
  count(__builtin_return_address(0));
  return (void *)syscall(SYS_mmap, at, size, protection, flags, fd, offset);
}

__attribute__((destructor)) static void report(void) {
  const char *path = getenv("VF_TEST_MLIR_COUNT");
  FILE *file = path ? fopen(path, "w") : NULL;
  if (file) {
    fprintf(file, "%lu %lu\n", code, runtime);
    fclose(file);
  }
}
