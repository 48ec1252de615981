// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception OR GPL-2.0
//
// Counts, in the kernel, what processes wait for and cause: blocks, wake-ups,
// shootdowns, page faults. Every event is counted; of 1 in k the user's
// registers and stack are copied, from which vfriendly/measuring/unwinding.py
// finds the place in the source. Loaded by vfriendly/measuring/bpf.py, which
// has the same layouts.

#include "collect.bpf.h"

char _license[] SEC("license") =
    "Dual BSD/GPL"; // the name by which the kernel knows such a licence

// More than the longest of these programs, which copies a stack: the rest is an
// interrupt, or the host has taken the CPU.
#define LONGEST_NS 20000

static u64 setting(u32 which) {
  u64 *value = bpf_map_lookup_elem(&settings, &which);
  return value ? *value : 0;
}

static void set(u32 which, u64 to) {
  u64 *value = bpf_map_lookup_elem(&settings, &which);
  if (value)
    *value = to;
}

static struct cost *cost_of_cpu(void) {
  u32 only = 0;
  return bpf_map_lookup_elem(&costs, &only);
}

static u64 since(u64 began) {
  u64 ns = bpf_ktime_get_ns() - began;
  return ns < LONGEST_NS ? ns : LONGEST_NS;
}

static void other_cost(u64 began) {
  struct cost *cost = cost_of_cpu();
  if (cost)
    cost->other_ns += since(began);
}

// Ends the slice if it has cost enough. The reader alone would be late: 50 ms
// of a busy program cost 25.
static void switch_cost(u64 began) {
  struct cost *cost = cost_of_cpu();
  if (!cost)
    return;
  cost->switch_ns += since(began);
  cost->switches++;
  if (cost->switch_ns < setting(MOST) && began < setting(UNTIL))
    return;
  set(SLICE, 0);
  if (!setting(ENDED))
    set(ENDED, began);
}

static bool measured(u32 process) {
  u32 *state = bpf_map_lookup_elem(&processes, &process);
  return state ? *state == 2 : process && setting(ALL);
}

// Returns the state of a thread that is measured, or NULL. Only the first event
// of a thread looks for its process.
static struct thread *thread_of(struct task_struct *task) {
  struct thread *found = bpf_task_storage_get(&threads, task, 0, 0);
  if (found || !measured(task->tgid))
    return found;
  found =
      bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
  if (found)
    found->process = task->tgid, found->id = task->pid;
  return found;
}

static bool is_sliced(u32 kind) { return kind != FAULT && kind != SHOOTDOWN; }

static void add(u32 process, u32 kind, long call, struct total *by) {
  static const struct total none;
  if (!by->count && !by->ns)
    return;
  struct key key = {process, kind, call};
  struct total *found = bpf_map_lookup_elem(&totals, &key);
  if (!found) {
    bpf_map_update_elem(&totals, &key, &none, BPF_NOEXIST);
    found = bpf_map_lookup_elem(&totals, &key);
    if (!found)
      return;
  }
  found->count += by->count;
  found->ns += by->ns;
  by->count = by->ns = 0;
}

static __noinline void empty(struct slot *slot, u32 process) {
  if (!slot)
    return;
  for (u32 kind = CPU; kind < KINDS; kind++)
    add(process, kind, slot->call, &slot->of[kind]);
}

static void empty_ended(struct thread *t) {
  if (!t->ended.count)
    return;
  u32 id = t->id;
  struct total *found = bpf_map_lookup_elem(&ended, &id);
  if (found) {
    found->count += t->ended.count;
    found->ns += t->ended.ns;
  } else {
    bpf_map_update_elem(&ended, &id, &t->ended, BPF_NOEXIST);
  }
  t->ended.count = t->ended.ns = 0;
}

static void empty_all(struct thread *t) {
  for (int i = 0; i < SLOTS; i++)
    empty(&t->slots[i], t->process);
  empty_ended(t);
}

static void count(struct thread *t, u32 kind, long call, u64 now, u64 ns) {
  if (t->window != now / WINDOW_NS) {
    t->window = now / WINDOW_NS;
    empty_all(t);
  }
  struct slot *slot = &t->slots[call & (SLOTS - 1)];
  if (slot->call != call) {
    empty(slot, t->process);
    slot->call = call;
  }
  if (kind < KINDS) {
    u64 slices = is_sliced(kind) ? setting(WEIGHT) : 1;
    slot->of[kind].count += slices;
    slot->of[kind].ns += slices * ns;
  }
}

static struct pt_regs *user_registers(void) {
  return (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
}

static long call_of(struct pt_regs *r) { return (long)r->orig_ax; }

// Until `each` doubles in a window: faults come in bursts, of which each line
// needs some; waits go on, and 2,000 of them would have 550 samples, which cost
// more than all else.
#define FIRST_SAMPLES(kind) (is_sliced(kind) ? SAMPLES : 4 * SAMPLES)

// Returns 0 if this event is not sampled, else how many it stands for.
static u32 chosen(struct thread *t, u32 kind, u64 now) {
  struct rate *r = &t->rates[kind < KINDS ? kind : 0];
  u64 window = now / WINDOW_NS, scale = setting(SCALE);
  if (r->window != window) {
    // After windows that were not looked at, it most likely goes on as before.
    r->each = r->window + 1 == window ? r->events / SAMPLES : r->each / 2;
    r->window = window;
    r->events = 0;
  }
  if (!r->each)
    r->each = 1;
  if (++r->events > FIRST_SAMPLES(kind) * r->each)
    r->each *= 2; // Within the window in which a thread begins to have many.
  u32 each = r->each * (scale ? scale : 1);
  if (each != 1 && bpf_get_prandom_u32() % each)
    return 0;
  return is_sliced(kind) ? each * setting(WEIGHT) : each;
}

static void emit(u32 kind, u32 each, u64 now, struct pt_regs *user,
                 bool kernel) {
  struct sample *s = bpf_ringbuf_reserve(&samples, sizeof(*s), 0);
  if (!s) {
    u32 lost = LOST;
    u64 *value = bpf_map_lookup_elem(&settings, &lost);
    if (value)
      __sync_fetch_and_add(value, 1);
    return;
  }
  u64 id = bpf_get_current_pid_tgid();
  s->head.kind = kind, s->head.each = each, s->head.ns = now;
  s->head.process = id >> 32, s->head.thread = id;
  s->head.call = kernel ? call_of(user) : -1;
  s->kernel = kernel, s->cpu = bpf_get_smp_processor_id();
  struct pt_regs r = {};
  bpf_core_read(&r, sizeof(r), user);
  u64 order[REGISTERS] = {r.ax,  r.dx,  r.cx,  r.bx,  r.si,  r.di,
                          r.bp,  r.sp,  r.r8,  r.r9,  r.r10, r.r11,
                          r.r12, r.r13, r.r14, r.r15, r.ip};
  __builtin_memcpy(s->registers, order, sizeof(order));
  u32 size = 0;
  for (int i = 0; i < STACK / PART; i++, size += PART)
    if (bpf_probe_read_user(s->stack + i * PART, PART,
                            (void *)(r.sp + i * PART)))
      break;
  s->size = size;
  bpf_ringbuf_submit(s, BPF_RB_NO_WAKEUP); // The reader comes by itself.
}

static void event(struct thread *t, u32 kind, bool kernel, u64 now) {
  struct pt_regs *user = user_registers();
  count(t, kind, kernel ? call_of(user) : -1, now, 0);
  u32 each = chosen(t, kind, now);
  if (each)
    emit(kind, each, now, user, kernel);
}

static void leaves(struct thread *t, struct task_struct *task, bool preempted,
                   u64 now) {
  struct pt_regs *user = user_registers(); // It is still current.
  t->off_ns = now, t->woken_ns = 0, t->span_each = 0, t->slice = setting(SLICE);
  t->off_kind = preempted ? PREEMPT : BLOCK;
  t->call = call_of(user);
  if (preempted)
    return count(t, PREEMPT, t->call, now, 0);
  u32 each = chosen(t, BLOCK, now);
  t->span_each = each;
  if (each)
    emit(BLOCK, each, now, user, true);
}

static void arrives(struct thread *t, struct task_struct *task,
                    bool cpu_was_idle, u64 now) {
  if (!t->off_ns || t->slice != setting(SLICE)) {
    t->off_ns = 0;
    return;
  }
  u64 woken = t->off_kind == BLOCK ? t->woken_ns ?: now : t->off_ns;
  u64 blocked = woken - t->off_ns, delay = now - woken;
  if (t->off_kind == BLOCK) {
    count(t, BLOCK, t->call, now, blocked);
    if (cpu_was_idle)
      count(t, IDLE_WAKE, t->call, now, 0);
  }
  count(t, DELAY, t->call, now, delay);
  if (t->span_each) {
    struct span s = {
        {SPAN, t->span_each, t->process, task->pid, t->off_ns, t->call},
        blocked,
        delay};
    bpf_ringbuf_output(&samples, &s, sizeof(s), BPF_RB_NO_WAKEUP);
  }
  t->off_ns = 0;
}

#define DEAD 0x80 // TASK_DEAD

// What other programs' switches cost is not counted: they would end the slices
// of this one.
SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev,
             struct task_struct *next, unsigned int prev_state) {
  if (!setting(SLICE))
    return 0;
  u64 now = bpf_ktime_get_ns();
  struct thread *left = thread_of(prev), *came = thread_of(next);
  if (left) {
    if (prev_state & DEAD)
      empty_all(left);
    else
      leaves(left, prev, preempt || !prev_state, now);
  }
  if (came)
    arrives(came, next, !prev->pid, now);
  if (left || came)
    switch_cost(now);
  return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *task) {
  if (!setting(SLICE))
    return 0;
  u64 now = bpf_ktime_get_ns(), blocked = 0;
  struct thread *woken = thread_of(task);
  if (woken && woken->off_ns && !woken->woken_ns) {
    woken->woken_ns = now;
    if (woken->slice == setting(SLICE))
      blocked = now - woken->off_ns;
  }
  // An interrupt also wakes threads, in the name of what it has interrupted;
  // most of these are not in a system call.
  struct thread *waker =
      thread_of((struct task_struct *)bpf_get_current_task_btf());
  if (waker && call_of(user_registers()) >= 0) {
    event(waker, WAKE, true, now);
    if (blocked) {
      waker->ended.count += setting(WEIGHT);
      waker->ended.ns += setting(WEIGHT) * blocked;
    }
  }
  if (woken || waker)
    switch_cost(now);
  return 0;
}

// The reason for which interrupts are sent to other CPUs: TLB_REMOTE_SEND_IPI.
#define SENDS 4

SEC("tp_btf/tlb_flush")
int BPF_PROG(on_flush, int reason, unsigned long pages) {
  if (reason != SENDS)
    return 0;
  u64 now = bpf_ktime_get_ns();
  struct thread *t =
      thread_of((struct task_struct *)bpf_get_current_task_btf());
  if (t) {
    event(t, SHOOTDOWN, true, now);
    other_cost(now);
  }
  return 0;
}

SEC("tp_btf/page_fault_user")
int BPF_PROG(on_fault, unsigned long address, struct pt_regs *regs) {
  u64 now = bpf_ktime_get_ns();
  struct thread *t =
      thread_of((struct task_struct *)bpf_get_current_task_btf());
  if (t) {
    event(t, FAULT, false, now);
    other_cost(now);
  }
  return 0;
}

SEC("perf_event")
int on_clock(struct clock_context *context) {
  u64 id = bpf_get_current_pid_tgid();
  if (!measured(id >> 32))
    return 0;
  u64 now = bpf_ktime_get_ns();
  emit(CPU, 1, now, user_registers(), (long)context->ip < 0);
  struct cost *cost = cost_of_cpu();
  if (cost) {
    cost->clocks++;
    if (setting(SLICE))
      cost->stand_for += setting(WEIGHT);
    cost->other_ns += since(now);
  }
  return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child) {
  u32 process = child->tgid, state = 2;
  if (process != (u32)parent->tgid && measured(parent->tgid))
    bpf_map_update_elem(&processes, &process, &state, BPF_ANY);
  return 0;
}

// A thread's last counts, also if it ends while switches are not looked at. A
// process whose last thread ends is forgotten: its number may be another's
// soon.
SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task) {
  struct thread *t = bpf_task_storage_get(&threads, task, 0, 0);
  if (t)
    empty_all(t);
  u32 process = task->tgid;
  if (!task->signal->live.counter)
    bpf_map_delete_elem(&processes, &process);
  return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task) {
  u32 process = task->tgid, state = 2;
  if (bpf_map_lookup_elem(&processes, &process))
    bpf_map_update_elem(&processes, &process, &state, BPF_ANY);
  return 0;
}
