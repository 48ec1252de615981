/*===- preload/next.c - libc's interposed functions -----------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "preload/next.h"
#include "glibc.h"
#include <dlfcn.h>
#include <errno.h>

struct vf_next vf_next_table;

/* Two concurrent calls write the same values. */
void vf_next_look_up(void) {
  int saved = errno;
#define VF_NEXT_LOOK_UP(name)                                                  \
  __atomic_store_n(&vf_next_table.name,                                        \
                   (__typeof__(name) *)dlsym(RTLD_NEXT, #name),                \
                   __ATOMIC_RELAXED);
  VF_NEXT_FUNCTIONS(VF_NEXT_LOOK_UP)
  __atomic_store_n(&vf_next_table.ready, 1, __ATOMIC_RELEASE);
  errno = saved;
}

__attribute__((constructor)) static void look_up(void) { vf_next_look_up(); }

/* Names for the symbols below, which every glibc exports; glibc
 * 2.34 and later export them only for compatibility with older libraries. */
int own_lock(pthread_mutex_t *mutex);
int own_trylock(pthread_mutex_t *mutex);
int own_unlock(pthread_mutex_t *mutex);
int own_rdlock(pthread_rwlock_t *lock);
int own_wrlock(pthread_rwlock_t *lock);
__asm__(".symver own_lock, __pthread_mutex_lock@" VF_GLIBC_FIRST "\n"
        ".symver own_trylock, __pthread_mutex_trylock@" VF_GLIBC_FIRST "\n"
        ".symver own_unlock, __pthread_mutex_unlock@" VF_GLIBC_FIRST "\n"
        ".symver own_rdlock, __pthread_rwlock_rdlock@" VF_GLIBC_FIRST "\n"
        ".symver own_wrlock, __pthread_rwlock_wrlock@" VF_GLIBC_FIRST);

int vf_libc_lock(pthread_mutex_t *mutex) { return own_lock(mutex); }

int vf_libc_trylock(pthread_mutex_t *mutex) { return own_trylock(mutex); }

int vf_libc_unlock(pthread_mutex_t *mutex) { return own_unlock(mutex); }

int vf_libc_rdlock(pthread_rwlock_t *lock) { return own_rdlock(lock); }

int vf_libc_wrlock(pthread_rwlock_t *lock) { return own_wrlock(lock); }
