/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "simulator_state.h"

static bool may_run(const struct sim *s, const struct vcpu *c) {
  return c->placed && !s->frozen;
}

void run_vcpu(struct sim *s, int v) {
  struct vcpu *c = &s->vcpus[v];
  c->since = s->now;
  if (c->state != BUSY || c->is_hog || !may_run(s, c))
    return;
  struct thread *t = &s->threads[c->current];
  int64_t left = t->overhead + t->left;
  if (c->waiting && c->slice < left)
    left = c->slice > 0 ? c->slice : 0;
  push_event(s, s->now + left, v, RUN);
}

void stop_vcpu(struct sim *s, int v) {
  struct vcpu *c = &s->vcpus[v];
  int64_t ran = s->now - c->since;
  c->since = s->now;
  if (c->state != BUSY || c->is_hog || !may_run(s, c) || ran <= 0)
    return;
  struct thread *t = &s->threads[c->current];
  int64_t over = ran < t->overhead ? ran : t->overhead;
  t->overhead -= over;
  s->system += over;
  int64_t used = ran - over < t->left ? ran - over : t->left;
  t->left -= used;
  s->user += used;
  c->busy += ran;
  c->slice -= ran;
  s->quota -= ran;
}

static void dispatch(struct sim *s, int v) {
  struct vcpu *c = &s->vcpus[v];
  struct queue q = {c->first, c->last};
  c->current = take(s, &q);
  c->first = q.first;
  c->waiting--;
  c->state = BUSY;
  c->slice = SLICE;
  c->turn++;
  renew_host_slice(s, v);
  if (c->idle_since >= 0) {
    c->idle += s->now - c->idle_since;
    c->periods++;
    c->idle_since = -1;
  }
  s->threads[c->current].vcpu = v;
  s->switches++;
  run_vcpu(s, v);
}

static void enqueue(struct sim *s, int v, int t) {
  struct vcpu *c = &s->vcpus[v];
  struct queue q = {c->first, c->last};
  put(s, &q, t);
  c->first = q.first, c->last = q.last;
  c->waiting++;
}

static int best_vcpu(const struct sim *s, int t) {
  int own = s->threads[t].vcpu, halted = -1, shortest = -1;
  if (own < s->kept && s->vcpus[own].state == AWAKE)
    return own;
  if (own < s->kept && s->vcpus[own].state == HALTED)
    halted = own;
  for (int i = 0; i < s->kept; ++i) {
    const struct vcpu *c = &s->vcpus[i];
    if (c->state == AWAKE)
      return i;
    if (c->state == HALTED && halted < 0)
      halted = i;
    if (shortest < 0 || c->waiting < s->vcpus[shortest].waiting)
      shortest = i;
  }
  if (halted >= 0)
    return halted;
  return own < s->kept && s->vcpus[own].waiting <= s->vcpus[shortest].waiting
             ? own
             : shortest;
}

static void wake(struct sim *s, int t) {
  s->threads[t].blocked = false;
  int v = best_vcpu(s, t);
  struct vcpu *c = &s->vcpus[v];
  enqueue(s, v, t);
  if (c->state == BUSY) {
    s->threads[t].overhead += COST_A;
    stop_vcpu(s, v);
    c->turn++; /* its slice counts now */
    renew_host_slice(s, v);
    run_vcpu(s, v);
  } else if (c->state != WAKING) {
    bool crowded = s->free_pcpus == 0 && !c->placed;
    int64_t cost = c->state == AWAKE ? COST_B : crowded ? COST_D : COST_C;
    c->state = WAKING;
    c->turn++;
    push_event(s, s->now + cost, v, ARRIVE);
  }
}

static int busiest_queue(const struct sim *s) {
  int most = -1;
  for (int i = 0; i < s->n_vcpus - s->host.hogs; ++i)
    if (s->vcpus[i].waiting > (most < 0 ? 0 : s->vcpus[most].waiting))
      most = i;
  return most;
}

/* Moves a thread that waits on another vCPU to wherever it runs soonest. */
static void move_one(struct sim *s, int from) {
  struct vcpu *c = &s->vcpus[from];
  struct queue q = {c->first, c->last};
  int t = take(s, &q);
  c->first = q.first;
  c->waiting--;
  wake(s, t);
}

/* Idle vCPUs take what waits on others, as Linux' load balancing does. */
static void balance(struct sim *s) {
  for (int v = 0; v < s->kept; ++v) {
    bool idle = s->vcpus[v].state == HALTED || s->vcpus[v].state == AWAKE;
    int from = idle ? busiest_queue(s) : -1;
    if (from >= 0 && s->vcpus[from].state == BUSY)
      move_one(s, from);
  }
}

/* v has nothing to run. */
static void go_idle(struct sim *s, int v) {
  struct vcpu *c = &s->vcpus[v];
  c->current = -1;
  c->turn++;
  int from = v < s->kept ? busiest_queue(s) : -1;
  if (c->waiting == 0 && from >= 0 && s->vcpus[from].state == BUSY) {
    struct vcpu *f = &s->vcpus[from];
    struct queue q = {f->first, f->last};
    int t = take(s, &q);
    f->first = q.first;
    f->waiting--;
    s->threads[t].overhead += COST_A;
    enqueue(s, v, t);
  }
  if (c->waiting) {
    dispatch(s, v);
    return;
  }
  c->idle_since = s->now;
  if (s->timeout > 0 && v < s->kept) {
    c->state = AWAKE;
    push_event(s, s->now + s->timeout, v, TIMEOUT);
    renew_host_slice(s, v);
  } else {
    c->state = HALTED;
    leave_host(s, v);
  }
}

int64_t jitter(struct sim *s, int64_t n) {
  s->random = s->random * 6364136223846793005u + 1442695040888963407u;
  return n - n / 4 + (int64_t)((s->random >> 33) % (uint64_t)(n / 2 + 1));
}

void sim_post(struct sim *s, int t) {
  if (s->threads[t].waits) {
    s->threads[t].waits = false;
    wake(s, t);
  } else {
    s->threads[t].posts++;
  }
}

/* Performs the thread's operations until it computes or sleeps. Returns false
 * if it sleeps. */
static bool step(struct sim *s, int id) {
  struct thread *t = &s->threads[id];
  for (;;) {
    struct op op = s->script[t->at++];
    switch (op.what) {
    case COMPUTE:
      t->left = jitter(s, op.n);
      return true;
    case LOCK:
      if (s->locks[op.n].owner < 0) {
        s->locks[op.n].owner = id;
        break;
      }
      put(s, &s->locks[op.n].waiters, id);
      return false;
    case UNLOCK:
      s->locks[op.n].owner = take(s, &s->locks[op.n].waiters);
      if (s->locks[op.n].owner >= 0)
        wake(s, s->locks[op.n].owner);
      break;
    case BARRIER:
      if (++s->arrived < (int)op.n) {
        put(s, &s->at_barrier, id);
        return false;
      }
      s->arrived = 0;
      for (int other; (other = take(s, &s->at_barrier)) >= 0;)
        wake(s, other);
      break;
    case WAIT:
      if (t->posts > 0) {
        t->posts--;
        break;
      }
      t->waits = true;
      return false;
    case POST:
      sim_post(s, id ^ (1 << op.n));
      break;
    case SLEEP: /* the event's "vCPU" is the thread */
      push_event(s, s->now + jitter(s, op.n), id, ALARM);
      return false;
    case DONE:
      s->done++;
      break;
    case END:
      t->at = 0;
      if (id >= s->n_active) {
        t->stopped = true;
        return false;
      }
      break;
    }
  }
}

static void ran(struct sim *s, int v) {
  struct vcpu *c = &s->vcpus[v];
  stop_vcpu(s, v);
  int id = c->current;
  struct thread *t = &s->threads[id];
  bool goes_on = t->overhead + t->left > 0 || step(s, id);
  if (!goes_on) {
    t->blocked = true;
    if (c->waiting && v < s->kept)
      dispatch(s, v);
    else
      go_idle(s, v);
    return;
  }
  if (v >= s->kept) { /* confined: it must go */
    c->turn++;
    go_idle(s, v);
    wake(s, id);
    return;
  }
  if (c->waiting && c->slice <= 0) {
    t->overhead += COST_A;
    enqueue(s, v, id);
    dispatch(s, v);
    return;
  }
  c->turn++;
  renew_host_slice(s, v);
  run_vcpu(s, v);
}

static void handle(struct sim *s, struct event e) {
  struct vcpu *c = &s->vcpus[e.vcpu];
  switch (e.kind) {
  case ALARM:
    break;
  case RUN:
    ran(s, e.vcpu);
    break;
  case ARRIVE:
    c->state = BUSY;
    dispatch(s, e.vcpu);
    if (!c->placed)
      join_host(s, e.vcpu);
    break;
  case TIMEOUT:
    c->state = HALTED;
    c->turn++;
    leave_host(s, e.vcpu);
    break;
  case HOST_SLICE:
    if (!c->placed)
      break;
    if (s->host_first < 0 || c->state == WAKING) {
      c->host_slice = s->now + host_slice(s);
      push_event(s, c->host_slice, e.vcpu, HOST_SLICE);
      break;
    }
    stop_vcpu(s, e.vcpu);
    c->placed = false;
    if (c->state == AWAKE) { /* it has nothing to do: the host may have it */
      c->state = HALTED;
      c->turn++;
    } else {
      c->turn++;
      queue_on_host(s, e.vcpu);
    }
    next_on_host(s);
    break;
  }
}

/* A CPU limit: all vCPUs stop until the period ends. */
static void limit(struct sim *s) {
  bool freeze = s->host.limit > 0 && s->quota <= 0;
  if (s->now >= s->period_end) {
    s->period_end += PERIOD;
    s->quota = (int64_t)(s->host.limit * PERIOD);
    freeze = false;
  }
  if (freeze == s->frozen)
    return;
  for (int v = 0; v < s->host.vcpus; ++v) {
    if (freeze)
      stop_vcpu(s, v);
  }
  s->frozen = freeze;
  for (int v = 0; v < s->host.vcpus; ++v)
    if (s->vcpus[v].state == BUSY) {
      s->vcpus[v].turn++;
      renew_host_slice(s, v);
      run_vcpu(s, v);
    }
}

struct sim *sim_new(struct host host, const struct op *script, int threads) {
  struct sim *s = calloc(1, sizeof *s);
  s->host = host;
  s->script = script;
  s->n_vcpus = host.vcpus + host.hogs;
  s->vcpus = calloc((size_t)s->n_vcpus, sizeof *s->vcpus);
  s->threads = calloc((size_t)threads, sizeof *s->threads);
  s->n_threads = s->n_active = threads;
  s->free_pcpus = host.pcpus;
  s->host_first = s->at_barrier.first = -1;
  s->kept = host.vcpus;
  s->random = 1;
  s->quota = (int64_t)(host.limit * PERIOD);
  s->period_end = PERIOD;
  for (int i = 0; i < MOST_LOCKS; ++i)
    s->locks[i].owner = s->locks[i].waiters.first = -1;
  for (int v = 0; v < s->n_vcpus; ++v)
    s->vcpus[v] = (struct vcpu){.current = -1, .first = -1, .stolen_since = -1};
  for (int h = host.vcpus; h < s->n_vcpus; ++h) {
    s->vcpus[h].is_hog = true;
    s->vcpus[h].state = BUSY;
    s->vcpus[h].idle_since = -1;
    join_host(s, h);
  }
  for (int t = 0; t < threads; ++t) {
    s->threads[t].vcpu = t % host.vcpus;
    wake(s, t);
  }
  return s;
}

void sim_free(struct sim *s) {
  free(s->vcpus);
  free(s->threads);
  free(s->events);
  free(s);
}

void sim_script(struct sim *s, const struct op *script) { s->script = script; }

void sim_threads(struct sim *s, int threads) {
  s->n_active = threads;
  for (int t = 0; t < threads; ++t)
    if (s->threads[t].stopped) {
      s->threads[t].stopped = false;
      wake(s, t);
    }
}

void sim_run(struct sim *s, double seconds, unsigned kept, double timeout_s,
             struct gl_sample *sample) {
  int64_t end = s->now + (int64_t)(seconds * 1e9);
  bool grown = (int)kept > s->kept;
  s->kept = (int)kept;
  s->timeout = (int64_t)(timeout_s * 1e9);
  s->user = s->system = s->done = s->switches = s->throttled = 0;
  for (int v = 0; v < s->n_vcpus; ++v) {
    struct vcpu *c = &s->vcpus[v];
    c->busy = c->idle = c->stolen = c->periods = 0;
    /* Those that wait where they may no longer run move. */
    for (int n = v >= s->kept && !c->is_hog ? c->waiting : 0;
         n > 0 && c->state == BUSY; --n)
      move_one(s, v);
  }
  if (grown)
    balance(s);
  int64_t observed = 0, runnable = 0, tick = s->now;
  while (s->now < end) {
    if (tick <= s->now) {
      for (int t = 0; t < s->n_threads; ++t)
        runnable += !s->threads[t].blocked;
      observed++;
      tick = s->now + 1000000;
      limit(s);
      s->throttled += s->frozen ? 1000000 : 0;
    }
    int64_t until = tick < end ? tick : end;
    if (s->n_events == 0 || s->events[0].time > until) {
      s->now = until;
      continue;
    }
    struct event e = pop_event(s);
    if (e.kind != ALARM && e.turn != s->vcpus[e.vcpu].turn)
      continue;
    s->now = e.time;
    if (e.kind == ALARM)
      wake(s, e.vcpu);
    else
      handle(s, e);
  }
  *sample = (struct gl_sample){.seconds = seconds,
                               .cpus = (unsigned)s->host.vcpus,
                               .kept = kept,
                               .limit = s->host.limit,
                               .throttled_s = (double)s->throttled / 1e9,
                               .runnable = (double)runnable / (double)observed};
  for (int v = 0; v < s->host.vcpus; ++v) {
    struct vcpu *c = &s->vcpus[v];
    stop_vcpu(s, v);
    if (c->state == BUSY) {
      c->turn++;
      renew_host_slice(s, v);
      run_vcpu(s, v);
    }
    if (c->idle_since >= 0 && c->idle_since < s->now) {
      c->idle += s->now - c->idle_since;
      c->idle_since = s->now;
    }
    if (c->stolen_since >= 0) {
      c->stolen += s->now - c->stolen_since;
      c->stolen_since = s->now;
    }
    double idle = (double)c->idle / 1e9, busy = (double)c->busy / 1e9 / seconds;
    if (v >= s->kept)
      continue;
    sample->idle_s += idle;
    sample->idle_periods += c->periods;
    sample->steal_s += (double)c->stolen / 1e9;
    if (idle < 0.97 * seconds) {
      sample->active++;
      sample->active_idle_s += idle;
      sample->active_periods += c->periods;
    }
    if (busy > sample->busiest)
      sample->busiest = busy;
  }
  sample->user_s = (double)s->user / 1e9;
  sample->work_s = (double)(s->user + s->system) / 1e9;
  sample->switches = (double)s->switches;
  sample->progress = (double)s->done;
}
