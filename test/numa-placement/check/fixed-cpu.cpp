// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads of C++ and OpenMP that are pinned to CPUs by number.
// REQUIRES: openmp
// RUN: %vf_clang_tidy --checks='-*,vfriendly-numa-placement-fixed-cpu' %s -- -std=c++17 -fopenmp 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning: --implicit-check-not=note:

#include <algorithm>
#include <atomic>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <thread>
#include <vector>

void work();

void pin(int Cpu) {
  cpu_set_t Set;
  CPU_ZERO(&Set);
  // CHECK: :[[@LINE+2]]:3: warning: 'CPU_SET' gets the number of a thread as CPU number
  // CHECK: :[[@LINE+7]]:9: note: the number comes from here
  CPU_SET(Cpu, &Set);
  sched_setaffinity(0, sizeof Set, &Set);
}
void team() {
#pragma omp parallel
  {
    pin(omp_get_thread_num());
    work();
  }
}

void pool(unsigned Wanted) {
  const unsigned Cpus = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> Threads;
  for (unsigned I = 0; I < Wanted; ++I)
    Threads.emplace_back([&, I] {
      cpu_set_t Set;
      CPU_ZERO(&Set);
      // CHECK: :[[@LINE+1]]:7: warning: 'CPU_SET' gets a remainder as CPU number
      CPU_SET(I % Cpus, &Set);
      pthread_setaffinity_np(pthread_self(), sizeof Set, &Set);
      work();
    });
  for (std::thread &Thread : Threads)
    Thread.join();
}

struct Worker {
  std::thread Thread;
  cpu_set_t Set;
};
std::atomic<int> Next;
void later(Worker &W) {
  CPU_ZERO(&W.Set);
  // CHECK: :[[@LINE+1]]:3: warning: 'CPU_SET' gets a counter as CPU number
  CPU_SET(Next.fetch_add(1), &W.Set);
  pthread_setaffinity_np(W.Thread.native_handle(), sizeof W.Set, &W.Set);
}

// Not reported: the numbers are a caller's.
void given(std::vector<Worker> &Workers, const std::vector<int> &Cpus) {
  for (size_t I = 0; I < Workers.size(); ++I) {
    cpu_set_t Set;
    CPU_ZERO(&Set);
    CPU_SET(Cpus[I % Cpus.size()], &Set);
    pthread_setaffinity_np(Workers[I].Thread.native_handle(), sizeof Set, &Set);
  }
}
