/*===- preload/views.c - Processes with two views of libc -----------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * A part of the process may call libc's own functions although this library
 * replaces them: a library opened with RTLD_DEEPBIND or by dlmopen, or code
 * that asks dlsym for a function of libc by libc's handle, as ctypes, .NET and
 * Julia do. What each primitive does about it:
 *
 *   mutexes, read-write locks, semaphores, barriers
 *     nothing: waiters sleep on libc's own word, in libc's protocol, so libc's
 *     functions wake them
 *   spin locks
 *     libc's unlock does not notify: the wait looks at the word in time
 *     (VF_SPIN_UNSEEN)
 *   conditions
 *     libc's signal finds no waiter of our table. To stand in libc's own queue,
 *     a waiter would have to follow an algorithm that differs between versions
 *     of glibc, and of which a mistake loses wake-ups. So this library steps
 *     aside: from the first sign of a second view on, all waits for conditions
 *     are libc's, and the waiters in the table wake up without cause, as POSIX
 *     allows, to wait anew.
 *
 * The signs are seen by dlopen, dlmopen and dlsym, which pass every call on to
 * libc by a tail call: libc then sees the caller's return address, on which
 * RTLD_NEXT and the caller's RUNPATH depend. If dlsym finds libc's signal or
 * broadcast and no library stands between this one and libc, it returns the
 * replacement, and nothing has to step aside. A look-up by dlvsym, or one that
 * reads libc's symbol table by itself, is not seen.
 *===----------------------------------------------------------------------===*/

#include "common/process_wide.h"
#include "glibc.h"
#include "preload/next.h"
#include "preload/queue.h"
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <threads.h>

/* In which version libc has the functions of libdl, by default. */
#define VF_GLIBC_DL "GLIBC_2.34"
/* Without optimization only the attribute makes it a jump. */
#if __has_attribute(musttail)
#define VF_TAIL __attribute__((musttail))
#else
#define VF_TAIL
#endif

/* libc's functions. Looked up by dlvsym, which this library does not replace.
 * Two concurrent look-ups store the same. */
static struct {
  __typeof__(dlopen) *dlopen;
  __typeof__(dlmopen) *dlmopen;
  __typeof__(dlsym) *dlsym;
} next;

static void *look_up(void **where, const char *name) {
  void *found = __atomic_load_n(where, __ATOMIC_RELAXED);
  if (__builtin_expect(found != NULL, 1))
    return found;
  int saved = errno;
  found = dlvsym(RTLD_NEXT, name, VF_GLIBC_DL);
  if (!found)
    found = dlvsym(RTLD_NEXT, name, VF_GLIBC_FIRST);
  __atomic_store_n(where, found, __ATOMIC_RELAXED);
  errno = saved;
  return found;
}

#define NEXT(name) ((__typeof__(name) *)look_up((void **)&next.name, #name))

VF_API void *dlopen(const char *file, int mode) {
  if (mode & RTLD_DEEPBIND)
    vf_queue_close();
  VF_TAIL return NEXT(dlopen)(file, mode);
}

VF_API void *dlmopen(Lmid_t space, const char *file, int mode) {
  if (space != LM_ID_BASE || mode & RTLD_DEEPBIND)
    vf_queue_close();
  VF_TAIL return NEXT(dlmopen)(space, file, mode);
}

/* What wakes waiters for conditions. */
static const struct {
  const char *name;
  void *ours;
} signals[] = {{"pthread_cond_signal", (void *)pthread_cond_signal},
               {"pthread_cond_broadcast", (void *)pthread_cond_broadcast},
               {"cnd_signal", (void *)cnd_signal},
               {"cnd_broadcast", (void *)cnd_broadcast}};
enum { SIGNALS = sizeof signals / sizeof *signals };

static unsigned signal_named(const char *name) {
  unsigned i = 0;
  if (*name != 'p' && *name != 'c')
    return SIGNALS;
  while (i != SIGNALS && strcmp(signals[i].name, name) != 0)
    ++i;
  return i;
}

static void *signal_of(void *handle, unsigned number) {
  const char *name = signals[number].name;
  void *found = NEXT(dlsym)(handle, name);
  if (!found || found == signals[number].ours)
    return found;
  if (found == NEXT(dlsym)(RTLD_NEXT, name))
    return signals[number].ours;
  vf_queue_close();
  return found;
}

/* RTLD_NEXT is what this library itself uses, and libraries that pass calls on
 * as it does. */
VF_API void *dlsym(void *restrict handle, const char *restrict name) {
  unsigned number = handle == RTLD_NEXT ? SIGNALS : signal_named(name);
  if (__builtin_expect(number != SIGNALS, 0))
    return signal_of(handle, number);
  VF_TAIL return NEXT(dlsym)(handle, name);
}
