// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A plug-in that contains libvfrt.a is unloaded by dlclose, and begins anew when it is opened
// again. Meanwhile another one that shares its state goes on; what it leaves is nothing. At exit,
// when other threads still wait in it, its state stays. A library that the program is linked with
// is not unloaded.
//
// REQUIRES: native
// DEFINE: %{plugin} = clang -std=gnu11 -O2 -fPIC -shared -DPLUGIN -I %S/../../Inputs -I %vf_include %s %vf_lib/libvfrt.a -Wl,--undefined=vf_mutex_lock
// RUN: %{plugin} -o %t-a.so && cp %t-a.so %t-b.so
// RUN: %{plugin} -Wl,--exclude-libs,ALL -o %t-h.so
// RUN: %{plugin} -Wl,-soname,%t-n.so -o %t-n.so
// RUN: clang -std=gnu11 -O2 -Wall -Wextra -I %S/../../Inputs -I %vf_include %s -o %t
// RUN: clang -std=gnu11 -O2 -Wall -Wextra -DOWN -I %S/../../Inputs -I %vf_include %s %vf_lib/libvfrt.a -o %t.own
// RUN: clang -std=gnu11 -O2 -Wall -Wextra -I %S/../../Inputs -I %vf_include %s -Wl,--no-as-needed %t-n.so -o %t.needs
//
// RUN: %t alone %t-a.so
// RUN: env VF_STATS=1 %t alone %t-a.so 2>&1 | count 30
// RUN: %t alone %t-h.so
// RUN: %t both %t-a.so %t-b.so
// RUN: %t both %t-a.so %t-h.so
// RUN: env VF_STATS=1 %t both %t-a.so %t-b.so
// RUN: %t exit %t-a.so
// RUN: %t.own alone %t-a.so
// RUN: %t.own both %t-a.so %t-h.so
// RUN: %t both %vf_lib/libvfrt.so %t-a.so
// RUN: env LD_PRELOAD=%vf_lib/libvfpthread.so %t both %t-a.so %t-b.so
// RUN: %t.needs exit %t-n.so
// RUN: %t.needs both %t-n.so %t-a.so
//
// One report has the counters of both, also those that come after the first has gone.
// RUN: env VF_STATS=1 %t reports %t-a.so %t-b.so 2>&1 | FileCheck %s
// RUN: env VF_STATS=1 %t reports %t-h.so %t-b.so 2>&1 | FileCheck %s
// RUN: env VF_STATS=1 %t.own reports %t-a.so %t-b.so 2>&1 | FileCheck %s
// CHECK: {"vfrt": {"waits": 4,
// CHECK-NOT: vfrt

#include "check.h"
#include "vfriendly/mutex.h"

#ifdef PLUGIN

static int opened;
int bump(void) { return ++opened; }
uint64_t plugin_wait(uint32_t *flag, uint64_t state) { return vf_spin_wait(flag, 0, state, 4 | VF_SPIN_NOTIFIED); }
void plugin_set(uint32_t *flag) { set_flag(flag, 1); }
void plugin_lock(vf_mutex *mutex) { vf_mutex_lock(mutex); }
void plugin_unlock(vf_mutex *mutex) { vf_mutex_unlock(mutex); }

#else

#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef OWN
/* Take the copy out of the archive. */
__attribute__((used)) static __typeof__(vf_spin_wait) *own = vf_spin_wait;
__attribute__((used)) static __typeof__(vf_mutex_lock) *own_lock = vf_mutex_lock;
#endif

enum { TIMES = 30 };

struct plugin {
  void *handle;
  int (*bump)(void);
  uint64_t (*wait)(uint32_t *, uint64_t);
  void (*set)(uint32_t *);
  void (*lock)(vf_mutex *), (*unlock)(vf_mutex *);
};

/* libvfrt.so itself is no plug-in. */
static struct plugin open_one(const char *file) {
  struct plugin it = {.handle = dlopen(file, RTLD_NOW | RTLD_LOCAL)};
  CHECK(it.handle);
  it.bump = (int (*)(void))dlsym(it.handle, "bump");
  it.wait = (uint64_t(*)(uint32_t *, uint64_t))dlsym(it.handle, "plugin_wait");
  it.set = (void (*)(uint32_t *))dlsym(it.handle, it.bump ? "plugin_set" : "vf_spin_notify");
  it.lock = (void (*)(vf_mutex *))dlsym(it.handle, it.bump ? "plugin_lock" : "vf_mutex_lock");
  it.unlock = (void (*)(vf_mutex *))dlsym(it.handle, it.bump ? "plugin_unlock" : "vf_mutex_unlock");
  CHECK(it.set && it.lock && it.unlock);
  return it;
}

static int lines_of(const char *file) {
  int lines = 0, c;
  FILE *maps = fopen(file, "r");
  CHECK(maps);
  while ((c = getc(maps)) != EOF)
    lines += c == '\n';
  fclose(maps);
  return lines;
}

static int descriptors(void) {
  int n = 0;
  DIR *folder = opendir("/proc/self/fd");
  CHECK(folder);
  while (readdir(folder))
    ++n;
  closedir(folder);
  return n;
}

static uint32_t flag, arrived;

static void *waits(void *plugin) {
  const struct plugin *it = plugin;
  uint64_t state = 0;
  __atomic_store_n(&arrived, 1, __ATOMIC_RELEASE);
  while (__atomic_load_n(&flag, __ATOMIC_ACQUIRE) == 0)
    state = it->wait(&flag, state);
  return NULL;
}

static pthread_t begin_wait(struct plugin *it) {
  pthread_t thread;
  flag = arrived = 0;
  CHECK(pthread_create(&thread, NULL, waits, it) == 0);
  while (__atomic_load_n(&arrived, __ATOMIC_ACQUIRE) == 0)
    sleep_ms(1);
  return thread;
}

static void alone(const char *file) {
  int maps = 0, files = 0;
  for (int i = 0; i != TIMES; ++i) {
    struct plugin it = open_one(file);
    CHECK(it.bump() == 1);
    pthread_t thread = begin_wait(&it);
    sleep_ms(i % 3 * 4);
    it.set(&flag);
    flag = 1; /* without the runtime, too */
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(dlclose(it.handle) == 0);
    if (i == 2) {
      maps = lines_of("/proc/self/maps");
      files = descriptors();
    }
  }
  CHECK(lines_of("/proc/self/maps") <= maps + 2 && descriptors() == files);
}

static vf_mutex mutex = VF_MUTEX_INIT;
static struct plugin second;
static int turns;

static void *locks(void *unused) {
  for (int i = 0; i != 200; ++i) {
    second.lock(&mutex);
    ++turns;
    second.unlock(&mutex);
  }
  return unused;
}

/* A child of a fork, which has no waiter, does not hand the lock to one. */
static void in_child(struct plugin *it) {
  int status;
  pid_t child = fork();
  if (child == 0) {
    alarm(20); /* It would wait for ever. */
    it->unlock(&mutex);
    it->lock(&mutex);
    it->unlock(&mutex);
    _exit(0);
  }
  CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

/* A waiter in one, woken by the other; and a lock that both take. */
static void both(const char *first_file, const char *second_file) {
  second = open_one(second_file);
  for (int i = 0; i != TIMES; ++i) {
    struct plugin first = open_one(first_file);
    CHECK(!first.bump || first.bump() == 1 || i != 0);
    pthread_t thread = begin_wait(&second);
    sleep_ms(i % 3 * 4);
    __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
    first.set(&flag);
    CHECK(pthread_join(thread, NULL) == 0);

    turns = 0;
    first.lock(&mutex);
    CHECK(pthread_create(&thread, NULL, locks, NULL) == 0);
    sleep_ms(3); /* It sleeps until the other one wakes it. */
    CHECK(turns == 0);
    if (i % 10 == 0)
      in_child(&first);
    first.unlock(&mutex);
    for (int k = 0; k != 200; ++k) {
      first.lock(&mutex);
      ++turns;
      first.unlock(&mutex);
    }
    CHECK(pthread_join(thread, NULL) == 0 && turns == 400);
    CHECK(dlclose(first.handle) == 0);
    if (i % 10 == 9) { /* The second one may have been the first, too. */
      CHECK(dlclose(second.handle) == 0);
      second = open_one(second_file);
      CHECK(second.bump() == 1);
    }
  }
}

static void wait_in(struct plugin *it) {
  pthread_t thread = begin_wait(it);
  sleep_ms(20);
  __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
  it->set(&flag);
  CHECK(pthread_join(thread, NULL) == 0);
}

static void reports(const char *first_file, const char *second_file) {
  struct plugin first = open_one(first_file), other = open_one(second_file);
  wait_in(&first);
  CHECK(dlclose(first.handle) == 0);
  for (int i = 0; i != 3; ++i)
    wait_in(&other);
}

int main(int argc, char **argv) {
  CHECK(argc > 2);
  if (strcmp(argv[1], "reports") == 0)
    reports(argv[2], argv[3]);
  if (strcmp(argv[1], "alone") == 0)
    alone(argv[2]);
  if (strcmp(argv[1], "both") == 0)
    both(argv[2], argv[3]);
  if (strcmp(argv[1], "exit") == 0) {
    static struct plugin it;
    it = open_one(argv[2]);
    for (int i = 0; i != 8; ++i)
      begin_wait(&it);
    sleep_ms(20);
  }
  return 0;
}

#endif
