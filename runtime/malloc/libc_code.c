/*===- malloc/libc_code.c - Recognizing callers in libc -------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "malloc/libc_code.h"
#include "malloc/start.h"
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <link.h>

int _dl_find_object(void *code, struct dl_find_object *object)
    __attribute__((weak));

static const char *libc; /* where it is mapped */

/* Finds libc for glibc before 2.35, which has no _dl_find_object. The search is
 * in a constructor because dladdr takes a lock. dladdr compares the address
 * with all of libc's symbols, which takes 15 us in each process. */
VF_AT_START __attribute__((constructor)) static void find_libc(void) {
  Dl_info info;
  if (!_dl_find_object && dladdr((void *)gnu_get_libc_version, &info))
    libc = info.dli_fbase;
}

static const char *libc_start(void) {
  struct dl_find_object object;
  if (_dl_find_object &&
      _dl_find_object((void *)gnu_get_libc_version, &object) == 0)
    return object.dlfo_map_start;
  return libc;
}

static bool is_in(const char *library, const char *code) {
  const ElfW(Ehdr) *header = (const void *)library;
  const ElfW(Phdr) *part = (const void *)(library + header->e_phoff);
  for (unsigned i = 0; i != header->e_phnum; ++i) {
    const char *start = library + part[i].p_vaddr;
    if (part[i].p_type == PT_LOAD && code >= start &&
        code < start + part[i].p_memsz)
      return true;
  }
  return false;
}

bool vf_is_libc_code(const void *code) {
  const char *start = libc_start();
  return !start || is_in(start, code) ||
         is_in((const char *)_r_debug.r_ldbase, code);
}
