// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The fixes in C++: what a program prints stays the same, with fewer
// allocations, and with all of it given back.
// RUN: clang++ -std=c++17 -Wall -Werror %s -o %t.before
// RUN: cp %s %t.cpp
// RUN: %vf_clang_tidy --checks='-*,vfriendly-heap-churn-*' --fix %t.cpp -- -std=c++17 > %t.out
// RUN: sed '/ FIXED/d' %t.cpp | FileCheck %s --check-prefix=FIXED
// RUN: clang++ -std=c++17 -Wall -Werror %t.cpp -o %t.after
// RUN: %t.before > %t.before.out
// RUN: %t.after > %t.after.out
// RUN: diff %t.before.out %t.after.out
// RUN: FileCheck %s --input-file=%t.after.out
// CHECK: 0 live
// RUN: sh -c 'test $(%t.after calls | sed -n s/calls//p) -lt $(%t.before calls | sed -n s/calls//p)'

#include <cstdio>
#include <cstdlib>
#include <new>
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

// FIXED-LABEL: int vectors(
int vectors(int n) {
  int sum = 0;
  // FIXED: {{^}}  std::vector<int> v;
  // FIXED-NEXT: {{^}}  for (int i = 0; i < n; ++i) {
  for (int i = 0; i < n; ++i) {
    if (i % 3 == 0)
      continue;
    // FIXED: {{^}}    v.clear();
    std::vector<int> v;
    for (int j = 0; j < i; ++j)
      v.push_back(j);
    sum += v.size() + v.back();
    if (sum > 1000000)
      return -1;
  }
  return sum;
}

// FIXED-LABEL: int strings(
int strings(const std::vector<int> &numbers) {
  int sum = 0;
  // FIXED: {{^}}  std::string line;
  // FIXED-NEXT: {{^}}  std::vector<std::string> words;
  // FIXED-NEXT: {{^}}  for (int number : numbers) {
  // FIXED-NEXT: {{^}}    line.clear();
  // FIXED-NEXT: {{^}}    line.reserve(100);
  // FIXED-NEXT: {{^}}    words.clear();
  for (int number : numbers) {
    std::string line;
    line.reserve(100);
    std::vector<std::string> words;
    words.push_back("a");
    words.emplace_back(number, 'b');
    line += words.back();
    sum += line.size() + words.size();
  }
  return sum;
}

// FIXED-LABEL: int buffers(
int buffers(int n) {
  int sum = 0;
  // FIXED: {{^}}  char *p = nullptr;
  for (int i = 0; i < n; ++i) {
    // FIXED: {{^}}    if (!p)
    // FIXED-NEXT: {{^}}      p = static_cast<char *>(std::malloc(100));
    char *p = static_cast<char *>(std::malloc(100));
    if (!p)
      break;
    sum += std::snprintf(p, 100, "%d", i);
    // FIXED: {{^}}  }
    // FIXED-NEXT: {{^}}  std::free(p);
    std::free(p);
  }
  return sum;
}

// FIXED-LABEL: int reversed(
int reversed(int n) {
  std::vector<int *> unused;
  int *blocks[100];
  for (int i = 0; i < n; ++i)
    blocks[i] = new int(i);
  int sum = *blocks[n - 1];
  // FIXED: for (int i = 0; i < n; ++i)
  for (int i = n - 1; i >= 0; --i)
    delete blocks[i];
  return sum + unused.size();
}

// FIXED-LABEL: int reserved(
int reserved(unsigned n) {
  std::vector<int> squares, copies;
  int sum = 0;
  // FIXED: {{^}}  squares.reserve(n);
  // FIXED-NEXT: {{^}}  for (unsigned i = 0; i < n; ++i) {
  for (unsigned i = 0; i < n; ++i) {
    sum += i;
    squares.push_back(i * i);
  }
  // FIXED: {{^}}  copies.reserve(squares.size());
  // FIXED-NEXT: {{^}}  for (int square : squares) {
  for (int square : squares) {
    sum += square;
    copies.emplace_back(square + 1);
  }
  return sum + copies.size() + copies.back();
}

// FIXED-LABEL: int first_of(
int first_of(unsigned n) {
  std::vector<unsigned> divisors;
  unsigned sum = 0;
  // FIXED: {{^}}  divisors.reserve(n);
  // FIXED-NEXT: {{^}}  for (unsigned i = 0; i < n; ++i) {
  for (unsigned i = 0; i < n; ++i) {
    unsigned found = 1;
    for (unsigned d = 2; d < i; ++d) {
      if (i % d)
        continue;
      found = d;
      break;
    }
    switch (found) {
    case 1:
      sum += i;
      break;
    default:
      sum += found;
    }
    divisors.push_back(found);
  }
  return sum + divisors.size() + divisors.back();
}

int main(int argc, char **argv) {
  std::printf("%d %d %d ", vectors(0), vectors(50), vectors(5000));
  {
    std::vector<int> numbers{1, 50, 1000};
    std::printf("%d %d ", strings({}), strings(numbers));
  }
  std::printf("%d %d %d ", reserved(1), reserved(100), first_of(100));
  std::printf("%d %d %ld live\n", buffers(20), reversed(100), live);
  if (argc > 1)
    std::printf("%s %ld\n", argv[1], calls);
  return 0;
}
