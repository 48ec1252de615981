// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Threads that std::async starts, and threads that each iteration starts and joins. heap-churn says nothing about their vectors.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-blocking-sync-thread-per-task,vfriendly-heap-churn-*' %s -- -std=c++20 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <algorithm>
#include <future>
#include <list>
#include <map>
#include <memory>
#include <pthread.h>
#include <thread>
#include <utility>
#include <vector>

long render(int);
int next();
void *serve(void *);
extern int busy;

//===-- std::async in a loop ----------------------------------------------===//

long getAtOnce(int n) {
  long sum = 0;
  for (int i = 0; i < n; i++) {
    // CHECK: :[[@LINE+1]]:19: warning: loop creates a thread for each task: {{.*}} [vfriendly-blocking-sync-thread-per-task]
    auto result = std::async(std::launch::async, render, i);
    sum += result.get();
  }
  return sum;
}
// The result of the last iteration is taken after the next one is started.
long getNext(int n) {
  long sum = 0;
  std::future<long> running;
  while (n--) {
    if (running.valid())
      sum += running.get();
    // CHECK: :[[@LINE+1]]:15: warning: loop creates a thread for each task
    running = std::async(std::launch::async, render, n);
  }
  return sum + running.get();
}
// The destructor of the future waits.
void drop(int n) {
  for (int i = 0; i < n; i++)
    // CHECK: :[[@LINE+1]]:11: warning: loop creates a thread for each task
    (void)std::async(std::launch::async, render, i);
  for (int i = 0; i < n; i++) {
    // CHECK: :[[@LINE+1]]:20: warning: loop creates a thread for each task
    auto ignored = std::async([i] { return render(i); });
    busy++;
  }
}
long chained(int n) {
  long sum = 0;
  while (n--)
    // CHECK: :[[@LINE+1]]:12: warning: loop creates a thread for each task
    sum += std::async(std::launch::async, render, n).get();
  return sum;
}
void jthreads(int n) {
  while (n--) {
    // CHECK: :[[@LINE+1]]:18: warning: loop creates a thread for each task
    std::jthread thread(render, n);
    busy++;
  }
}
long forItems(const std::vector<int> &images) {
  std::vector<std::future<long>> all;
  for (int image : images)
    // CHECK: :[[@LINE+1]]:19: warning: loop creates a thread for each item of 'images'
    all.push_back(std::async(std::launch::async, render, image));
  long sum = 0;
  for (auto &one : all)
    sum += one.get();
  return sum;
}
// No thread: the caller runs it at get(). And a policy that is not known.
long deferred(int n, std::launch how) {
  long sum = 0;
  for (int i = 0; i < n; i++) {
    auto later = std::async(std::launch::deferred, render, i);
    auto maybe = std::async(how, render, i);
    sum += later.get() + maybe.get();
  }
  return sum;
}
// Two or three tasks in all, as a test runs each of two cases in a thread: a pool would create as many threads.
void fewTasks(int n) {
  for (int i = 0; i < 2; i++) {
    std::thread thread([&] { render(i == 0); });
    thread.join();
  }
  for (int i = 3; i > 0; --i)
    (void)std::async(std::launch::async, render, i);
  std::vector<int> kinds{1, 2};
  for (int kind : kinds) {
    std::thread thread(render, kind);
    thread.join();
  }
  int modes[3] = {1, 2, 3};
  for (int mode : modes) {
    std::thread thread(render, mode);
    thread.join();
  }
  for (int size : {1, 100}) {
    std::thread thread(render, size);
    thread.join();
  }
  // Four, two for each of many, or a list that may have grown: a pool is cheaper.
  std::vector<int> grows{1, 2};
  grows.resize(n);
  for (int one : grows) {
    // CHECK: :[[@LINE+1]]:17: warning: loop creates a thread for each task
    std::thread thread(render, one);
    thread.join();
  }
  for (int one : {1, 2, 3, 4}) {
    // CHECK: :[[@LINE+1]]:17: warning: loop creates a thread for each task
    std::thread thread(render, one);
    thread.join();
  }
  for (int i = 0; i < 4; i++) {
    // CHECK: :[[@LINE+1]]:17: warning: loop creates a thread for each task
    std::thread thread(render, i);
    thread.join();
  }
  while (n--)
    for (int i = 0; i < 2; i++) {
      // CHECK: :[[@LINE+1]]:19: warning: loop creates a thread for each task
      std::thread thread(render, i);
      thread.join();
    }
  // A bound that the caller chooses.
  for (int i = 0; i < n; i++) {
    // CHECK: :[[@LINE+1]]:17: warning: loop creates a thread for each task
    std::thread thread(render, i);
    thread.join();
  }
}
// Threads that go on after the loop: a pool, a field, an owner that is handed over.
struct Server {
  std::vector<std::future<long>> workers;
  std::map<int, std::future<long>> byNumber;
  void start(unsigned threads) {
    for (unsigned i = 0; i < threads; i++)
      workers.push_back(std::async(std::launch::async, render, int(i)));
    for (unsigned i = 0; i < threads; i++)
      byNumber[i] = std::async(std::launch::async, render, int(i));
    for (unsigned i = 0; i < threads; i++) {
      auto worker = std::async(std::launch::async, render, int(i));
      workers.push_back(std::move(worker));
    }
  }
};
void keep(std::future<long>);
void handOver(int n) {
  for (int i = 0; i < n; i++)
    keep(std::async(std::launch::async, render, i));
  std::vector<std::unique_ptr<std::future<long>>> all;
  for (int i = 0; i < n; i++)
    all.emplace_back(new std::future<long>(std::async(std::launch::async, render, i)));
}
// Another library's function of that name.
namespace net {
struct Reply {
  long get();
};
Reply async(int);
} // namespace net
long request(int n) {
  long sum = 0;
  while (n--) {
    auto reply = net::async(n);
    sum += reply.get();
  }
  return sum;
}
// The futures are those of a pool, which exists.
std::future<long> submit(int);
long submitEach(int n) {
  long sum = 0;
  while (n--) {
    std::vector<std::future<long>> results;
    for (int j = 0; j < 4; j++)
      results.push_back(submit(j));
    for (auto &result : results)
      sum += result.get();
  }
  return sum;
}

//===-- threads that each iteration starts and joins ----------------------===//

long frames(int n) {
  long sum = 0;
  for (int i = 0; i < n; i++) {
    std::vector<std::future<long>> parts;
    for (int j = 0; j < 4; j++)
      // CHECK: :[[@LINE+1]]:23: warning: loop creates threads in each iteration and joins them: {{.*}} [vfriendly-blocking-sync-thread-per-task]
      parts.push_back(std::async(std::launch::async, render, j));
    for (auto &part : parts)
      sum += part.get();
  }
  return sum;
}
void steps(int n) {
  for (int i = 0; i < n; i++) {
    std::vector<std::thread> parts;
    for (int j = 0; j < 4; j++)
      // CHECK: :[[@LINE+1]]:13: warning: loop creates threads in each iteration and joins them
      parts.emplace_back(render, j);
    for (auto &part : parts)
      part.join();
  }
}
void byIndex(std::vector<std::thread> &threads) {
  while (next()) {
    for (size_t i = 0; i < threads.size(); i++)
      // CHECK: :[[@LINE+1]]:20: warning: loop creates threads in each iteration and joins them
      threads[i] = std::thread(render, int(i));
    for (size_t i = 0; i < threads.size(); i++)
      threads[i].join();
  }
}
void byIterator(int n) {
  while (n--) {
    std::list<std::thread> threads;
    for (int j = 0; j < 4; j++) {
      // CHECK: :[[@LINE+1]]:19: warning: loop creates threads in each iteration and joins them
      std::thread thread(render, j);
      threads.push_back(std::move(thread));
    }
    for (auto it = threads.begin(); it != threads.end(); ++it)
      it->join();
  }
}
void inC(int n, int cpus) {
  pthread_t threads[64];
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < cpus; j++)
      // CHECK: :[[@LINE+1]]:7: warning: loop creates threads in each iteration and joins them
      pthread_create(&threads[j], nullptr, serve, nullptr);
    for (int j = 0; j < cpus; j++)
      pthread_join(threads[j], nullptr);
  }
}
void joinedByDestructor(int n) {
  while (n--) {
    std::vector<std::jthread> parts;
    for (int j = 0; j < 4; j++)
      // CHECK: :[[@LINE+1]]:13: warning: loop creates threads in each iteration and joins them
      parts.emplace_back(render, j);
  }
}
// A few repetitions, as in a measurement.
void repeat(int cpus) {
  for (int i = 0; i < 3; i++) {
    std::vector<std::thread> parts;
    for (int j = 0; j < cpus; j++)
      parts.emplace_back(render, j);
    for (auto &part : parts)
      part.join();
  }
}
// Not a few: the loop counts down, from many.
void countDown(int cpus) {
  for (int i = 1000; i > 0; i--) {
    std::vector<std::thread> parts;
    for (int j = 0; j < cpus; j++)
      // CHECK: :[[@LINE+1]]:13: warning: loop creates threads in each iteration and joins them
      parts.emplace_back(render, j);
    for (auto &part : parts)
      part.join();
  }
}
// The threads are created in a nest of loops, and joined by an algorithm.
void tiles(int n) {
  std::vector<std::thread> pool;
  while (next()) {
    for (int i = 0; i < n; i += 8)
      for (int j = 0; j < n; j += 8)
        // CHECK: :[[@LINE+1]]:24: warning: loop creates threads in each iteration and joins them
        pool.push_back(std::thread([=] { render(i + j); }));
    std::for_each(pool.begin(), pool.end(), [](std::thread &t) { t.join(); });
    pool.clear();
  }
}
void tilesInC(int n, pthread_t *pool) {
  while (next()) {
    int used = 0;
    for (int i = 0; i < n; i += 8)
      for (int j = 0; j < n; j += 8)
        // CHECK: :[[@LINE+1]]:9: warning: loop creates threads in each iteration and joins them
        pthread_create(&pool[used++], nullptr, serve, nullptr);
    for (int t = 0; t < used; t++)
      pthread_join(pool[t], nullptr);
  }
}
// Not reported: the algorithm joins other threads, or does not join; the nest runs once.
void otherTiles(int n, std::vector<std::thread> &others) {
  std::vector<std::thread> pool, once;
  while (next()) {
    for (int i = 0; i < n; i += 8)
      for (int j = 0; j < n; j += 8)
        pool.push_back(std::thread([=] { render(i + j); }));
    std::for_each(others.begin(), others.end(), [](std::thread &t) { t.join(); });
    std::for_each(pool.begin(), pool.end(), [](std::thread &t) { busy += t.joinable(); });
  }
  for (int i = 0; i < n; i += 8)
    for (int j = 0; j < n; j += 8)
      once.push_back(std::thread([=] { render(i + j); }));
  std::for_each(once.begin(), once.end(), [](std::thread &t) { t.join(); });
}
// All pools are made first, and joined after.
void grid(int rows, int columns) {
  std::vector<std::thread> all, others;
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < columns; j++)
      all.emplace_back(render, j);
  for (auto &one : all)
    one.join();
  // Other threads are joined here.
  while (next()) {
    for (int j = 0; j < columns; j++)
      all.emplace_back(render, j);
    for (auto &one : others)
      one.join();
  }
}
