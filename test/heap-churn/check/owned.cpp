// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Objects that one call fills with memory and a later one empties, and objects that look like them.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-heap-churn-loop-allocation' %s -- 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <cstdlib>
#include <cstring>
#include <vector>

void use(const void *memory);
int ask();

struct buffer {
  char *data;
  size_t length, size;
};

// As long as functions that compilers do not inline.
static void trace(buffer *b, int n) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      if (b->length > b->size && i != j && ask() + ask() * ask() > ask() + ask() * 2)
        b->length = b->size + i * j + ask() + ask() + ask() * ask() + ask();
  use(b), use(b), use(b), use(b), use(b), use(b), use(b), use(b), use(b), use(b), use(b), use(b);
}

static int buffer_init(buffer *b, size_t size) {
  char *data = (char *)malloc(size);
  if (!data)
    return -1;
  b->data = data;
  b->length = 0;
  b->size = size;
  trace(b, 1);
  return 0;
}
static void buffer_free(buffer *b) {
  trace(b, 2);
  free(b->data);
  b->data = nullptr;
}
// Points to memory that is there.
static char fixed[4096];
static int buffer_of_fixed(buffer *b, size_t size) {
  b->data = fixed;
  b->size = size < sizeof fixed ? size : sizeof fixed;
  b->length = 0;
  trace(b, 1);
  return 0;
}
// Releases nothing.
static void buffer_reset(buffer *b) {
  b->length = 0;
  trace(b, 2);
}

void lines(int n) {
  for (int i = 0; i < n; i++) {
    buffer b;
    // CHECK: :[[@LINE+1]]:9: warning: 'b' gets memory by 'buffer_init', and 'buffer_free' releases it, in each iteration of a loop: {{.*}}; reuse one object for all iterations
    if (buffer_init(&b, 100 + n) < 0)
      continue;
    use(b.data);
    // CHECK: :[[@LINE+1]]:5: note: released here
    buffer_free(&b);
  }
}

void lines_of_fixed(int n) {
  for (int i = 0; i < n; i++) {
    buffer b;
    buffer_of_fixed(&b, 100 + n);
    use(b.data);
    buffer_free(&b);
  }
}

void lines_reset(int n) {
  buffer b;
  if (buffer_init(&b, 100 + n) < 0)
    return;
  for (int i = 0; i < n; i++) {
    buffer_of_fixed(&b, 10);
    use(b.data);
    buffer_reset(&b);
  }
  buffer_free(&b);
}

void few_lines() {
  for (int i = 0; i < 4; i++) {
    buffer b;
    buffer_init(&b, 100 + i);
    use(b.data);
    buffer_free(&b);
  }
}

// The function is called in a loop of this file.
static int words(const char *line) {
  buffer b;
  // CHECK: :[[@LINE+1]]:7: warning: 'b' gets memory by 'buffer_init', and 'buffer_free' releases it, in each call of 'words', which a loop calls: {{.*}}; keep it from one call to the next, or let the caller pass it
  if (buffer_init(&b, strlen(line) + 1) < 0)
    return 0;
  strcpy(b.data, line);
  trace(&b, 3);
  buffer_free(&b);
  return ask();
}
int all_words(const char *const *all, int n) {
  int sum = 0;
  for (int i = 0; i < n; i++)
    sum += words(all[i]);
  return sum;
}

// No loop calls this one.
int words_once(const char *line) {
  buffer b;
  if (buffer_init(&b, strlen(line) + 1) < 0)
    return 0;
  strcpy(b.data, line);
  buffer_free(&b);
  return ask();
}

class Matrix {
public:
  explicit Matrix(int n);
  ~Matrix();
  double at(int i) const { return Data[i]; }

private:
  double *Data;
  buffer Log;
};
Matrix::Matrix(int n) : Data(new double[n]) { trace(&Log, n); }
Matrix::~Matrix() {
  trace(&Log, 1);
  delete[] Data;
}

// Its memory is another object's.
class Slice {
public:
  explicit Slice(const Matrix &m);
  ~Slice();

private:
  const Matrix &Of;
  buffer Log;
};
Slice::Slice(const Matrix &m) : Of(m) { trace(&Log, 1); }
Slice::~Slice() { trace(&Log, 2); }

class Grid {
public:
  explicit Grid(int n) : Cells(n) { trace(&Log, n); }
  double sum() const;

private:
  std::vector<double> Cells;
  buffer Log;
};

double matrices(int n) {
  double sum = 0;
  for (int i = 0; i < n; i++) {
    // CHECK: :[[@LINE+1]]:12: warning: 'm' allocates and releases memory in each iteration of a loop
    Matrix m(n);
    // CHECK: :[[@LINE+1]]:10: warning: 'g' allocates and releases memory in each iteration of a loop
    Grid g(n);
    sum += m.at(i) + g.sum();
  }
  return sum;
}

double slices(int n) {
  Matrix m(n);
  double sum = 0;
  for (int i = 0; i < n; i++) {
    Slice s(m);
    sum += m.at(i);
  }
  return sum;
}
