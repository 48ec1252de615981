// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads and parallel algorithms of C++, with declarations as oneTBB and the standard library have them.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-numa-placement-serial-init' %s -- -std=c++17 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning: --implicit-check-not=note:

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <numeric>
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

// Functions of the library that write all elements.
void by_library(double *Data, std::vector<double> &Values, std::vector<int> &Order, size_t N) {
  // CHECK: :[[@LINE+3]]:3: warning: one thread fills 'Data'
  // CHECK: note: threads use 'Data' here
  // CHECK: note: no fix: a library function fills it
  std::memset(Data, 0, N * sizeof *Data);
  // CHECK: :[[@LINE+3]]:3: warning: one thread fills 'Values'
  // CHECK: note: threads use 'Values' here
  // CHECK: note: no fix: a library function fills it
  std::fill(Values.begin(), Values.end(), 1);
  // CHECK: :[[@LINE+3]]:3: warning: one thread fills 'Order'
  // CHECK: note: threads use 'Order' here
  // CHECK: note: no fix: a library function fills it
  std::iota(&Order[0], &Order[N], 0);
  tbb::parallel_for(size_t(0), N, [=](size_t I) { Data[I] += 1; });
  tbb::parallel_for(size_t(0), N, [&](size_t I) { Values[I] += Order[I]; });
}

// A vector writes its elements when it gets them, so the threads' own fill comes too late.
double by_vector(size_t N) {
  // CHECK: :[[@LINE+3]]:3: warning: one thread fills 'Made'
  // CHECK: note: threads use 'Made' here
  // CHECK: note: no fix: a library function fills it
  std::vector<double> Made(N);
  std::vector<float> Resized;
  // CHECK: :[[@LINE+3]]:3: warning: one thread fills 'Resized'
  // CHECK: note: threads use 'Resized' here
  // CHECK: note: no fix: a library function fills it
  Resized.resize(N);
  tbb::parallel_for(size_t(0), N, [&](size_t I) { Made[I] = Resized[I] = I; });
  return Made[N / 2];
}

// Not reported: small; elements of a list; only a part; objects that are no numbers; after the threads.
double small(size_t N, double *Part) {
  std::vector<double> Few(100), Listed{1, 2};
  std::vector<std::vector<double>> Rows(N);
  double Own[64];
  std::memset(Own, 0, sizeof Own);
  std::memset(&Part[N], 0, N * sizeof *Part);
  std::fill_n(Part + 1, N, 0);
  double *Late = new double[N];
  tbb::parallel_for(size_t(0), N, [&](size_t I) { Late[I] = Few[I] + Listed[I] + Own[I] + Part[I] + Rows[I].size(); });
  std::fill_n(Late, N, 0);
  tbb::parallel_for(size_t(0), N, [&](size_t I) { Late[I] += 1; });
  return Late[0];
}
