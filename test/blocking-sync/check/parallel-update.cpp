// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// vfriendly-blocking-sync-parallel-update, beside what looks like it and must not be reported.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-blocking-sync-parallel-update' %s -- -std=c++17 -fopenmp 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:
//
// Without -fopenmp these loops have one thread.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-blocking-sync-parallel-update' %s -- -std=c++17 2>&1 | grep '^/.*warning:' | count 7

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

extern "C" int printf(const char *, ...);
extern "C" int omp_get_thread_num(void);
double heavy(int);
struct Group {
  void add(double);
};
struct Groups {
  Group &at(int);
};

namespace tbb {
template <class T> struct blocked_range {
  T begin() const;
  T end() const;
};
template <class Range, class Body> void parallel_for(const Range &, const Body &) {}
template <class T, class Body> void parallel_for(T, T, const Body &) {}
struct spin_mutex {
  struct scoped_lock {
    scoped_lock(spin_mutex &);
    ~scoped_lock();
  };
};
struct spin_rw_mutex {
  struct scoped_lock {
    scoped_lock(spin_rw_mutex &, bool write = true);
    ~scoped_lock();
  };
};
} // namespace tbb

// example: bad
double sum_in_turns(const double *x, int n) {
  double sum = 0;
#pragma omp parallel for
  for (int i = 0; i < n; i++) {
    // CHECK: :[[@LINE+1]]:1: warning: each iteration of a parallel loop updates 'sum' in a critical section: the threads take turns{{.*}} [vfriendly-blocking-sync-parallel-update]
#pragma omp critical
    sum += x[i];
  }
  return sum;
}
// example end

// example: good
double sum_of_sums(const double *x, int n) {
  double sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (int i = 0; i < n; i++)
    sum += x[i];
  return sum;
}
// example end

// Not reported: these count failures, which are few. The answers of a question may be many.
bool load(Group &, int);
bool isPrime(int);
int failures(Group *groups, int n) {
  int failed = 0, composite = 0;
#pragma omp parallel for
  for (int i = 0; i < n; i++) {
    if (!load(groups[i], i)) {
#pragma omp atomic
      failed++;
    }
    if (load(groups[i], -i))
      groups[i].add(i);
    else
#pragma omp atomic
      failed++;
    if (!isPrime(i)) {
      // CHECK: :[[@LINE+1]]:1: warning: each iteration of a parallel loop updates 'composite' atomically
#pragma omp atomic
      composite++;
    }
  }
  return failed + composite;
}

// Not reported: an error ends the loop.
int errors(const int *rows, const int *x, int n) {
  int found = 0;
#pragma omp parallel for
  for (int i = 0; i < n; i++)
    for (int j = 0; j < rows[i]; j++)
      if (x[j] > n) {
#pragma omp atomic
        found++;
        break;
      }
  return found;
}

// Not reported: once for each thread. The result of one thread is its own.
double once_a_thread(const double *x, int n) {
  double sum = 0;
#pragma omp parallel
  {
    double mine = 0;
#pragma omp for
    for (int i = 0; i < n; i++)
      mine += x[i];
#pragma omp critical
    sum += mine;
    for (int i = 0; i < n; i++)
#pragma omp atomic
      mine += x[i];
  }
  return sum;
}

long under_a_condition(const int *x, int n) {
  long odd = 0;
#pragma omp parallel for
  for (int i = 0; i < n; i++)
    if (x[i] & 1) {
      // CHECK: :[[@LINE+1]]:1: warning: each iteration of a parallel loop updates 'odd' atomically:
#pragma omp atomic
      odd++;
    }
  return odd;
}

// Not reported: most iterations see from outside that they change nothing; one in many reports
// its progress; one thread does.
int seldom(const int *x, int n) {
  int most = 0, done = 0;
#pragma omp parallel for
  for (int i = 0; i < n; i++) {
    if (x[i] > most)
#pragma omp critical
      if (x[i] > most)
        most = x[i];
    if (i % 1000 == 0)
#pragma omp atomic
      done += 1000;
    if (omp_get_thread_num() == 0)
#pragma omp atomic
      done++;
  }
  return most + done;
}

// Not reported: threads seldom meet at the same element; and the index is needed.
int elements(const int *x, int n, int *histogram, int *out) {
  std::atomic<int> used{0};
  int last = 0, shared = 0;
#pragma omp parallel for
  for (int i = 0; i < n; i++) {
#pragma omp atomic
    histogram[x[i]]++;
    out[used++] = x[i];
    int at = used++;
    out[at] = x[i];
    if (used++)
      out[0] = x[i];
    int next = __sync_fetch_and_add(&shared, 1);
    out[next] = x[i];
#pragma omp atomic write
    last = i;
  }
  return last;
}

// A statement of its own.
int counted(const int *x, int n) {
  int odd = 0;
#pragma omp parallel for
  for (int i = 0; i < n; i++)
    if (x[i] & 1)
      // CHECK: :[[@LINE+1]]:7: warning: each iteration of a parallel loop updates 'odd' atomically:
      __sync_fetch_and_add(&odd, 1);
  return odd;
}

// Not reported: few iterations; a loop of one thread; a loop without threads.
long not_parallel(const int *x, int n) {
  long sum = 0;
#pragma omp parallel for
  for (int i = 0; i < 8; i++)
#pragma omp atomic
    sum += x[i];
#pragma omp parallel
#pragma omp single
  for (int i = 0; i < n; i++)
#pragma omp atomic
    sum += x[i];
  for (int i = 0; i < n; i++)
#pragma omp atomic
    sum += x[i];
  return sum;
}

// A function of few steps is as light as its text. Not reported: beside one with a loop.
inline double half(double x) { return x / 2; }
inline double slow(double x) {
  for (int i = 0; i < 1000; i++)
    x = x * 0.5 + 1;
  return x;
}
double of_halves(const double *x, int n, double &sum) {
#pragma omp parallel for
  for (int i = 0; i < n; i++) {
    // CHECK: :[[@LINE+1]]:1: warning: each iteration of a parallel loop updates 'sum' atomically:
#pragma omp atomic
    sum += half(x[i]);
  }
#pragma omp parallel for
  for (int i = 0; i < n; i++) {
#pragma omp atomic
    sum += slow(x[i]);
  }
  return sum;
}

std::mutex lock;
void collect(const std::vector<int> &in, std::vector<int> &out) {
#pragma omp parallel for
  for (size_t i = 0; i < in.size(); i++) {
    // CHECK: :[[@LINE+1]]:33: warning: each iteration of a parallel loop runs code with a lock held:
    std::lock_guard<std::mutex> held(lock);
    out.push_back(in[i]);
  }
}

// Not reported: beside the work, the lock costs little, and no clause can replace it; lines
// of output need it; only some iterations take it.
void worth_it(const std::vector<int> &in, std::vector<double> &out) {
#pragma omp parallel for
  for (size_t i = 0; i < in.size(); i++) {
    double y = heavy(in[i]);
    std::lock_guard<std::mutex> held(lock);
    out.push_back(y);
  }
#pragma omp parallel for
  for (size_t i = 0; i < in.size(); i++)
#pragma omp critical
    printf("%d\n", in[i]);
#pragma omp parallel for
  for (size_t i = 0; i < in.size(); i++)
    if (in[i] < 0)
#pragma omp critical
      out.push_back(in[i]);
}

// Each iteration enters a critical section, and does little outside.
void in_each_branch(const int *x, int n, Groups &a, Groups &b) {
#pragma omp parallel for
  for (int i = 0; i < n; i++)
    if (x[i] < 0) {
      // CHECK: :[[@LINE+1]]:1: warning: each iteration of a parallel loop runs code in a critical section:
#pragma omp critical
      a.at(x[i]).add(i);
    } else if (x[i] > 0) {
      // CHECK: :[[@LINE+1]]:1: warning: each iteration of a parallel loop runs code in a critical section:
#pragma omp critical
      b.at(x[i]).add(i);
    }
}

// Not reported: one branch does without; most of the work is outside.
void in_one_branch(const int *x, int n, Groups &a, Groups &b) {
#pragma omp parallel for
  for (int i = 0; i < n; i++)
    if (x[i] < 0) {
#pragma omp critical
      a.at(x[i]).add(i);
    } else {
      heavy(i);
    }
#pragma omp parallel for
  for (int i = 0; i < n; i++) {
    double y = heavy(heavy(heavy(x[i])));
#pragma omp critical
    b.at(x[i]).add(y);
  }
}

// Not reported: nothing is updated.
int poll(int *y) {
#pragma omp parallel
  {
    int seen = 0;
    while (seen == 0)
#pragma omp critical
      seen = *y;
  }
  return *y;
}


long by_tbb(const std::vector<int> &in) {
  std::atomic<long> sum{0};
  long other = 0;
  tbb::parallel_for(tbb::blocked_range<int>(), [&](const tbb::blocked_range<int> &r) {
    for (int i = r.begin(); i != r.end(); i++)
      // CHECK: :[[@LINE+1]]:11: warning: each iteration of a parallel loop updates 'sum' atomically:
      sum += in[i];
  });
  tbb::parallel_for(0, 1000, [&](int i) {
    // CHECK: :[[@LINE+1]]:9: warning: each iteration of a parallel loop updates 'sum' atomically:
    sum.fetch_add(in[i], std::memory_order_relaxed);
    // CHECK: :[[@LINE+1]]:33: warning: each iteration of a parallel loop updates 'other' with a lock held:
    std::lock_guard<std::mutex> held(lock);
    other += in[i];
  });
  // Not reported: once for each part of the range.
  tbb::parallel_for(tbb::blocked_range<int>(), [&](const tbb::blocked_range<int> &r) {
    long part = 0;
    for (int i = r.begin(); i != r.end(); i++)
      part += in[i];
    sum += part;
  });
  return sum + other;
}

// Locks of oneTBB. A lock for all of a part lets one thread work at a time.
long by_tbb_locks(const std::vector<int> &in) {
  tbb::spin_mutex mutex;
  tbb::spin_rw_mutex either;
  long sum = 0, most = 0;
  long *parts = &sum;
  tbb::parallel_for(tbb::blocked_range<int>(), [&](const tbb::blocked_range<int> &r) {
    for (int i = r.begin(); i != r.end(); i++) {
      // CHECK: :[[@LINE+1]]:36: warning: each iteration of a parallel loop updates 'sum' with a lock held:
      tbb::spin_mutex::scoped_lock held{mutex};
      sum += in[i];
    }
  });
  tbb::parallel_for(0, 1000, [&](int i) {
    // CHECK: :[[@LINE+1]]:37: warning: each iteration of a parallel loop updates 'most' with a lock held:
    tbb::spin_rw_mutex::scoped_lock held(either);
    most += in[i];
  });
  tbb::parallel_for(tbb::blocked_range<int>(), [&](const tbb::blocked_range<int> &r) {
    // CHECK: :[[@LINE+1]]:34: warning: each iteration of a parallel loop runs code with a lock held:
    tbb::spin_mutex::scoped_lock held{mutex};
    for (int i = r.begin(); i != r.end(); i++)
      sum += in[i];
  });
  // Not reported: a reader's lock; once for each part, after its loop, also if results are a list.
  tbb::parallel_for(0, 1000, [&](int i) {
    tbb::spin_rw_mutex::scoped_lock held(either, false);
    most += in[i];
  });
  tbb::parallel_for(tbb::blocked_range<int>(), [&](const tbb::blocked_range<int> &r) {
    long part[100] = {};
    for (int i = r.begin(); i != r.end(); i++)
      part[i % 100] += in[i];
    tbb::spin_mutex::scoped_lock held{mutex};
    for (int i = 0; i < 100; i++)
      parts[i] += part[i];
  });
  return sum + most;
}

// A sequential algorithm within a parallel one is its loop. Not reported: alone; in one thread.
long by_for_each(const std::vector<int> &in) {
  std::atomic<long> sum{0};
  tbb::parallel_for(tbb::blocked_range<int>(), [&](const tbb::blocked_range<int> &r) {
    std::for_each(in.data() + r.begin(), in.data() + r.end(), [&](int x) {
      // CHECK: :[[@LINE+1]]:11: warning: each iteration of a parallel loop updates 'sum' atomically:
      sum += x;
    });
    sum += 1;
  });
  std::for_each(in.begin(), in.end(), [&](int x) { sum += x; });
  return sum;
}

// Not reported: its author says so.
__attribute__((annotate("vfriendly:keep"))) long kept(const int *x, int n) {
  long sum = 0;
#pragma omp parallel for
  for (int i = 0; i < n; i++)
#pragma omp atomic
    sum += x[i];
  return sum;
}
