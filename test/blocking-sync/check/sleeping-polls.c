// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sleeps after which a thread only asks again, and sleeps that pace work.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-blocking-sync-sleep-poll' %s -- -std=gnu11 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define AGAIN(e) ((e) == EAGAIN || (e) == EINTR || (e) == EWOULDBLOCK)
struct device;
int read_packet(struct device *, void *, int), send_packet(struct device *, void *, int);
int device_open(const char *), tcp_socket_dead(int), do_step(void);
void handle(void *, int), work(void), sleep_ms(int);
int app_mutex_trylock(pthread_mutex_t *);

//===--- The kernel says that the call would have blocked -----------------===//

int write_all(int fd, const char *from, size_t left) {
  while (left) {
    ssize_t n = write(fd, from, left);
    if (n < 0) {
      if (AGAIN(errno)) {
        // CHECK: :[[@LINE+1]]:9: warning: loop calls 'write' again and again and sleeps between tries: each wake-up costs exits even without a change; wait for the file by poll() (guidelines/blocking-sync.md) [vfriendly-blocking-sync-sleep-poll]
        usleep(100);
        continue;
      }
      return -1;
    }
    left -= n;
    from += n;
  }
  return 0;
}
int in_a_do(int fd, const char *from, size_t size) {
  size_t total = 0;
  do {
    ssize_t n = write(fd, from + total, size - total);
    if (n == -1) {
      if (errno == EAGAIN) {
        // CHECK: :[[@LINE+1]]:9: warning: loop calls 'write' again
        sleep_ms(50);
        continue;
      }
    } else if (n == 0) {
      return -1;
    }
    total += n;
  } while (total < size);
  return 0;
}
// Twin: a few tries.
int some_tries(int fd, char *to, int most) {
  int tries = 0;
  for (;;) {
    ssize_t n = recv(fd, to, 10, 0);
    if (n >= 0)
      return n;
    if (errno != EAGAIN || tries++ == most)
      return -1;
    usleep(50);
  }
}
// Twin: an error, which no event ends.
int accepts(int fd) {
  for (;;) {
    int client = accept(fd, 0, 0);
    if (client < 0) {
      usleep(100000);
      continue;
    }
    handle(0, client);
  }
}

//===--- A function of another file has nothing yet -----------------------===//

int until_a_beacon(struct device *d, char *to) {
  struct timeval begin, now;
  gettimeofday(&begin, 0);
  int n = 0;
  while (n < 22) {
    n = read_packet(d, to, 4096);
    gettimeofday(&now, 0);
    if (now.tv_sec - begin.tv_sec > 10)
      return -1;
    if (n <= 0)
      // CHECK: :[[@LINE+1]]:7: warning: loop calls 'read_packet' again and again {{.*}}; wait for what it asks for (
      usleep(1);
  }
  return n;
}
void grace(int fd) {
  time_t end = time(0) + 2;
  while (time(0) < end) {
    if (tcp_socket_dead(fd))
      break;
    // CHECK: :[[@LINE+1]]:5: warning: loop calls 'tcp_socket_dead' again
    usleep(50000);
  }
}
int child(int pid) {
  int status, code;
  while ((code = waitpid(pid, &status, WNOHANG)) == 0)
    // CHECK: :[[@LINE+1]]:5: warning: loop calls 'waitpid' again
    usleep(20000);
  return code;
}
// Twin: a pause between packets, which ends with an error.
int floods(struct device *d, char *from) {
  for (;;) {
    if (send_packet(d, from, 100) < 0)
      return 1;
    usleep(180000);
  }
}
// Twin: sleeps after work, too.
void paces(struct device *d, char *to) {
  for (;;) {
    int n = read_packet(d, to, 4096);
    if (n > 0)
      handle(to, n);
    usleep(1000);
  }
}
// Twin: nothing tells when a device can be opened.
int opens(const char *name) {
  int fd;
  while ((fd = device_open(name)) <= 0)
    usleep(100000);
  return fd;
}
// Twin: seconds.
void seldom(struct device *d, char *to) {
  while (read_packet(d, to, 4096) == 0)
    sleep(1);
}

//===--- Locks ------------------------------------------------------------===//

void tries(pthread_mutex_t *m) {
  while (app_mutex_trylock(m))
    // CHECK: :[[@LINE+1]]:5: warning: loop calls 'app_mutex_trylock' again and again {{.*}}; take the lock in a way that waits (
    usleep(1000);
}
struct list {
  struct list *next;
} *active;
int running;
pthread_mutex_t lock;
void until_empty(void) {
  time_t begin = time(0);
  pthread_mutex_lock(&lock);
  while (active) {
    if (begin + 5 < time(0))
      printf("long\n");
    pthread_mutex_unlock(&lock);
    // CHECK: :[[@LINE+1]]:5: warning: loop takes 'lock' to test for a change and sleeps between tests
    usleep(20000);
    pthread_mutex_lock(&lock);
  }
  pthread_mutex_unlock(&lock);
}
// Twin: something is done when it is due.
void ticks(void) {
  while (running) {
    pthread_mutex_lock(&lock);
    for (struct list *each = active; each; each = each->next)
      if (time(0) % 10 == 0)
        work();
    pthread_mutex_unlock(&lock);
    usleep(100000);
  }
}
// Twin: a pause between the elements of a list.
void walks(void) {
  for (struct list *each = active; each; each = each->next) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    usleep(100);
  }
}
// Twin: a function that takes the lock works.
static void update(pthread_mutex_t *m) {
  pthread_mutex_lock(m);
  work();
  pthread_mutex_unlock(m);
}
void shows(pthread_mutex_t *m) {
  while (running) {
    update(m);
    usleep(1000);
  }
}
// Twin: once, by a flag of its own.
void slows(void) {
  int may = 1;
  pthread_mutex_lock(&lock);
  while (running) {
    if (may && active) {
      pthread_mutex_unlock(&lock);
      usleep(1000);
      may = 0;
      pthread_mutex_lock(&lock);
    } else {
      work();
    }
  }
  pthread_mutex_unlock(&lock);
}
// Twin: each iteration does a step.
void steps(void) {
  while (running) {
    if (do_step() < 0)
      break;
    usleep(1000);
  }
}
// Twin: works on what there is, each time.
void all(int n) {
  while (tcp_socket_dead(0) == 0) {
    for (int i = 0; i < n; i++)
      work();
    usleep(1000);
  }
}

//===--- The loop is around the calls -------------------------------------===//

int dispatch(struct device *, int most);
struct device *device;
static void receive(void) {
  int n = dispatch(device, -1);
  if (n == -1)
    _exit(1);
  else if (n == 0)
    // CHECK: :[[@LINE+1]]:5: warning: a loop around 'receive' calls 'dispatch' again and again
    usleep(1000);
}
void receiver(void) {
  while (running)
    receive();
}
// Twin: called once.
static void receive_once(void) {
  if (dispatch(device, -1) == 0)
    usleep(1000);
}
void once(void) { receive_once(); }

//===--- A verdict does not depend on the loops before --------------------===//

extern int state;
static int f3(void) { return state; }
static int f2(void) { return f3(); }
static int f1(void) { return f2(); }
static int f0(void) { return f1(); }
void near_state(void) {
  while (f2() < 0)
    // CHECK: :[[@LINE+1]]:5: warning: loop calls 'f2' again and again
    usleep(10);
}
// Twin: too far from its caller.
void far_from_state(void) {
  while (f0() < 0)
    usleep(10);
}

//===--- Of several calls, the report names the same in each run ----------===//

struct part {
  int mode[20], set;
} *part;
int ask_one(struct part *), ask_two(struct part *), ask_three(struct part *);
#define WAYS(n)                                                                                                       \
  if (part->mode[n]) {                                                                                                \
    if (part->mode[n + 10])                                                                                           \
      part->set = 1;                                                                                                  \
    else                                                                                                              \
      part->set = 2;                                                                                                  \
  }
void three(void) {
  int x = 0, y = 0, z = 0;
  for (;;) {
    if ((x = ask_one(part)) > 0 || (y = ask_two(part)) > 0 || (z = ask_three(part)) > 0)
      break;
    WAYS(0) WAYS(1) WAYS(2) WAYS(3) WAYS(4) WAYS(5) WAYS(6) WAYS(7)
    // CHECK: :[[@LINE+1]]:5: warning: loop calls 'ask_three' again and again
    usleep(1000);
  }
}
