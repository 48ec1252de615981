/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What the simulator keeps, its queue of events by time, and queues of threads.
 */

#ifndef VF_TEST_GLEANER_SIMULATOR_STATE_H
#define VF_TEST_GLEANER_SIMULATOR_STATE_H

#include "simulator.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_LOCKS = 64, PERIOD = 100000000 };

enum vcpu_state { HALTED, AWAKE, WAKING, BUSY };
struct vcpu {
  enum vcpu_state state;
  bool placed; /* has a CPU of the host */
  bool is_hog;
  int current;      /* thread */
  int first, last;  /* queue of threads */
  int waiting;      /* their number */
  int next_on_host; /* in the host's queue; -2: not in it */
  uint32_t turn;    /* events of earlier turns are void */
  int64_t since;    /* when it began to run */
  int64_t slice, host_slice;
  int64_t idle_since; /* -1: not idle */
  /* counted since the window began */
  int64_t busy, idle, stolen, stolen_since;
  int periods;
};

struct thread {
  int at, vcpu, next;
  int64_t overhead, left; /* of this dispatch, of this computation */
  int posts;
  bool blocked, waits, stopped;
};

struct event {
  int64_t time;
  int vcpu; /* of ALARM: the thread */
  uint32_t turn;
  enum { RUN, ARRIVE, TIMEOUT, HOST_SLICE, ALARM } kind;
};

struct queue {
  int first, last;
};

struct sim {
  struct host host;
  const struct op *script;
  struct vcpu *vcpus;
  struct thread *threads;
  int n_threads, n_active, n_vcpus;
  struct event *events;
  int n_events, room;
  int64_t now, timeout, user, system, done, period_end, quota;
  int64_t switches, throttled;
  bool frozen;
  int kept, free_pcpus, host_first, host_last, arrived;
  struct {
    int owner;
    struct queue waiters;
  } locks[MOST_LOCKS];
  struct queue at_barrier;
  uint64_t random;
};

static inline void push_event(struct sim *s, int64_t time, int v, int kind) {
  if (s->n_events == s->room) {
    s->room = s->room ? 2 * s->room : 1024;
    s->events = realloc(s->events, sizeof *s->events * (size_t)s->room);
  }
  int i = s->n_events++;
  struct event e = {time, v, kind == ALARM ? 0 : s->vcpus[v].turn, kind};
  for (; i > 0 && s->events[(i - 1) / 2].time > time; i = (i - 1) / 2)
    s->events[i] = s->events[(i - 1) / 2];
  s->events[i] = e;
}

static inline struct event pop_event(struct sim *s) {
  struct event top = s->events[0], e = s->events[--s->n_events];
  int i = 0;
  for (int child; (child = 2 * i + 1) < s->n_events; i = child) {
    if (child + 1 < s->n_events &&
        s->events[child + 1].time < s->events[child].time)
      ++child;
    if (s->events[child].time >= e.time)
      break;
    s->events[i] = s->events[child];
  }
  s->events[i] = e;
  return top;
}

static inline void put(struct sim *s, struct queue *q, int t) {
  s->threads[t].next = -1;
  if (q->first < 0)
    q->first = t;
  else
    s->threads[q->last].next = t;
  q->last = t;
}

static inline int take(struct sim *s, struct queue *q) {
  int t = q->first;
  if (t >= 0)
    q->first = s->threads[t].next;
  return t;
}

/* ---- simulator_host.c ---- */

/* Begins a slice on the host. Needed after a new turn, which voids its end. */
void renew_host_slice(struct sim *s, int v);
/* Returns the length of a vCPU's turn on the host. */
int64_t host_slice(struct sim *s);
/* Waits for a CPU of the host. */
void queue_on_host(struct sim *s, int v);
/* Gives a CPU that is free to the next vCPU. */
void next_on_host(struct sim *s);
void leave_host(struct sim *s, int v);
/* A vCPU that was halted takes the CPU of a hog, as a sleeper's wake-up does.
 */
void join_host(struct sim *s, int v);

/* ---- simulator.c ---- */

/* Returns n, up to a quarter more or less, at random. */
int64_t jitter(struct sim *s, int64_t n);
void run_vcpu(struct sim *s, int v);
/* Accounts what v has done since it began to run. */
void stop_vcpu(struct sim *s, int v);

#endif
