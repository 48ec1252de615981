// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums of each thread in functions and lambdas that threads call, with the region elsewhere.
// REQUIRES: openmp
// RUN: %vf_clang_tidy --checks='-*,vfriendly-numa-placement-shared-line' %s -- -std=c++17 -fopenmp 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning: --implicit-check-not=note:

#include <algorithm>
#include <functional>
#include <omp.h>
#include <vector>

struct Graph {
  long Size = 0;
  template <typename F> void forAll(F Handle) const {
#pragma omp parallel for
    for (long I = 0; I < Size; ++I)
      Handle(I);
  }
};

struct Context {
  std::vector<double> Deltas;
  // A callback: whoever calls it has the region.
  void log(double Delta) {
    // CHECK: :[[@LINE+2]]:5: warning: threads write neighbouring elements of 'Deltas' in each call, 8 bytes each
    // CHECK: note: no fix:
    Deltas[omp_get_thread_num()] += Delta;
  }
  // Not reported: it says where the thread is, and adds nothing up.
  void note(double Delta) { Deltas[omp_get_thread_num()] = Delta; }
};

// A vector of the program's own.
struct Numbers {
  double *Data;
  double &operator[](long I) { return Data[I]; }
};
static Numbers Errors;
void update(double Error) {
  // CHECK: :[[@LINE+2]]:3: warning: threads write neighbouring elements of 'Errors' in each call, 8 bytes each
  // CHECK: note: no fix:
  Errors[omp_get_thread_num()] += Error;
}

double volume(const Graph &G, const std::vector<double> &Of) {
  std::vector<double> Sums(omp_get_max_threads());
  // CHECK: :[[@LINE+2]]:26: warning: threads write neighbouring elements of 'Sums' in each call, 8 bytes each
  // CHECK: note: no fix:
  G.forAll([&](long I) { Sums[omp_get_thread_num()] += Of[I]; });
  double Sum = 0;
  for (double Each : Sums)
    Sum += Each;
  return Sum;
}

double largest(const Graph &G, const std::vector<double> &Of) {
  std::vector<double> Most(omp_get_max_threads());
  const auto Step = [&](long I) {
    const int Me = omp_get_thread_num();
    // CHECK: :[[@LINE+2]]:5: warning: threads write neighbouring elements of 'Most' in each call, 8 bytes each
    // CHECK: note: no fix:
    Most[Me] = std::max(Most[Me], Of[I]);
  };
  G.forAll([&](long I) { Step(I); });
  return *std::max_element(Most.begin(), Most.end());
}

// Not reported: a region calls it once for each thread.
static std::vector<long> Totals;
static void worker(const std::vector<long> &Of) {
  long Total = 0;
#pragma omp for
  for (size_t I = 0; I < Of.size(); ++I)
    Total += Of[I];
  Totals[omp_get_thread_num()] += Total;
}
void work(const std::vector<long> &Of) {
  Totals.resize(omp_get_max_threads());
#pragma omp parallel
  worker(Of);
}

// Not reported: each has a line of its own.
struct alignas(64) Padded {
  double Value;
};
static std::vector<Padded> Apart;
void apart(double Value) { Apart[omp_get_thread_num()].Value += Value; }

// A pool of threads that is elsewhere runs what a loop binds.
struct Pool {
  void enqueue(std::function<void()> Task);
};
double loss(double X);
static void evaluate(const std::vector<double> *Of, double *Sum, long From, long To) {
  *Sum = 0;
  for (long I = From; I < To; ++I)
    // CHECK: :[[@LINE+2]]:5: warning: threads write neighbouring elements of 'Parts' in loops, 8 bytes each
    // CHECK: note: no fix:
    *Sum += loss((*Of)[I]);
}
// Not reported: one call of it.
static void single(const std::vector<double> *Of, double *Sum) {
  for (double Each : *Of)
    *Sum += loss(Each);
}
void evaluateAll(Pool &P, const std::vector<double> &Of, long Threads) {
  std::vector<double> Parts(Threads);
  for (long I = 0; I < Threads; ++I)
    P.enqueue(std::bind(evaluate, &Of, &(Parts[I]), I * 1000, (I + 1) * 1000));
  P.enqueue(std::bind(single, &Of, &(Parts[0])));
}

// Objects side by side, which a function changes for each element.
struct List {
  long *Items, Count;
  void add(long Item) { Items[Count++] = Item; }
  long last() const { return Items[Count - 1]; }
};
static void append(List *To, long Item) {
  // CHECK: :[[@LINE+2]]:13: warning: threads write neighbouring elements of 'Others' in each call, 16 bytes each
  // CHECK: note: no fix:
  To->Items[To->Count++] = Item;
}
// Not reported: it writes what its argument points to.
static void put(List *To, long Item) { To->Items[0] = Item; }
long collect(List *Lists, List *Others, List *Firsts, List *Read, std::vector<std::vector<long>> &Vectors, long N) {
  long Sum = 0;
#pragma omp parallel for reduction(+ : Sum)
  for (long I = 0; I < N; ++I) {
    int Me = omp_get_thread_num();
    // CHECK: :[[@LINE+2]]:5: warning: threads write neighbouring elements of 'Lists' in loops, 16 bytes each
    // CHECK: note: no fix:
    Lists[Me].add(I);
    append(&Others[Me], I);
    // CHECK: :[[@LINE+2]]:5: warning: threads write neighbouring elements of 'Vectors' in loops, 24 bytes each
    // CHECK: note: no fix:
    Vectors[Me].push_back(I);
    put(&Firsts[Me], I);
    Sum += Read[Me].last();
  }
  return Sum;
}
