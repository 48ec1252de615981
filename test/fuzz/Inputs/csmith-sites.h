// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the csmith kind adds to programs, as the passes have nothing to do in those of
// Csmith alone: blocks of memory in each block of statements, and waits for another
// thread. What memory and threads say goes into a sum, which is printed at the end.

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned long site_sum = 1;

static void site_add(unsigned long value) { site_sum = site_sum * 31 + value; }

struct site_block {
  unsigned char *at;
  unsigned size;
};

static inline struct site_block site_take(unsigned size, unsigned id) {
  struct site_block block = {malloc(size), size};
  for (unsigned i = 0; i < size; ++i)
    block.at[i] = (unsigned char)(site_sum >> i % 24) + id;
  return block;
}

static inline void site_give(struct site_block *block) {
  for (unsigned i = 0; i < block->size; ++i)
    site_add(block->at[i]);
  free(block->at);
}

// A block that goes when its statements end.
#define SITE_SCRATCH(id, size)                                                 \
  __attribute__((cleanup(site_give))) struct site_block site_##id =            \
      site_take(size, id);

// One that stays until the statements run again: its address is known elsewhere.
#define SITE_KEPT(id, size)                                                    \
  static struct site_block site_##id;                                          \
  if (site_##id.at)                                                            \
    site_give(&site_##id);                                                     \
  site_##id = site_take(size, id);

// The first meetings only: without the passes each may cost a time slice.
enum { SITE_MEETINGS = 60 };
static atomic_uint site_asked;
static unsigned site_question, site_reply;
static volatile int site_answered[SITE_MEETINGS + 1];

static void *site_answer(void *unused) {
  for (unsigned number = 1; number <= SITE_MEETINGS; ++number) {
    while (atomic_load(&site_asked) != number)
      ;
    site_reply = site_question * 5 + number;
    atomic_thread_fence(memory_order_release);
    site_answered[number] = 1;
  }
  return unused;
}

// Asks another thread, and waits for its answer.
static inline void site_meet(unsigned id) {
  static unsigned number;
  static pthread_t thread;
  if (number == SITE_MEETINGS)
    return;
  if (number++ == 0 && pthread_create(&thread, 0, site_answer, 0))
    abort();
  site_question = id;
  atomic_store(&site_asked, number);
  while (!site_answered[number])
    ;
  atomic_thread_fence(memory_order_acquire);
  site_add(site_reply);
}
#define SITE_MEET(id) site_meet(id);

__attribute__((destructor)) static void site_print(void) {
  printf("sites %lx\n", site_sum);
}
