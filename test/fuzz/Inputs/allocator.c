// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// allocator SEED THREADS STEPS SIZES WAYS: threads that allocate, hand on and free blocks,
// whose contents they check. SIZES is the largest size. WAYS is any of
//   e  threads that end and are followed by others, and destructors that free and allocate
//   f  forks; children have threads, too
//   k  so many thread-specific keys that libc allocates to set one
//   p  pauses in which the allocator's helper may end
//   t  malloc_trim, mallinfo2
//   o  threads whose first call is a free, a fork or malloc_trim
// Prints "done" if all threads came to their end. Allocations may fail.

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SHARED = 256, OWN = 400, MAX_THREADS = 64, KEYS = 40 };

struct block {
  size_t size;
  unsigned char mark;
  unsigned char bytes[];
};

static unsigned seed0, threads;
static long steps;
static size_t sizes;
static const char *ways;
static _Atomic(struct block *) shared[SHARED];
static pthread_key_t keys[KEYS];

static void fail(const char *what) {
  fprintf(stderr, "allocator: %s\n", what);
  abort();
}

static int has(char way) { return strchr(ways, way) != NULL; }

static unsigned draw(unsigned *seed) {
  *seed = *seed * 1103515245u + 12345u;
  return *seed >> 8;
}

// Mostly small: a size below a random power of two.
static size_t draw_size(unsigned *seed) {
  unsigned log2 = 4 + draw(seed) % 20;
  size_t limit = (size_t)1 << log2;
  return draw(seed) % (limit < sizes ? limit : sizes) + 1;
}

static void check(const struct block *block) {
  if (block->size == 0)
    return;
  if (block->bytes[0] != block->mark ||
      block->bytes[block->size / 2] != block->mark ||
      block->bytes[block->size - 1] != block->mark)
    fail("a block has changed");
}

static void release(struct block *block) {
  if (!block)
    return;
  check(block);
  free(block);
}

static void fill(struct block *block, size_t size, unsigned char mark) {
  block->size = size;
  block->mark = mark;
  block->bytes[0] = block->bytes[size / 2] = block->bytes[size - 1] = mark;
}

static struct block *allocate(unsigned *seed) {
  size_t size = draw_size(seed), all = sizeof(struct block) + size;
  unsigned char mark = (unsigned char)draw(seed);
  struct block *block = NULL;
  switch (draw(seed) % 8) {
  case 0:
    block = calloc(1, all);
    if (block &&
        (block->bytes[0] | block->bytes[size / 2] | block->bytes[size - 1]))
      fail("calloc did not clear");
    break;
  case 1: {
    size_t alignment = (size_t)16 << draw(seed) % 10;
    if (posix_memalign((void **)&block, alignment, all) != 0)
      block = NULL;
    if ((uintptr_t)block % alignment)
      fail("not aligned");
    break;
  }
  default:
    block = malloc(all);
  }
  if (block)
    fill(block, size, mark);
  return block;
}

static void resize(struct block **at, unsigned *seed) {
  struct block *block = *at;
  if (!block)
    return;
  size_t size = draw_size(seed), has = block->size;
  unsigned char mark = block->mark;
  check(block);
  block = realloc(block, sizeof *block + size);
  if (!block)
    return;
  *at = block;
  if (block->bytes[0] != mark || (has <= size && block->bytes[has - 1] != mark))
    fail("realloc has changed a block");
  fill(block, size, mark);
}

static void rest(long ms) {
  nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static void run_threads(unsigned seed, unsigned n, long count);

static void fork_once(unsigned seed) {
  pid_t child = fork();
  if (child == -1)
    return; // A limit of processes.
  if (child == 0) {
    alarm(60);
    run_threads(seed, 1 + seed % 3, 300);
    _exit(0);
  }
  int status;
  while (waitpid(child, &status, 0) == -1 && errno == EINTR)
    ;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    fail("a child did not end well");
}

static void at_thread_end(void *value) {
  struct block *block = value;
  release(block);
  unsigned seed = (unsigned)(uintptr_t)value;
  release(allocate(&seed));
}

static void churn(unsigned seed, long count) {
  struct block *own[OWN] = {NULL};
  for (long i = 0; i != count; ++i) {
    struct block **at = &own[draw(&seed) % OWN];
    unsigned what = draw(&seed) % 1000;
    if (what < 600) {
      release(*at);
      *at = allocate(&seed);
    } else if (what < 800) {
      resize(at, &seed);
    } else if (what < 998) {
      *at = atomic_exchange(&shared[draw(&seed) % SHARED], *at);
    } else if (has('t') && what == 998) {
      malloc_trim(0);
    } else if (has('f') && draw(&seed) % 8 == 0) {
      fork_once(seed);
    }
  }
  for (int i = 0; i != OWN; ++i)
    release(own[i]);
}

struct task {
  unsigned seed;
  long count;
};

static void *run(void *data) {
  struct task task = *(struct task *)data;
  unsigned seed = task.seed;
  if (has('o'))
    switch (draw(&seed) % 4) {
    case 0:
      release(atomic_exchange(&shared[draw(&seed) % SHARED], NULL));
      break;
    case 1:
      malloc_trim(0);
      break;
    case 2:
      if (has('f') && draw(&seed) % 4 == 0)
        fork_once(seed);
    }
  churn(seed, task.count);
  if (has('e') || has('k'))
    pthread_setspecific(keys[KEYS - 1 - seed % 4], allocate(&seed));
  return NULL;
}

static void run_threads(unsigned seed, unsigned n, long count) {
  pthread_t thread[MAX_THREADS];
  struct task task[MAX_THREADS];
  int made[MAX_THREADS];
  for (unsigned i = 0; i != n; ++i) {
    task[i] = (struct task){seed + i * 7919, count};
    made[i] = pthread_create(&thread[i], NULL, run, &task[i]) == 0;
  }
  for (unsigned i = 0; i != n; ++i)
    if (made[i])
      pthread_join(thread[i], NULL);
}

int main(int argc, char **argv) {
  if (argc != 6)
    return 2;
  seed0 = (unsigned)atoi(argv[1]);
  threads = (unsigned)atoi(argv[2]);
  steps = atol(argv[3]);
  sizes = (size_t)atol(argv[4]);
  ways = argv[5];
  if (threads > MAX_THREADS)
    return 2;
  // The first keys stay unused, so that the last are not in the part that each thread has.
  int first = has('k') ? 0 : KEYS - 4;
  for (int i = first; i != KEYS; ++i)
    if (pthread_key_create(&keys[i], at_thread_end) != 0)
      fail("no key");
  unsigned rounds = has('e') ? 4 : 1;
  for (unsigned i = 0; i != rounds; ++i) {
    run_threads(seed0 + i * 104729, threads, steps / rounds);
    if (has('p')) {
      rest(100 << draw(&seed0) % 5);
      churn(seed0, steps / 16);
    }
    struct mallinfo2 info = {0};
    if (has('t'))
      info = mallinfo2();
    (void)info;
  }
  for (int i = 0; i != SHARED; ++i)
    release(atomic_exchange(&shared[i], NULL));
  puts("done");
  return 0;
}
