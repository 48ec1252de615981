# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the programs of heap_ways.py have in common."""

PRELUDE = """#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <arpa/inet.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <search.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#ifndef FACTOR // The test of the fuzzer sets these.
#define FACTOR 31
#endif
#ifndef EPILOGUE
#define EPILOGUE
#endif
#define APART __attribute__((noinline)) static
struct holder { char **at; char *it; };
static int fuel, numbers[8] = {3, 17, 40, 150, 9, 2, 7, 1}, sorted[8] = {0, 1, 3, 4, 5, 6, 8, 9};
static volatile int five = 5, leaving;
static unsigned sum, seen, depth;
static int pipes[2], watched;
static pthread_key_t key;
static void *tree, *small_tree;
static char sink[64], *volatile shared, *mark, *stack_of[8];
static void *volatile told;
static struct holder holder;
static struct link { struct link *next; char *it; } links[4], *list;
static const char *volatile any_format = "%p";
static sem_t gate;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never_signalled = PTHREAD_COND_INITIALIZER;
static int burn(void) { return fuel-- > 0; }
APART void see(unsigned v) { sum = sum * FACTOR + v; }
APART unsigned look(const char *p, size_t n) { unsigned r = 7; for (size_t i = 0; i < n; ++i) r = r * 5 + (unsigned char)p[i]; return r; }
APART void digits(char *p, size_t n, int v) { for (size_t i = 0; i + 1 < n; ++i) p[i] = i % 4 == 3 ? ' ' : (char)('0' + (v + (int)i) % 10); p[n - 1] = 0; p[0] = '1'; }
APART void by_pointer(char *q) { see(look(q, 16)); q[1] = '7'; see((unsigned)q[1]); }
APART void release(char *q) { see((unsigned)q[0]); free(q); }
// Takes and frees what a block that is freed too early may have become.
APART void stir_now(void) { for (int i = 1; i < 9; ++i) { char *z = (char *)malloc((size_t)i * 40); if (z) memset(z, 9, (size_t)i * 40); __asm__ volatile("" ::"r"(z) : "memory"); free(z); } }
static void (*volatile stir)(void) = stir_now;
APART void apart(void) { ++depth; }
static void nap(long s) { struct timespec t = {s, 0}; nanosleep(&t, 0); }
APART void blocked(long s) { nap(s); }
APART void end_thread(void) { pthread_exit(&five == 0 ? 0 : (void *)&sum); }
static void unlock(void *a) { (void)a; pthread_mutex_unlock(&mutex); }
APART int wrapped(char *to, size_t n, const char *format, ...) { va_list a; va_start(a, format); int r = vsnprintf(to, n, format, a); va_end(a); return r; }
APART void first_word(char *p) { strtok(p, " "); }
APART void next_word(void) { char *w = strtok(0, " "); if (w) see(look(w, strlen(w))); }
APART void list_push(char *p) { links[0].next = list; links[0].it = p; list = &links[0]; }
APART char *list_pop(void) { char *p = list ? list->it : 0; list = 0; return p; }
APART void only_look(char *p) { see((unsigned)p[0]); }
static void *reader(void *a) { seen = look((char *)a, 16); return 0; }
static ssize_t cookie_read(void *cookie, char *to, size_t n) { (void)n; to[0] = *(char *)cookie; return 1; }
static int by_byte(const void *a, const void *b) { return *(const char *)a - *(const char *)b; }
static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }
static int by_name(const void *a, const void *b) { return strcmp((const char *)a, (const char *)b); }
static int by_number_into(const void *a, const void *b, void *p) { ++*(char *)p; return *(const int *)a - *(const int *)b; }
static int once_into(struct dl_phdr_info *i, size_t n, void *p) { (void)i; (void)n; ++*(char *)p; return 1; }
static void tell(int s, siginfo_t *i, void *c) { (void)s; (void)c; told = i->si_value.sival_ptr; if (shared) shared[1] = '5'; }
static void block(int on) { sigset_t m; sigemptyset(&m); sigaddset(&m, SIGUSR1); sigprocmask(on ? SIG_BLOCK : SIG_UNBLOCK, &m, 0); }
static void suspend(void) { sigset_t m; sigprocmask(SIG_BLOCK, 0, &m); sigdelset(&m, SIGUSR1); sigsuspend(&m); block(0); }
static void escape(void);
static void leave(void) { if (leaving) { leaving = 0; escape(); } }
static void caught(int s) { (void)s; leave(); }
static int by_number(const void *a, const void *b) { leave(); return *(const int *)a - *(const int *)b; }
static int by_number_r(const void *a, const void *b, void *c) { (void)c; return by_number(a, b); }
static int each_object(struct dl_phdr_info *i, size_t n, void *p) { (void)i; (void)n; (void)p; leave(); return 1; }
static void each_node(const void *node, VISIT which, int level) { (void)node; (void)which; (void)level; leave(); }
static void leave_now(void) { leaving = 1; leave(); }
static void (*volatile callback_to)(void) = leave_now;
static void callback(int c) { if (c) callback_to(); }
static void *exits(void *a) { pthread_exit(a); }
static void *sleeps(void *a) { for (;;) pause(); return a; }
#ifdef __cplusplus
extern "C"
#endif
__attribute__((weak)) void guard_restart(void);
static void begin(void) {
  static char room[64];
  static int small[3] = {5, 2, 8};
  struct sigaction a;
  setvbuf(stdout, room, _IOFBF, sizeof room);
  memset(&a, 0, sizeof a);
  a.sa_sigaction = tell; a.sa_flags = SA_SIGINFO; sigaction(SIGUSR2, &a, 0);
  memset(&a, 0, sizeof a);
  a.sa_handler = caught; sigaction(SIGUSR1, &a, 0); sigaction(SIGABRT, &a, 0);
  if (pipe(pipes) || (watched = epoll_create1(0)) < 0) _exit(98);
  pthread_key_create(&key, 0);
  sem_init(&gate, 0, 0);
  for (int i = 0; i < 3; ++i) tsearch(&small[i], &small_tree, by_number);
  // The first exit and cancellation of a thread load the unwinder, which may not fail.
  pthread_t t;
  if (!pthread_create(&t, 0, exits, 0)) pthread_join(t, 0);
  if (!pthread_create(&t, 0, sleeps, 0)) { pthread_cancel(t); pthread_join(t, 0); }
  if (guard_restart) guard_restart();
}
static void drop(void *p) { (void)p; }
static void end(void) { tdestroy(small_tree, drop); }
"""
C_ONLY = """#include <stdatomic.h>
static sigjmp_buf out;
static void escape(void) { siglongjmp(out, 1); }
APART void jump(int c) { if (c) longjmp(out, 1); }
"""
# Included only for programs that use them: they take longer than the rest to compile.
HEADERS = {"std::function": "functional", "std::map": "map", "std::sort": "algorithm", "std::vector": "vector",
           "std::string": "string", "std::unique_ptr": "memory"}
CXX_ONLY = """#include <atomic>
#include <exception>
#include <new>
using namespace std;
struct Thrown { int v; };
struct Carrier { char *p; };
static void escape(void) { throw Thrown{1}; }
APART void jump(int c) { if (c) throw Thrown{c}; }
"""
THREADS = """static atomic_int ready, never;
static void cancel(void *(*body)(void *)) {
  pthread_t t;
  atomic_store(&ready, 0);
  if (pthread_create(&t, 0, body, 0)) { see(3); return; }
  while (!atomic_load(&ready)) nap(0);
  pthread_cancel(t);
  void *result = 0;
  pthread_join(t, &result);
  see(result == PTHREAD_CANCELED);
}
"""
C_ONLY += THREADS
CXX_ONLY += THREADS
