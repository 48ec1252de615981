/*===- spin-wait/foreign.c - Programs that replace sched_yield ------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dl_iterate_phdr, Dl_info */
#endif
#include "spin-wait/foreign.h"
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sched.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <time.h>

/* Weak: other libcs lack these, and static programs dladdr1. */
extern const char *gnu_get_libc_version(void) __attribute__((weak));
extern int dladdr1(const void *, Dl_info *, void **, int) __attribute__((weak));
enum { DLADDR1_SYMBOL = 1 }; /* RTLD_DL_SYMENT */
/* Defined by all sanitizers that replace functions of libc. */
extern void __sanitizer_set_death_callback(void (*)(void))
    __attribute__((weak));

enum { FUNCTIONS = 3 };

struct search {
  uintptr_t functions[FUNCTIONS], libc, vdso;
  unsigned at_home; /* bit i: functions[i] is in one of the two */
};

static bool contains(const struct dl_phdr_info *module, uintptr_t address) {
  for (unsigned i = 0; i != module->dlpi_phnum; ++i) {
    const ElfW(Phdr) *part = &module->dlpi_phdr[i];
    if (part->p_type == PT_LOAD &&
        address - module->dlpi_addr - part->p_vaddr < part->p_memsz)
      return true;
  }
  return false;
}

static int look(struct dl_phdr_info *module, size_t size, void *arg) {
  struct search *search = arg;
  (void)size;
  if (contains(module, search->libc) || contains(module, search->vdso))
    for (unsigned i = 0; i != FUNCTIONS; ++i)
      search->at_home |= (unsigned)contains(module, search->functions[i]) << i;
  return 0;
}

/* Returns true if a module defines the function at this address. An executable
 * that is not position-independent and takes the address of a library's
 * function has an undefined symbol with an address of its own for it. */
static bool is_definition(uintptr_t function) {
  Dl_info info;
  const ElfW(Sym) *symbol = NULL;
  return dladdr1((const void *)function, &info, (void **)&symbol,
                 DLADDR1_SYMBOL) != 0 &&
         symbol && symbol->st_shndx != SHN_UNDEF;
}

bool vf_find_foreign(void) {
  if (!dladdr1 || !gnu_get_libc_version || __sanitizer_set_death_callback)
    return false;
  struct search search = {
      {(uintptr_t)sched_yield, (uintptr_t)nanosleep, (uintptr_t)clock_gettime},
      (uintptr_t)gnu_get_libc_version,
      (uintptr_t)getauxval(AT_SYSINFO_EHDR),
      0};
  dl_iterate_phdr(look, &search);
  for (unsigned i = 0; i != FUNCTIONS; ++i)
    if (!(search.at_home >> i & 1) && is_definition(search.functions[i]))
      return true;
  return false;
}
