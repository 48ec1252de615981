/*===- malloc/fork.c - The allocator around a fork -------------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * From before_fork to after_fork_in_... no other thread can take a lock of the
 * allocator, so a thread that holds any other lock may wait for the fork in
 * malloc. The fork must not wait for such a lock: nothing may take one after
 * before_fork. libc runs handlers before the fork in reverse order of their
 * registration and then takes locks of its own:
 *
 *   others' handlers    may take locks, and allocate
 *   before_fork         takes libc's locks below, then stops the allocator
 *   libc                takes its locks, which this thread has already
 *   fork
 *   after_fork_in_...   lets the allocator run
 *   others' handlers    may allocate
 *
 * So our handlers must be the first ones registered. A constructor comes too
 * late: those of libraries that the program is linked with run before those of
 * preloaded ones. -z initfirst would put ours first, but before libc's, which
 * makes the environment that they read, and only one library of a process can
 * have it. Here the function that registers handlers is ours, and registers
 * ours before it passes on those of the first caller.
 *===----------------------------------------------------------------------===*/

#include "common/plain_lock.h"
#include "common/process_wide.h"
#include "common/sandbox.h"
#include "malloc/cpu_cache.h"
#include "malloc/fork_gate.h"
#include "malloc/helper.h"
#include "malloc/hysteresis.h"
#include "malloc/jemalloc.h"
#include "malloc/pages.h"
#include <dlfcn.h>
#include <sys/single_threaded.h>

/* The lock of libc's list of files, which the thread that holds it may take
 * again, as libc does at a fork. A thread that flushes all files holds it while
 * it waits for a file, whose holder may allocate (getline). */
void _IO_list_lock(void) __attribute__((weak));
void _IO_list_unlock(void) __attribute__((weak));
void _IO_list_resetlock(void) __attribute__((weak));

/* Held while libc registers a handler, because libc then allocates memory with
 * a lock that it also takes between before_fork and the fork. */
static uint32_t registering;

/* jemalloc's fork handlers, which it passes when it starts. With fork_gate.c
 * they take no locks; in the child they forget the other threads. */
static struct {
  void (*before)(void), (*in_parent)(void), (*in_child)(void);
} theirs;
static bool has_stopped_threads; /* at this fork */

/* The order is that in which other threads take these locks: is_worth_another
 * of api.c calls jemalloc with the lock of vf_giving_stop, and jemalloc calls
 * vf_pages with its own. A single thread holds none of jemalloc's locks.
 * jemalloc's handlers fetch the thread's data; to make them, libc may call
 * calloc, which must not wait for these locks. */
static void before_fork(void) {
  has_stopped_threads = !__libc_single_threaded;
  if (has_stopped_threads) {
    vf_jemalloc_have_thread_data(); /* Starts jemalloc, if it had no memory. */
    vf_plain_lock(&registering);
    if (_IO_list_lock)
      _IO_list_lock();
  }
  vf_giving_stop();
  vf_jemalloc_before_fork();
  if (has_stopped_threads) {
    vf_cpu_cache_before_fork();
    vf_fork_gate_close();
    if (theirs.before)
      theirs.before();
  }
  vf_pages_before_fork();
}

static void after_fork_in_parent(void) {
  vf_pages_after_fork(false);
  if (has_stopped_threads) {
    if (theirs.before)
      theirs.in_parent();
    vf_fork_gate_open(false);
    vf_cpu_cache_after_fork();
  }
  vf_jemalloc_after_fork(false);
  vf_giving_resume();
  if (has_stopped_threads) {
    if (_IO_list_unlock)
      _IO_list_unlock();
    vf_plain_unlock(&registering, VF_PRIVATE);
  }
}

static void after_fork_in_child(void) {
  vf_pages_after_fork(true);
  vf_jemalloc_after_fork(true);
  vf_hysteresis_after_fork();
  vf_helper_after_fork();
  vf_sandbox_forked();
  if (!has_stopped_threads)
    return;
  if (theirs.before)
    theirs.in_child();
  vf_fork_gate_open(true);
  vf_cpu_cache_after_fork();
  if (_IO_list_resetlock)
    _IO_list_resetlock();
  registering = VF_FREE;
}

typedef int registers(void (*before)(void), void (*in_parent)(void),
                      void (*in_child)(void), void *library);

/* Returns libc's function. */
static registers *next_register(void) {
  static registers *found;
  if (!found)
    found = (registers *)dlsym(RTLD_NEXT, "__register_atfork");
  return found;
}

/* Registers our handlers, once. Not in a constructor: a process in which
 * neither jemalloc starts nor a handler is registered needs none. A second
 * thread comes after jemalloc has started (early.h). */
static void watch_forks(void) {
  static bool is_done;
  if (is_done)
    return;
  is_done = true;
  registers *next = next_register();
  if (next)
    next(before_fork, after_fork_in_parent, after_fork_in_child, NULL);
}

/* Replaces pthread_atfork for jemalloc, and stores the handlers that jemalloc
 * passes. */
int vf_je_watch_forks(void (*before)(void), void (*in_parent)(void),
                      void (*in_child)(void));
int vf_je_watch_forks(void (*before)(void), void (*in_parent)(void),
                      void (*in_child)(void)) {
  theirs.in_parent = in_parent;
  theirs.in_child = in_child;
  theirs.before = before;
  watch_forks();
  return 0;
}

/* What pthread_atfork calls, which is a part of each library and program. */
registers __register_atfork VF_API;
int __register_atfork(void (*before)(void), void (*in_parent)(void),
                      void (*in_child)(void), void *library) {
  registers *next = next_register();
  if (!next)
    return ENOMEM;
  watch_forks();
  vf_plain_lock(&registering);
  int error = next(before, in_parent, in_child, library);
  vf_plain_unlock(&registering, VF_PRIVATE);
  return error;
}
