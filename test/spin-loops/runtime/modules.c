// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies of libvfrt find each other in modules that are linked in unusual ways: copies that share
// their state print one report.
//
// REQUIRES: native
// DEFINE: %{plugin} = clang -std=gnu11 -O2 -fPIC -shared -DPLUGIN -I %S/../../Inputs -I %vf_include %s %vf_lib/libvfrt.a
// DEFINE: %{other} = %{plugin} %t-note.o -Wl,-z,noexecstack
// RUN: rm -rf %t.d && mkdir %t.d
// RUN: clang -std=gnu11 -O2 -c -DNOTE %s -o %t-note.o
// RUN: %{plugin} -o %t-a.so
// RUN: clang -std=gnu11 -O2 -fPIC -shared -DLATE -I %S/../../Inputs -I %vf_include %s -o %t-late.so
// RUN: clang -std=gnu11 -O2 -Wall -Wextra -I %S/../../Inputs -I %vf_include %s -o %t
//
// The library has a note of another alignment; mold puts both into one segment.
// DEFINE: %{one} = env VF_STATS=1 %t open %t-a.so %t-o.so 2>&1 | count 1
// RUN: %{other} -fuse-ld=bfd  -o %t-o.so && %{one}
// RUN: %{other} -fuse-ld=gold -o %t-o.so && %{one}
// RUN: %{other} -fuse-ld=lld  -o %t-o.so && %{one}
// RUN: %{other} -fuse-ld=mold -o %t-o.so && %{one} && env VF_STATS=1 %t open %t-o.so %t-a.so 2>&1 | count 1
//
// The notes of a library are listed, but not loaded.
// RUN: %t unload-notes %t-late.so %t-notes.so && %t open %t-notes.so %t-a.so
//
// Libraries that need each of those before, which no program was linked with.
// RUN: %{plugin} -Wl,-soname,lib0.so -o %t.d/lib0.so
// RUN: sh -c 'cd %t.d && for i in $(seq 1 36); do clang -shared -nostdlib -Wl,--no-as-needed -Wl,-rpath,%t.d $(seq -f lib%%.0f.so 0 $((i - 1))) -Wl,-soname,lib$i.so -o lib$i.so || exit 1; done'
// RUN: %t open %t.d/lib36.so
//
// Threads wait through a copy that stays, in memory of a plug-in that is gone, while the process
// ends.
// RUN: %t leave %t-a.so %vf_lib/libvfrt.so %t-late.so

#if defined(NOTE)

__asm__(".section .note.other,\"a\",%note\n"
        ".balign 8\n"
        ".long 4, 8, 1\n"
        ".asciz \"ABC\"\n"
        ".quad 7\n");

#else

#include "check.h"
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#if defined(PLUGIN)

/* What to report. */
__attribute__((constructor)) static void wait_briefly(void) {
  static uint32_t flag;
  uint64_t state = 0;
  for (int i = 0; i != 10; ++i)
    state = vf_spin_wait(&flag, 0, state, 4 | VF_SPIN_NOTIFIED);
  set_flag(&flag, 1);
}

#elif defined(LATE)

/* After the destructors of libraries that were opened before. */
__attribute__((destructor)) static void end_late(void) { sleep_ms(100); }

#else

static void *open_one(const char *file) {
  void *module = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (!module)
    fprintf(stderr, "%s\n", dlerror());
  CHECK(module);
  return module;
}

static void unload_notes(const char *from, const char *to) {
  static char file[1 << 20];
  FILE *in = fopen(from, "r"), *out = fopen(to, "w");
  CHECK(in && out);
  size_t size = fread(file, 1, sizeof file, in);
  const ElfW(Ehdr) *header = (const void *)file;
  CHECK(size > sizeof *header && size < sizeof file);
  ElfW(Phdr) *parts = (void *)(file + header->e_phoff);
  for (unsigned i = 0; i != header->e_phnum; ++i)
    if (parts[i].p_type == PT_NOTE)
      parts[i].p_vaddr += (ElfW(Addr))1 << 36;
  CHECK(fwrite(file, 1, size, out) == size && fclose(out) == 0);
  fclose(in);
}

static uint64_t (*wait_in_copy)(const volatile void *, uint64_t, uint64_t, uint32_t);
static uint32_t flag;

static void *waits(void *unused) {
  uint64_t state = 0;
  while (__atomic_load_n(&flag, __ATOMIC_ACQUIRE) == 0)
    state = wait_in_copy(&flag, 0, state, 4 | VF_SPIN_NOTIFIED);
  return unused;
}

static void leave(const char *plugin, const char *library, const char *late) {
  void *first = open_one(plugin);
  *(void **)&wait_in_copy = dlsym(open_one(library), "vf_spin_wait");
  CHECK(wait_in_copy);
  for (int i = 0; i != 8; ++i) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, waits, NULL) == 0);
  }
  sleep_ms(20);
  CHECK(dlclose(first) == 0);
  open_one(late);
}

int main(int argc, char **argv) {
  CHECK(argc > 2 && (strcmp(argv[1], "leave") != 0 || argc == 5));
  alarm(60); /* An exponential search would have no end. */
  if (strcmp(argv[1], "open") == 0)
    for (int i = 2; i != argc; ++i)
      open_one(argv[i]);
  else if (strcmp(argv[1], "unload-notes") == 0)
    unload_notes(argv[2], argv[3]);
  else
    leave(argv[2], argv[3], argv[4]);
  return 0;
}

#endif
#endif
