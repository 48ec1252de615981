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
namespace Kokkos {
template <typename F> void parallel_for(const char *Name, size_t Count, const F &Body) {}
}
namespace tf {
struct Taskflow {
  template <typename I, typename F> void for_each_index(I First, I Last, I Step, F Body) {}
};
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

void by_kokkos(size_t N, tf::Taskflow &Flow) {
  double *Data = new double[N];
  float *Other = new float[N];
  // CHECK: :[[@LINE+3]]:3: warning: one thread fills 'Data' and 'Other'
  // CHECK: note: threads use 'Data' here
  // CHECK: note: no fix: the loop that uses it has no static schedule
  for (size_t I = 0; I < N; ++I)
    Data[I] = Other[I] = 0;
  Kokkos::parallel_for("add", N, [=](size_t I) { Data[I] += 1; });
  Flow.for_each_index(size_t(0), N, size_t(1), [=](size_t I) { Other[I] += 1; });
}

// The program's own loops: in_parallel starts threads that call Body, one_by_one calls it itself.
template <typename F> void in_parallel(size_t N, unsigned Count, F Body) {
  std::vector<std::thread> Threads;
  for (unsigned T = 0; T < Count; ++T)
    Threads.emplace_back([=] {
      for (size_t I = T; I < N; I += Count)
        Body(I);
    });
  for (std::thread &Thread : Threads)
    Thread.join();
}
template <typename F> void one_by_one(size_t N, F Body) {
  for (size_t I = 0; I < N; ++I)
    Body(I);
}
void by_own_loop(size_t N) {
  double *Data = new double[N], *Alone = new double[N], *Mine = new double[N];
  in_parallel(N, 4, [=](size_t I) { Mine[I] = 0; });
  // CHECK: :[[@LINE+3]]:3: warning: one thread fills 'Data' before
  // CHECK: note: threads use 'Data' here
  // CHECK: note: no fix: the loop that uses it has no static schedule
  for (size_t I = 0; I < N; ++I)
    Data[I] = Alone[I] = Mine[I] += 1;
  in_parallel(N, 4, [=](size_t I) { Data[I] += Mine[I]; });
  one_by_one(N, [=](size_t I) { Alone[I] += 1; });
}

// Not reported: an element for each thread, by the loop that starts them, by what it is computed from, or by its name.
long of_threads(unsigned N, int NumThreads) {
  std::vector<long> Out(N), Per(std::thread::hardware_concurrency()), Sums(NumThreads + 1);
  long Counts[NumThreads];
  for (int T = 0; T < NumThreads; ++T)
    Counts[T] = 0;
  std::vector<std::thread> Threads;
  for (unsigned I = 0; I < N; ++I)
    Threads.emplace_back([&, I] {
      for (int K = 0; K < 1000; ++K)
        Counts[I] += Out[I] += Per[I] += Sums[I] += K;
    });
  for (std::thread &Thread : Threads)
    Thread.join();
  return Out[0];
}
