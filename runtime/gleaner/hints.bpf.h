// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception OR GPL-2.0
//
// What hints.bpf.c, hints_kernel.c and the reader,
// platform/linux/thread_state.c, share: a page.
//
// A page has the layout of /dev/vcpu_state, a header and a record for each CPU,
// and between them a word for each thread. One page serves a process and the
// children that it forked. Each of their threads has a number in it. The record
// of a CPU has the number of the thread that runs there, so that a thread finds
// its own without a system call, and the word of a thread says whether it runs.
// A holder leaves its number in the lock, and waiters look at that thread's
// word only.
//
// A page that nobody updates any more is harmless: a thread whose word does not
// say that it runs has no number.

#ifndef VF_GLEANER_HINTS_BPF_H
#define VF_GLEANER_HINTS_BPF_H

#include <linux/types.h>

#define VF_HINT_VERSION 1

struct vf_hint_header {
  __u32 version;
  __u32 cpus;    // numbers of CPUs are below that
  __u32 offset;  // of the record of CPU 0, in bytes
  __u32 stride;  // from one record to the next
  __u32 threads; // offset of the words of threads, the first of which no thread
                 // has
  __u32 next;    // the last number that was given to a thread, modulo
                 // VF_HINT_THREADS
  __u8 unused[104];
};

struct vf_hint_record {
  __u8 vcpu[64]; // of /dev/vcpu_state's record; zero here
  __u32 known;   // 1
  __u32 current; // the thread that runs here, or that ran here last
  __u8 unused[56];
};

// Threads of a page that have numbers; others are unknown, as 0.
#define VF_HINT_THREADS 1024
#define VF_HINT_FREE 0 // no thread has this number
#define VF_HINT_RUNS 1
#define VF_HINT_OFF 2 // the thread has no CPU: it was preempted, or sleeps

#define VF_HINT_WORDS 32
struct vf_hint_words {
  __u32 state[VF_HINT_WORDS];
};

// Elements of one map, by these numbers.
#define VF_HINT_WORDS_AT 1
#define VF_HINT_RECORDS_AT (VF_HINT_WORDS_AT + VF_HINT_THREADS / VF_HINT_WORDS)
_Static_assert(sizeof(struct vf_hint_header) == 128 &&
                   sizeof(struct vf_hint_record) == 128 &&
                   sizeof(struct vf_hint_words) == 128,
               "elements are of one size");

// Of a thread; hints_kernel.c stores the page, for a process that asks.
struct vf_hint_member {
  __u32 page;
  __u32 number; // 0: none yet
};

// Processes with pages, at most; and of one user but root, so that others have
// some left.
#define VF_HINT_PAGES 1024
#define VF_HINT_PAGES_OF_USER 256

#endif
