/*===- spin-unmodified/threads.c - The threads of the program -------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "spin-unmodified/threads.h"
#include "common/process_wide.h"
#include "common/thread_start.h"
#include "platform/linux/kernel.h"
#include "spin-unmodified/arm.h"
#include "spin-unmodified/emulate.h"
#include "spin-unmodified/next.h"
#include "spin-unmodified/signals.h"
#include "spin-unmodified/trigger.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct vf_spin_next vf_spin_next_table;
struct vf_thread vf_threads[VF_THREADS];
__thread struct vf_thread *vf_this_thread
    __attribute__((tls_model("initial-exec")));

static unsigned end, entered;
static char *stacks;
static pthread_key_t key;

/* Needs no lock: two concurrent calls write the same values. */
void vf_spin_next_look_up(void) {
  int saved = errno;
#define LOOK_UP(name)                                                          \
  __atomic_store_n(&vf_spin_next_table.name,                                   \
                   (__typeof__(name) *)dlsym(RTLD_NEXT, #name),                \
                   __ATOMIC_RELAXED);
  VF_SPIN_NEXT_FUNCTIONS(LOOK_UP)
#undef LOOK_UP
  __atomic_store_n(&vf_spin_next_table.ready, 1, __ATOMIC_RELEASE);
  errno = saved;
}

unsigned vf_threads_end(void) {
  return __atomic_load_n(&end, __ATOMIC_ACQUIRE);
}

unsigned vf_threads_count(void) {
  return __atomic_load_n(&entered, __ATOMIC_RELAXED);
}

static size_t index_of(const struct vf_thread *thread) {
  return (size_t)(thread - vf_threads);
}

void *vf_thread_stack_top(const struct vf_thread *thread) {
  return stacks + (index_of(thread) + 1) * VF_STACK_SIZE;
}

bool vf_thread_is_on_stack(const struct vf_thread *thread,
                           const void *address) {
  uintptr_t begin = (uintptr_t)stacks + index_of(thread) * VF_STACK_SIZE;
  return (uintptr_t)address - begin < VF_STACK_SIZE;
}

bool vf_thread_change(struct vf_thread *thread, enum vf_thread_state from) {
  uint32_t is = (uint32_t)from;
  return __atomic_compare_exchange_n(&thread->state, &is, VF_CHANGING, false,
                                     __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* Called when a thread ends. The watcher may just be changing it. */
static void leave(void *data) {
  struct vf_thread *thread = data;
  vf_this_thread = NULL;
  for (;;) {
    if (vf_thread_change(thread, VF_IDLE))
      break;
    if (vf_thread_change(thread, VF_ARMED)) {
      vf_trigger_stop(thread);
      break;
    }
    vf_yield();
  }
  vf_signals_leave(thread);
  thread->tid = 0;
  __atomic_fetch_sub(&entered, 1, __ATOMIC_RELAXED);
  vf_thread_set(thread, VF_FREE);
}

static void in_child(void) {
  struct vf_thread *self = vf_this_thread;
  entered = self != NULL;
  for (unsigned i = 0; i != end; ++i) {
    /* Their descriptors and timers are the parent's: descriptors are copies. */
    struct vf_thread *thread = &vf_threads[i];
    vf_trigger_forget(thread);
    thread->state = thread == self ? VF_IDLE : VF_FREE;
  }
  if (self)
    self->tid = (int)syscall(SYS_gettid);
  vf_arm_in_child();
}

int vf_threads_start(void) {
  /* Pages are taken when a stack is used. One page less than it could be, at
   * the beginning, so that an overflow of the first is seen. */
  void *memory =
      mmap(NULL, (size_t)VF_THREADS * VF_STACK_SIZE, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED)
    return errno;
  int error = pthread_key_create(&key, leave);
  if (!error)
    error = pthread_atfork(NULL, NULL, in_child);
  if (error)
    munmap(memory, (size_t)VF_THREADS * VF_STACK_SIZE);
  else
    stacks = memory;
  return error;
}

static struct vf_thread *find_free(void) {
  for (unsigned i = 0; i != VF_THREADS; ++i)
    if (vf_thread_state(&vf_threads[i]) == VF_FREE &&
        vf_thread_change(&vf_threads[i], VF_FREE)) {
      unsigned last = vf_threads_end();
      while (last < i + 1 &&
             !__atomic_compare_exchange_n(&end, &last, i + 1, false,
                                          __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        ;
      return &vf_threads[i];
    }
  return NULL;
}

void vf_thread_enter(void) {
  if (vf_this_thread || !stacks)
    return;
  struct vf_thread *thread = find_free();
  if (!thread)
    return;
  memset(&thread->tid, 0, sizeof *thread - offsetof(struct vf_thread, tid));
  thread->tid = (int)syscall(SYS_gettid);
  thread->trigger = -1;
  /* At the low end of the stack, which is never reached. */
  thread->decoded =
      (struct vf_decoded *)(stacks + index_of(thread) * VF_STACK_SIZE);
  vf_this_thread = thread;
  vf_signals_enter(thread);
  __atomic_fetch_add(&entered, 1, __ATOMIC_RELAXED);
  vf_thread_set(thread, VF_IDLE);
  if (pthread_setspecific(key, thread) != 0)
    leave(thread);
}

_Static_assert(sizeof(struct vf_decoded) < VF_STACK_SIZE / 4,
               "leaves room for the stack");

static void enter_first(unsigned turn) {
  (void)turn;
  vf_thread_enter();
}

/* Returns what the new thread needs, or NULL if the library is off. */
static struct vf_thread_start *to_start(void) {
  if (!vf_arm_watches())
    return NULL;
  vf_thread_enter();
  return vf_thread_start_new(enter_first, 0);
}

VF_API int pthread_create(pthread_t *restrict thread,
                          const pthread_attr_t *restrict attributes,
                          void *(*function)(void *), void *restrict argument) {
  return vf_start_pthread(to_start(), vf_spin_next()->pthread_create, thread,
                          attributes, function, argument);
}

VF_API int thrd_create(thrd_t *thread, thrd_start_t function, void *argument) {
  return vf_start_c11(to_start(), vf_spin_next()->thrd_create, thread, function,
                      argument);
}
