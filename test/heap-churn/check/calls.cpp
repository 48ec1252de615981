// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Locals that each call of a function allocates and destroys, if a loop calls it.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-heap-churn-loop-allocation' %s -- -std=c++17 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

struct Read {
  std::string Bases;
  void log(const std::string &What);
};
std::vector<double> &operator-=(std::vector<double> &To, const std::vector<double> &By);
double lengthOf(const std::vector<double> &V);
void keep(std::vector<double> &&V);
std::vector<std::vector<double>> Kept;

// CHECK: :[[@LINE+5]]:17: warning: 'Cut' allocates and releases memory in each call of 'trim', which a loop calls: {{.*}}; keep it from one call to the next, or let the caller pass it
// CHECK: :[[@LINE+4]]:31: note: allocates here
// CHECK: :[[@LINE+10]]:5: note: called in a loop here
void trim(Read &R, size_t At) {
  if (At) {
    std::string Cut = R.Bases.substr(At);
    R.log(Cut);
    R.Bases.resize(At);
  }
}
void trimAll(std::vector<Read> &Reads) {
  for (Read &R : Reads)
    trim(R, R.Bases.size() / 2);
}

double distance(const std::vector<double> &A, const std::vector<double> &B) {
  // CHECK: :[[@LINE+1]]:23: warning: 'D' allocates and releases memory in each call of 'distance', which a loop calls
  std::vector<double> D = A;
  D -= B; // A function of another file may change it.
  return lengthOf(D);
}
double distances(const std::vector<std::vector<double>> &All) {
  double Sum = 0;
  for (const auto &Each : All)
    Sum += distance(Each, All[0]);
  return Sum;
}

// Not reported: no loop calls it.
double once(const std::vector<double> &A, const std::vector<double> &B) {
  std::vector<double> D = A;
  D -= B;
  return lengthOf(D);
}

// Not reported: before a throw, static, moved on, by a name that runs seldom.
void check(Read &R) {
  if (R.Bases.empty()) {
    std::string Text = R.Bases + " has no bases, and so cannot be trimmed";
    throw std::runtime_error(Text);
  }
}
double lengths(const std::vector<double> &A) {
  static std::vector<double> D;
  D.assign(A.begin(), A.end());
  return lengthOf(D);
}
void store(const std::vector<double> &A) {
  std::vector<double> D = A;
  keep(std::move(D));
}
void setupScale(const std::vector<double> &A) {
  std::vector<double> D = A;
  D -= A;
}
void all(std::vector<Read> &Reads, const std::vector<double> &A) {
  for (Read &R : Reads) {
    check(R);
    lengths(A);
    store(A);
    setupScale(A);
  }
}
