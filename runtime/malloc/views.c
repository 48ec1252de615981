/*===- malloc/views.c - One heap in processes with two views of libc -------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * A part of the process may find libc's own malloc and free although this
 * library replaces them: a library opened with RTLD_DEEPBIND, whose symbols are
 * looked up in libc before they are looked up here, or code that asks dlsym by
 * the handle of libc or of a library that needs it, as ctypes, .NET and Julia
 * do. Such code exchanges blocks with the rest of the process, in both
 * directions: strdup of libc, for instance, always returns a block of this
 * library. So both must have one heap.
 *
 *   dlsym     returns this library's function where it finds libc's.
 *   dlopen    before the first library is opened with RTLD_DEEPBIND, libc's
 *             functions get a jump to those of this library as their first
 *             instruction, in a private copy of their pages. Only code that
 *             found them by dlvsym or RTLD_NEXT can have called them before;
 *             its blocks must not be freed afterwards.
 *
 * To clear RTLD_DEEPBIND would be simpler, but libraries are opened with it
 * because they define symbols of other libraries. Changing the addresses in the
 * opened library afterwards comes too late for its constructors. A table of
 * recognized blocks would not help: libc's free cannot know them.
 *
 * Where the kernel refuses to make written memory executable (SELinux,
 * PR_SET_MDWE), after a program has prepared a filter of system calls, and on
 * processors without jump.h, libc's functions stay as they are.
 *===----------------------------------------------------------------------===*/

#include "common/loader.h"
#include "common/plain_lock.h"
#include "common/process_wide.h"
#include "common/sandbox.h"
#include "jump.h"
#include "malloc/libc_code.h"
#include "malloc/own.h"
#include <gnu/lib-names.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct vf_loader next;

static const struct own {
  const char *name;
  void *function;
} own[] = {
#define VF_OWN(name) {#name, (void *)vf_own_##name},
    VF_OWN_FUNCTIONS
#undef VF_OWN
    /* glibc's second names. */
    {"__libc_malloc", (void *)vf_own_malloc},
    {"__libc_calloc", (void *)vf_own_calloc},
    {"__libc_realloc", (void *)vf_own_realloc},
    {"__libc_free", (void *)vf_own_free},
    {"__libc_memalign", (void *)vf_own_memalign},
    {"__libc_valloc", (void *)vf_own_valloc},
    {"__libc_pvalloc", (void *)vf_own_pvalloc},
};
enum { OWN = sizeof own / sizeof *own };

#define VF_LETTER(letter) (UINT32_C(1) << ((letter) & 31))

/* Returns the letters that the names have at place i, as a bit each. */
static inline uint32_t letters_at(int i) {
  return VF_LETTER("__libc_"[i])
#define VF_OWN(name) | VF_LETTER(#name[i])
      VF_OWN_FUNCTIONS
#undef VF_OWN
      ;
}

/* Returns false for most other names: programs look up thousands. */
static inline bool may_be_own(const char *name) {
  return (letters_at(0) & VF_LETTER(name[0])) &&
         (letters_at(1) & VF_LETTER(name[1])) &&
         (letters_at(2) & VF_LETTER(name[2])) &&
         (letters_at(3) & VF_LETTER(name[3]));
}

static const struct own *own_named(const char *name) {
  if (!may_be_own(name))
    return NULL;
  for (const struct own *it = own; it != own + OWN; ++it)
    if (vf_is_name(it->name, name))
      return it;
  return NULL;
}

/* Replaces the pages by a copy with jumps, in one step: other threads may run
 * other functions in them. */
static void write_jumps(char *first, size_t size, char *const *found) {
  char *copy = mmap(NULL, size, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (copy == MAP_FAILED)
    return;
  memcpy(copy, first, size);
  bool is_done = true;
  for (int i = 0; i != OWN; ++i)
    is_done =
        is_done &&
        (!found[i] || vf_write_jump((unsigned char *)copy + (found[i] - first),
                                    found[i], own[i].function));
  __builtin___clear_cache(copy, copy + size);
  if (!is_done || mprotect(copy, size, PROT_READ | PROT_EXEC) != 0 ||
      mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, first) ==
          MAP_FAILED)
    munmap(copy, size);
  else
    __builtin___clear_cache(first, first + size);
}

static void redirect(void) {
  char *found[OWN], *first = NULL, *last = NULL;
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  void *libc = vf_next_dlopen(&next)(LIBC_SO, RTLD_LAZY | RTLD_NOLOAD);
  for (int i = 0; i != OWN; ++i) {
    found[i] = libc ? vf_next_dlsym(&next)(libc, own[i].name) : NULL;
    /* Several names may be of one function. */
    for (int k = 0; k != i && found[i]; ++k)
      if (found[k] == found[i])
        found[i] = NULL;
    if (found[i] && !vf_is_libc_code(found[i]))
      found[i] = NULL;
    if (found[i] && (!first || found[i] < first))
      first = found[i];
    if (found[i] && found[i] > last)
      last = found[i];
  }
  if (!first)
    return;
  first -= (uintptr_t)first % page;
  last += 16; /* more than a jump */
  last += -(uintptr_t)last % page;
  write_jumps(first, (size_t)(last - first), found);
}

static void see_deep_binding(int mode) {
  static uint32_t lock, is_done;
  if (!(mode & RTLD_DEEPBIND) || __atomic_load_n(&is_done, __ATOMIC_ACQUIRE))
    return;
  vf_plain_lock(&lock);
  if (!is_done && vf_begin_optional()) {
    int saved = errno;
    redirect();
    errno = saved;
    vf_end_optional();
  }
  __atomic_store_n(&is_done, 1, __ATOMIC_RELEASE);
  vf_plain_unlock(&lock, VF_PRIVATE);
}

VF_API void *dlopen(const char *file, int mode) {
  see_deep_binding(mode);
  VF_TAIL return vf_next_dlopen(&next)(file, mode);
}

/* Libraries in a namespace of their own have a libc of their own, with its
 * heap, without this library, too. */
VF_API void *dlmopen(Lmid_t space, const char *file, int mode) {
  if (space == LM_ID_BASE)
    see_deep_binding(mode);
  VF_TAIL return vf_next_dlmopen(&next)(space, file, mode);
}

/* RTLD_NEXT is what replacements of these functions pass calls on by. */
VF_API void *dlsym(void *restrict handle, const char *restrict name) {
  const struct own *ours = handle == RTLD_NEXT ? NULL : own_named(name);
  if (__builtin_expect(ours != NULL, 0)) {
    void *found = vf_next_dlsym(&next)(handle, name);
    return found && found != ours->function && vf_is_libc_code(found)
               ? ours->function
               : found;
  }
  VF_TAIL return vf_next_dlsym(&next)(handle, name);
}
