/*===- gleaner/hints_kernel.c - Pages that BPF programs write -------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * libbpf relocates and loads the object, which is part of this program. It is
 * opened at run time, as no other command needs it. All else are system calls.
 *===----------------------------------------------------------------------===*/

#include "gleaner/hints_kernel.h"
#include "gleaner/hints.bpf.h"
#include "gleaner/system.h"
#include <dlfcn.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct {
  int members, pages, uses;
} maps;
static uint64_t *uses;
static uint32_t cpus;

static long call(enum bpf_cmd command, union bpf_attr *attributes) {
  return syscall(SYS_bpf, command, attributes, sizeof *attributes);
}

static int make_page(void) {
  union bpf_attr map = {.map_type = BPF_MAP_TYPE_ARRAY,
                        .key_size = sizeof(uint32_t),
                        .value_size = sizeof(struct vf_hint_record),
                        .max_entries = VF_HINT_RECORDS_AT + cpus,
                        .map_flags = BPF_F_MMAPABLE};
  strcpy(map.map_name, "gleaner_page");
  return (int)call(BPF_MAP_CREATE, &map);
}

#ifdef VF_HINTS_OBJECT /* the file that the build has made of hints.bpf.c */

__asm__(".pushsection .rodata\n"
        ".balign 16\n"
        "gl_hints_object: .incbin \"" VF_HINTS_OBJECT "\"\n"
        "gl_hints_object_end:\n"
        ".popsection\n");
extern const char gl_hints_object[], gl_hints_object_end[];

/* Of libbpf 1.x; pointers are its own. */
static struct {
  void *(*open)(const void *, size_t, const void *);
  int (*load)(void *);
  void *(*find_map)(const void *, const char *);
  int (*set_inner)(void *, int);
  int (*fd_of)(const void *, const char *);
  void *(*next)(const void *, void *);
  void *(*attach)(const void *);
  void *(*set_print)(void *);
} bpf;

static bool find_library(void) {
  void *library = dlopen("libbpf.so.1", RTLD_NOW);
  if (!library)
    return false;
  const struct {
    void *to;
    const char *name;
  } names[] = {{&bpf.open, "bpf_object__open_mem"},
               {&bpf.load, "bpf_object__load"},
               {&bpf.find_map, "bpf_object__find_map_by_name"},
               {&bpf.set_inner, "bpf_map__set_inner_map_fd"},
               {&bpf.fd_of, "bpf_object__find_map_fd_by_name"},
               {&bpf.next, "bpf_object__next_program"},
               {&bpf.attach, "bpf_program__attach"},
               {&bpf.set_print, "libbpf_set_print"}};
  for (size_t i = 0; i != sizeof names / sizeof *names; ++i) {
    void *found = dlsym(library, names[i].name);
    if (!found)
      return false;
    memcpy(names[i].to, &found, sizeof found);
  }
  return true;
}

static uint32_t possible_cpus(void) {
  char text[256];
  if (gl_read_file("/sys/devices/system/cpu/possible", text, sizeof text) <= 0)
    return 0;
  char *last = text;
  for (char *at = text; *at; ++at)
    if (*at == '-' || *at == ',')
      last = at + 1;
  return (uint32_t)strtoul(last, NULL, 10) + 1;
}

static const char *refused(void) {
  return errno == EPERM ? "only root may load BPF programs"
                        : "this kernel does not load the BPF programs (they "
                          "need Linux 6.5 with CONFIG_DEBUG_INFO_BTF)";
}

const char *gl_hint_load(void) {
  if (geteuid() != 0)
    return "only root may load BPF programs";
  cpus = possible_cpus();
  if (cpus == 0 || cpus > GL_MOST_CPUS)
    return "/sys/devices/system/cpu/possible cannot be read";
  if (!find_library())
    return "libbpf is not installed: apt-get install libbpf1";
  bpf.set_print(NULL);
  int pattern = make_page();
  void *object = bpf.open(
      gl_hints_object, (size_t)(gl_hints_object_end - gl_hints_object), NULL);
  void *of_pages = object ? bpf.find_map(object, "pages") : NULL;
  if (pattern < 0 || !of_pages || bpf.set_inner(of_pages, pattern) != 0 ||
      bpf.load(object) != 0)
    return refused();
  close(pattern);
  maps.members = bpf.fd_of(object, "members");
  maps.pages = bpf.fd_of(object, "pages");
  maps.uses = bpf.fd_of(object, "uses");
  uses = mmap(NULL, VF_HINT_PAGES * sizeof *uses, PROT_READ | PROT_WRITE,
              MAP_SHARED, maps.uses, 0);
  if (uses == MAP_FAILED)
    return refused();
  for (void *program = NULL; (program = bpf.next(object, program));)
    if (!bpf.attach(program))
      return refused();
  return NULL;
}

#else
const char *gl_hint_load(void) {
  return "this gleaner was built without libbpf-dev or clang";
}
#endif

static void write_page(char *page) {
  struct vf_hint_record *records =
      (struct vf_hint_record *)page + VF_HINT_RECORDS_AT;
  *(struct vf_hint_header *)page =
      (struct vf_hint_header){.version = VF_HINT_VERSION,
                              .cpus = cpus,
                              .offset = VF_HINT_RECORDS_AT * sizeof *records,
                              .stride = sizeof *records,
                              .threads = VF_HINT_WORDS_AT * sizeof *records};
  for (uint32_t i = 0; i != cpus; ++i)
    records[i].known = 1;
}

/* Lets only BPF programs write the page from now on. A descriptor for reading
 * only would not do: the kernel does not map it shared. */
static bool freeze(int page) {
  union bpf_attr map = {.map_fd = (uint32_t)page};
  return call(BPF_MAP_FREEZE, &map) == 0;
}

static bool find_number(int page, uint32_t *map) {
  struct bpf_map_info info = {0};
  union bpf_attr about = {.info = {.bpf_fd = (uint32_t)page,
                                   .info_len = sizeof info,
                                   .info = (uintptr_t)&info}};
  if (call(BPF_OBJ_GET_INFO_BY_FD, &about) != 0)
    return false;
  *map = info.id;
  return true;
}

/* Returns a descriptor of a new page, or -1. */
static int new_page(uint32_t *map) {
  int file = make_page();
  if (file < 0)
    return -1;
  size_t size = (VF_HINT_RECORDS_AT + cpus) * sizeof(struct vf_hint_record);
  void *all = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (all != MAP_FAILED) {
    write_page(all);
    munmap(all, size);
    if (freeze(file) && find_number(file, map))
      return file;
  }
  close(file);
  return -1;
}

uint32_t gl_hint_make(const uint32_t *numbers, uint32_t count, uint32_t *map) {
  int files[VF_HINT_PAGES];
  uint32_t made = 0;
  while (made != count && (files[made] = new_page(&map[made])) >= 0)
    ++made;
  /* All at once: afterwards the kernel waits until no BPF program runs. */
  union bpf_attr entries = {.batch = {.map_fd = (uint32_t)maps.pages,
                                      .keys = (uintptr_t)numbers,
                                      .values = (uintptr_t)files,
                                      .count = made}};
  bool entered = made != 0 && call(BPF_MAP_UPDATE_BATCH, &entries) == 0;
  for (uint32_t i = 0; i != made; ++i) {
    close(files[i]);
    __atomic_store_n(&uses[numbers[i]], 0, __ATOMIC_RELAXED);
  }
  return entered ? made : 0;
}

int gl_hint_open(uint32_t map) {
  union bpf_attr one = {.map_id = map};
  return (int)call(BPF_MAP_GET_FD_BY_ID, &one);
}

uint64_t gl_hint_uses(uint32_t page) {
  return __atomic_load_n(&uses[page], __ATOMIC_RELAXED);
}

bool gl_hint_add(int thread, uint32_t page) {
  struct vf_hint_member member = {.page = page};
  union bpf_attr entry = {.map_fd = (uint32_t)maps.members,
                          .key = (uintptr_t)&thread,
                          .value = (uintptr_t)&member,
                          .flags = BPF_NOEXIST};
  __atomic_fetch_add(&uses[page], 1, __ATOMIC_RELAXED);
  if (call(BPF_MAP_UPDATE_ELEM, &entry) == 0)
    return true;
  __atomic_fetch_sub(&uses[page], 1, __ATOMIC_RELAXED);
  return false;
}

uint32_t gl_hint_page_of(int thread) {
  struct vf_hint_member member;
  union bpf_attr entry = {.map_fd = (uint32_t)maps.members,
                          .key = (uintptr_t)&thread,
                          .value = (uintptr_t)&member};
  return call(BPF_MAP_LOOKUP_ELEM, &entry) == 0 ? member.page : VF_HINT_PAGES;
}
