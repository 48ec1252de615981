// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Preloaded into a program that vfriendly measure starts with --blocks: samples
// the blocks of memory that it allocates, with their size, the stack of the
// call, and what becomes of them, into a file that is mapped, VF_BLOCKS.
// vfriendly/measuring/blocks.py reads it and has the same layouts.
//
// The first SAMPLES blocks are all sampled, of the next ones every second, then
// every fourth, and so on, so that a short program has enough samples and a
// long one few. How many blocks a sample stands for is in it.
//
// A sampled block stays in its slot until it is freed. Then the slot says how
// many blocks the thread has allocated since, or that another thread freed it.
// A program that brings an allocator of its own in its executable is not seen,
// as nothing calls these functions then.
#define _GNU_SOURCE
#include "ring.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))
// In the library's static TLS: malloc must not be needed to allocate it.
#define THREAD_LOCAL static __thread __attribute__((tls_model("initial-exec")))

#define STACK 2048
#define REGISTERS 17
#define MAGIC 0x31736b636f6c6276 // "vblocks1"
#define SAMPLES 256
// At most one of so many blocks is left out: with 20 million blocks a second,
// 5,000 samples a second.
#define MOST_EACH 4096

struct head {
  uint64_t magic;
  _Atomic uint64_t next, lost, sampled;
};

enum { FREE, WRITTEN, LIVE, READY };

struct slot {
  _Atomic uint32_t state;
  uint32_t process, thread, each;
  uint64_t ns;
  uint64_t size;  // of the stack
  uint64_t bytes; // of the block
  uint64_t born;  // blocks that the thread had allocated before
  uint64_t since; // blocks that it has allocated before the free
  uint64_t block;
  uint32_t freed_by, unused;
  uint64_t registers[REGISTERS]; // in the order of DWARF, then ip
  unsigned char stack[STACK];
};

static struct head *head; // NULL while nothing is sampled
static struct slot *slots;
static uint64_t slot_count;

// The live samples by their address. A new one takes the place of an older one,
// which has lived longer than most: nothing is known of the end of that, and it
// counts as kept. Each free looks here, so the table is no larger than a part
// of the CPU's first cache.
#define LIVE_BITS 10
#define BUSY 1
static _Atomic uintptr_t live[1 << LIVE_BITS];
static _Atomic uint32_t slot_of[1 << LIVE_BITS];

THREAD_LOCAL uint64_t allocated;
THREAD_LOCAL uint32_t until, each_now;
THREAD_LOCAL uint32_t process, thread;
THREAD_LOCAL bool inside;

static void *(*next_malloc)(size_t);
static void *(*next_calloc)(size_t, size_t);
static void *(*next_realloc)(void *, size_t);
static void (*next_free)(void *);
static void *(*next_aligned)(size_t, size_t);
static int (*next_posix)(void **, size_t, size_t);
static void *(*next_memalign)(size_t, size_t);

// What dlsym allocates while the functions are looked up; never freed.
static _Alignas(16) char early[4096];
static size_t early_used;

static bool is_early(const void *block) {
  return (uintptr_t)block - (uintptr_t)early < sizeof early;
}

static void *allocate_early(size_t size) {
  size = (size + 15) & ~(size_t)15;
  if (size > sizeof early - early_used)
    return NULL;
  void *block = early + early_used;
  early_used += size;
  return block;
}

// Two threads at once write the same.
static void look_up(void) {
  if (inside)
    return;
  inside = true;
  next_free = dlsym(RTLD_NEXT, "free");
  next_calloc = dlsym(RTLD_NEXT, "calloc");
  next_realloc = dlsym(RTLD_NEXT, "realloc");
  next_aligned = dlsym(RTLD_NEXT, "aligned_alloc");
  next_posix = dlsym(RTLD_NEXT, "posix_memalign");
  next_memalign = dlsym(RTLD_NEXT, "memalign");
  next_malloc = dlsym(RTLD_NEXT, "malloc");
  inside = false;
}

static size_t place_of(const void *block) {
  return ((uintptr_t)block * 0x9e3779b97f4a7c15u) >> (64 - LIVE_BITS);
}

// The next sample of this thread is a random number of blocks away, so that no
// rhythm of the program's meets the samples.
static void choose_next(void) {
  uint64_t taken = atomic_load_explicit(&head->sampled, memory_order_relaxed);
  uint64_t shift = taken / SAMPLES;
  each_now = shift < 12 ? 1u << shift : MOST_EACH;
  THREAD_LOCAL uint32_t random;
  random = random * 1664525u + 1013904223u + (uint32_t)(uintptr_t)&random;
  until = each_now == 1
              ? 1
              : 1 + (uint32_t)(((uint64_t)random * (2 * each_now - 1)) >> 32);
}

static void begin_thread(void) {
  process = (uint32_t)getpid();
  thread = (uint32_t)syscall(SYS_gettid);
}

// Returns how many bytes above sp can be read for sure: to the end of the page.
// The bounds of the stack would say more, but asking for them allocates.
static size_t readable(uintptr_t sp) {
  size_t size = 4096 - (sp & 4095);
  return size < STACK ? size : STACK;
}

__attribute__((noinline)) static void sample(void *block, size_t bytes,
                                             uint64_t born) {
  uint64_t at = atomic_fetch_add_explicit(&head->next, 1, memory_order_relaxed);
  uint32_t index = (uint32_t)(at % slot_count);
  struct slot *s = &slots[index];
  uint32_t expected = FREE;
  if (!atomic_compare_exchange_strong_explicit(&s->state, &expected, WRITTEN,
                                               memory_order_acquire,
                                               memory_order_relaxed)) {
    atomic_fetch_add_explicit(&head->lost, 1, memory_order_relaxed);
    return;
  }
  if (!thread)
    begin_thread();
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now); // The vDSO's: no system call.
  s->process = process;
  s->thread = thread;
  s->each = each_now;
  s->ns = now.tv_sec * 1000000000ull + now.tv_nsec;
  s->bytes = bytes;
  s->born = born;
  s->freed_by = 0;
  s->since = 0;
  uint64_t *r = s->registers;
  memset(r, 0, sizeof s->registers);
  // Those that a caller may need, as they are in this function now.
  __asm__ volatile("movq %%rbx, 0x18(%0)\n\t"
                   "movq %%rbp, 0x30(%0)\n\t"
                   "movq %%rsp, 0x38(%0)\n\t"
                   "movq %%r12, 0x60(%0)\n\t"
                   "movq %%r13, 0x68(%0)\n\t"
                   "movq %%r14, 0x70(%0)\n\t"
                   "movq %%r15, 0x78(%0)\n\t"
                   "leaq 0f(%%rip), %%rax\n\t"
                   "movq %%rax, 0x80(%0)\n"
                   "0:"
                   :
                   : "r"(r)
                   : "rax", "memory");
  s->size = readable(r[7]);
  memcpy(s->stack, (const void *)r[7], s->size);
  atomic_fetch_add_explicit(&head->sampled, 1, memory_order_relaxed);
  // Must precede the store to `live`, by which the thread that frees the block
  // finds this slot.
  s->block = (uint64_t)(uintptr_t)block;
  atomic_store_explicit(&s->state, LIVE, memory_order_release);
  size_t place = place_of(block);
  uintptr_t there = atomic_load_explicit(&live[place], memory_order_relaxed);
  if (there == BUSY || !atomic_compare_exchange_strong_explicit(
                           &live[place], &there, BUSY, memory_order_acquire,
                           memory_order_relaxed))
    return;
  atomic_store_explicit(&slot_of[place], index, memory_order_relaxed);
  atomic_store_explicit(&live[place], (uintptr_t)block, memory_order_release);
}

static inline void *count(void *block, size_t bytes) {
  if (!head || !block)
    return block;
  uint64_t born = allocated++;
  if (__builtin_expect(until > 1, 1)) {
    --until;
    return block;
  }
  int saved = errno;
  if (!until) // The thread's first.
    choose_next();
  if (until > 1) {
    --until;
  } else {
    sample(block, bytes, born);
    choose_next();
  }
  errno = saved;
  return block;
}

__attribute__((noinline)) static void ended(size_t place, uintptr_t block) {
  uintptr_t taken = block;
  if (!atomic_compare_exchange_strong_explicit(&live[place], &taken, BUSY,
                                               memory_order_acquire,
                                               memory_order_relaxed))
    return;
  uint32_t index = atomic_load_explicit(&slot_of[place], memory_order_relaxed);
  atomic_store_explicit(&live[place], 0, memory_order_release);
  int saved = errno;
  struct slot *s = &slots[index];
  if (!thread)
    begin_thread();
  // The reader takes what lives for long, and a child has the parent's blocks.
  uint32_t state = LIVE;
  if (s->block == block && s->process == process &&
      atomic_compare_exchange_strong_explicit(&s->state, &state, WRITTEN,
                                              memory_order_acquire,
                                              memory_order_relaxed)) {
    s->freed_by = thread;
    s->since = s->thread == thread ? allocated - s->born - 1 : 0;
    atomic_store_explicit(&s->state, READY, memory_order_release);
  }
  errno = saved;
}

static inline void uncount(void *block) {
  size_t place = place_of(block);
  if (__builtin_expect(
          atomic_load_explicit(&live[place], memory_order_relaxed) ==
                  (uintptr_t)block &&
              block,
          0))
    ended(place, (uintptr_t)block);
}

API void *malloc(size_t size) {
  if (__builtin_expect(!next_malloc, 0)) {
    look_up();
    if (!next_malloc)
      return allocate_early(size);
  }
  return count(next_malloc(size), size);
}

API void *calloc(size_t number, size_t size) {
  if (__builtin_expect(!next_malloc, 0)) {
    look_up();
    if (!next_malloc)
      return allocate_early(number * size); // It is zero, being static.
  }
  return count(next_calloc(number, size), number * size);
}

API void free(void *block) {
  if (__builtin_expect(is_early(block), 0))
    return;
  if (__builtin_expect(!next_free, 0)) {
    look_up();
    if (!next_free)
      return;
  }
  uncount(block);
  next_free(block);
}

API void *realloc(void *block, size_t size) {
  if (__builtin_expect(!next_malloc, 0))
    look_up();
  if (__builtin_expect(is_early(block), 0)) {
    void *moved = malloc(size);
    size_t most = (size_t)(early + sizeof early - (char *)block);
    return moved ? memcpy(moved, block, size < most ? size : most) : NULL;
  }
  if (block)
    uncount(block);
  return count(next_realloc(block, size), size);
}

API void *aligned_alloc(size_t alignment, size_t size) {
  if (!next_malloc)
    look_up();
  return count(next_aligned(alignment, size), size);
}

API void *memalign(size_t alignment, size_t size) {
  if (!next_malloc)
    look_up();
  return count(next_memalign(alignment, size), size);
}

API int posix_memalign(void **block, size_t alignment, size_t size) {
  if (!next_malloc)
    look_up();
  int error = next_posix(block, alignment, size);
  if (!error)
    count(*block, size);
  return error;
}

static void in_child(void) { thread = 0; }

int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *);

__attribute__((constructor)) static void start(void) {
  int saved = errno;
  if (!next_malloc)
    look_up();
  char *mapped = map_ring("VF_BLOCKS", MAGIC, sizeof(struct slot), &slot_count);
  if (mapped) {
    slots = (struct slot *)(mapped + RING_HEADER);
    __register_atfork(NULL, NULL, in_child, NULL);
    head = (struct head *)mapped;
  }
  errno = saved;
}
