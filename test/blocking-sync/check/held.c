// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What may sleep or take long while a spin lock is held, beside what may not.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-blocking-sync-held' %s -- -std=c11 -D_GNU_SOURCE 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

pthread_spinlock_t spin;
pthread_mutex_t mutex;
struct item {
  struct item *next;
  int value;
} *head;
int count;

// example: bad
void drop_all(void) {
  // CHECK: :[[@LINE+1]]:3: warning: holds 'spin' while 'free' allocates or releases memory: all waiters poll meanwhile; do it before the lock or after the release (guidelines/blocking-sync.md) [vfriendly-blocking-sync-held]
  pthread_spin_lock(&spin);
  while (head) {
    struct item *next = head->next;
    // CHECK-NEXT: :[[@LINE+1]]:5: note: 'free' allocates or releases memory here
    free(head);
    head = next;
  }
  pthread_spin_unlock(&spin);
}
// example end

// example: good
void drop_all_outside(void) {
  pthread_spin_lock(&spin);
  struct item *all = head;
  head = NULL;
  pthread_spin_unlock(&spin);
  while (all) {
    struct item *next = all->next;
    free(all);
    all = next;
  }
}
// example end

// A lock of the program's own: a loop of an exchange, a store.
atomic_int word;
static void s_lock(atomic_int *l) {
  while (atomic_exchange_explicit(l, 1, memory_order_acquire))
    while (atomic_load(l))
      ;
}
static void s_unlock(atomic_int *l) {
  atomic_store_explicit(l, 0, memory_order_release);
}

char *arena;
size_t used;

void *fresh(void) {
  // CHECK: :[[@LINE+1]]:3: warning: holds 'word' while a loop over pages may touch fresh pages: {{.*}}; touch them outside or populate them before
  s_lock(&word);
  char *p = arena + used;
  used += 65536;
  for (size_t i = 0; i < 65536; i += 4096)
    p[i] = 1;
  s_unlock(&word);
  return p;
}

void cleared(char *p) {
  // CHECK: :[[@LINE+1]]:3: warning: holds 'word' while 'memset' may touch fresh pages
  s_lock(&word);
  memset(p, 0, 1 << 20);
  s_unlock(&word);
}

// Not reported: less than a page.
void small(char *p) {
  s_lock(&word);
  memset(p, 0, 64);
  count++;
  s_unlock(&word);
}

// A lock of a macro, and a report by way of a function.
#define SpinLockAcquire(l) do { if (atomic_exchange(l, 1)) s_lock(l); } while (0)
#define SpinLockRelease(l) atomic_store(l, 0)

static void tell(int n) {
  if (n > 3)
    printf("%d\n", n);
}

void by_macro(void) {
  // CHECK: :[[@LINE+1]]:3: warning: holds 'word' while 'tell' writes or logs: {{.*}}; move it out of the section
  SpinLockAcquire(&word);
  // CHECK-NEXT: note: 'tell' writes or logs here
  tell(++count);
  // CHECK-NEXT: note: by 'printf'
  SpinLockRelease(&word);
}

// Not reported: the log follows the release, in each branch.
void after(int n) {
  SpinLockAcquire(&word);
  if (n == count) {
    SpinLockRelease(&word);
    tell(n);
    return;
  }
  count = n;
  SpinLockRelease(&word);
  tell(n);
}

// Not reported: no release follows.
void fails(void) {
  SpinLockAcquire(&word);
  if (count < 0) {
    fprintf(stderr, "broken\n");
    abort();
  }
  SpinLockRelease(&word);
}

// Not reported: taken and released under the same condition.
void sometimes(int locked) {
  if (!locked)
    s_lock(&word);
  count++;
  if (!locked)
    s_unlock(&word);
  tell(count);
}

void kernel(void *p, size_t n) {
  // CHECK: :[[@LINE+1]]:3: warning: holds 'spin' while 'madvise' enters the kernel
  pthread_spin_lock(&spin);
  madvise(p, n, MADV_DONTNEED);
  pthread_spin_unlock(&spin);
}

void waits(void) {
  // CHECK: :[[@LINE+1]]:3: warning: holds 'spin' while 'pthread_mutex_lock' waits: {{.*}}; release the lock before or use vf_mutex
  pthread_spin_lock(&spin);
  pthread_mutex_lock(&mutex);
  count++;
  pthread_mutex_unlock(&mutex);
  pthread_spin_unlock(&spin);
}

void sleeps(void) {
  // CHECK: :[[@LINE+1]]:3: warning: holds 'spin' while 'usleep' sleeps or yields
  pthread_spin_lock(&spin);
  usleep(10);
  pthread_spin_unlock(&spin);
}

void calls(void (*callback)(int)) {
  // CHECK: :[[@LINE+1]]:3: warning: holds 'spin' while 'callback' is called through a pointer: {{.*}}; call it after the release
  pthread_spin_lock(&spin);
  callback(count);
  pthread_spin_unlock(&spin);
}

static void by_way(void (*callback)(int)) { callback(count); }
void calls_below(void (*callback)(int)) {
  // CHECK: :[[@LINE+1]]:3: warning: holds 'spin' while 'by_way' calls through a pointer
  pthread_spin_lock(&spin);
  by_way(callback);
  pthread_spin_unlock(&spin);
}

// Another unit's, whose names tell what they do.
int net_dev_set_mtu(int, int), net_dev_get_mtu(int), json_write_name(void *), reg_write_name(void *);
void commands(void *out) {
  // CHECK: :[[@LINE+1]]:3: warning: holds 'spin' while 'net_dev_set_mtu' commands a device: {{.*}}; move it out of the section
  pthread_spin_lock(&spin);
  net_dev_set_mtu(count, 9000);
  pthread_spin_unlock(&spin);
  // CHECK: :[[@LINE+1]]:3: warning: holds 'spin' while 'json_write_name' writes or logs
  pthread_spin_lock(&spin);
  json_write_name(out);
  pthread_spin_unlock(&spin);
}
// Not reported: they ask, or do not tell.
void asks(void *out) {
  pthread_spin_lock(&spin);
  count = net_dev_get_mtu(count) + reg_write_name(out);
  pthread_spin_unlock(&spin);
}

// A read-write lock of macros: a writer adds its bit and the count, and looks at the sum; it gives back what it added.
#define WRITER 0x10000u
#define add_and_get(w, n) ({ unsigned r = (n); __asm__ volatile("lock xaddl %0, %1" : "=r"(r), "+m"(*(w)) : "0"(r)); r; })
#define try_write(w) ({ unsigned old = add_and_get(w, WRITER + 1); if (old) __atomic_fetch_sub(w, WRITER + 1, __ATOMIC_RELAXED); !old; })
#define take_write(w) do { while (!try_write(w)) __asm__ volatile("pause"); } while (0)
#define drop_write(w) __atomic_fetch_sub(w, WRITER + 1, __ATOMIC_RELEASE)
struct table {
  unsigned lock, other;
};
void write_locked(struct table *t, void *p) {
  // CHECK: :[[@LINE+1]]:3: warning: holds 'lock' while 'free' allocates or releases memory
  take_write(&t->lock);
  free(p);
  drop_write(&t->lock);
}
// Not reported: after the release, and a counter that several threads share out work by.
void write_unlocked(struct table *t, void *p) {
  take_write(&t->lock);
  count++;
  drop_write(&t->lock);
  free(p);
}
void share_out(struct table *t, void **p, unsigned n) {
  unsigned i;
  while ((i = __atomic_fetch_add(&t->other, 1, __ATOMIC_RELAXED)) < n)
    p[i] = malloc(8);
  free(p);
  __atomic_fetch_sub(&t->other, 1, __ATOMIC_RELAXED);
}
// Not reported: executed once.
void once(struct table *t, void *p) {
  do {
    __atomic_exchange_n(&t->other, 1, __ATOMIC_ACQUIRE);
  } while (0);
  free(p);
  __atomic_store_n(&t->other, 0, __ATOMIC_RELEASE);
}

int forks(void) {
  // CHECK: :[[@LINE+1]]:3: warning: holds 'spin' while 'fork' copies the process: {{.*}}; release the lock before or take it in pthread_atfork
  pthread_spin_lock(&spin);
  int child = fork();
  pthread_spin_unlock(&spin);
  return child;
}

// Not reported: a mutex, whose waiters sleep.
void blocks(void) {
  pthread_mutex_lock(&mutex);
  printf("%d\n", count);
  pthread_mutex_unlock(&mutex);
}

// Not reported: another lock is released.
void other(pthread_spinlock_t *another) {
  pthread_spin_unlock(another);
  printf("%d\n", count);
  pthread_spin_lock(another);
}

// Not reported: where it sleeps, it has not taken the lock.
static int take_unless(atomic_int *l, int *empty) {
  while (atomic_exchange(l, 1))
    if (*empty)
      return 0;
  return 1;
}
void retries(int *empty) {
  while (!take_unless(&word, empty))
    usleep(10);
  for (;;) {
    if (take_unless(&word, empty)) {
      count++;
      s_unlock(&word);
      return;
    }
    usleep(10);
  }
}

// Not reported: names only sound like it.
void spin_lock_init(int *);
void sounds(int *l) {
  spin_lock_init(l);
  printf("%d\n", *l);
}

// Not reported: its author says so.
__attribute__((annotate("vfriendly:keep"))) void kept(void) {
  pthread_spin_lock(&spin);
  usleep(10);
  pthread_spin_unlock(&spin);
}

static void on_signal(int number) {
  (void)number;
  // CHECK: :[[@LINE+1]]:3: warning: takes 'word' in a signal handler: it polls for ever if it interrupts the holder; block the signal while the lock is held
  s_lock(&word);
  count++;
  s_unlock(&word);
}

void install(void) {
  struct sigaction action = {0};
  action.sa_handler = on_signal;
  sigaction(SIGUSR1, &action, NULL);
}
