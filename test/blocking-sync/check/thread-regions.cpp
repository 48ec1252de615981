// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions that create threads and join them in each call, called in loops of other functions.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-blocking-sync-thread-per-task' %s -- -std=c++17 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <pthread.h>
#include <thread>
#include <unistd.h>
#include <vector>

long render(int);
int next();
void *serve(void *);
void *readInput(void *file) {
  char byte;
  while (read(*(int *)file, &byte, 1) == 1)
    render(byte);
  return nullptr;
}

static void batch(int cpus) {
  pthread_t threads[64];
  for (int j = 0; j < cpus; j++)
    // CHECK: :[[@LINE+1]]:5: warning: each call of 'batch' creates threads and joins them, and 'batches' calls it in a loop: {{.*}} [vfriendly-blocking-sync-thread-per-task]
    pthread_create(&threads[j], nullptr, serve, nullptr);
  for (int j = 0; j < cpus; j++)
    pthread_join(threads[j], nullptr);
}
void batches(int cpus) {
  while (next())
    batch(cpus);
}

// The caller is in a loop.
class Runner {
  std::vector<std::thread> pool;
  void iterate() {
    for (size_t i = 0; i < pool.size(); i++)
      // CHECK: :[[@LINE+1]]:17: warning: each call of 'iterate' creates threads and joins them, and 'run' calls it in a loop
      pool[i] = std::thread(render, int(i));
    for (auto &thread : pool)
      thread.join();
  }
  void step() {
    render(0);
    iterate();
  }

public:
  void run() {
    do {
      step();
    } while (next());
  }
};

// Not reported: once, a few times, and too far away.
static void once(int cpus) {
  std::vector<std::thread> threads;
  for (int j = 0; j < cpus; j++)
    threads.emplace_back(render, j);
  for (auto &thread : threads)
    thread.join();
}
void callOnce(int cpus) {
  once(cpus);
  for (int repetition = 0; repetition < 3; repetition++)
    once(cpus);
}
// They wait for what clients send, as long as these like.
static void serveClients(int *files, int n) {
  std::vector<std::thread> threads;
  for (int j = 0; j < n; j++)
    threads.emplace_back(readInput, &files[j]);
  for (auto &thread : threads)
    thread.join();
}
void serveAll(int *files, int n) {
  while (next())
    serveClients(files, n);
}
// A pool: another function ends it, and the loop joins others.
struct Pool {
  std::vector<std::thread> threads, others;
  void start(int cpus) {
    for (int j = 0; j < cpus; j++)
      threads.emplace_back(render, j);
    for (auto &other : others)
      other.join();
  }
  void restart(int cpus) {
    while (next())
      start(cpus);
  }
};
// It calls itself, and nobody calls it in a loop.
static void descend(int depth) {
  std::vector<std::thread> threads;
  for (int j = 0; j < depth; j++)
    threads.emplace_back(render, j);
  for (auto &thread : threads)
    thread.join();
  if (depth)
    descend(depth - 1);
}
void callDescend(int depth) { descend(depth); }
