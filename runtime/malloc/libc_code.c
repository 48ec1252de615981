/*===- malloc/libc_code.c - Whether libc itself calls us ------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *===----------------------------------------------------------------------===*/

#include "malloc/libc_code.h"
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <link.h>

static const char *libc; /* where it is mapped */

__attribute__((constructor)) static void find_libc(void) {
  Dl_info info;
  if (dladdr((const void *)gnu_get_libc_version, &info))
    libc = info.dli_fbase;
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
  return !libc || is_in(libc, code) ||
         is_in((const char *)_r_debug.r_ldbase, code);
}
