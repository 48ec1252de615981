/*===- cpu-limits/libgomp.c - How long gcc's OpenMP runtime spins ---------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * A wait of libgomp polls a number of times and then sleeps. The number is read
 * at each wait from one of two variables, the second one if there are more
 * threads than CPUs:
 *
 *   unsigned long long gomp_spin_count_var, gomp_throttled_spin_count_var;
 *
 * They are set once, from the environment, and have no public name or function.
 * But their defaults, 300000 and 100, have been the same since gcc 4.4, and lie
 * close together: this file searches for the pair in the variables of the copy
 * of libgomp that has created a thread, and steers the copy only if there is
 * exactly one such pair. Otherwise, in particular if the user has set
 * OMP_WAIT_POLICY or GOMP_SPINCOUNT, which change the numbers, the copy is left
 * alone. There may be several copies: packages of Python bring their own.
 *
 * A thread that creates another one may run while a third one has the lock of
 * the dynamic loader and waits for it: a constructor that dlopen calls may wait
 * for threads. So a copy is found without that lock, by the module's own table
 * of symbols, and kept loaded by the deciding thread, before it is written.
 *
 * libgomp reads the variables while they are written, as plain 64-bit words:
 * it sees the old or the new number.
 *===----------------------------------------------------------------------===*/

#include "cpu-limits/steer.h"
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

/* Polls by default, and where there are more threads than CPUs. */
#define POLLS 300000u
#define POLLS_CROWDED 100u
/* Polls of a short spin: 20 to 45 us, depending on the processor's pause. */
#define POLLS_SHORT 1000u
/* Maximum distance of the two, in words. They are neighbours in Debian's copy
 * of gcc 12, and two words apart in that of a Python package. */
#define DISTANCE_MAX 8
/* Maximum number of copies; packages of Python rarely bring more than three. */
#define COPIES 16
/* Modules that have created threads and have no OpenMP. After that many, new
 * ones are searched each time, which takes some microseconds. */
#define OTHERS 64

struct code {
  uintptr_t begin, end;
};

/* Entries are written by one thread at a time, under `lock`, and published by
 * the counts. */
static struct code copies[COPIES], others[OTHERS];
static char names[COPIES][PATH_MAX];
static unsigned long long *polls[COPIES], *polls_crowded[COPIES];
static unsigned copies_n, others_n;
/* Copies that are kept loaded, or were unloaded before: their polls are null.
 * Belongs to the deciding thread. */
static unsigned kept_n;
static char lock;

/* A module, and what was found in it. */
struct module {
  uintptr_t caller;
  struct code code;
  const char *name;
  uintptr_t base;
  const ElfW(Phdr) * headers;
  unsigned headers_n;
  unsigned long long *polls, *polls_crowded;
  unsigned pairs;
};

static bool contains(const struct code *code, uintptr_t address) {
  return address >= code->begin && address < code->end;
}

static bool is_known(const struct code *list, const unsigned *count,
                     uintptr_t address) {
  unsigned n = __atomic_load_n(count, __ATOMIC_ACQUIRE);
  for (unsigned i = 0; i != n; ++i)
    if (contains(&list[i], address))
      return true;
  return false;
}

/* Searches the words from `words` on for pairs. */
static void search(struct module *module, unsigned long long *words, size_t n) {
  for (size_t i = 0; i != n; ++i) {
    if (words[i] != POLLS)
      continue;
    size_t j = i > DISTANCE_MAX ? i - DISTANCE_MAX : 0;
    for (; j != n && j <= i + DISTANCE_MAX; ++j)
      if (words[j] == POLLS_CROWDED) {
        module->polls = &words[i];
        module->polls_crowded = &words[j];
        ++module->pairs;
      }
  }
}

/* Callback of dl_iterate_phdr: finds the module of module->caller. */
static int find_module(struct dl_phdr_info *info, size_t size, void *what) {
  struct module *module = what;
  (void)size;
  bool found = false;
  for (int i = 0; i != info->dlpi_phnum; ++i) {
    const ElfW(Phdr) *header = &info->dlpi_phdr[i];
    struct code part = {info->dlpi_addr + header->p_vaddr,
                        info->dlpi_addr + header->p_vaddr + header->p_memsz};
    if (header->p_type == PT_LOAD && (header->p_flags & PF_X) &&
        contains(&part, module->caller)) {
      module->code = part;
      module->name = info->dlpi_name;
      module->base = info->dlpi_addr;
      module->headers = info->dlpi_phdr;
      module->headers_n = info->dlpi_phnum;
      found = true;
    }
  }
  return found;
}

/* Searches the variables of a copy of libgomp. Not those of other modules,
 * which may be large. */
static void search_variables(struct module *module) {
  for (unsigned i = 0; i != module->headers_n; ++i) {
    const ElfW(Phdr) *header = &module->headers[i];
    uintptr_t begin = module->base + header->p_vaddr,
              aligned = (begin + 7) & ~(uintptr_t)7;
    if (header->p_type == PT_LOAD && (header->p_flags & PF_W))
      search(module, (unsigned long long *)aligned,
             (begin + header->p_memsz - aligned) / sizeof(unsigned long long));
  }
}

/* Returns what the dynamic section says. The loader adds the base to pointers
 * in it, but not in all modules (vdso) and not for all processors (RISC-V). */
static uintptr_t dynamic(const struct module *module, ElfW(Sxword) tag) {
  for (unsigned i = 0; i != module->headers_n; ++i) {
    if (module->headers[i].p_type != PT_DYNAMIC)
      continue;
    const ElfW(Dyn) *entry =
        (const ElfW(Dyn) *)(module->base + module->headers[i].p_vaddr);
    for (; entry->d_tag != DT_NULL; ++entry)
      if (entry->d_tag == tag)
        return entry->d_un.d_ptr < module->base
                   ? module->base + entry->d_un.d_ptr
                   : entry->d_un.d_ptr;
  }
  return 0;
}

/* Returns true if the module defines the function, by its table of hashes as
 * the GNU linker makes it. Modules without one have no OpenMP. */
static bool defines(const struct module *module, const char *function) {
  const ElfW(Sym) *symbols = (const ElfW(Sym) *)dynamic(module, DT_SYMTAB);
  const char *strings = (const char *)dynamic(module, DT_STRTAB);
  const uint32_t *table = (const uint32_t *)dynamic(module, DT_GNU_HASH);
  if (!symbols || !strings || !table || table[0] == 0)
    return false;
  uint32_t hash = 5381;
  for (const char *c = function; *c; ++c)
    hash = hash * 33 + (unsigned char)*c;
  uint32_t buckets_n = table[0], first = table[1], words_n = table[2];
  const uint32_t *buckets =
      (const uint32_t *)((const ElfW(Addr) *)(table + 4) + words_n);
  const uint32_t *chains = buckets + buckets_n;
  uint32_t i = buckets[hash % buckets_n];
  if (i < first)
    return false;
  for (;; ++i) {
    uint32_t other = chains[i - first];
    if ((other | 1) == (hash | 1) && symbols[i].st_shndx != SHN_UNDEF &&
        strcmp(strings + symbols[i].st_name, function) == 0)
      return true;
    if (other & 1)
      return false;
  }
}

enum kind { NO_OPENMP, LIBGOMP, LIBOMP };

/* Tells what the module is. */
static enum kind kind_of(const struct module *module) {
  if (!module->name || *module->name == '\0')
    return NO_OPENMP; /* an executable, perhaps with libgomp in it */
  /* LLVM's runtime defines both. */
  return defines(module, "__kmpc_fork_call") ? LIBOMP
         : defines(module, "GOMP_parallel")  ? LIBGOMP
                                             : NO_OPENMP;
}

static void remember(struct code *list, unsigned *count, unsigned most,
                     const struct module *module) {
  unsigned n = *count;
  if (n == most)
    return;
  list[n] = module->code;
  if (list == copies) {
    strcpy(names[n], module->name);
    polls[n] = module->polls;
    polls_crowded[n] = module->polls_crowded;
  }
  __atomic_store_n(count, n + 1, __ATOMIC_RELEASE);
}

static void learn(struct module *module) {
  dl_iterate_phdr(find_module, module);
  enum kind kind = kind_of(module);
  if (kind != NO_OPENMP)
    vf_omp_start();
  if (kind == LIBGOMP)
    search_variables(module);
  if (kind == LIBGOMP && module->pairs == 1 &&
      !vf_omp_user_sets("GOMP_SPINCOUNT") &&
      !vf_omp_user_sets("OMP_WAIT_POLICY") && copies_n != COPIES &&
      strlen(module->name) < PATH_MAX) {
    vf_omp_count(VF_OMP_LIBGOMP, 1);
    remember(copies, &copies_n, COPIES, module);
    return;
  }
  if (kind == LIBGOMP)
    vf_omp_count(VF_OMP_UNKNOWN, 1);
  remember(others, &others_n, OTHERS, module);
}

void vf_omp_created_by(const void *caller) {
  uintptr_t address = (uintptr_t)caller;
  if (is_known(copies, &copies_n, address)) {
    vf_omp_start(); /* in a forked child */
    return;
  }
  /* Two threads rarely meet here. One that finds the lock taken leaves the
   * module for the next thread that is created. */
  if (is_known(others, &others_n, address) ||
      __atomic_test_and_set(&lock, __ATOMIC_ACQUIRE))
    return;
  struct module module = {.caller = address};
  if (!is_known(copies, &copies_n, address) &&
      !is_known(others, &others_n, address))
    learn(&module);
  __atomic_clear(&lock, __ATOMIC_RELEASE);
}

void vf_libgomp_keep(void) {
  unsigned n = __atomic_load_n(&copies_n, __ATOMIC_ACQUIRE);
  if (kept_n == n)
    return;
  for (; kept_n != n; ++kept_n) {
    /* Another copy of this name may be where this one was, or elsewhere. */
    struct module module = {.caller = copies[kept_n].begin};
    if (!dlopen(names[kept_n], RTLD_NOLOAD | RTLD_LAZY | RTLD_NODELETE) ||
        !dl_iterate_phdr(find_module, &module) ||
        module.code.end != copies[kept_n].end || kind_of(&module) != LIBGOMP)
      polls[kept_n] = NULL;
  }
  vf_libgomp_set(vf_omp_waits());
}

void vf_libgomp_set(enum vf_omp_waits waits) {
  for (unsigned i = 0; i != kept_n; ++i) {
    if (!polls[i])
      continue;
    __atomic_store_n(polls[i],
                     waits == VF_OMP_SPIN    ? POLLS
                     : waits == VF_OMP_SHORT ? POLLS_SHORT
                                             : 0,
                     __ATOMIC_RELAXED);
    __atomic_store_n(polls_crowded[i], waits == VF_OMP_SPIN ? POLLS_CROWDED : 0,
                     __ATOMIC_RELAXED);
  }
}

/* The thread that had the lock may be gone. What it was about to add counts
 * only once it is complete. */
void vf_libgomp_in_child(void) { __atomic_clear(&lock, __ATOMIC_RELEASE); }
