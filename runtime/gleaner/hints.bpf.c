// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception OR GPL-2.0
//
// Says in the page of a process which of its threads are off their CPUs. Loaded
// by `gleaner hints` (hints.c), which adds the threads of a process that asks
// for a page; children and new threads are added here.

#include "hints.bpf.h"

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <stdbool.h>

typedef __u32 u32;
typedef __u64 u64;

char _license[] SEC("license") =
    "Dual BSD/GPL"; // the name by which the kernel knows such a licence

struct task_struct;

struct {
  __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, int);
  __type(value, struct vf_hint_member);
} members SEC(".maps");

// hints_kernel.c makes a page for each process, with as many elements as it
// needs; this one is the pattern.
struct page {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct vf_hint_record);
};
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
  __uint(max_entries, VF_HINT_PAGES);
  __type(key, u32);
  __array(values, struct page);
} pages SEC(".maps");

// Threads that use each page. hints_kernel.c maps it, too.
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, VF_HINT_PAGES);
  __type(key, u32);
  __type(value, u64);
} uses SEC(".maps");

static void use(u32 page, long change) {
  u64 *count = bpf_map_lookup_elem(&uses, &page);
  if (count)
    __sync_fetch_and_add(count, change);
}

static u32 *state_of(void *page, u32 number) {
  u32 element = VF_HINT_WORDS_AT + number / VF_HINT_WORDS;
  struct vf_hint_words *words = bpf_map_lookup_elem(page, &element);
  return words ? &words->state[number % VF_HINT_WORDS] : NULL;
}

// Numbers are given in turn: one that is given again so late is in no lock any
// more.
static u32 give_number(void *page) {
  u32 first = 0;
  struct vf_hint_header *header = bpf_map_lookup_elem(page, &first);
  if (!header)
    return 0;
  for (int i = 0; i < 16; i++) {
    u32 number =
        __sync_fetch_and_add(&header->next, 1) % (VF_HINT_THREADS - 1) + 1;
    u32 *state = state_of(page, number);
    if (state && __sync_val_compare_and_swap(state, VF_HINT_FREE,
                                             VF_HINT_RUNS) == VF_HINT_FREE)
      return number;
  }
  return 0;
}

static void set(struct vf_hint_member *m, u32 to) {
  u32 number = m->page;
  void *page = bpf_map_lookup_elem(&pages, &number);
  if (!page)
    return;
  if (!m->number)
    m->number = give_number(page);
  if (to == VF_HINT_RUNS) {
    u32 element = VF_HINT_RECORDS_AT + bpf_get_smp_processor_id();
    struct vf_hint_record *record = bpf_map_lookup_elem(page, &element);
    if (record)
      record->current = m->number;
  }
  u32 *state = m->number ? state_of(page, m->number) : NULL;
  if (state)
    *(volatile u32 *)state = to;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev,
             struct task_struct *next) {
  struct vf_hint_member *m = bpf_task_storage_get(&members, prev, 0, 0);
  if (m)
    set(m, VF_HINT_OFF);
  m = bpf_task_storage_get(&members, next, 0, 0);
  if (m)
    set(m, VF_HINT_RUNS);
  return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child) {
  struct vf_hint_member *m = bpf_task_storage_get(&members, parent, 0, 0);
  if (!m)
    return 0;
  u32 page = m->page;
  m = bpf_task_storage_get(&members, child, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
  if (m) {
    m->page = page;
    use(page, 1);
  }
  return 0;
}

static void leave(struct task_struct *task) {
  struct vf_hint_member *m = bpf_task_storage_get(&members, task, 0, 0);
  if (!m)
    return;
  u32 page = m->page;
  set(m, VF_HINT_FREE);
  if (!bpf_task_storage_delete(&members, task))
    use(page, -1);
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task) {
  leave(task);
  return 0;
}

// The new program has not mapped the page.
SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task) {
  leave(task);
  return 0;
}
