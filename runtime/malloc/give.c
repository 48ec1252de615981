/*===- malloc/give.c - Returning memory to the kernel ---------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Each call interrupts every CPU that runs the process. process_madvise returns
 * up to 1024 ranges with one interrupt, if the kernel lets a process use it on
 * itself with MADV_DONTNEED (Linux 6.13). Otherwise each range takes a call.
 *===----------------------------------------------------------------------===*/

#include "malloc/give.h"
#include "common/sandbox.h"
#include "platform/linux/kernel.h"
#include <stdbool.h>
#include <sys/mman.h>

#ifndef PIDFD_SELF_THREAD_GROUP
#define PIDFD_SELF_THREAD_GROUP (-10001) /* since Linux 6.14 */
#endif

static bool is_refused; /* true if the kernel refused process_madvise */

/* Gives all ranges of the batch back with one system call. Returns the number
 * of bytes that the kernel has taken. */
static size_t give_at_once(const struct vf_pages_batch *batch) {
  int saved = errno;
  ssize_t given = syscall(SYS_process_madvise, PIDFD_SELF_THREAD_GROUP,
                          batch->ranges, batch->n, MADV_DONTNEED, 0);
  if (given < 0) {
    int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
    if (self >= 0) {
      given = syscall(SYS_process_madvise, self, batch->ranges, batch->n,
                      MADV_DONTNEED, 0);
      syscall(SYS_close, self); /* close() would be a cancellation point. */
    }
  }
  errno = saved;
  return given > 0 ? (size_t)given : 0;
}

static bool give_one(const struct iovec *range) {
  int saved = errno;
  bool good = madvise(range->iov_base, range->iov_len, MADV_DONTNEED) == 0;
  errno = saved;
  return good;
}

/* Gives back the whole batch or fails, so that no caller has to track parts. */
static bool give(const struct vf_pages_batch *batch, struct vf_given *sum) {
  if (batch->n > 1 && !is_refused) {
    ++sum->calls;
    if (give_at_once(batch) == batch->bytes)
      return true;
    is_refused = true;
  }
  bool good = true;
  for (int i = 0; i != batch->n && good; ++i, ++sum->calls)
    good = give_one(&batch->ranges[i]);
  return good;
}

/* Maximum size of a batch. One call of process_madvise accepts at most 2 GiB
 * less a page. */
#define BATCH_BYTES ((size_t)1 << 30)

struct vf_given vf_give_back(size_t bytes) {
  /* Static, as 16 KiB are too large for the stack of a small thread. Only one
   * thread at a time runs this function. */
  static struct vf_pages_batch batch;
  struct vf_given sum = {0};
  if (!vf_begin_optional())
    return sum;
  while (sum.bytes < bytes &&
         vf_pages_begin_giving(&batch, bytes - sum.bytes < BATCH_BYTES
                                           ? bytes - sum.bytes
                                           : BATCH_BYTES)) {
    bool given = give(&batch, &sum);
    vf_pages_end_giving(&batch, given);
    if (!given) /* The kernel refused, as for locked pages. */
      break;
    sum.bytes += batch.bytes;
    sum.ranges += (uint64_t)batch.n;
  }
  vf_end_optional();
  return sum;
}

/* Number of groups of pages on which the costs are measured, and pages per
 * group. An interrupt counts as CPU time of this thread, so only the fastest
 * group counts. A process pays a page fault for each page. */
#define PROBE_GROUPS 3
#define GROUP_PAGES 2

/* Returns the CPU time of this thread; real time would include that of other
 * threads. */
static uint64_t own_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Returns the time of the page faults on one group, in nanoseconds per page. */
static uint64_t touch_ns(char *from, size_t page) {
  uint64_t begin = own_ns();
  for (size_t i = 0; i != GROUP_PAGES; ++i)
    *(volatile char *)(from + i * page) = 1;
  return (own_ns() - begin) / GROUP_PAGES;
}

static uint64_t return_ns(char *from, size_t size) {
  uint64_t begin = own_ns();
  madvise(from, size, MADV_DONTNEED);
  return own_ns() - begin;
}

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* Measures the costs once. Gives memory back only twice, because each call
 * interrupts other CPUs. */
struct vf_costs vf_give_costs(void) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE), group = GROUP_PAGES * page;
  size_t size = PROBE_GROUPS * group;
  bool zero = false;
  char *probe = vf_pages_take(NULL, size, page, &zero);
  if (!probe)
    return (struct vf_costs){2000, 10000}; /* Used if the measurement fails;
                                              measured on another machine. */
  uint64_t call = return_ns(probe, size), fault = UINT64_MAX;
  for (size_t i = 0; i != PROBE_GROUPS; ++i)
    fault = least(fault, touch_ns(probe + i * group, page));
  call = least(call, return_ns(probe, page));
  vf_pages_put(probe, size);
  return (struct vf_costs){fault, call};
}
