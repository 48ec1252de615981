/*===- malloc/jemalloc.c - jemalloc, with its memory from vf_pages --------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Its extent hooks are where it gets whole pages from, for any arena, and where
 * it returns them. It is told to return all that it does not use at once, which
 * costs no system call here, so that what one arena frees another one gets.
 *===----------------------------------------------------------------------===*/

#include "malloc/jemalloc.h"
#include "malloc/attention.h"
#include "malloc/helper.h"
#include "malloc/libc_code.h"
#include "malloc/pages.h"
#include <jemalloc/jemalloc.h>
#include <pthread.h>
#include <stdio.h>

uint32_t vf_attention = VF_ATTEND_SETUP;

/* What jemalloc reads when it starts; MALLOC_CONF can still change it.
 *
 * retain, decay: nothing free is kept in an arena. oversize_threshold: else
 * blocks of 8 MiB and more were of an arena that it makes by itself, and that
 * has other hooks. */
const char *vf_je_malloc_conf =
    "retain:false,dirty_decay_ms:0,muzzy_decay_ms:0,"
    "oversize_threshold:0";

/* opt.cache_oblivious: a page more for each block of 16 KiB or more, which is a
 * quarter of the smallest of them, for caches that newer processors do not
 * have. 5.3.0 forgets to read it (jemalloc #2307), so it is set by its inner
 * name, before jemalloc starts. */
extern bool je_opt_cache_oblivious __attribute__((weak));

/* Before jemalloc's own constructor, and any other library's. */
__attribute__((constructor(101))) static void set_options(void) {
  if (&je_opt_cache_oblivious)
    je_opt_cache_oblivious = false;
}

static void *hook_alloc(extent_hooks_t *hooks, void *at, size_t size,
                        size_t alignment, bool *zero, bool *commit,
                        unsigned arena) {
  (void)hooks, (void)arena;
  *commit = true;
  return vf_pages_take(at, size, alignment, zero);
}

static bool hook_dalloc(extent_hooks_t *hooks, void *start, size_t size,
                        bool committed, unsigned arena) {
  (void)hooks, (void)committed, (void)arena;
  return !vf_pages_put(start, size);
}

static void hook_destroy(extent_hooks_t *hooks, void *start, size_t size,
                         bool committed, unsigned arena) {
  hook_dalloc(hooks, start, size, committed, arena);
}

/* Any two neighbours are one: all is anonymous memory. False is success. */
static bool hook_split(extent_hooks_t *hooks, void *start, size_t size,
                       size_t first, size_t second, bool committed,
                       unsigned arena) {
  (void)hooks, (void)start, (void)size, (void)first, (void)second;
  (void)committed, (void)arena;
  return false;
}

static bool hook_merge(extent_hooks_t *hooks, void *first, size_t first_size,
                       void *second, size_t second_size, bool committed,
                       unsigned arena) {
  (void)hooks, (void)first, (void)first_size, (void)second, (void)second_size;
  (void)committed, (void)arena;
  return false;
}

static extent_hooks_t hooks = {
    .alloc = hook_alloc,
    .dalloc = hook_dalloc,
    .destroy = hook_destroy,
    .split = hook_split,
    .merge = hook_merge,
};

static void before_fork(void) {
  vf_helper_before_fork();
  vf_pages_before_fork();
}

static void after_fork_in_parent(void) {
  vf_pages_after_fork(false);
  vf_helper_after_fork(false);
}

static void after_fork_in_child(void) {
  vf_pages_after_fork(true);
  vf_helper_after_fork(true);
}

/* Arenas that other threads use by now have some memory of jemalloc's own,
 * which it returns to us. */
static void set_up(void) {
  unsigned arenas = 0;
  size_t size = sizeof arenas;
  vf_je_mallctl("opt.narenas", &arenas, &size, NULL, 0);
  for (unsigned i = 0; i != arenas; ++i) {
    char name[40];
    snprintf(name, sizeof name, "arena.%u.extent_hooks", i);
    extent_hooks_t *ours = &hooks;
    vf_je_mallctl(name, NULL, NULL, &ours, sizeof ours);
  }
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/* libc frees what a thread had when the thread has ended for jemalloc, and with
 * the lock of all stacks held. pthread_create allocates, and takes that lock.
 */
void vf_attend(const void *caller) {
  uint32_t what = __atomic_exchange_n(&vf_attention, 0, __ATOMIC_ACQ_REL);
  if (what & VF_ATTEND_SETUP)
    set_up();
  if (what & VF_ATTEND_SPACE)
    vf_pages_unmap();
  if ((what & VF_ATTEND_HELPER) == 0)
    return;
  if (vf_is_libc_code(caller))
    __atomic_fetch_or(&vf_attention, VF_ATTEND_HELPER, __ATOMIC_RELEASE);
  else
    vf_helper_start();
}
