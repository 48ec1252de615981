/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Each thread's struct rseq, in which a test takes the kernel's part. */
#ifndef RSEQ_AREA_H
#define RSEQ_AREA_H

#include "check.h"
#include <stddef.h>
#include <stdint.h>

enum { AVAILABLE = 1 << 4, ENABLED = 1 << 5 };
struct area {
  uint32_t cpu_id_start, cpu_id;
  uint64_t rseq_cs;
  uint32_t flags, node_id, mm_cid;
  uint8_t request, granted;
  uint16_t reserved;
};
static __thread volatile struct area area __attribute__((tls_model("initial-exec"), aligned(32))) = {.flags = AVAILABLE};
static __thread int yielded;

static ptrdiff_t area_at(void) { return (char *)&area - (char *)__builtin_thread_pointer(); }

static void yield(void) {
  CHECK(area.request == 0);
  area.granted = 0;
  ++yielded;
}

#endif /* RSEQ_AREA_H */
