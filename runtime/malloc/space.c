/*===- malloc/space.c - Address space -------------------------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "malloc/space.h"
#include "common/sandbox.h"
#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>

/* log2 of the fraction of RLIMIT_AS or RLIMIT_DATA that may stay mapped and
 * free: an eighth. With a smaller fraction, memory would be unmapped and mapped
 * again so often that the system calls would cost more than the address space
 * is worth. The rest is left to blocks, thread stacks and other code. */
#define SPARE_SHIFT 3

static size_t spare = SIZE_MAX;

static size_t limit_of(int resource) {
  struct rlimit limit;
  return getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY
             ? (size_t)limit.rlim_cur
             : SIZE_MAX;
}

static void read_limits(void) {
  size_t all = limit_of(RLIMIT_AS), data = limit_of(RLIMIT_DATA);
  size_t limit = all < data ? all : data;
  __atomic_store_n(&spare, limit == SIZE_MAX ? SIZE_MAX : limit >> SPARE_SHIFT,
                   __ATOMIC_RELAXED);
}

void *vf_space_map(size_t size) {
  int saved = errno;
  if (vf_begin_optional()) {
    read_limits();
    vf_end_optional();
  }
  void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  errno = saved;
  return p == MAP_FAILED ? NULL : p;
}

bool vf_space_unmap(void *start, size_t size) {
  int saved = errno;
  if (!vf_begin_optional())
    return false;
  bool good = munmap(start, size) == 0;
  vf_end_optional();
  errno = saved;
  return good;
}

size_t vf_space_spare(void) {
  return __atomic_load_n(&spare, __ATOMIC_RELAXED);
}
