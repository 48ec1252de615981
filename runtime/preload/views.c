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
 * The signs are seen by dlopen, dlmopen and dlsym (common/loader.h). If dlsym
 * finds libc's signal or broadcast and no library stands between this one and
 * libc, it returns the replacement, and nothing has to step aside. A look-up by
 * dlvsym, or one that reads libc's symbol table by itself, is not seen.
 *===----------------------------------------------------------------------===*/

#include "common/loader.h"
#include "common/process_wide.h"
#include "preload/queue.h"
#include <pthread.h>
#include <threads.h>

static struct vf_loader next;

VF_API void *dlopen(const char *file, int mode) {
  if (mode & RTLD_DEEPBIND)
    vf_queue_close();
  VF_TAIL return vf_next_dlopen(&next)(file, mode);
}

VF_API void *dlmopen(Lmid_t space, const char *file, int mode) {
  if (space != LM_ID_BASE || mode & RTLD_DEEPBIND)
    vf_queue_close();
  VF_TAIL return vf_next_dlmopen(&next)(space, file, mode);
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
  while (i != SIGNALS && !vf_is_name(signals[i].name, name))
    ++i;
  return i;
}

static void *signal_of(void *handle, unsigned number) {
  const char *name = signals[number].name;
  void *found = vf_next_dlsym(&next)(handle, name);
  if (!found || found == signals[number].ours)
    return found;
  if (found == vf_next_dlsym(&next)(RTLD_NEXT, name))
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
  VF_TAIL return vf_next_dlsym(&next)(handle, name);
}
