// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Containers that are made with contents: what a program prints stays the same after the fixes, with fewer allocations.
// RUN: clang++ -std=c++17 -Wall -Werror %s -o %t.before
// RUN: cp %s %t.cpp
// RUN: %vf_clang_tidy --checks='-*,vfriendly-heap-churn-loop-allocation' --fix %t.cpp -- -std=c++17 > %t.out
// RUN: sed '/ FIXED/d' %t.cpp | FileCheck %s --check-prefix=FIXED
// RUN: clang++ -std=c++17 -Wall -Werror %t.cpp -o %t.after
// RUN: %t.before > %t.before.out
// RUN: %t.after > %t.after.out
// RUN: diff %t.before.out %t.after.out
// RUN: FileCheck %s --input-file=%t.after.out
// CHECK: 0 live
// RUN: sh -c 'test $(( 2 * $(%t.after calls | sed -n s/calls//p) )) -lt $(%t.before calls | sed -n s/calls//p)'

#include <cstdio>
#include <cstdlib>
#include <iomanip>
#include <new>
#include <sstream>
#include <string>
#include <vector>

static long calls, live;
void *operator new(std::size_t n) {
  calls++;
  live++;
  return std::malloc(n);
}
void operator delete(void *p) noexcept {
  live -= p != nullptr;
  std::free(p);
}
void operator delete(void *p, std::size_t) noexcept { operator delete(p); }

// FIXED-LABEL: int counted(
int counted(unsigned n) {
  int sum = 0;
  // FIXED: {{^}}  std::vector<int> zeros;
  // FIXED-NEXT: {{^}}  std::vector<double> halves;
  // FIXED-NEXT: {{^}}  std::vector<std::vector<int>> rows;
  // FIXED-NEXT: {{^}}  for (unsigned i = 1; i < n; ++i) {
  // FIXED-NEXT: {{^}}    zeros.assign(i, {});
  // FIXED-NEXT: {{^}}    halves.assign(i % 5 + 1, 0.5);
  // FIXED-NEXT: {{^}}    rows.assign(i % 3 + 1, {});
  for (unsigned i = 1; i < n; ++i) {
    std::vector<int> zeros(i);
    std::vector<double> halves(i % 5 + 1, 0.5);
    std::vector<std::vector<int>> rows(i % 3 + 1);
    for (unsigned k = 0; k < 10; ++k)
      rows[k % rows.size()].push_back(k * i);
    for (int zero : zeros)
      sum += zero + 1;
    for (double &half : halves)
      half *= i;
    zeros[i / 2] = i;
    sum += halves.back() + rows[0].size() + rows.back().back();
  }
  return sum;
}

// The inner vectors keep their memory.
// FIXED-LABEL: int buckets(
int buckets(unsigned n) {
  int sum = 0;
  // FIXED: {{^}}  std::vector<std::vector<int>> by;
  // FIXED-NEXT: {{^}}  for (unsigned i = 0; i < n; ++i) {
  // FIXED-NEXT: {{^}}    unsigned width = i % 7 + 1;
  // FIXED-NEXT: {{^}}    by.assign(width, {});
  for (unsigned i = 0; i < n; ++i) {
    std::vector<std::vector<int>> by;
    unsigned width = i % 7 + 1;
    by.resize(width);
    for (unsigned k = 0; k < 20; ++k)
      by[k % width].push_back(k);
    for (const std::vector<int> &each : by)
      sum = sum * 3 + each.size();
  }
  return sum;
}

// FIXED-LABEL: int copied(
int copied(const std::vector<std::vector<int>> &all) {
  int sum = 0;
  // FIXED: {{^}}  std::vector<int> row;
  // FIXED-NEXT: {{^}}  std::vector<int> head;
  // FIXED-NEXT: {{^}}  for (const std::vector<int> &each : all) {
  // FIXED-NEXT: {{^}}    row = each;
  // FIXED-NEXT: {{^}}    head.assign(each.begin(), each.begin() + 2);
  for (const std::vector<int> &each : all) {
    std::vector<int> row = each;
    std::vector<int> head(each.begin(), each.begin() + 2);
    row[0] += 5;
    head.push_back(row[0]);
    sum += row[0] * head.back();
  }
  return sum;
}

// FIXED-LABEL: int texts(
int texts(int n) {
  int sum = 0;
  // FIXED: {{^}}  std::string title;
  // FIXED-NEXT: {{^}}  std::string line;
  // FIXED-NEXT: {{^}}  for (int i = 0; i < n; ++i) {
  // FIXED-NEXT: {{^}}    title = "a title that is longer than a short string";
  // FIXED-NEXT: {{^}}    line.assign(100, 'x');
  for (int i = 0; i < n; ++i) {
    std::string title("a title that is longer than a short string");
    std::string line(100, 'x');
    title += line;
    line += std::to_string(i);
    sum += title.size() + line.size();
  }
  return sum;
}

// Left as it is: elements in braces, elements that count, unions, of which {} sets one member, a const copy, and contents that
// are used before the resize.
struct Counts {
  static int made;
  int value;
  Counts() : value(++made) {}
};
int Counts::made;
union Word {
  char first;
  long all;
};
// FIXED-LABEL: int left(
int left(unsigned n, const std::vector<int> &base) {
  int sum = 0;
  for (unsigned i = 1; i < n; ++i) {
    // FIXED: {{^}}    std::vector<unsigned> two{i, 1};
    std::vector<unsigned> two{i, 1};
    // FIXED: {{^}}    std::vector<Counts> counting(i);
    std::vector<Counts> counting(i);
    // FIXED: {{^}}    std::vector<Word> words(i);
    std::vector<Word> words(i);
    // FIXED: {{^}}    const std::vector<int> copy = base;
    const std::vector<int> copy = base;
    words[0].all = i;
    sum += two.size() + counting.back().value + words[0].all + copy.size();
  }
  return sum + Counts::made;
}
// FIXED-LABEL: int used(
int used(unsigned n) {
  int sum = 0;
  for (unsigned i = 1; i < n; ++i) {
    // FIXED: {{^}}    rows.clear();
    // FIXED: rows.resize(rows.size() + i);
    std::vector<std::vector<int>> rows;
    rows.emplace_back(2, i);
    rows.resize(rows.size() + i);
    sum += rows.size() + rows[0].size();
  }
  return sum;
}

// FIXED-LABEL: int printed(
int printed(unsigned n) {
  int sum = 0;
  // FIXED: {{^}}  std::ostringstream out;
  for (unsigned i = 1; i < n; ++i) {
    // FIXED: {{^}}    out.str(""); out.clear();
    std::ostringstream out;
    out << "a line as long as no short string: " << i << ' ' << 1.0 / i;
    sum += out.str().size();
  }
  // The precision, and so the width, would stay for the next iteration; so would a caller's stream.
  for (unsigned i = 1; i < n; ++i) {
    // FIXED: {{^}}    std::ostringstream exact;
    std::ostringstream exact;
    exact << 1.0 / i << std::setprecision(i % 9) << 1.0 / i;
    sum += exact.str().size();
  }
  for (unsigned i = 1; i < n; ++i) {
    // FIXED: {{^}}    std::ostringstream hex;
    std::ostringstream hex;
    hex << i << std::hex << i;
    sum += hex.str().size();
  }
  for (unsigned i = 1; i < n; ++i) {
    // FIXED: {{^}}    std::ostringstream kept;
    std::ostringstream kept;
    std::ostream &same = kept << i;
    same.width(i % 5);
    same << i;
    sum += kept.str().size();
  }
  return sum;
}

int main(int argc, char **argv) {
  {
    std::vector<std::vector<int>> all{{1, 2, 3}, {4, 5}, {6, 7, 8, 9}, {1, 2}, {3, 4}, {5, 6}};
    std::printf("%d %d %d %d %d %d %d ", counted(300), buckets(200), copied(all), texts(50), left(9, all[0]), used(20), printed(90));
  }
  std::printf("%ld live\n", live);
  if (argc > 1)
    std::printf("%s %ld\n", argv[1], calls);
  return 0;
}
