/*===- common/process_wide.c - Finding objects of other copies -------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * A module that comes, M, takes each object from where the first module has it:
 *
 *   another module has it     M uses the same memory
 *   none, and M stays         the object of M
 *   none, and M may go        memory of its own, with the number of users
 *
 * An executable stays, and a library that is linked with -z nodelete, or that
 * the program was linked with. libc has one lock for all calls of constructors
 * and destructors at dlopen and dlclose, so that nothing here needs one.
 *
 * The destructor of the last user releases the memory, but not at exit: other
 * threads go on then. At exit, libc calls exit handlers before destructors; at
 * dlclose, only those of the module, of which ours is none.
 *===----------------------------------------------------------------------===*/

#ifdef VF_FINDS_OTHERS /* Tests compile the files of this folder without. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dl_iterate_phdr */
#endif
#include "common/process_wide.h"
#include "common/report.h"
#include "spin-wait/limit.h"
#include "spin-wait/shared.h"
#include <link.h>
#include <stdbool.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

extern struct vf_found __start_vf_found[] VF_HIDDEN;
extern struct vf_found __stop_vf_found[] VF_HIDDEN;
extern const ElfW(Ehdr) __ehdr_start VF_HIDDEN __attribute__((weak));
/* glibc's list of modules. Other libcs and static programs unload nothing. */
extern struct r_debug _r_debug __attribute__((weak));
extern ElfW(Dyn) _DYNAMIC[] VF_HIDDEN __attribute__((weak));

/* Precedes an object in memory of its own, by VF_BEFORE bytes: the largest
 * alignment of an object. */
#define VF_BEFORE 4096
struct own {
  size_t size; /* of the mapping */
  uint32_t users;
};

static struct own *own_of(const struct vf_found *found) {
  return (struct own *)(void *)((char *)found->at - VF_BEFORE);
}

/* Added to the word that rewritten code of a module tests before it notifies,
 * if that is not the word that waiters count in: the code then always looks for
 * waiters, which takes 10 to 20 ns. So in a module that may go, waiters count
 * in the module's word until another module comes. Waits of that moment count
 * in both, which neither makes 0. */
#define VF_ALWAYS_ARMED ((uint32_t)1 << 30)

static void always_notify(struct vf_found *armed) {
  uint32_t *word = armed->symbol;
  if (!(__atomic_load_n(word, __ATOMIC_RELAXED) & VF_ALWAYS_ARMED))
    __atomic_fetch_add(word, VF_ALWAYS_ARMED, __ATOMIC_RELAXED);
}

/* Returns the next entry of a kind, or NULL. */
static const ElfW(Dyn) * next_of(const ElfW(Dyn) * it, ElfW(Sxword) kind) {
  while (it && it->d_tag != DT_NULL && it->d_tag != kind)
    ++it;
  return it && it->d_tag == kind ? it : NULL;
}

/* libc has made the address of the strings absolute, where it may write. */
static const char *strings_of(const struct link_map *module) {
  const ElfW(Dyn) *strings = next_of(module->l_ld, DT_STRTAB);
  if (!strings)
    return NULL;
  uintptr_t at = strings->d_un.d_ptr;
  return (const char *)(at < module->l_addr ? at + module->l_addr : at);
}

static const char *name_of(const struct link_map *module) {
  const ElfW(Dyn) *name = next_of(module->l_ld, DT_SONAME);
  const char *slash = strrchr(module->l_name, '/'), *all = strings_of(module);
  return name && all ? all + name->d_un.d_val
         : slash     ? slash + 1
                     : module->l_name;
}

static bool needs(const struct link_map *module, const char *name) {
  const char *all = strings_of(module);
  const ElfW(Dyn) *it = next_of(module->l_ld, DT_NEEDED);
  for (; all && it; it = next_of(it + 1, DT_NEEDED))
    if (strcmp(all + it->d_un.d_val, name) == 0)
      return true;
  return false;
}

/* Returns the first module before this one that needs it, or NULL, also if an
 * earlier one has its name. */
static const struct link_map *first_that_needs(const struct link_map *wanted) {
  const char *name = name_of(wanted);
  const struct link_map *found = NULL;
  for (const struct link_map *it = _r_debug.r_map; it != wanted;
       it = it->l_next)
    if (strcmp(name_of(it), name) == 0)
      return NULL;
    else if (!found && needs(it, name))
      found = it;
  return found;
}

static bool is_before_libc(const struct link_map *wanted) {
  const struct link_map *it = _r_debug.r_map;
  while (it != wanted && strcmp(name_of(it), "libc.so.6") != 0)
    it = it->l_next;
  return it == wanted;
}

/* Returns true if the module was there when the program began. libc lists
 * modules in the order in which they came: those of the start first, libc.so
 * among them, and each before those that it needs. So the first module that
 * needs another one was there at the start if any such was. */
static bool was_there_at_start(const struct link_map *module) {
  while (module && !is_before_libc(module))
    module = first_that_needs(module);
  return module;
}

/* Returns true if this module is not unloaded before the process ends. */
static bool stays(void) {
  const struct link_map *self = &_r_debug ? _r_debug.r_map : NULL;
  unsigned long program = getauxval(AT_PHDR);
  const ElfW(Dyn) *flags = next_of(_DYNAMIC, DT_FLAGS_1);
  if (program != 0 && &__ehdr_start &&
      program == (uintptr_t)&__ehdr_start + __ehdr_start.e_phoff)
    return true;
  if (!self || !_DYNAMIC || (flags && flags->d_un.d_val & DF_1_NODELETE))
    return true;
  while (self && self->l_ld != _DYNAMIC)
    self = self->l_next;
  return self && was_there_at_start(self);
}

static bool give_memory(struct vf_found *found);

static void use(struct vf_found *own, struct vf_found *others) {
  if (others->may_move) {
    always_notify(others); /* before waiters count in another word */
    if (!give_memory(others))
      return;
    others->may_move = 0;
  }
  own->at = others->at;
  own->is_own = others->is_own;
  if (own->is_own)
    ++own_of(own)->users;
  own->is_shared = 1;
}

static bool may_go;

/* A preloaded library is not seen by an executable's hidden copy, whose code
 * would always notify then, for little: they wait on different addresses. */
static void see(struct vf_found *others) {
  if (!others->is_shared || (!may_go && !others->begins))
    return;
  for (struct vf_found *own = __start_vf_found; own != __stop_vf_found; ++own)
    if (!own->is_shared && own->size == others->size &&
        strcmp(own->name, others->name) == 0)
      use(own, others);
}

static size_t padded(size_t size, size_t alignment) {
  return (size + alignment - 1) & ~(alignment - 1);
}

/* Looks at each word. To step from note to note is not possible where a linker
 * has put notes of different alignments into one segment, as mold does. */
static void read_notes(char *words, const char *end) {
  static const struct {
    ElfW(Nhdr) header;
    char name[sizeof VF_NOTE_NAME];
  } ours = {{sizeof VF_NOTE_NAME, 4, 1}, VF_NOTE_NAME};
  const size_t named = sizeof ours.header + sizeof ours.name;
  words += -(uintptr_t)words % 4;
  for (; words + padded(named, 4) + 4 <= end; words += 4) {
    ElfW(Word) length;
    int32_t distance;
    memcpy(&length, words, sizeof length);
    if (length == sizeof VF_NOTE_NAME && memcmp(words, &ours, named) == 0) {
      char *content = words + padded(named, 4);
      memcpy(&distance, content, sizeof distance);
      see((struct vf_found *)(void *)(content + distance));
    }
  }
}

/* Tools that change programs may leave notes in the list that are not loaded.
 */
static bool is_loaded(const struct dl_phdr_info *module,
                      const ElfW(Phdr) * part) {
  for (unsigned i = 0; i != module->dlpi_phnum; ++i) {
    const ElfW(Phdr) *load = &module->dlpi_phdr[i];
    if (load->p_type == PT_LOAD && load->p_flags & PF_R &&
        part->p_vaddr >= load->p_vaddr &&
        part->p_vaddr - load->p_vaddr <= load->p_memsz &&
        part->p_memsz <= load->p_memsz - (part->p_vaddr - load->p_vaddr))
      return true;
  }
  return false;
}

static int look_at(struct dl_phdr_info *module, size_t size, void *unused) {
  (void)size, (void)unused;
  for (unsigned i = 0; i != module->dlpi_phnum; ++i) {
    const ElfW(Phdr) *part = &module->dlpi_phdr[i];
    char *notes = (char *)module->dlpi_addr + part->p_vaddr;
    if (part->p_type == PT_NOTE && is_loaded(module, part))
      read_notes(notes, notes + part->p_memsz);
  }
  return 0;
}

/* If there is no memory, the object stays in the module, and is not shared. */
static bool give_memory(struct vf_found *found) {
  size_t size = VF_BEFORE + padded(found->size, VF_BEFORE);
  char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return false;
  found->is_own = 1;
  found->at = memory + VF_BEFORE;
  own_of(found)->size = size;
  own_of(found)->users = 1;
  return true;
}

/* libc's; the argument tells its module. */
int __cxa_atexit(void (*handler)(void *), void *argument, void *module);
void __cxa_finalize(void *module);
static bool is_at_exit;
static char no_module;
static void begin_exit(void *unused) {
  (void)unused;
  is_at_exit = true;
}

/* Before the other constructors of this library, which use the objects.
 * Priorities up to 100 are reserved for the compiler. */
__attribute__((constructor(101))) void vf_find_others(void) {
  may_go = !stays();
  dl_iterate_phdr(look_at, NULL);
  for (struct vf_found *it = __start_vf_found; it != __stop_vf_found; ++it) {
    bool is_armed = it == &vf_spin_armed_found;
    bool is_first = !it->is_shared;
    it->may_move = is_first && may_go && is_armed;
    it->is_shared = !is_first || !may_go || it->may_move || give_memory(it);
    if (is_armed && it->at != it->symbol)
      always_notify(it);
  }
  if (may_go)
    __cxa_atexit(begin_exit, NULL, &no_module);
}

/* After the other destructors. */
__attribute__((destructor(101))) static void leave_others(void) {
  if (is_at_exit || !may_go)
    return;
  __cxa_finalize(&no_module);
  for (struct vf_found *it = __start_vf_found; it != __stop_vf_found; ++it) {
    struct own *own = own_of(it);
    void *at = it->at;
    it->is_shared = 0;
    if (!it->is_own || --own->users != 0)
      continue;
    if (it == &vf_limit_1_found)
      vf_limit_end();
    if (it == &vf_reports_1_found)
      vf_report_drop_copy();
    it->at = it->symbol;
    it->is_own = 0;
    munmap((char *)at - VF_BEFORE, own->size);
  }
}

#endif /* VF_FINDS_OTHERS */
