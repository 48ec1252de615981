// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which allocations get a policy: large ones, each in a mapping of its own, by any of
// libc's functions; no heap, no reserved, populated or mapped file. Contents, results and
// errno are as without the library, also where the kernel refuses policies.
//
// DEFINE: %{runtime} = %vf_src/runtime
// RUN: clang -shared -fPIC -O2 -D_GNU_SOURCE -fno-builtin-malloc -fvisibility=hidden -I %{runtime} -I %vf_include -I %vf_platform -o %t.so %{runtime}/numa-placement/preload/*.c %{runtime}/numa-placement/place.c %{runtime}/numa-placement/shared.c %{runtime}/numa-placement/team.c %{runtime}/common/environment.c %{runtime}/common/report.c %{runtime}/common/sandbox.c %{runtime}/spin-wait/shared.c %S/Inputs/two_nodes.c -Wl,--version-script=%{runtime}/numa-placement/preload/exports.map
// RUN: %numa_clang -fno-builtin %s -o %t
// RUN: %t none
// RUN: env VF_NUMA=interleave %vf_numa %t none
// RUN: env LD_PRELOAD=%t.so %t none
// RUN: env VF_NUMA=off LD_PRELOAD=%t.so %t none
// RUN: env VF_NUMA=interleave VF_STATS=1 LD_PRELOAD=%t.so %t interleave 2>&1 | FileCheck %s
// CHECK: "vfnuma": {"blocks": 9, "mappings": 2, "in_heap": 0, "touched_by_mmap": 1,{{.*}}"placed": 11,
// First touch needs no policy, without which the kernel's balancing goes on, but where the process has another.
// RUN: env VF_NUMA=ft VF_STATS=1 LD_PRELOAD=%t.so %t none 2>&1 | FileCheck %s
// RUN: env VF_NUMA=ft LD_PRELOAD=%t.so %t local
// Without a team, blocks are interleaved.
// RUN: env VF_NUMA=blocks VF_STATS=1 LD_PRELOAD=%t.so %t interleave 2>&1 | FileCheck %s --check-prefix=UNBOUND
// UNBOUND: "unbound": 11
// RUN: env VF_NUMA=interleave VF_STATS=1 LD_PRELOAD=%t.so %t refused 2>&1 | FileCheck %s --check-prefix=REFUSED
// REFUSED: "blocks": 9, {{.*}}"placed": 0, {{.*}}"refused": 11
// RUN: env VF_NUMA=interleave VF_NUMA_MIN=100000000 LD_PRELOAD=%t.so %t none
//
// Another allocator's blocks and mappings are left alone.
// RUN: %numa_clang -fno-builtin -shared -fPIC -DALLOCATOR %s -o %t-other.so
// RUN: env VF_NUMA=interleave VF_STATS=1 LD_PRELOAD=%t.so:%t-other.so %t other 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: "vfnuma": {"blocks": 0, "mappings": 0, "in_heap": {{[1-9][0-9]*}}, {{.*}}"placed": 0,
//
// RUN: env VF_NUMA=all %vf_numa %t none 2>&1 | FileCheck %s --check-prefix=BAD
// BAD: vfriendly: VF_NUMA='all' is not off, ft, interleave or blocks; using the default, off
// RUN: env VF_NUMA_MIN=1k %vf_numa %t none 2>&1 | FileCheck %s --check-prefix=LEAST
// LEAST: vfriendly: VF_NUMA_MIN='1k' is not a number in 65536..{{[0-9]+}}; using the default, 1048576

#include "check.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/mempolicy.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef ALLOCATOR /* never gives anything back */
enum { ROOM = 64 << 20 };
static char *next, *end;

void *malloc(size_t size) {
  if (!next) {
    next = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                -1, 0);
    end = next + ROOM;
  }
  size = (size + 31) & ~(size_t)15;
  if (size > (size_t)(end - next))
    return NULL;
  char *block = next + 16;
  next += size;
  return block;
}
void free(void *block) { (void)block; }
void *calloc(size_t n, size_t size) { return malloc(n * size); }
void *realloc(void *block, size_t size) {
  char *result = malloc(size);
  for (size_t i = 0; block && result && i < size && (char *)block + i < result;
       ++i)
    result[i] = ((char *)block)[i];
  return result;
}
#else

enum { SMALL = 200000, LARGE = 3 << 20 };
static const char *expected, *others = "default";

/* The policy of the mapping that has this address, as numa_maps has it. */
static void policy_of(const void *at, char policy[64]) {
  unsigned long begin, best = 0;
  char line[1024], word[64];
  FILE *file = fopen("/proc/self/numa_maps", "r");
  CHECK(file);
  while (fgets(line, sizeof line, file))
    if (sscanf(line, "%lx %63s", &begin, word) == 2 &&
        begin <= (uintptr_t)at && begin >= best) {
      best = begin;
      strcpy(policy, word);
    }
  fclose(file);
}

static void has(const void *at, const char *policy) {
  char found[64] = "";
  policy_of(at, found);
  if (strncmp(found, policy, strlen(policy)) != 0) {
    fprintf(stderr, "%p has policy %s, not %s\n", at, found, policy);
    abort();
  }
}

static void is_small(const char *block) { has(block, others); }

/* In the middle of it: a block's first page has its header, too. */
static void is_large(char *block) {
  has(block + LARGE / 2, expected);
  for (int i = 0; i < LARGE; i += 4096)
    block[i] = (char)i;
  free(block);
  CHECK(errno == 77);
}

static void blocks(void) {
  void *block;
  char *small = malloc(SMALL);
  is_small(small);
  is_large(malloc(LARGE));
  char *zeroed = calloc(3, LARGE / 3 + 1);
  for (int i = 0; i < LARGE; ++i)
    CHECK(zeroed[i] == 0);
  is_large(zeroed);
  CHECK(posix_memalign(&block, 1 << 16, LARGE) == 0);
  CHECK((uintptr_t)block % (1 << 16) == 0);
  is_large(block);
  is_large(aligned_alloc(64, LARGE));
  is_large(memalign(4096, LARGE));
  is_large(valloc(LARGE));
  is_large(pvalloc(LARGE));
  /* From the heap to a mapping, and on to a larger one. */
  memset(small, 5, SMALL);
  char *grown = realloc(small, LARGE / 2);
  has(grown + LARGE / 4, expected);
  grown = realloc(grown, LARGE);
  for (int i = 0; i < SMALL; ++i)
    CHECK(grown[i] == 5);
  is_large(grown);
  is_small(malloc(SMALL));
}

static void impossible(void) {
  volatile size_t most = SIZE_MAX / 2;
  char *block = malloc(10);
  strcpy(block, "kept");
  CHECK(malloc(most) == NULL && errno == ENOMEM);
  CHECK(realloc(block, most) == NULL && errno == ENOMEM);
  CHECK(calloc(most, 4) == NULL && errno == ENOMEM);
  errno = 77;
  CHECK(posix_memalign((void **)&block, 3, LARGE) == EINVAL);
  CHECK(strcmp(block, "kept") == 0);
  free(block);
}

static char *mapped(int protection, int flags, int file) {
  char *memory = mmap(NULL, LARGE, protection, flags, file, 0);
  CHECK(memory != MAP_FAILED);
  return memory;
}

static void mappings(void) {
  const int rw = PROT_READ | PROT_WRITE, own = MAP_PRIVATE | MAP_ANONYMOUS;
  int file = open("/proc/self/exe", O_RDONLY);
  has(mapped(rw, own, -1) + LARGE / 2, expected);
  has(mapped(rw, MAP_SHARED | MAP_ANONYMOUS, -1) + LARGE / 2, expected);
  has(mapped(PROT_NONE, own, -1), others);
  has(mapped(PROT_READ, own, -1), others);
  has(mapped(rw, own | MAP_POPULATE, -1), others);
  has(mapped(rw, MAP_PRIVATE, file), others);
  has(mmap(NULL, SMALL, rw, own, -1, 0), others);
  CHECK(mmap(NULL, 0, rw, own, -1, 0) == MAP_FAILED && errno == EINVAL);
  errno = 77;
  close(file);
}

static void *in_thread(void *unused) {
  errno = 77;
  for (int i = 0; i < 20; ++i)
    is_large(malloc(LARGE));
  is_small(malloc(SMALL));
  return unused;
}

/* Uncounted: in a child, which ends without destructors. */
static void threads(void) {
  pthread_t thread[4];
  for (int i = 0; i < 4; ++i)
    CHECK(pthread_create(&thread[i], NULL, in_thread, NULL) == 0);
  for (int i = 0; i < 4; ++i)
    pthread_join(thread[i], NULL);
}

/* As sandboxes do: mbind fails with EPERM. Not by libc's prctl, after which the library makes no such
 * call (sandbox.c): it knows nothing of a filter that is older than the program. */
static void refuse(void) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mbind, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  struct sock_fprog program = {4, code};
  CHECK(syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  CHECK(syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

int main(int argc, char **argv) {
  CHECK(argc == 2);
  expected = argv[1];
  if (strcmp(expected, "refused") == 0)
    refuse();
  if (strcmp(expected, "local") == 0) { /* as under numactl --interleave */
    unsigned long nodes = 1;
    CHECK(syscall(SYS_set_mempolicy, MPOL_INTERLEAVE, &nodes, 64ul) == 0);
    others = "interleave";
  }
  if (strcmp(expected, "interleave") != 0 && strcmp(expected, "local") != 0)
    expected = "default";
  errno = 77;
  blocks();
  if (strcmp(argv[1], "other") == 0)
    return 0;
  impossible();
  mappings();
  pid_t child = fork();
  if (child == 0) {
    threads();
    _exit(0);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
}
#endif
