// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory that a function gets and fills itself: in any order of calls a use by threads comes later.
// REQUIRES: openmp
// RUN: %vf_clang_tidy --checks='-*,vfriendly-numa-placement-serial-init' %s -- -std=c++17 -fopenmp 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <cstdlib>
#include <cstring>
#include <vector>

void use(double x);

struct atoms {
  double *x, *v, *f, *lone;
  long n;
};

atoms *make(long n) {
  atoms *a = (atoms *)malloc(sizeof *a);
  a->n = n;
  a->x = (double *)malloc(n * sizeof(double));
  a->v = (double *)malloc(n * sizeof(double));
  a->f = (double *)malloc(n * sizeof(double));
  a->lone = (double *)malloc(n * sizeof(double));
  // CHECK: :[[@LINE+1]]:3: warning: one thread fills 'x' before several use it
  for (long i = 0; i < n; i++)
    a->x[i] = i;
  // The threads fill this one.
#pragma omp parallel for
  for (long i = 0; i < n; i++)
    a->v[i] = i;
  // Compilers make a calloc of this, which touches no page.
  for (long i = 0; i < n; i++)
    a->f[i] = 0;
  // No threads use it.
  for (long i = 0; i < n; i++)
    a->lone[i] = i;
  return a;
}
void step(atoms *a) {
#pragma omp parallel for
  for (long i = 0; i < a->n; i++)
    a->x[i] += a->v[i] + a->f[i];
}
double sum(atoms *a) {
  double all = 0;
  for (long i = 0; i < a->n; i++)
    all += a->lone[i];
  return all;
}

// Each thread has its own.
struct scratch {
  double *sums;
  long n;
};
static scratch scratch_of(long n) {
  scratch s;
  s.n = n;
  s.sums = (double *)malloc(n * sizeof(double));
  for (long i = 0; i < n; i++)
    s.sums[i] = 1;
  return s;
}
void each(long n) {
#pragma omp parallel
  {
    scratch s = scratch_of(n);
    for (long i = 0; i < n; i++)
      s.sums[i] += i;
    use(s.sums[0]);
    free(s.sums);
  }
}

class Field {
public:
  // CHECK: :[[@LINE+1]]:28: warning: one thread fills 'Cells' before several use it
  explicit Field(long n) : Cells(n), Few(12), Unused(n) {}
  void step() {
#pragma omp parallel for
    for (long i = 0; i < (long)Cells.size(); i++)
      Cells[i] += Few[i % 12];
  }
  double first() const { return Unused[0]; }

private:
  std::vector<double> Cells, Few, Unused;
};

struct point {
  double x, y, z;
};
double points(long n, const double *from) {
  std::vector<point> all;
  std::vector<double> copied(0);
  double *block = (double *)malloc(n * sizeof(double)), out = 0;
  // CHECK: :[[@LINE+1]]:3: warning: one thread fills 'all' before several use it
  for (long i = 0; i < n; i++)
    all.push_back({i * 1.0, i * 2.0, i * 3.0});
  // CHECK: :[[@LINE+1]]:3: warning: one thread fills 'block' before several use it
  memcpy(block, from, n * sizeof(double));
#pragma omp parallel for reduction(+ : out)
  for (long i = 0; i < n; i++)
    out += all[i].x + block[i];
  free(block);
  return out;
}
// A list for each thread, and rows that own their memory.
void lists(long n) {
#pragma omp parallel
  {
    std::vector<long> mine;
    for (long i = 0; i < n; i++)
      mine.push_back(i);
    for (long i = 0; i < n; i++)
      use(mine[i]);
  }
  std::vector<std::vector<double>> rows(n);
#pragma omp parallel for
  for (long i = 0; i < n; i++)
    rows[i].resize(n);
}

// A wrapper of the program gets the memory.
void *grid_malloc(size_t n);
struct grid {
  double *cells, *others;
  long n;
};
void grid_init(grid *g, long n) {
  g->n = n;
  g->cells = (double *)grid_malloc(n * sizeof(double));
  // CHECK: :[[@LINE+1]]:3: warning: one thread fills 'cells' before several use it
  for (long i = 0; i < n; i++)
    g->cells[i] = 0;
}
void grid_step(grid *g) {
#pragma omp parallel for
  for (long i = 0; i < g->n; i++)
    g->cells[i] += 1;
}
// What another file has got, and so may have filled before.
void grid_reset(grid *g) {
  for (long i = 0; i < g->n; i++)
    g->others[i] = i;
#pragma omp parallel for
  for (long i = 0; i < g->n; i++)
    g->others[i] += 1;
}
// On the stack: small, and each thread has a copy.
void stack(int n, double *out) {
  double x[n];
  double *y = (double *)__builtin_alloca(n * sizeof(double));
  memset(x, 0, n * sizeof(double));
  memset(y, 0, n * sizeof(double));
#pragma omp parallel for firstprivate(x)
  for (int i = 0; i < n; i++)
    out[i] = x[i] + y[i];
}
// The caller gets the array by a pointer to it.
static void fill(double **x, long n) {
  *x = (double *)malloc(n * sizeof(double));
  // CHECK: :[[@LINE+1]]:3: warning: one thread fills 'x' before several use it
  for (long i = 0; i < n; i++)
    (*x)[i] = i;
}
double filled(long n) {
  double *x, out = 0;
  fill(&x, n);
#pragma omp parallel for reduction(+ : out)
  for (long i = 0; i < n; i++)
    out += x[i];
  free(x);
  return out;
}
// posix_memalign stores the block by itself.
struct context {
  char *send;
  size_t bytes;
};
static void fill_context(context &c) {
  if (posix_memalign((void **)&c.send, 4096, c.bytes))
    return;
  // CHECK: :[[@LINE+1]]:3: warning: one thread fills 'send' before several use it
  memset(c.send, 's', c.bytes);
}
void contexts(size_t bytes) {
  context c{nullptr, bytes};
  fill_context(c);
#pragma omp parallel for
  for (size_t i = 0; i < c.bytes; i++)
    c.send[i]++;
}
