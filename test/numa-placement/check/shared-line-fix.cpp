// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The fix in C++: elements have lines of their own, and the program prints what it printed.
// RUN: clang++ -std=c++17 -Wall -Werror %s -o %t.before -lpthread
// RUN: cp %s %t.cpp
// RUN: %vf_clang_tidy --checks='-*,vfriendly-numa-placement-shared-line' --fix %t.cpp -- -std=c++17 > %t.out 2>&1
// RUN: grep '^/' %t.out | FileCheck %s --implicit-check-not=warning: --implicit-check-not='no fix'
// RUN: sed '/ FIXED/d;/ CHECK/d' %t.cpp | FileCheck %s --check-prefix=FIXED
// RUN: clang++ -std=c++17 -Wall -Werror %t.cpp -o %t.after -lpthread
// RUN: %t.before > %t.before.out
// RUN: %t.after > %t.after.out
// RUN: FileCheck %s --check-prefix=BEFORE < %t.before.out
// RUN: FileCheck %s --check-prefix=AFTER < %t.after.out
//
// Before C++17 operator new does not align, so there two more have no fix.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-numa-placement-shared-line' %s -- -std=c++14 2>&1 | grep -c 'no fix: its memory may lack the alignment' | FileCheck %s --check-prefix=OLD
// OLD: 3

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

constexpr int N = 4;
constexpr long Times = 1000;

// FIXED: struct alignas(64) Count {
struct Count {
  long Hits = 0;
  long Misses = 0;
};
static Count Counts[N];

// FIXED: class alignas(64) Tally {
class Tally {
public:
  std::atomic<long> Seen{0};
};

// FIXED: struct alignas(64) Sum {
struct Sum {
  double Value;
};

// Not fixed: its size is part of what is written somewhere.
// FIXED: struct Record {
struct Record {
  long Value;
};
static Record Records[N];
long sizes() { return sizeof(Record); }

// Not fixed: the type is a part of another.
// FIXED: struct Inner {
struct Inner {
  long Value;
};
struct Outer {
  Inner Value;
};
static Inner Inners[N];

// Not fixed: the array is a part of another object, which may lie anywhere.
// FIXED: struct Slot {
struct Slot {
  long Value;
};
struct Pool {
  std::vector<std::thread> Threads;
  std::array<Slot, N> Slots;
};

// Not reported: a vector of vectors; each element is elsewhere.
static std::vector<std::vector<long>> Apart(N, std::vector<long>(100));

template <typename T> long apart(const T &Array) {
  return reinterpret_cast<std::intptr_t>(&Array[1]) - reinterpret_cast<std::intptr_t>(&Array[0]);
}

int main() {
  std::vector<Tally> Tallies(N);
  Sum *Sums = new Sum[N]();
  Pool P;
  for (int Me = 0; Me < N; ++Me)
    P.Threads.emplace_back([&, Me] {
      for (long I = 0; I < Times; ++I) {
        // CHECK: :[[@LINE+1]]:9: warning: threads write neighbouring elements of 'Counts' in loops, 16 bytes each
        Counts[Me].Hits++;
        Counts[Me].Misses += 2;
        // CHECK: :[[@LINE+1]]:9: warning: threads write neighbouring elements of 'Tallies' in loops, 8 bytes each
        Tallies[Me].Seen.fetch_add(1);
        Sum &Mine = Sums[Me];
        // CHECK: :[[@LINE+1]]:9: warning: threads write neighbouring elements of 'Sums' in loops, 8 bytes each
        Mine.Value += 1;
        // CHECK: :[[@LINE+2]]:9: warning: threads write neighbouring elements of 'Records' in loops, 8 bytes each
        // CHECK: note: no fix: other code depends on the size of its element's type
        Records[Me].Value++;
        // CHECK: :[[@LINE+2]]:9: warning: threads write neighbouring elements of 'Inners' in loops, 8 bytes each
        // CHECK: note: no fix: other code depends on the size of its element's type
        Inners[Me].Value++;
        // CHECK: :[[@LINE+2]]:9: warning: threads write neighbouring elements of 'Slots' in loops, 8 bytes each
        // CHECK: note: no fix: its memory may lack the alignment of the type
        P.Slots[Me].Value = I;
        Apart[Me][I % 100] = I;
      }
    });
  for (std::thread &Thread : P.Threads)
    Thread.join();
  long Hits = 0, Misses = 0, Seen = 0;
  double Sum = 0;
  for (int I = 0; I < N; ++I) {
    Hits += Counts[I].Hits;
    Misses += Counts[I].Misses;
    Seen += Tallies[I].Seen;
    Sum += Sums[I].Value;
  }
  // BEFORE: 4000 8000 4000 4000
  // AFTER: 4000 8000 4000 4000
  std::printf("%ld %ld %ld %.0f\n", Hits, Misses, Seen, Sum);
  // BEFORE: apart 16 8 8
  // AFTER: apart 64 64 64
  std::printf("apart %ld %ld %ld\n", apart(Counts), apart(Tallies), apart(Sums));
  delete[] Sums;
  return sizes() + P.Slots[0].Value == 0;
}
