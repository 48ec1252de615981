// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The host's node of a page of the guest's memory. The guest writes the number
// of the page frame to port NODE_OF, and reads the node there, or NODE_ABSENT
// if the host has no page for it.

#pragma once

#include <stdint.h>

enum { NODE_OF = 0xf6 };
static const uint32_t NODE_ABSENT = ~0u;

#ifdef VMM
#include <sys/syscall.h>
#include <unistd.h>

static inline uint32_t node_of(void *page) {
  int node = -1;
  // Without nodes to move to it only tells where the page is.
  if (syscall(SYS_move_pages, 0, 1ul, &page, (void *)0, &node, 0) || node < 0)
    return NODE_ABSENT;
  return (uint32_t)node;
}
#else
#include <sys/io.h>

// pre: ioperm(NODE_OF, 4, 1) by this thread.
static inline uint32_t node_of(uint64_t frame) {
  outl((uint32_t)frame, NODE_OF);
  return inl(NODE_OF);
}
#endif
