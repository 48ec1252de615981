/*===- spin-unmodified/memory.c - Reading memory of the program -----------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "spin-unmodified/memory.h"
#include "peek.h"
#include <errno.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

VF_DEFINE_PEEK;

/* The smallest page: bytes of one are readable or not together. */
#define PAGE 4096u

static bool peek(uint64_t from, char *to, size_t n) {
  for (size_t size; n; n -= size, from += size, to += size) {
    size = n >= 8 ? 8 : n >= 4 ? 4 : n >= 2 ? 2 : 1;
    int done = size == 8   ? vf_peek_8(to, from)
               : size == 4 ? vf_peek_4(to, from)
               : size == 2 ? vf_peek_2(to, from)
                           : vf_peek_1(to, from);
    if (!done)
      return false;
  }
  return true;
}

static bool copy_clock(const struct vf_clock_pages *clock, uint64_t from,
                       void *to, size_t n) {
  int saved = errno;
  const void *here =
      (const void *)(uintptr_t)(clock->here + from - clock->there);
  bool done = write(clock->ends[1], here, n) == (long)n &&
              read(clock->ends[0], to, n) == (long)n;
  errno = saved;
  return done;
}

static bool copy(int process, uint64_t from, void *to, size_t n) {
  int saved = errno;
  struct iovec here = {to, n}, there = {(void *)(uintptr_t)from, n};
  long got = syscall(SYS_process_vm_readv,
                     process ? process : (int)syscall(SYS_getpid), &here, 1ul,
                     &there, 1ul, 0ul);
  errno = saved;
  return got == (long)n;
}

bool vf_memory_read(const struct vf_memory *memory, uint64_t from, void *to,
                    size_t n) {
  if (from - memory->clock.there < memory->clock.size)
    return copy_clock(&memory->clock, from, to, n);
  return memory->access == VF_MEMORY_GUARDED
             ? peek(from, to, n)
             : copy(memory->process, from, to, n);
}

size_t vf_memory_code(const struct vf_memory *memory, uint64_t from, void *to,
                      size_t n) {
  size_t in_page = PAGE - from % PAGE, first = n < in_page ? n : in_page;
  if (!vf_memory_read(memory, from, to, first))
    return 0;
  return first < n && vf_memory_read(memory, from + first, (char *)to + first,
                                     n - first)
             ? n
             : first;
}
