// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A file stands for the page of `gleaner hints`, and this program for the kernel that writes
// it. A waiter blocks at once if the holder of its lock is off the CPU, and spins if another
// lock's holder is, or if nothing is known of the holder. Whatever the page says, the lock is
// a lock. One who does not answer at the socket is not waited for.
//
// TIMED: eight questions that nobody answers end within 5 s
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O2 -Wall -Wextra -I %S/../Inputs -I %S/../../Inputs -I %vf_include -I %vf_src/runtime -I %vf_platform %s %vf_lib/libvfrt.a -lpthread -o %t
// RUN: env VF_HINTS=/nonexistent/hints %t %t.page
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O1 -g -fsanitize=thread -I %S/../Inputs -I %S/../../Inputs -I %vf_include -I %vf_src/runtime -I %vf_platform %s %vf_src/runtime/blocking-sync/*.c %vf_src/runtime/platform/linux/*.c %vf_src/runtime/spin-wait/*.c %vf_src/runtime/common/*.c -lpthread -o %t.tsan
// RUN: env VF_HINTS=/nonexistent/hints %t.tsan %t.page

#include "flickering.h"
#include "gleaner/hints.bpf.h"
#include "platform/linux/thread_state.h"
#include "validate.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CPUS = 512 };
#define PARKED 2u /* runtime/blocking-sync/mutex.c */
#define SPINNING 4u

static struct page {
  struct vf_hint_header header;
  struct vf_hint_words words[VF_HINT_THREADS / VF_HINT_WORDS];
  struct vf_hint_record of[CPUS];
} *page;
_Static_assert(offsetof(struct page, words) == VF_HINT_WORDS_AT * sizeof(struct vf_hint_words), "");
_Static_assert(offsetof(struct page, of) == VF_HINT_RECORDS_AT * sizeof(struct vf_hint_words), "");

static int make_page(const char *path) {
  int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  CHECK(fd >= 0 && ftruncate(fd, sizeof *page) == 0);
  page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  CHECK(page != MAP_FAILED);
  page->header = (struct vf_hint_header){VF_HINT_VERSION, CPUS, offsetof(struct page, of), sizeof *page->of,
                                         offsetof(struct page, words), 0, {0}};
  return fd;
}

static void set(uint32_t *word, uint32_t value) { __atomic_store_n(word, value, __ATOMIC_RELAXED); }

static void set_thread(unsigned number, uint32_t state) { set(&page->words[0].state[number], state); }

static void runs_on(int cpu, uint32_t number) { set(&page->of[cpu].current, number); }

static void refuses_other_layouts(int fd) {
  static const struct {
    int at;
    uint32_t value;
  } bad[] = {{0, 2}, {1, 0}, {1, CPUS + 1}, {2, 8}, {3, 0}, {3, 124}, {3, 132}, {4, 130}, {4, 132}, {4, 1u << 31}};
  uint32_t *header = (uint32_t *)page;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
    uint32_t good = header[bad[i].at];
    header[bad[i].at] = bad[i].value;
    CHECK(vf_thread_states_map(fd) == EINVAL);
    header[bad[i].at] = good;
  }
  CHECK(!vf_thread_states_are_there());
}

static void follows_a_thread(void) {
  runs_on(3, 7);
  CHECK(vf_own_thread(4) == 0); /* Nobody says that it runs. */
  set_thread(7, VF_HINT_RUNS);
  CHECK(vf_own_thread(4) == 7 && vf_own_thread(5) == 0 && !vf_thread_is_off(7));
  set_thread(7, VF_HINT_OFF);
  CHECK(vf_thread_is_off(7) && !vf_thread_is_off(6) && !vf_thread_is_off(0));
  CHECK(vf_own_thread(4) == 0); /* The caller runs, so nobody updates the page. */
  set_thread(7, VF_HINT_FREE);
  CHECK(!vf_thread_is_off(7));
  CHECK(vf_own_thread(0) == 0 && vf_own_thread(CPUS + 1) == 0 && vf_own_thread(UINT16_MAX) == 0);
  runs_on(3, UINT32_MAX);
  CHECK(vf_own_thread(4) == 0 && !vf_thread_is_off(VF_HINT_THREADS) && !vf_thread_is_off(UINT16_MAX));
  memset(page->of, 0, sizeof page->of);
}

static vf_mutex m = VF_MUTEX_INIT;

static void *wait_for_it(void *arg) {
  vf_mutex_lock(&m);
  vf_mutex_unlock(&m);
  return arg;
}

/* Returns true if a waiter spun before it parked: a spin that fails is counted. The holder
 * has number 7 wherever it runs. */
static bool spins_first(uint32_t holder, uint32_t others) {
  pthread_t waiter;
  for (int cpu = 0; cpu < CPUS; ++cpu)
    runs_on(cpu, 7);
  set_thread(7, VF_HINT_RUNS);
  vf_mutex_lock(&m);
  for (unsigned n = 1; n < VF_HINT_THREADS; ++n)
    set_thread(n, n == 7 ? holder : others);
  m.failed_spins_ = 0;
  CHECK(pthread_create(&waiter, NULL, wait_for_it, NULL) == 0);
  uint32_t word;
  while (word = __atomic_load_n(&m.word_, __ATOMIC_RELAXED), !(word & PARKED) || (word & SPINNING))
    sleep_ms(1);
  bool failed = __atomic_load_n(&m.failed_spins_, __ATOMIC_RELAXED) != 0;
  vf_mutex_unlock(&m);
  CHECK(pthread_join(waiter, NULL) == 0);
  return failed;
}

static void ends_the_spin(void) {
  CHECK(spins_first(VF_HINT_OFF, VF_HINT_RUNS)); /* Nobody has waited yet, so the holder was not recorded. */
  CHECK(!spins_first(VF_HINT_OFF, VF_HINT_RUNS));
  CHECK(!spins_first(VF_HINT_OFF, VF_HINT_OFF));
  CHECK(spins_first(VF_HINT_RUNS, VF_HINT_RUNS));
  CHECK(spins_first(VF_HINT_RUNS, VF_HINT_OFF)); /* Holders of other locks. */
  CHECK(spins_first(VF_HINT_FREE, VF_HINT_OFF));
}

static void *flicker(void *arg) {
  for (unsigned i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i = i * 5 + 1) {
    set_thread(1 + (i >> 8) % 9, (i >> 16) % 3);
    runs_on((int)(i >> 5) % 4, (i >> 9) % 9);
  }
  return arg;
}

/* The queue of one who never accepts holds some; then it is full. */
static void does_not_wait_long(const char *path) {
  struct sockaddr_un at = {.sun_family = AF_UNIX};
  CHECK(snprintf(at.sun_path, sizeof at.sun_path, "hints-%d", getpid()) > 0);
  int own = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  CHECK(bind(own, (struct sockaddr *)&at, sizeof at) == 0 && listen(own, 2) == 0);
  errno = 5;
  int refused = 0;
  double begin = seconds();
  for (int i = 0; i < 8; ++i) {
    int error = vf_thread_states_ask(at.sun_path);
    CHECK(error == ETIMEDOUT || error == EAGAIN);
    refused += error == EAGAIN;
  }
  CHECK(seconds() - begin < 5 && refused >= 4 && errno == 5);
  close(own);
  CHECK(vf_thread_states_ask(at.sun_path) == ECONNREFUSED);
  unlink(at.sun_path);
  CHECK(vf_thread_states_ask(at.sun_path) == ENOENT && vf_thread_states_ask(path) == ECONNREFUSED);
  int before = dup(0);
  close(before);
  int after = dup(0);
  close(after);
  CHECK(before == after); /* No descriptor is left open. */
}

int main(int argc, char **argv) {
  CHECK(argc == 2);
  alarm(120);
  CHECK(!vf_thread_states_are_there());
  int fd = make_page(argv[1]);
  does_not_wait_long(argv[1]);
  refuses_other_layouts(fd);
  CHECK(vf_thread_states_map(fd) == 0 && vf_thread_states_are_there());
  close(fd);
  follows_a_thread();
  ends_the_spin();
  stays_a_lock(&m, flicker);
  return 0;
}
