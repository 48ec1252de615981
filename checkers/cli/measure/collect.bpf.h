// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception OR GPL-2.0
//
// What collect.bpf.c shares: structures with the kernel; records, maps and
// settings with vfriendly/measuring/bpf.py and samples.py.
//
// The structures of the kernel have only the members that are read here: the
// loader relocates these by the kernel's own types (CO-RE).

#ifndef VF_COLLECT_BPF_H
#define VF_COLLECT_BPF_H

// The kernel's types come first: libbpf's headers need them.
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <stdbool.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;

#define CORE __attribute__((preserve_access_index))

struct signal_struct {
  struct {
    int counter;
  } live;
} CORE;

struct task_struct {
  int pid, tgid;
  struct signal_struct *signal;
} CORE;

// Of x86-64; in the order in which perf and DWARF do not have them.
struct pt_regs {
  u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax,
      ip, cs, flags, sp, ss;
} CORE;

// What an event's program is given: the interrupted registers.
struct clock_context {
  u64 before[16], ip;
};

enum kind {
  CPU = 1,
  BLOCK,
  PREEMPT,
  WAKE,
  SHOOTDOWN,
  FAULT,
  DELAY,
  IDLE_WAKE,
  SPAN,
  KINDS
};

// The last bytes of the user's stack that are copied. 4 KiB hold the frames of
// libc, libstdc++ and the preloads with room; copied in parts, as a part that
// is not mapped fails as a whole.
#define STACK 4096
#define PART 512
#define REGISTERS 17

struct key {
  u32 process, kind;
  long call; // number of the system call, or -1
};

struct total {
  u64 count, ns;
};

// Samples of one kind and thread: 1 in `each`, so that there are about
// SAMPLES in WINDOW_NS. A thread with few events has all of them sampled.
#define WINDOW_NS 100000000
#define SAMPLES 50

struct rate {
  u64 window;
  u32 events, each;
};

// A thread's counts are added to `totals` when its slot is used for another
// system call, in its next window, and when it ends: a hash for each event
// would take half of the time that a switch takes.
#define SLOTS 4

struct slot {
  long call;
  struct total of[KINDS];
};

struct thread {
  u64 off_ns, woken_ns; // when it left its CPU; when it was woken
  u64 window;           // of the last addition to `totals`
  long call;
  u64 slice; // in which it left its CPU
  u32 process, id, off_kind,
      span_each;      // the latter is 0 if this block is not sampled
  struct total ended; // blocks of others that its wake-ups have ended
  struct rate rates[KINDS];
  struct slot slots[SLOTS];
};

struct head {
  u32 kind, each; // each: how many events stand behind this sample
  u32 process, thread;
  u64 ns;
  long call;
};

struct sample {
  struct head head;
  u16 kernel, cpu;
  u32 size;
  u64 registers[REGISTERS]; // in the order of DWARF, then ip
  u8 stack[STACK];
};

struct span { // of a block that was sampled at head.ns
  struct head head;
  u64 blocked_ns, delay_ns;
};

// A process is 1 until it executes its program, then 2.
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 65536);
  __type(key, u32);
  __type(value, u32);
} processes SEC(".maps");
struct {
  __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, int);
  __type(value, struct thread);
} threads SEC(".maps");
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_HASH);
  __uint(max_entries, 16384);
  __type(key, struct key);
  __type(value, struct total);
} totals SEC(".maps");
// What a thread's wake-ups have ended, by its number.
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_HASH);
  __uint(max_entries, 16384);
  __type(key, u32);
  __type(value, struct total);
} ended SEC(".maps");
struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 16 << 20);
} samples SEC(".maps");

enum setting {
  SCALE,  // how many times fewer samples than by the threads' rates
  ALL,    // whether every process is measured
  LOST,   // samples that found no room
  SLICE,  // the number of this slice of time, or 0 while switches and wake-ups
          // are not looked at, as there are so many; set to 0 here as well
  WEIGHT, // how many slices this one stands for
  MOST,   // nanoseconds of a CPU's `costs` at which the slice ends
  UNTIL,  // the time at which it ends
  ENDED,  // when it ended by one of these, or 0
  SETTINGS
};
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, SETTINGS);
  __type(key, u32);
  __type(value, u64);
} settings SEC(".maps");

// What the programs have cost on a CPU, by their own clock: the kernel's
// (BPF_ENABLE_STATS) reads two more times and takes a lock for each event.
struct cost {
  u64 switch_ns, other_ns; // of switches and wake-ups; of all other events
  u64 switches;            // events in switch_ns
  u64 clocks;              // samples of the clock: CPU time of the programs
  u64 stand_for;           // of those in slices, each times the slice's WEIGHT
};
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct cost);
} costs SEC(".maps");

#endif
