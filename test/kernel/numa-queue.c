// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The queues of released pages, as the series for Linux has them: guest and host are the
// functions of its header, between a model of the guest's allocator and of the host's memory.
// No page that is in use loses its content, in blocks of all sizes; a batch is rarely sent;
// what is allocated again before its release was sent follows its user; and what a guest
// sends cannot make the host release anything else.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %python %S/Inputs/added_file.py %vf_src/runtime/kernel/numa-queue/6.12 arch/x86/include/asm/kvm_numa.h > %t/kvm_numa.h
// RUN: %python %S/Inputs/added_file.py %vf_src/runtime/kernel/numa-queue/6.1 arch/x86/include/asm/kvm_numa.h | diff - %t/kvm_numa.h
// RUN: clang -std=gnu11 -O1 -Wall -Wextra -I %S/../Inputs -I %vf_include -I %t %s -o %t/queue
// RUN: %t/queue churn
// RUN: %t/queue replay
// RUN: %t/queue malicious
//
// The model finds what it is there to find: a queue chosen by the lowest bits, as for pages of
// one size, and the allocation of a part of a block that is not noted.
// RUN: mkdir %t/low %t/missed
// RUN: sed 's/pfn >> KVM_NUMA_MAX_ORDER & /pfn \& /' %t/kvm_numa.h > %t/low/kvm_numa.h
// RUN: clang -std=gnu11 -O1 -I %S/../Inputs -I %vf_include -I %t/low %s -o %t/low/queue
// RUN: not --crash %t/low/queue churn 2>&1 | FileCheck %s
// RUN: sed 's/if (order || q->has_blocks)/if (order)/' %t/kvm_numa.h > %t/missed/kvm_numa.h
// RUN: clang -std=gnu11 -O1 -I %S/../Inputs -I %vf_include -I %t/missed %s -o %t/missed/queue
// RUN: not --crash %t/missed/queue churn 2>&1 | FileCheck %s
// CHECK: not so: content[p] == b->tag
//
// And that only the last user of a page has it.
// RUN: mkdir %t/users
// RUN: sed 's/if (j == n \&\& /if (/' %t/kvm_numa.h > %t/users/kvm_numa.h
// RUN: not diff -q %t/kvm_numa.h %t/users/kvm_numa.h
// RUN: clang -std=gnu11 -O1 -I %S/../Inputs -I %vf_include -I %t/users %s -o %t/users/queue
// RUN: not --crash %t/users/queue replay 2>&1 | FileCheck %s --check-prefix=USERS
// USERS: not so: {{.*}}heard_moves == 1

#include <stdbool.h>
#include <stdint.h>
typedef uint64_t u64;
#define BITS_PER_LONG 64
#include "kvm_numa.h"

#include "check.h"
#include <stdlib.h>
#include <string.h>

/* Four regions of 2 MiB for each of the four queues. */
enum { PAGES = 512 * 16, ORDERS = KVM_NUMA_MAX_ORDER + 1, NODES = 2 };

static uint64_t state = 88172645463325252u;
static uint64_t any(uint64_t n) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (state * 2685821657736338717u >> 32) % n;
}

/* The host's memory: what is in each page, 0 after it was released, and the node
 * of the vCPU that touched it first since then. */
static unsigned content[PAGES];
static int node[PAGES];
static bool in_use[PAGES];
static unsigned long calls, releases, unmapped, moved;
static struct kvm_numa_queue queues[KVM_NUMA_QUEUES];

static void unmap(void *unused, u64 pfn, unsigned order) {
  (void)unused;
  CHECK(order <= KVM_NUMA_MAX_ORDER && pfn + (1u << order) <= PAGES);
  for (u64 p = pfn; p != pfn + (1u << order); ++p) {
    content[p] = 0;
    node[p] = -1;
    ++unmapped;
  }
}

/* To the node of the vCPU, if the host has the page. */
static void move(void *unused, u64 pfn, unsigned order, unsigned cpu) {
  (void)unused;
  CHECK(order <= KVM_NUMA_MAX_ORDER && pfn + (1u << order) <= PAGES);
  CHECK(cpu < NODES);
  for (u64 p = pfn; p != pfn + (1u << order); ++p)
    if (node[p] >= 0 && node[p] != (int)cpu) {
      node[p] = (int)cpu;
      ++moved;
    }
}

static const struct kvm_numa_host host = {unmap, move, NULL};

/* By a vCPU, which is on the node of its number. */
static void note(u64 pfn, unsigned order, bool release, unsigned cpu) {
  struct kvm_numa_queue *q = &queues[kvm_numa_queue_of(pfn)];
  if (release)
    releases += 1u << order;
  if (!release && !kvm_numa_may_hold(q, pfn, order))
    return;
  if (!kvm_numa_add(q, pfn, order, release, cpu))
    return;
  ++calls;
  kvm_numa_replay(q->entry, q->n, &host);
  kvm_numa_forget(q);
}

static void begin(void) {
  memset(content, 0, sizeof content);
  memset(in_use, 0, sizeof in_use);
  calls = releases = unmapped = moved = 0;
  for (int i = 0; i != KVM_NUMA_QUEUES; ++i) {
    static u64 entries[KVM_NUMA_QUEUES][KVM_NUMA_BATCH];
    memset(&queues[i], 0, sizeof queues[i]);
    queues[i].entry = entries[i];
    queues[i].is_on = true;
  }
  for (u64 p = 0; p != PAGES; ++p)
    node[p] = 0;
}

/* A block in use, with what its owner wrote. */
struct block {
  u64 pfn;
  unsigned order, tag;
};

static bool is_free(u64 pfn, unsigned order) {
  for (u64 p = pfn; p != pfn + (1u << order); ++p)
    if (in_use[p])
      return false;
  return true;
}

static void take(struct block *b, int user) {
  note(b->pfn, b->order, false, (unsigned)user);
  for (u64 p = b->pfn; p != b->pfn + (1u << b->order); ++p) {
    in_use[p] = true;
    content[p] = b->tag;
    if (node[p] < 0)
      node[p] = user;
  }
}

/* Random blocks of one order or of all, each with its own content, are found as
 * they were left. Free blocks are split and merged at will, as a block is taken
 * wherever all its pages are free. */
static void churn(unsigned least, unsigned most) {
  enum { BLOCKS = 1500, ROUNDS = 400000 };
  static struct block blocks[BLOCKS];
  memset(blocks, 0, sizeof blocks);
  begin();
  for (unsigned round = 1; round != ROUNDS; ++round) {
    struct block *b = &blocks[any(BLOCKS)];
    if (b->tag) {
      for (u64 p = b->pfn; p != b->pfn + (1u << b->order); ++p)
        CHECK(content[p] == b->tag);
      note(b->pfn, b->order, true, 0);
      for (u64 p = b->pfn; p != b->pfn + (1u << b->order); ++p)
        in_use[p] = false;
      b->tag = 0;
      continue;
    }
    b->order = least + (unsigned)any(most - least + 1);
    b->pfn = any(PAGES >> b->order) << b->order;
    if (!is_free(b->pfn, b->order))
      continue;
    b->tag = round;
    take(b, (int)any(NODES));
  }
  printf("orders %u to %u: %lu calls for %lu released pages, %lu unmapped\n",
         least, most, calls, releases, unmapped);
  CHECK(calls > 0 && calls * 1000 <= 4 * releases);
  CHECK(unmapped * 4 > releases);
}

/* A server that frees and takes single pages: users change, and nearly all pages
 * are on the node of their user although each was another's before. Without
 * releases all stay where they were first. */
static void follows_users(void) {
  enum { ROUNDS = 300000 };
  static int user[PAGES];
  begin();
  unsigned long right = 0, used = 0, first = 0;
  for (u64 p = 0; p != PAGES; ++p)
    in_use[p] = false;
  for (unsigned i = 0; i != ROUNDS; ++i) {
    struct block b = {any(PAGES), 0, 1};
    if (in_use[b.pfn]) {
      note(b.pfn, 0, true, 0);
      in_use[b.pfn] = false;
    } else {
      user[b.pfn] = (int)any(NODES);
      take(&b, user[b.pfn]);
    }
  }
  for (u64 p = 0; p != PAGES; ++p) {
    used += in_use[p];
    right += in_use[p] && node[p] == user[p];
    first += in_use[p] && user[p] == 0;
  }
  printf("%lu of %lu pages on the node of their user, %lu without releases; "
         "%lu calls, %lu released, %lu moved\n",
         right, used, first, calls, unmapped, moved);
  CHECK(right * 100 >= used * 95);
  CHECK(moved > 0 && moved * 4 < unmapped);
}

static unsigned heard, heard_moves;
static u64 last[KVM_NUMA_BATCH], last_moves[KVM_NUMA_BATCH];
static void hear(void *unused, u64 pfn, unsigned order) {
  (void)unused;
  CHECK(heard < KVM_NUMA_BATCH);
  last[heard++] = kvm_numa_release_of(pfn, order);
}

static void hear_move(void *unused, u64 pfn, unsigned order, unsigned cpu) {
  (void)unused;
  CHECK(heard_moves < KVM_NUMA_BATCH && cpu < KVM_NUMA_ANY_CPU);
  last_moves[heard_moves++] = kvm_numa_allocation_of(pfn, order, cpu);
}

static unsigned hear_all(u64 *batch, unsigned n) {
  static const struct kvm_numa_host listener = {hear, hear_move, NULL};
  heard = heard_moves = 0;
  return kvm_numa_replay(batch, n, &listener);
}

/* By hand: the newest operation of a page counts. */
static void replay(void) {
  u64 r5 = kvm_numa_release_of(5, 0), a5 = kvm_numa_allocation_of(5, 0, 1);
  u64 r6 = kvm_numa_release_of(6, 0), r4_2 = kvm_numa_release_of(4, 2);
  u64 batch[] = {r5, r6, a5};
  CHECK(hear_all(batch, 3) == 1 && last[0] == r6);
  CHECK(heard_moves == 1 && last_moves[0] == a5);
  u64 again[] = {r5, a5, r6, r5};
  CHECK(hear_all(again, 4) == 2);
  CHECK(last[0] == r5 && last[1] == r6); /* newest first */
  /* Pages 4 to 7 as a block, of which page 5 was allocated: all keep their
   * place; but not if it was allocated before. */
  u64 block[] = {r4_2, a5};
  CHECK(hear_all(block, 2) == 0);
  u64 before[] = {a5, r4_2};
  CHECK(hear_all(before, 2) == 1 && last[0] == r4_2);
  /* The last user counts, and one without a number moves nothing, nor lets an
   * older one. */
  u64 users[] = {a5, r5, kvm_numa_allocation_of(5, 0, 2)};
  CHECK(hear_all(users, 3) == 0 && heard_moves == 1);
  CHECK(last_moves[0] == kvm_numa_allocation_of(5, 0, 2));
  u64 nobody[] = {a5, r5, kvm_numa_allocation_of(5, 0, 4000)};
  CHECK(hear_all(nobody, 3) == 0 && heard_moves == 0);
  /* A release by a vCPU is no operation. */
  u64 odd[] = {r5 | 1u << KVM_NUMA_CPU_SHIFT};
  CHECK(hear_all(odd, 1) == 0);
  CHECK(kvm_numa_queue_of(511) == 0 && kvm_numa_queue_of(512) == 1 &&
        kvm_numa_queue_of(2048) == 0);
  /* Off, a queue takes no releases, and needs no allocations. */
  begin();
  queues[0].is_on = false;
  CHECK(!kvm_numa_add(&queues[0], 1, 0, true, 0) && queues[0].n == 0);
  CHECK(!kvm_numa_add(&queues[0], 1, 0, false, 0) && queues[0].n == 0);
}

/* Whatever the batch: only aligned blocks of allowed orders, none that overlaps
 * a later allocation, and none that was not asked for. */
static void malicious(void) {
  static u64 batch[KVM_NUMA_BATCH], sent[KVM_NUMA_BATCH];
  for (int round = 0; round != 3000; ++round) {
    unsigned n = 1 + (unsigned)any(KVM_NUMA_BATCH);
    for (unsigned i = 0; i != n; ++i) {
      sent[i] = any(4) ? any(64) << 12 | any(32) : state;
      if (!any(8))
        sent[i] |= state & 0xfffu; /* reserved bits, orders up to 15 */
      if (!any(50))
        sent[i] = UINT64_MAX - any(4096);
    }
    memcpy(batch, sent, sizeof batch);
    CHECK(hear_all(batch, n) == heard && heard + heard_moves <= n);
    for (unsigned k = 0; k != heard; ++k) {
      u64 e = last[k];
      CHECK(kvm_numa_order(e) <= KVM_NUMA_MAX_ORDER);
      CHECK((kvm_numa_pfn(e) & ((1u << kvm_numa_order(e)) - 1)) == 0);
      unsigned at = n;
      while (at > 0 && sent[at - 1] != e)
        --at;
      CHECK(at > 0);
      for (unsigned j = at; j != n; ++j)
        CHECK(!kvm_numa_is_valid(sent[j]) || kvm_numa_is_release(sent[j]) ||
              !kvm_numa_overlap(sent[j], e));
    }
  }
}

int main(int argc, char **argv) {
  CHECK(argc == 2);
  if (strcmp(argv[1], "replay") == 0) {
    replay();
  } else if (strcmp(argv[1], "malicious") == 0) {
    malicious();
  } else {
    churn(0, 0);
    churn(0, ORDERS - 1);
    churn(0, 3);
    follows_users();
  }
  return 0;
}
