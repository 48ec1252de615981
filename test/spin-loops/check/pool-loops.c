// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops of pools, queues and locks as programs have them, written and labelled by somebody who did
// not know the rules. Check and pass agree; each kind has a loop that looks like it and is no wait.
//
// REQUIRES: host-x86_64
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=gnu11 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:
// RUN: %vf_clang -std=gnu11 -O2 -g -w -Rpass=vf-spin-loops -Rpass-missed=vf-spin-loops -c %s -o %t.o 2>&1 | grep remark: | sed 's/^[^ ]*pool-loops.c:/at:/' | sort -t: -k2n > %t.remarks
// RUN: FileCheck %s --check-prefix=PASS --implicit-check-not='polls now' --input-file=%t.remarks

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

static inline void cpu_relax(void) { __builtin_ia32_pause(); }

// Worker that polls a job slot; the poll records the job only when there is one.
enum { ST_IDLE, ST_JOB, ST_QUIT };
struct job_slot { atomic_uint seq; atomic_int quit; atomic_ulong alive; pthread_mutex_t mu; pthread_cond_t cv; };
struct worker_ctx { struct job_slot *slot; unsigned seen; int state; unsigned long beats; };
static int ctx_poll(struct worker_ctx *c) {
  unsigned s = atomic_load_explicit(&c->slot->seq, memory_order_acquire);
  if (s != c->seen) {
    c->seen = s;
    c->state = ST_JOB;
    return 1;
  }
  if (atomic_load_explicit(&c->slot->quit, memory_order_relaxed)) {
    c->state = ST_QUIT;
    return 1;
  }
  return 0;
}
int worker_wait_a(struct worker_ctx *c, unsigned spins) {
  c->state = ST_IDLE;
  // CHECK: :[[@LINE+2]]:3: warning: loop
  // PASS: at:[[#@LINE+1]]:{{.*}}now wait in the runtime
  while (spins-- > 0) {
    if (ctx_poll(c))
      return c->state;
    cpu_relax();
  }
  pthread_mutex_lock(&c->slot->mu);
  while (!ctx_poll(c))
    pthread_cond_wait(&c->slot->cv, &c->slot->mu);
  pthread_mutex_unlock(&c->slot->mu);
  return c->state;
}
// The event is a bit mask which the poll takes by exchange only when it is not zero.
struct mailbox { _Atomic uint32_t events; };
static bool mbox_take(struct mailbox *m, uint32_t *out) {
  if (atomic_load_explicit(&m->events, memory_order_relaxed) == 0)
    return false;
  *out = atomic_exchange_explicit(&m->events, 0, memory_order_acq_rel);
  return *out != 0;
}
uint32_t mbox_wait_b(struct mailbox *m) {
  uint32_t ev = 0;
  // CHECK: :[[@LINE+2]]:3: warning: loop
  // PASS: at:[[#@LINE+1]]:{{.*}}now wait in the runtime
  while (!mbox_take(m, &ev))
    cpu_relax();
  return ev;
}
// Twin: the failed poll tells a watchdog that the worker is alive.
static int ctx_poll_beat(struct worker_ctx *c) {
  unsigned s = atomic_load_explicit(&c->slot->seq, memory_order_acquire);
  if (s != c->seen) {
    c->seen = s;
    return 1;
  }
  atomic_store_explicit(&c->slot->alive, ++c->beats, memory_order_release);
  return 0;
}
void worker_wait_c(struct worker_ctx *c) {
  while (!ctx_poll_beat(c))
    ;
}

// Spin on a try-pop of another file, as pools do.
struct wq;
struct work { void (*run)(struct work *); };
struct work *wq_dequeue(struct wq *);
int ring_try_get(struct wq *, struct work **);
void process(struct work *);
struct work *next_work(struct wq *q) {
  struct work *w;
  // CHECK: :[[@LINE+2]]:3: warning: loop
  // PASS: at:[[#@LINE+1]]:{{.*}}may do more than wait: it calls 'wq_dequeue'
  while ((w = wq_dequeue(q)) == NULL)
    cpu_relax();
  return w;
}
struct work *next_work_bounded(struct wq *q, int spins) {
  struct work *w = NULL;
  // CHECK: :[[@LINE+2]]:3: warning: loop
  // PASS: at:[[#@LINE+1]]:{{.*}}left as it is
  do {
    if (ring_try_get(q, &w) == 0)
      break;
    sched_yield();
  } while (--spins > 0);
  return w;
}
// Twin: takes work until there is none.
void drain(struct wq *q) {
  struct work *w;
  while ((w = wq_dequeue(q)) != NULL) {
    process(w);
    cpu_relax();
  }
}

// Spins that sleep now and then.
void wait_flag(atomic_int *done) {
  // CHECK: :[[@LINE+2]]:3: warning: loop
  // PASS: at:[[#@LINE+1]]:{{.*}}now wait in the runtime
  for (unsigned k = 1; !atomic_load_explicit(done, memory_order_acquire); k++) {
    if ((k & 0x3ff) == 0)
      usleep(50);
    else
      cpu_relax();
  }
}
// Twin: moves the network on in each turn; sleeps now and then.
int net_progress(void);
void wait_net(const int *done) {
  unsigned n = 0;
  while (!*done) {
    net_progress();
    if (++n % 1024 == 0)
      usleep(10);
  }
}

// The rare sleep is in a function of another file; the report must not say that it sleeps between polls.
void nap(void);
void wait_gen(atomic_int *gen, int old) {
  int n = 0;
  // CHECK: :[[@LINE+2]]:3: warning: loop
  // PASS: at:[[#@LINE+1]]:{{.*}}now wait in the runtime
  while (atomic_load(gen) == old) {
    if (++n > 5000) {
      nap();
      n = 0;
    }
    __builtin_ia32_pause();
  }
}
// Twin: a ticker.
extern int running;
void tick(void);
void sleep_ms(int);
void ticker(void) {
  while (running) {
    tick();
    sleep_ms(10);
  }
}

// Polls that take a lock to look.
struct q { pthread_mutex_t mu; int count; int closed; void *slot[64]; };
void *q_take(struct q *q) {
  void *p;
  pthread_mutex_lock(&q->mu);
  // CHECK: :[[@LINE+2]]:3: warning: loop
  // PASS: at:[[#@LINE+1]]:{{.*}}left as it is
  while (q->count == 0) {
    pthread_mutex_unlock(&q->mu);
    sched_yield();
    pthread_mutex_lock(&q->mu);
  }
  p = q->slot[--q->count];
  pthread_mutex_unlock(&q->mu);
  return p;
}
// Twin: takes a job under the lock and runs it without.
typedef void (*fn)(void);
void q_work(struct q *q) {
  pthread_mutex_lock(&q->mu);
  while (!q->closed && q->count > 0) {
    fn f = (fn)q->slot[--q->count];
    pthread_mutex_unlock(&q->mu);
    f();
    pthread_mutex_lock(&q->mu);
  }
  pthread_mutex_unlock(&q->mu);
}

// Polls of a flag with a deadline.
struct req { atomic_int ready; };
int req_wait_usec(struct req *r, long usec) {
  struct timeval now, end;
  gettimeofday(&end, NULL);
  end.tv_usec += usec;
  if (end.tv_usec >= 1000000) {
    end.tv_sec += end.tv_usec / 1000000;
    end.tv_usec %= 1000000;
  }
  // CHECK: :[[@LINE+2]]:3: warning: loop
  // PASS: at:[[#@LINE+1]]:{{.*}}gives up at the same time
  do {
    if (atomic_load_explicit(&r->ready, memory_order_acquire))
      return 0;
    gettimeofday(&now, NULL);
  } while (timercmp(&now, &end, <));
  return -1;
}
// Twin: only time passes.
void delay_cycles(uint64_t cycles) {
  const uint64_t end = __rdtsc() + cycles;
  while (__rdtsc() < end)
    _mm_pause();
}

// Twin: consumes an input.
int next_token(void);
int sum_until(int end) {
  int sum = 0;
  for (;;) {
    int v = next_token();
    if (v == end)
      break;
    sum += v;
  }
  return sum;
}

// Several waits of one size in one file.
struct shared { atomic_int lock, go, arrived, phase; };
void take(struct shared *s) {
  int zero = 0;
  // CHECK: :[[@LINE+2]]:3: warning: loop
  // PASS: at:[[#@LINE+1]]:{{.*}}now wait in the runtime
  while (!atomic_compare_exchange_weak_explicit(&s->lock, &zero, 1, memory_order_acquire, memory_order_relaxed))
    zero = 0;
}
void give(struct shared *s) { atomic_store_explicit(&s->lock, 0, memory_order_release); }
void await_go(struct shared *s) {
  // CHECK: :[[@LINE+2]]:3: warning: loop
  // PASS: at:[[#@LINE+1]]:{{.*}}now wait in the runtime
  while (atomic_load_explicit(&s->go, memory_order_acquire) == 0)
    ;
}
void barrier(struct shared *s, int n) {
  int phase = atomic_load(&s->phase);
  if (atomic_fetch_add(&s->arrived, 1) == n - 1) {
    atomic_store(&s->arrived, 0);
    atomic_fetch_add(&s->phase, 1);
  } else {
    // CHECK: :[[@LINE+2]]:5: warning: loop
    // PASS: at:[[#@LINE+1]]:{{.*}}now wait in the runtime
    while (atomic_load(&s->phase) == phase)
      ;
  }
}
// Twin: a retry, which each failure of its own brings nearer to success.
void add_max(struct shared *s, int v) {
  int cur = atomic_load(&s->go);
  while (cur < v && !atomic_compare_exchange_weak(&s->go, &cur, v))
    ;
}

// A counter on the stack of the thread that waits.
struct start { atomic_int ready; atomic_int go; };
static void *thread_main(void *p) {
  struct start *s = p;
  atomic_fetch_add(&s->ready, 1);
  // CHECK: :[[@LINE+2]]:3: warning: loop
  // PASS: at:[[#@LINE+1]]:{{.*}}now wait in the runtime
  while (!atomic_load(&s->go))
    ;
  return 0;
}
void start_all(pthread_t *t, int n) {
  struct start s = {0, 0};
  for (int i = 0; i < n; i++)
    pthread_create(&t[i], 0, thread_main, &s);
  // CHECK: :[[@LINE+2]]:3: warning: loop
  // PASS: at:[[#@LINE+1]]:{{.*}}now wait in the runtime
  while (atomic_load(&s.ready) < n)
    __builtin_ia32_pause();
  atomic_store(&s.go, 1);
  for (int i = 0; i < n; i++)
    pthread_join(t[i], 0);
}
// Twin: a queue lock.
struct mcs { struct mcs *_Atomic next; atomic_int locked; };
void mcs_lock(struct mcs *_Atomic *tail, struct mcs *me) {
  atomic_store(&me->next, 0);
  atomic_store(&me->locked, 1);
  struct mcs *prev = atomic_exchange(tail, me);
  if (prev) {
    atomic_store(&prev->next, me);
    // CHECK: :[[@LINE+2]]:5: warning: loop
    // PASS: at:[[#@LINE+1]]:{{.*}}now wait in the runtime
    while (atomic_load(&me->locked))
      ;
  }
}

// Read locks by a CAS whose expected value has bits cleared.
enum { WRITER = 1u << 31 };
void rd_lock(atomic_uint *l) {
  unsigned v = atomic_load_explicit(l, memory_order_relaxed) & ~(unsigned)WRITER;
  // CHECK: :[[@LINE+2]]:3: warning: loop
  // PASS: at:[[#@LINE+1]]:{{.*}}now wait in the runtime
  while (!atomic_compare_exchange_weak_explicit(l, &v, v + 1, memory_order_acquire, memory_order_relaxed))
    v &= ~(unsigned)WRITER;
}
void wr_lock(atomic_uint *l) {
  unsigned v;
  // CHECK: :[[@LINE+2]]:3: warning: loop
  // PASS: at:[[#@LINE+1]]:{{.*}}now wait in the runtime
  do {
    v = 0;
  } while (!atomic_compare_exchange_strong(l, &v, (unsigned)WRITER));
}
// Twin: sets a bit whatever the others are.
void set_flag(atomic_uint *l, unsigned bit) {
  unsigned v = atomic_load(l), n;
  do {
    n = (v & ~0xffu) | bit;
  } while (!atomic_compare_exchange_weak(l, &v, n));
}
