// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// workloads WHAT THREADS AMOUNT [OF]: programs whose heap changes its size, as
// the thesis describes them (Schildermans, chapters 7 and 8), and operations
// whose price an allocator decides: replacing a block, fork, the start of a
// process. AMOUNT is iterations of each thread, or seconds where the program
// goes by the clock. Prints what the program needs, {"mean_need": bytes}, 0 if
// it does not know; of an operation its CPU time, {"cpu_each": seconds},
// children's included. The output of a listing is the same in each run, as
// ./dev bench heap-rewrites compares it.

#include <pthread.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK = 16384, MAX_THREADS = 256 };

static int threads;
static double amount, began;
static char *of = "";
// What the program needs now, and its sum over time.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static double need, need_since, need_time;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void sleep_until(double when) {
  double left = when - now();
  if (left > 0)
    nanosleep(&(struct timespec){(time_t)left,
                                 (long)((left - (double)(time_t)left) * 1e9)},
              NULL);
}

static void need_changes(double by) {
  pthread_mutex_lock(&lock);
  double t = now();
  need_time += need * (t - need_since);
  need_since = t;
  need += by;
  pthread_mutex_unlock(&lock);
}

static char *used(size_t size) {
  char *p = malloc(size);
  if (!p)
    abort();
  memset(p, 1, size);
  return p;
}

static void opaque(void *p) { __asm__ volatile("" ::"r"(p) : "memory"); }

// Listing 7.1: a page is given back again and again.
static void *shared_page;
static void *listing71(void *unused) {
  for (long i = (long)amount; i > 0; --i)
    madvise(shared_page, 4096, MADV_DONTNEED);
  return unused;
}

// Listing 7.2: blocks just below glibc's threshold, freed backwards.
static void *listing72(void *unused) {
  void *m[1000];
  for (long i = (long)amount; i > 0; --i) {
    for (int j = 0; j < 1000; ++j)
      opaque(m[j] = malloc(130048));
    for (int j = 0; j < 1000; ++j)
      free(m[999 - j]);
  }
  return unused;
}

// Listing 8.8: ever larger blocks, used once, freed late and backwards.
static void *listing88(void *unused) {
  for (long i = (long)amount; i > 0; --i) {
    char *m[1000];
    for (int j = 0; j < 1000; ++j)
      m[j] = used((size_t)(10 * j + 1));
    for (int j = 0; j < 1000; ++j)
      opaque(used(1000)), free(m[999 - j]);
  }
  return unused;
}

struct stack {
  char **blocks;
  size_t n;
};

// Told every megabyte: to reach 100 takes long where pages are slow to come.
enum { TOLD_EVERY = 64 };

static void reach(struct stack *s, size_t bytes) {
  size_t n = bytes / BLOCK, told = s->n;
  while (s->n != n) {
    if (s->n < n)
      s->blocks[s->n++] = used(BLOCK);
    else
      free(s->blocks[--s->n]);
    if (s->n % TOLD_EVERY == 0 || s->n == n) {
      need_changes(((double)s->n - (double)told) * BLOCK);
      told = s->n;
    }
  }
}

static struct stack new_stack(void) {
  return (struct stack){malloc(100000 * sizeof(char *)), 0};
}

static double draw(unsigned *seed) {
  *seed = *seed * 1103515245u + 12345u;
  return (*seed >> 8) / (double)(1u << 24);
}

// Figure 7.2a: one thread's 100 MB stay, another's go between 8 and 12 MB.
static void *figure72a(void *number) {
  struct stack s = new_stack();
  unsigned seed = 1;
  reach(&s, number ? 10000000 : 100000000);
  for (double t = began; t < began + amount; t += 0.05) {
    if (number)
      reach(&s, (size_t)(8e6 + 4e6 * draw(&seed)));
    sleep_until(t);
  }
  return NULL;
}

// Figure 7.2b: many arenas, each small and never the same.
static void *figure72b(void *number) {
  struct stack s = new_stack();
  unsigned seed = (unsigned)(size_t)number + 1;
  for (double t = began; t < began + amount; t += 0.1) {
    reach(&s, (size_t)(5e6 * draw(&seed)));
    sleep_until(t);
  }
  return NULL;
}

// Figure 7.3: 10 MB, with peaks to 100 for 0.4 s every 2 s.
static void *figure73(void *unused) {
  struct stack s = new_stack();
  for (double t = began; t < began + amount; t += 2) {
    reach(&s, (size_t)(10e6 / threads));
    sleep_until(t + 1.6);
    reach(&s, (size_t)(100e6 / threads));
    sleep_until(t + 2);
  }
  reach(&s, (size_t)(10e6 / threads));
  return unused;
}

// A small program: 360 KB come and go every 200 ms, in blocks too small for the
// cache of large ones.
static void *small(void *unused) {
  enum { SMALL = 8192, BLOCKS = 44 };
  char *blocks[BLOCKS];
  for (double t = began; t < began + amount; t += 0.2) {
    for (int i = 0; i != BLOCKS; ++i)
      blocks[i] = used(SMALL);
    need_changes(BLOCKS * SMALL);
    sleep_until(t + 0.05);
    for (int i = 0; i != BLOCKS; ++i)
      free(blocks[i]);
    need_changes(-BLOCKS * SMALL);
    sleep_until(t + 0.2);
  }
  return unused;
}

// As larson does: blocks of random sizes up to OF replace each other.
static void *replace(void *number) {
  enum { BLOCKS = 1000 };
  char *blocks[BLOCKS] = {NULL};
  unsigned seed = (unsigned)(size_t)number + 1;
  double most = atof(of);
  for (long i = (long)amount; i > 0; --i) {
    char **b = &blocks[(size_t)(draw(&seed) * BLOCKS)];
    free(*b);
    opaque(*b = malloc((size_t)(draw(&seed) * most) + 1));
    if (!*b)
      abort();
    **b = 1;
  }
  for (int i = 0; i != BLOCKS; ++i)
    free(blocks[i]);
  return NULL;
}

static void await(pid_t child) {
  int status;
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
    abort();
}

// A process of two threads that has 10 MB.
static void *forks(void *unused) {
  for (int i = 0; i != 10000; ++i)
    opaque(used(1000));
  for (long i = (long)amount; i > 0; --i) {
    pid_t child = fork();
    if (child == 0)
      _exit(0);
    await(child);
  }
  return unused;
}

// Starts the program OF, which has to end at once.
static void *starts(void *unused) {
  extern char **environ;
  for (long i = (long)amount; i > 0; --i) {
    pid_t child;
    if (posix_spawnp(&child, of, NULL, NULL, (char *[]){of, NULL}, environ))
      abort();
    await(child);
  }
  return unused;
}

static double cpu(void) {
  double sum = 0;
  struct rusage r;
  for (int who = RUSAGE_CHILDREN; who <= RUSAGE_SELF; ++who) {
    getrusage(who, &r);
    sum += (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
           (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) * 1e-6;
  }
  return sum;
}

static const struct {
  const char *name;
  void *(*run)(void *number);
  bool is_operation; // and its price is asked for
} all[] = {
    {"listing-7.1", listing71, false}, {"listing-7.2", listing72, false},
    {"listing-8.8", listing88, false}, {"figure-7.2a", figure72a, false},
    {"figure-7.2b", figure72b, false}, {"figure-7.3", figure73, false},
    {"replace", replace, true},        {"fork", forks, true},
    {"start", starts, true},           {"small", small, false},
};

int main(int argc, char **argv) {
  if (argc < 4 || argc > 5 || (threads = atoi(argv[2])) < 1 ||
      threads > MAX_THREADS)
    return fprintf(stderr, "usage: workloads WHAT THREADS AMOUNT [OF]\n"), 2;
  size_t which = 0, end = sizeof all / sizeof *all;
  while (which != end && strcmp(all[which].name, argv[1]) != 0)
    ++which;
  if (which == end)
    return fprintf(stderr, "workloads: no '%s'\n", argv[1]), 2;
  amount = atof(argv[3]);
  if (argc == 5)
    of = argv[4];
  began = need_since = now();
  if (posix_memalign(&shared_page, 4096, 8192))
    abort();
  pthread_t id[MAX_THREADS];
  for (int i = 0; i < threads; ++i)
    if (pthread_create(&id[i], NULL, all[which].run, (void *)(size_t)i))
      abort();
  for (int i = 0; i < threads; ++i)
    pthread_join(id[i], NULL);
  need_changes(0);
  if (all[which].is_operation)
    printf("{\"cpu_each\": %.9g}\n", cpu() / (amount * threads));
  else
    printf("{\"mean_need\": %.0f}\n", need_time / (now() - began));
  return 0;
}
