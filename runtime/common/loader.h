/*===- common/loader.h - Calling the loader's functions from replacements --===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * A library that replaces dlopen and its kin passes every call on by a tail
 * call: libc then sees the caller's return address, on which RTLD_NEXT and the
 * caller's RUNPATH depend.
 *
 *   static struct vf_loader next;
 *   VF_API void *dlopen(const char *file, int mode) {
 *     VF_TAIL return vf_next_dlopen(&next)(file, mode);
 *   }
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_COMMON_LOADER_H
#define VFRIENDLY_COMMON_LOADER_H

#include "glibc.h"
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

/* In which version libc has the functions of libdl, by default. */
#define VF_GLIBC_DL "GLIBC_2.34"
/* Without optimization only the attribute makes it a jump. */
#if __has_attribute(musttail)
#define VF_TAIL __attribute__((musttail))
#else
#define VF_TAIL
#endif

/* The functions after those of the library that asks: another preloaded
 * library's, or libc's. Two concurrent look-ups store the same. */
struct vf_loader {
  __typeof__(dlopen) *dlopen;
  __typeof__(dlmopen) *dlmopen;
  __typeof__(dlsym) *dlsym;
};

/* libc's dlsym is found by dlvsym, which no library of ours replaces. */
static inline void *vf_next_of_loader(void **where, const char *name) {
  void *found = __atomic_load_n(where, __ATOMIC_RELAXED);
  if (__builtin_expect(found != NULL, 1))
    return found;
  int saved = errno;
  __typeof__(dlsym) *of_libc =
      (__typeof__(dlsym) *)dlvsym(RTLD_NEXT, "dlsym", VF_GLIBC_DL);
  if (!of_libc)
    of_libc = (__typeof__(dlsym) *)dlvsym(RTLD_NEXT, "dlsym", VF_GLIBC_FIRST);
  found = of_libc(RTLD_NEXT, name);
  __atomic_store_n(where, found, __ATOMIC_RELAXED);
  errno = saved;
  return found;
}

static inline __typeof__(dlopen) *vf_next_dlopen(struct vf_loader *next) {
  return (__typeof__(dlopen) *)vf_next_of_loader((void **)&next->dlopen,
                                                 "dlopen");
}

static inline __typeof__(dlmopen) *vf_next_dlmopen(struct vf_loader *next) {
  return (__typeof__(dlmopen) *)vf_next_of_loader((void **)&next->dlmopen,
                                                  "dlmopen");
}

static inline __typeof__(dlsym) *vf_next_dlsym(struct vf_loader *next) {
  return (__typeof__(dlsym) *)vf_next_of_loader((void **)&next->dlsym, "dlsym");
}

/* strcmp may be a sanitizer's, which calls dlsym before it can compare. */
static inline bool vf_is_name(const char *name, const char *other) {
  while (*name != '\0' && *name == *other)
    ++name, ++other;
  return *name == *other;
}

#endif /* VFRIENDLY_COMMON_LOADER_H */
