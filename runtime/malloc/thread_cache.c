/*===- malloc/thread_cache.c - Threads that start without memory ----------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * In a thread's first call jemalloc 5.3 allocates the thread's cache, and
 * chooses an arena for the thread, which may be a new one. It uses both without
 * a check, so a thread whose first call comes when memory is used up would
 * crash. Here such a thread gets no cache, and shares arena 0. As in
 * jemalloc.c, the functions __wrap_NAME are called in place of jemalloc's NAME.
 *
 * A thread's first call also sets a thread-specific value, so that jemalloc
 * hears of the thread's end. For the 33rd and later keys of a process libc
 * allocates memory to do so, by calloc, inside that first call. If the first
 * call is a free, jemalloc 5.3 then makes the thread's cache and forgets it: it
 * stays in the arena's list after the thread has ended. So the key is made
 * before the program makes its own.
 *===----------------------------------------------------------------------===*/

#include "malloc/start.h"
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* The thread-local storage model initial-exec avoids calls of __tls_get_addr.
 * It requires that the library is loaded when the program starts. */
static __thread __attribute__((tls_model("initial-exec"))) bool was_refused;

void *__real_je_arena_palloc(void *tsdn, void *arena, size_t size,
                             size_t alignment, bool zero, void *tcache);
void *__wrap_je_arena_palloc(void *tsdn, void *arena, size_t size,
                             size_t alignment, bool zero, void *tcache);

/* Replaces the function with which jemalloc allocates aligned blocks and its
 * thread caches. Sets was_refused if there was no memory. */
void *__wrap_je_arena_palloc(void *tsdn, void *arena, size_t size,
                             size_t alignment, bool zero, void *tcache) {
  void *p = __real_je_arena_palloc(tsdn, arena, size, alignment, zero, tcache);
  if (!p)
    was_refused = true;
  return p;
}

/* jemalloc's option opt.tcache: whether threads have caches. */
extern bool je_opt_tcache;
bool __real_je_tsd_tcache_enabled_data_init(void *tsd);
bool __wrap_je_tsd_tcache_enabled_data_init(void *tsd);

/* Makes the calling thread's cache. If there is no memory for the cache, turns
 * jemalloc's option off and tries again: jemalloc then marks the thread as one
 * without a cache.
 *
 * A second thread that starts at that time may read the option while it is off:
 * the second thread then has no cache either, which only costs it time. Or the
 * second thread turns the option on before the calling thread has read it: the
 * calling thread then tries once more. */
bool __wrap_je_tsd_tcache_enabled_data_init(void *tsd) {
  was_refused = false;
  bool failed = __real_je_tsd_tcache_enabled_data_init(tsd);
  while (was_refused) {
    was_refused = false;
    __atomic_store_n(&je_opt_tcache, false, __ATOMIC_RELAXED);
    failed = __real_je_tsd_tcache_enabled_data_init(tsd);
    __atomic_store_n(&je_opt_tcache, true, __ATOMIC_RELAXED);
  }
  return failed;
}

extern void *je_arenas[];
void *__real_je_arena_choose_hard(void *tsd, bool for_metadata);
void *__wrap_je_arena_choose_hard(void *tsd, bool for_metadata);

/* Returns arena 0, which exists in each process, if no other arena can be made.
 * The thread is not bound to it: its next call that needs an arena tries again.
 */
void *__wrap_je_arena_choose_hard(void *tsd, bool for_metadata) {
  void *arena = __real_je_arena_choose_hard(tsd, for_metadata);
  return arena ? arena : __atomic_load_n(&je_arenas[0], __ATOMIC_ACQUIRE);
}

void __real_je_tcache_arena_reassociate(void *tsdn, void *slow, void *cache,
                                        void *arena);
void __wrap_je_tcache_arena_reassociate(void *tsdn, void *slow, void *cache,
                                        void *arena);

/* Ignores arena == NULL, so that the cache stays with arena 0. jemalloc passes
 * NULL if je_arena_choose_hard cannot make an arena: calls of this function in
 * its own object file do not reach the wrapper above. The call that needed the
 * arena fails. */
void __wrap_je_tcache_arena_reassociate(void *tsdn, void *slow, void *cache,
                                        void *arena) {
  if (arena)
    __real_je_tcache_arena_reassociate(tsdn, slow, cache, arena);
}

static pthread_key_t key;
static bool has_key;                  /* and jemalloc has not got it */
static void (*end_of_thread)(void *); /* jemalloc's, if it has a key */

static void at_end_of_thread(void *value) { end_of_thread(value); }

VF_AT_START __attribute__((constructor(101))) static void make_key(void) {
  if (!end_of_thread)
    has_key = pthread_key_create(&key, at_end_of_thread) == 0;
}

int vf_je_key_create(pthread_key_t *result, void (*destructor)(void *));

/* Replaces pthread_key_create for jemalloc, which calls it once. */
int vf_je_key_create(pthread_key_t *result, void (*destructor)(void *)) {
  end_of_thread = destructor;
  if (!has_key)
    return pthread_key_create(result, destructor);
  has_key = false;
  *result = key;
  return 0;
}
