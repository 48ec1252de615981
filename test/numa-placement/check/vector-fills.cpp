// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What fills a vector: an assigned vector, a copy, a range; and lambdas that a team calls by name.
// REQUIRES: openmp
// RUN: %vf_clang_tidy --checks='-*,vfriendly-numa-placement-serial-init' %s -- -std=c++20 -fopenmp 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning: --implicit-check-not=note:

#include <algorithm>
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

struct Degrees {
  std::vector<double> Score;
  void run(const Graph &G) {
    // CHECK: :[[@LINE+3]]:5: warning: one thread fills 'Score'
    // CHECK: note: threads use 'Score' here
    // CHECK: note: no fix:
    Score = std::vector<double>(G.Size, 0.0);
    G.forAll([&](long I) { Score[I] += I; });
  }
};

void copies(const std::vector<double> &From, long N) {
  // CHECK: :[[@LINE+3]]:3: warning: one thread fills 'Copy'
  // CHECK: note: threads use 'Copy' here
  // CHECK: note: no fix:
  std::vector<double> Copy = From;
#pragma omp parallel for
  for (long I = 0; I < N; ++I)
    Copy[I] *= 2;
}

void ranges(const double *From, long N) {
  // CHECK: :[[@LINE+3]]:3: warning: one thread fills 'Part'
  // CHECK: note: threads use 'Part' here
  // CHECK: note: no fix:
  std::vector<double> Part(From, From + N);
#pragma omp parallel for
  for (long I = 0; I < N; ++I)
    Part[I] *= 2;
}

void by_name(const Graph &G) {
  // CHECK: :[[@LINE+3]]:3: warning: one thread fills 'Next'
  // CHECK: note: threads use 'Next' here
  // CHECK: note: no fix:
  std::vector<double> Next(G.Size, 0.0);
  const auto Set = [&](long I, double Value) { Next[I] = Value; };
  G.forAll([&](long I) { Set(I, 1.0); });
}

// Not reported: one thread calls the lambda.
void serial(const Graph &G, std::vector<double> &Out) {
  std::vector<double> Next(G.Size, 0.0);
  const auto Set = [&](long I, double Value) { Next[I] = Value; };
  for (long I = 0; I < G.Size; ++I)
    Set(I, 1.0);
#pragma omp parallel for
  for (long I = 0; I < G.Size; ++I)
    Out[I] += 1;
}

// Not reported: a few elements.
void few(long N) {
  std::vector<double> Sums(8, 0.0);
  Sums = std::vector<double>(8, 1.0);
#pragma omp parallel for
  for (long I = 0; I < N; ++I)
    Sums[I] += 1;
}
