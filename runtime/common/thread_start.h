/*===- common/thread_start.h - Code that runs first in each new thread ----===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * For a library that replaces pthread_create and thrd_create:
 *
 *   struct vf_thread_start *start = vf_thread_start_new(bind_self, turn);
 *   return vf_start_pthread(start, next->pthread_create, thread, attributes,
 *                           function, argument);
 *
 * thrd_create is replaced as well, because libc's does not call the replaced
 * pthread_create.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_COMMON_THREAD_START_H
#define VFRIENDLY_COMMON_THREAD_START_H

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <threads.h>

struct vf_thread_start {
  void (*first)(
      unsigned); /* called with `turn` before the program's function */
  unsigned turn;
  void *(*of_pthread)(void *); /* the program's function, or NULL ... */
  int (*of_c11)(void *);       /* ... in a thread of C11 */
  void *argument;
};

/* Returns NULL if there is no memory: the thread is then created as if nothing
 * were replaced. Keeps errno. */
static inline struct vf_thread_start *
vf_thread_start_new(void (*first)(unsigned), unsigned turn) {
  int saved = errno;
  struct vf_thread_start *start = calloc(1, sizeof *start);
  errno = saved;
  if (start) {
    start->first = first;
    start->turn = turn;
  }
  return start;
}

static inline struct vf_thread_start vf_thread_begin(void *data) {
  struct vf_thread_start start = *(struct vf_thread_start *)data;
  free(data);
  start.first(start.turn);
  return start;
}

static inline void *vf_run_pthread(void *data) {
  struct vf_thread_start start = vf_thread_begin(data);
  return start.of_pthread(start.argument);
}

static inline int vf_run_c11(void *data) {
  struct vf_thread_start start = vf_thread_begin(data);
  return start.of_c11(start.argument);
}

/* Creates the thread by `create`. Takes `start`, which may be NULL. */
static inline int vf_start_pthread(struct vf_thread_start *start,
                                   __typeof__(pthread_create) *create,
                                   pthread_t *thread,
                                   const pthread_attr_t *attributes,
                                   void *(*function)(void *), void *argument) {
  if (!start)
    return create(thread, attributes, function, argument);
  start->of_pthread = function;
  start->argument = argument;
  int error = create(thread, attributes, vf_run_pthread, start);
  if (error)
    free(start);
  return error;
}

static inline int vf_start_c11(struct vf_thread_start *start,
                               __typeof__(thrd_create) *create, thrd_t *thread,
                               thrd_start_t function, void *argument) {
  if (!start)
    return create(thread, function, argument);
  start->of_c11 = function;
  start->argument = argument;
  int error = create(thread, vf_run_c11, start);
  if (error != thrd_success)
    free(start);
  return error;
}

#endif /* VFRIENDLY_COMMON_THREAD_START_H */
