/*===- spin-unmodified/threads.h - The threads of the program -------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Threads that pthread_create and thrd_create start are entered in a table when
 * they begin, and the thread that starts them when it does so. Others are left
 * alone.
 *
 *                enter             vf_threads_change            signal
 *   FREE thread ------> IDLE  <---------> CHANGING <----> ARMED <----> HANDLING
 *        ^-----------------^------ leave ----^--------------'
 *
 * Who sets CHANGING owns the thread's trigger until it sets another state: the
 * watcher, or the thread when it ends. HANDLING is set by the signal handler;
 * the watcher then comes back later.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_SPIN_UNMODIFIED_THREADS_H
#define VFRIENDLY_SPIN_UNMODIFIED_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Maximum number of threads that are watched; others go on as they are. */
#define VF_THREADS 512
/* What a thread's handler uses: the frame that the kernel writes, up to 11 KiB
 * with AMX, the prover's 6, and the decoder's. */
#define VF_STACK_SIZE 65536

enum vf_thread_state { VF_FREE, VF_IDLE, VF_CHANGING, VF_ARMED, VF_HANDLING };

struct vf_decoded;

struct vf_thread {
  uint32_t state; /* an enum vf_thread_state */
  int tid;
  int trigger;       /* a descriptor or timer of trigger.h; -1: none */
  uint64_t period;   /* of the trigger, or the last one, in ns; 0: none yet */
  uint64_t found_at; /* when giving way last had an effect, or it was armed */
  /* Of the watcher: what the thread had used and waited at the last look. */
  uint64_t looked_at, cpu_ns, run_ns, delay_ns, slices;
  bool qualifies;
  /* The program's own choices, which it must see again. */
  bool has_stack;     /* the alternate stack is the program's */
  bool blocks_signal; /* it believes that the signal is blocked */
  struct vf_decoded *decoded;
};

extern struct vf_thread vf_threads[VF_THREADS];

/* The calling thread's entry, or NULL. */
extern __thread struct vf_thread *vf_this_thread
    __attribute__((tls_model("initial-exec")));

/* Index after the last entry that was ever used. */
unsigned vf_threads_end(void);

/* Number of entries that are not free. */
unsigned vf_threads_count(void);

/* Reserves memory for stacks. Returns 0 or an errno value. */
int vf_threads_start(void);

/* Enters the calling thread, unless it is in the table or that is full. */
void vf_thread_enter(void);

/* The end of the thread's stack for signals, and its size. */
void *vf_thread_stack_top(const struct vf_thread *thread);

/* Returns true if the address is in the thread's stack for signals. */
bool vf_thread_is_on_stack(const struct vf_thread *thread, const void *address);

/* Sets CHANGING if the thread has the state. Returns false otherwise. */
bool vf_thread_change(struct vf_thread *thread, enum vf_thread_state from);

static inline enum vf_thread_state
vf_thread_state(const struct vf_thread *thread) {
  return (enum vf_thread_state)__atomic_load_n(&thread->state,
                                               __ATOMIC_ACQUIRE);
}

static inline void vf_thread_set(struct vf_thread *thread,
                                 enum vf_thread_state state) {
  __atomic_store_n(&thread->state, (uint32_t)state, __ATOMIC_RELEASE);
}

#endif /* VFRIENDLY_SPIN_UNMODIFIED_THREADS_H */
