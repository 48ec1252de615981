// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A library that finds libc's own malloc and free, whatever is preloaded,
// exchanges blocks with the program and with libc: opened with RTLD_DEEPBIND,
// also in its constructor, or with functions that dlsym finds by the handle of
// libc or of a library that needs it, as for ctypes.
//
// REQUIRES: heap-churn-malloc, native
// RUN: rm -rf %t.d && mkdir -p %t.d/inner
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O1 -fno-builtin -Wall -Wextra -I %S/../../Inputs -I %vf_include -DLIBRARY -fPIC -shared %s -o %t.d/library.so
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O1 -fno-builtin -Wall -Wextra -pthread -I %S/../../Inputs -I %vf_include %s -o %t
// RUN: %vf_malloc %t %t.d/library.so deepbind
// RUN: %vf_malloc %t %t.d/library.so threads
// RUN: %vf_malloc %t %t.d/library.so handle
// RUN: env LD_PRELOAD=%vf_lib/libvfpthread.so:%vf_lib/libvfmalloc.so %t %t.d/library.so deepbind
// RUN: env LD_PRELOAD=%vf_lib/libvfmalloc.so:%vf_lib/libvfpthread.so %t %t.d/library.so deepbind
// RUN: env LD_PRELOAD=%vf_lib/libvfpthread.so:%vf_lib/libvfmalloc.so %t %t.d/library.so handle
// RUN: env LD_PRELOAD=%vf_lib/libvfmalloc.so:%vf_lib/libvfpthread.so %t %t.d/library.so handle
// RUN: %t %t.d/library.so deepbind
// RUN: %t %t.d/library.so threads
// RUN: %t %t.d/library.so handle
//
// After a program has prepared a filter, or where the kernel makes no written memory executable,
// opening such a library does no harm.
// RUN: %vf_malloc %t %t.d/library.so filtered
// RUN: %vf_malloc %t %t.d/library.so refused
//
// A sanitizer in the program calls dlsym before its own strcmp works.
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O1 -fno-builtin -fsanitize=thread -pthread -I %S/../../Inputs -I %vf_include %s -o %t.tsan
// RUN: %vf_malloc %t.tsan %t.d/library.so nothing
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O1 -fno-builtin -fsanitize=address -pthread -I %S/../../Inputs -I %vf_include %s -o %t.asan
// RUN: %vf_malloc %t.asan %t.d/library.so nothing
// RUN: env LD_PRELOAD=%vf_lib/libvfpthread.so:%vf_lib/libvfmalloc.so %t.asan %t.d/library.so nothing
//
// libc sees who calls dlopen and dlsym: RUNPATH and RTLD_NEXT are the caller's.
// DEFINE: %{caller} = clang -std=gnu11 -O2 %S/../../blocking-sync/preload/views.c -I %S/../../Inputs -I %vf_include
// RUN: %{caller} -DINNER -fPIC -shared -o %t.d/inner/libinner.so
// RUN: %{caller} -DCALLER -fPIC -shared -o %t.d/libcaller.so -Wl,-rpath,'$ORIGIN/inner'
// RUN: %{caller} -DCALLS -o %t.calls -Wl,-rpath,%t.d -L%t.d -Wl,--no-as-needed -lcaller -L%t.d/inner -linner -Wl,-rpath,%t.d/inner
// RUN: %vf_malloc %t.calls
// RUN: env LD_PRELOAD=%vf_lib/libvfpthread.so:%vf_lib/libvfmalloc.so %t.calls

#include "check.h"
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#ifndef PR_SET_MDWE /* Linux 6.3 */
#define PR_SET_MDWE 65
#endif

/* Each function that returns a block. */
enum { KINDS = 8 };
static inline char *allocate(int kind, size_t size) {
  void *p = NULL;
  switch (kind) {
  case 0:
    return malloc(size);
  case 1:
    return calloc(1, size);
  case 2:
    return realloc(NULL, size);
  case 3:
    return realloc(malloc(10), size);
  case 4:
    return posix_memalign(&p, 64, size) == 0 ? p : NULL;
  case 5:
    return aligned_alloc(64, size);
  case 6:
    return memalign(64, size);
  default:
    return valloc(size);
  }
}

#ifdef LIBRARY
static char *kept;

/* libc's strdup calls the malloc of the process, this library libc's free. */
__attribute__((constructor)) static void begin(void) {
  free(strdup("from libc"));
  kept = malloc(100);
}

char *make(int kind, size_t size) { return allocate(kind, size); }
void drop(char *block) { free(block); }
char *grow(char *block, size_t size) { return realloc(block, size); }
char *take_kept(void) { return kept; }
#else

static void use(char *block, size_t size) {
  CHECK(block && malloc_usable_size(block) >= size);
  memset(block, 7, size);
}

static const char *library;
typedef char *make_t(int, size_t), *grow_t(char *, size_t), *take_t(void);
typedef void drop_t(char *);

static void *deepbind(void *unused) {
  void *handle = dlopen(library, RTLD_NOW | RTLD_DEEPBIND);
  CHECK(handle);
  make_t *make = (make_t *)dlsym(handle, "make");
  grow_t *grow = (grow_t *)dlsym(handle, "grow");
  drop_t *drop = (drop_t *)dlsym(handle, "drop");
  CHECK(make && grow && drop);
  for (size_t i = 1; i != 2000; ++i) {
    size_t size = i % 100 == 0 ? i << 10 : i * 37;
    char *block = make((int)i % KINDS, size);
    use(block, size);
    block = i & 1 ? realloc(block, size / 2) : block;
    free(block);
    block = allocate((int)i % KINDS, size);
    use(block, size);
    block = i & 1 ? grow(block, 2 * size) : block;
    use(block, size);
    drop(block);
  }
  return unused;
}

static void by_handle(const char *file) {
  void *handle = dlopen(file, RTLD_NOW);
  CHECK(handle);
  drop_t *drop = (drop_t *)dlsym(handle, "free");
  void *(*make)(size_t) = (void *(*)(size_t))dlsym(handle, "malloc");
  CHECK(drop && make);
  for (size_t i = 1; i != 2000; ++i) {
    drop(strdup("from libc"));
    drop(malloc(i));
    free(make(i));
  }
}

/* Ends the process when it moves pages, as only the library does here. */
static void filter(void) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mremap, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof code / sizeof *code, code};
  CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

static void open_only(void) {
  CHECK(dlopen("libresolv.so.2", RTLD_NOW | RTLD_DEEPBIND));
  free(strdup("from libc"));
}

int main(int argc, char **argv) {
  CHECK(argc == 3);
  library = argv[1];
  const char *what = argv[2];
  if (strcmp(what, "deepbind") == 0) {
    deepbind(NULL);
    free(((take_t *)dlsym(dlopen(library, RTLD_NOW), "take_kept"))());
  }
  if (strcmp(what, "threads") == 0) {
    pthread_t thread[8];
    for (int i = 0; i != 8; ++i)
      CHECK(pthread_create(&thread[i], NULL, deepbind, NULL) == 0);
    for (int i = 0; i != 8; ++i)
      CHECK(pthread_join(thread[i], NULL) == 0);
  }
  if (strcmp(what, "handle") == 0) {
    by_handle("libc.so.6");
    by_handle(library);
  }
  if (strcmp(what, "filtered") == 0) {
    filter();
    open_only();
  }
  if (strcmp(what, "refused") == 0) {
    prctl(PR_SET_MDWE, 1, 0, 0, 0);
    open_only();
  }
  return 0;
}
#endif
