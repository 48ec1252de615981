// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads and parallel algorithms of C++, with declarations as oneTBB and the standard library have them.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-numa-placement-serial-init' %s -- -std=c++17 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning: --implicit-check-not=note:

#include <cstddef>
#include <thread>
#include <vector>

namespace std::execution {
struct parallel_policy {};
inline constexpr parallel_policy par{};
} // namespace std::execution
namespace std {
template <typename Policy, typename It, typename F> void for_each(const Policy &, It, It, F) {}
}
namespace tbb {
template <typename I, typename F> void parallel_for(I First, I Last, const F &Body) {}
}

void by_threads(size_t N, unsigned Count) {
  double *Data = new double[N];
  // CHECK: :[[@LINE+3]]:3: warning: one thread fills 'Data'
  // CHECK: note: threads use 'Data' here
  // CHECK: note: no fix: the loop that uses it has no static schedule
  for (size_t I = 0; I < N; ++I)
    Data[I] = 0;
  std::vector<std::thread> Threads;
  for (unsigned T = 0; T < Count; ++T)
    Threads.emplace_back([=] {
      for (size_t I = N / Count * T; I < N / Count * (T + 1); ++I)
        Data[I] += 1;
    });
  for (std::thread &Thread : Threads)
    Thread.join();
}

void by_tbb(size_t N) {
  double *Data = new double[N];
  // CHECK: :[[@LINE+3]]:3: warning: one thread fills 'Data'
  // CHECK: note: threads use 'Data' here
  // CHECK: note: no fix: the loop that uses it has no static schedule
  for (size_t I = 0; I < N; ++I)
    Data[I] = 0;
  tbb::parallel_for(size_t(0), N, [=](size_t I) { Data[I] += 1; });
}

void by_algorithm(std::vector<double> &Data) {
  // CHECK: :[[@LINE+3]]:3: warning: one thread fills 'Data'
  // CHECK: note: threads use 'Data' here
  // CHECK: note: no fix: the loop that uses it has no static schedule
  for (size_t I = 0; I < Data.size(); ++I)
    Data[I] = 0;
  std::for_each(std::execution::par, Data.begin(), Data.end(), [](double &X) { X += 1; });
}

// Not reported: the algorithm fills it; a lambda that the same thread calls.
void placed(std::vector<double> &Data, size_t N) {
  double *Mine = new double[N];
  tbb::parallel_for(size_t(0), N, [=](size_t I) { Mine[I] = 0; });
  for (size_t I = 0; I < N; ++I)
    Mine[I] += I;
  tbb::parallel_for(size_t(0), N, [=](size_t I) { Mine[I] += 1; });
  for (size_t I = 0; I < Data.size(); ++I)
    Data[I] = 0;
  auto Add = [&] {
    for (size_t I = 0; I < Data.size(); ++I)
      Data[I] += 1;
  };
  Add();
}
