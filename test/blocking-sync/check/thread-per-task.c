// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Threads for tasks in C: made by functions of other files, or detached by an attribute.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-blocking-sync-thread-per-task' %s -- -std=gnu11 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>

int app_thread_create(pthread_t *, const pthread_attr_t *, void *(*run)(void *), void *, const char *name);
int worker_thread_create(pthread_t *, int priority);
void *serve(void *), *run(void *);
struct client {
  int fd;
  pthread_t thread;
};

void server(int listener) {
  for (;;) {
    struct client *c = malloc(sizeof *c);
    c->fd = accept(listener, 0, 0);
    if (c->fd < 0) {
      free(c);
      continue;
    }
    // CHECK: :[[@LINE+1]]:5: warning: loop creates a thread for each task
    app_thread_create(&c->thread, 0, serve, c, "serve");
  }
}

struct job {
  struct job *next;
} *jobs;
pthread_mutex_t lock;
pthread_cond_t more;
pthread_attr_t detached;
void runner(void) {
  pthread_mutex_lock(&lock);
  for (;;) {
    while (!jobs)
      pthread_cond_wait(&more, &lock);
    struct job *job = jobs;
    jobs = job->next;
    pthread_t thread;
    // CHECK: :[[@LINE+1]]:5: warning: loop creates a thread for each task
    pthread_create(&thread, &detached, run, job);
  }
}
// Twin: a pool.
void pool(int n) {
  for (int i = 0; i < n; i++) {
    pthread_t thread;
    pthread_create(&thread, &detached, run, 0);
  }
}
// Twins: pools whose loops count down.
void pool_down(int n) {
  while (n-- > 0) {
    pthread_t thread;
    pthread_create(&thread, 0, run, 0);
  }
}
void pool_down_inside(int n) {
  while (n > 0) {
    pthread_t thread;
    pthread_create(&thread, 0, run, 0);
    n -= 1;
  }
}
void pool_down_after(int n) {
  do {
    pthread_t thread;
    pthread_create(&thread, 0, run, 0);
  } while (--n);
}
void pool_down_for(int n) {
  for (; n; n--) {
    pthread_t thread;
    pthread_create(&thread, 0, run, 0);
  }
}
// Twin: makes no thread, as it is given nothing to run.
void others(int listener) {
  for (;;) {
    pthread_t thread;
    worker_thread_create(&thread, accept(listener, 0, 0));
  }
}
