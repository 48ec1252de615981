// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Strings whose length only the run tells, adaptors, fills in inner loops and in lambdas.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-heap-churn-loop-allocation' %s -- -std=c++17 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <fstream>
#include <map>
#include <queue>
#include <string>
#include <vector>

bool good(const std::string &);
bool next(std::string &);
void replace(std::string &);

void copies(const std::vector<std::string> &all, long n) {
  for (long i = 0; i < n; i++) {
    // CHECK: :[[@LINE+2]]:17: warning: 'entry' allocates and releases memory in each iteration of a loop
    // CHECK: :[[@LINE+1]]:17: note: allocates here
    std::string entry(all[i]);
    replace(entry);
    if (good(entry))
      break;
  }
}

void parts(const std::string &all, long n) {
  for (long i = 0; i < n; i++) {
    // CHECK: :[[@LINE+1]]:17: warning: 'part' allocates and releases memory in each iteration of a loop
    std::string part = all.substr(i, n);
    if (good(part))
      break;
  }
}

void of_pointer(const char *const *all, long n) {
  for (long i = 0; i < n; i++) {
    // CHECK: :[[@LINE+1]]:17: warning: 'word' allocates and releases memory in each iteration of a loop
    std::string word(all[i]);
    replace(word);
  }
}

void filled_by_others(long n) {
  for (long i = 0; i < n; i++) {
    // CHECK: :[[@LINE+2]]:17: warning: 'line' allocates and releases memory in each iteration of a loop
    // CHECK: :[[@LINE+2]]:5: note: allocates here
    std::string line;
    next(line);
    if (!line.empty() && line[0] == '#')
      break;
  }
}

struct Text : std::string {
  using std::string::string;
  bool is(const char *) const;
};
Text token();
void own_class() {
  for (;;) {
    // CHECK: :[[@LINE+1]]:10: warning: 'word' allocates and releases memory in each iteration of a loop
    Text word = token();
    if (word.is("}"))
      break;
  }
}

// Not reported: numbers and short texts fit into the object; the last moves elsewhere.
void fits(std::vector<std::string> &all, long n) {
  for (long i = 0; i < n; i++) {
    std::string number = std::to_string(i), mark = "-";
    if (good(number) || good(mark))
      break;
    std::string kept(all[i]);
    all.push_back(std::move(kept));
  }
}

void breadth_first(const std::vector<std::vector<int>> &edges, std::vector<char> &seen) {
  for (int start = 0; start < int(edges.size()); start++) {
    if (seen[start])
      continue;
    // CHECK: :[[@LINE+1]]:21: warning: 'waiting' allocates and releases memory in each iteration of a loop
    std::queue<int> waiting;
    waiting.push(start);
    while (!waiting.empty()) {
      int v = waiting.front();
      waiting.pop();
      for (int to : edges[v])
        if (!seen[to]) {
          seen[to] = 1;
          waiting.push(to);
        }
    }
  }
}

void some_of(const std::vector<int> &all, int rounds) {
  for (int i = 0; i < rounds; i++) {
    // CHECK: :[[@LINE+1]]:22: warning: 'chosen' allocates and releases memory in each iteration of a loop
    std::vector<int> chosen;
    for (int each : all)
      if (each % 3 == i)
        chosen.push_back(each);
    if (chosen.size() == all.size())
      break;
  }
}

struct Graph {
  int size = 0;
  template <typename F> void forNodes(F handle) const {
    for (int i = 0; i < size; i++)
      handle(i);
  }
  template <typename F> void once(F handle) const { handle(0); }
};

void counted(const Graph &g, int rounds) {
  for (int i = 0; i < rounds; i++) {
    // CHECK: :[[@LINE+1]]:24: warning: 'hits' allocates and releases memory in each iteration of a loop
    std::map<int, int> hits;
    g.forNodes([&](int v) { hits[v % 7]++; });
    if (hits.size() == 1)
      break;
  }
}

void of_nodes(const Graph &g, std::vector<int> &out, int n) {
  g.forNodes([&](int v) {
    // CHECK: :[[@LINE+2]]:22: warning: 'marks' allocates and releases memory in each call of a lambda that a loop calls
    // CHECK: note: called in a loop here
    std::vector<int> marks(n, 0);
    marks[v % n] = 1;
    out[v] = marks[0];
  });
}

// Not reported: the lambda is called once.
void once(const Graph &g, std::vector<int> &out, int n) {
  g.once([&](int v) {
    std::vector<int> marks(n, 0);
    out[v] = marks[0];
  });
}

// Not reported: each iteration opens a file, beside which a string costs little.
void files(const std::vector<std::string> &names, std::vector<std::string> &out) {
  for (const std::string &each : names) {
    std::ifstream file(each + ".txt");
    std::string line(each);
    while (next(line))
      out.push_back(line);
  }
}
