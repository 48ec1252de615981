// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Containers that each iteration makes and drops: filled by others, copied, of nodes, and streams.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-heap-churn-loop-allocation' %s -- -std=c++17 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <algorithm>
#include <functional>
#include <map>
#include <ostream>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

struct Sample {
  std::vector<int> Features;
  const std::vector<int> &features() const { return Features; }
};
int ask();
void use(const void *);
double distance(const std::vector<int> &);
bool receive(int from, std::vector<char> &into);
void sort(std::vector<int> &values);
void take(std::vector<char> &&frame);

//===--- Filled by a function ---------------------------------------------===//

// Its body is not visible: an empty vector that is read afterwards is a result.
void received(int from) {
  for (;;) {
    // CHECK: :[[@LINE+1]]:23: warning: 'frame' allocates and releases memory in each iteration of a loop: {{.*}}; declare it before the loop
    std::vector<char> frame;
    if (!receive(from, frame))
      break;
    use(frame.data());
  }
}
static bool resized(unsigned n, std::vector<char> &into) {
  into.resize(n);
  return n != 0;
}
void visible(unsigned n) {
  for (unsigned i = 0; i < n; ++i) {
    // CHECK: :[[@LINE+1]]:23: warning: 'frame' allocates and releases memory
    std::vector<char> frame;
    if (resized(i, frame))
      use(frame.data());
  }
}
// Filled by a lambda that captures it.
void captured(const std::vector<int> &all) {
  while (ask()) {
    // CHECK: :[[@LINE+1]]:22: warning: 'even' allocates and releases memory
    std::vector<int> even;
    even.reserve(all.size());
    std::for_each(all.begin(), all.end(), [&](int x) {
      if (x % 2 == 0)
        even.push_back(x);
    });
    use(even.data());
  }
}
// Not reported: moved away, by the function, the loop or the lambda; not filled by the function; never read.
static std::vector<std::vector<char>> kept;
static void keep(std::vector<char> &frame) {
  frame.push_back('a');
  kept.push_back(std::move(frame));
}
static int length(std::vector<char> &frame) { return frame.size(); }
void moved(int from, unsigned n) {
  while (ask()) {
    std::vector<char> frame(n), other(n), third, fourth, fifth;
    take(std::move(frame));
    keep(other);
    auto last = [&] { kept.push_back(std::move(third)); };
    third.resize(n);
    last();
    if (length(fourth))
      return;
    receive(from, fifth);
  }
}

//===--- Copies -----------------------------------------------------------===//

double farthest(const std::vector<Sample> &all) {
  double most = 0;
  for (auto &a : all)
    for (auto &b : all) {
      if (&a == &b)
        continue;
      // CHECK: :[[@LINE+1]]:24: warning: 'f' is copied in each iteration of a loop, and the copy is only read: {{.*}}; refer to the original, or assign to a vector that keeps its memory
      std::vector<int> f = b.features();
      double d = distance(f);
      if (d > most)
        most = d;
    }
  return most;
}
void sorted(const std::vector<Sample> &all) {
  for (const Sample &each : all) {
    // CHECK: :[[@LINE+1]]:22: warning: 'f' allocates and releases memory in each iteration of a loop: {{.*}}; declare it before the loop
    std::vector<int> f = each.Features;
    std::sort(f.begin(), f.end());
    use(f.data());
    // CHECK: :[[@LINE+1]]:22: warning: 'first' allocates and releases memory
    std::vector<int> first(each.Features.begin(), each.Features.begin() + 3);
    use(first.data());
  }
}
// Not reported: a reference; a copy that is moved away.
std::vector<int> make();
void fresh(const std::vector<Sample> &all, std::vector<std::vector<int>> &out) {
  for (const Sample &each : all) {
    const std::vector<int> &f = each.features();
    use(f.data());
    // CHECK: :[[@LINE+1]]:22: warning: 'made' allocates and releases memory in each iteration of a loop
    std::vector<int> made = make();
    use(made.data());
    std::vector<int> copy = each.Features;
    out.push_back(std::move(copy));
  }
}

//===--- Nodes and streams ------------------------------------------------===//

void nodes(const std::vector<Sample> &all) {
  for (const Sample &each : all) {
    // CHECK: :[[@LINE+1]]:24: warning: 'count' allocates and releases memory in each iteration of a loop: {{.*}}; use a sorted vector that is declared before the loop, or a memory resource that keeps the nodes
    std::map<int, int> count;
    for (int f : each.Features)
      count[f]++;
    // CHECK: :[[@LINE+1]]:19: warning: 'seen' allocates and releases memory
    std::set<int> seen;
    for (int f : each.Features)
      seen.insert(f);
    use(count.size() > seen.size() ? "more" : nullptr);
    // Not reported: empty, as far as is seen.
    std::set<int> none;
    if (ask())
      none.insert(1);
    use(none.empty() ? nullptr : "one");
  }
}
void dump(std::ostream &o, const std::vector<Sample> &all) {
  for (auto &a : all) {
    // CHECK: :[[@LINE+1]]:23: warning: 's' allocates and releases memory in each iteration of a loop: {{.*}}; declare it before the loop, and empty it by str and clear
    std::stringstream s;
    for (int f : a.Features)
      s << f << ' ';
    o << s.str();
  }
}
void lines(std::ostream &o, const std::vector<Sample> &all) {
  for (auto &a : all) {
    // CHECK: :[[@LINE+1]]:17: warning: 'line' allocates and releases memory
    std::string line;
    for (int f : a.Features)
      line += std::to_string(f);
    o << line;
  }
  // Not reported: a stream for all; a string that stays short, or may.
  std::stringstream s;
  for (auto &a : all) {
    s << a.Features.size();
    std::string mark;
    mark += 'x';
    for (int i = 0; i < 3; ++i)
      mark += 'y';
    o << mark;
  }
}

std::vector<int> neighbours(int i);
const std::vector<int> &known(int i);
std::string name(int i);
void keep(std::vector<int> &&values);
// A container that a function returns in each iteration.
int returned(int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) {
    // CHECK: :[[@LINE+1]]:22: warning: 'each' allocates and releases memory in each iteration of a loop: {{.*}}; let the function fill one that is declared before the loop
    std::vector<int> each = neighbours(i);
    for (int x : each)
      sum += x;
    // CHECK: :[[@LINE+1]]:17: warning: 'text' allocates and releases memory in each iteration of a loop
    std::string text = name(i);
    if (i > 7) {
      // CHECK: :[[@LINE+1]]:24: warning: 'more' allocates and releases memory in each iteration of a loop
      std::vector<int> more = neighbours(i + 2);
      sum += more[0];
    }
    // Not reported: a reference; a number, which is short; a vector that is moved away; what ends the loop.
    const std::vector<int> &there = known(i);
    std::string number = std::to_string(i);
    if (i < 0) {
      std::vector<int> last = neighbours(-i);
      return last[0];
    }
    std::vector<int> away = neighbours(i + 1);
    sum += there[0] + text.size() + number.size() + away[0];
    keep(std::move(away));
  }
  return sum;
}
