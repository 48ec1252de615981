// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What fills a vector: an assigned vector, a copy, a range, what gives its elements memory; lambdas that a team calls by name,
// and functions whose directives need a team.
// REQUIRES: openmp
// RUN: %vf_clang_tidy --checks='-*,vfriendly-numa-placement-serial-init' %s -- -std=c++20 -fopenmp 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning: --implicit-check-not=note:

#include <algorithm>
#include <cstring>
#include <omp.h>
#include <cstdio>
#include <iostream>
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

//===--- Vectors of vectors -----------------------------------------------===//

using Rows = std::vector<std::vector<double>>;
void step(std::vector<double> *Row);

struct Field {
  Rows Now, Before, Table, Slopes;
  Rows *Current = &Now;
  std::vector<double> Zero;

  // Each element gets memory, and which of the two threads use is not known.
  void make(long N) {
    // CHECK: :[[@LINE+3]]:5: warning: one thread fills 'Now'
    // CHECK: note: threads use 'Current' here
    // CHECK: note: no fix:
    Now.resize(N, Zero);
    // CHECK: :[[@LINE+3]]:5: warning: one thread fills 'Before'
    // CHECK: note: threads use 'Current' here
    // CHECK: note: no fix:
    Before.assign(N, Zero);
  }
  void swap() {
    if (Current == &Now)
      Current = &Before;
    else
      Current = &Now;
  }
  void run(long N) {
#pragma omp parallel for
    for (long I = 0; I < N; ++I)
      step(&(*Current)[I]);
  }

  // A loop gives them their memory.
  void slopes(long N) {
    Slopes.resize(N);
    // CHECK: :[[@LINE+3]]:5: warning: one thread fills 'Slopes'
    // CHECK: note: threads use 'Slopes' here
    // CHECK: note: no fix:
    for (long I = 0; I < N; ++I)
      Slopes[I].resize(3, 0.0);
#pragma omp parallel for
    for (long I = 0; I < N; ++I)
      step(&Slopes[I]);
  }

  // Not reported: a table of empty rows; threads give them their memory.
  void table(long N) {
    Table.resize(N);
    Table.assign(N, std::vector<double>());
#pragma omp parallel for
    for (long I = 0; I < N; ++I)
      Table[I].push_back(1);
  }
};

//===--- Functions for a team ---------------------------------------------===//

// A team calls them, from another file: only then do the directives mean
// anything.
void mark(const std::vector<double> &From, long N) {
  static std::vector<int> Marks;
#pragma omp master
  {
    // CHECK: :[[@LINE+3]]:5: warning: one thread fills 'Marks'
    // CHECK: note: threads use 'Marks' here
    // CHECK: note: no fix:
    Marks.resize(N);
  }
#pragma omp barrier
#pragma omp for
  for (long I = 0; I < N; ++I)
    Marks[I] = From[I] > 0;
}

// Not reported: all threads write their parts first.
void mark_all(double *Marks, long Begin, long End, long N) {
  for (long I = Begin; I < End; ++I)
    Marks[I] = 0;
#pragma omp barrier
#pragma omp for
  for (long I = 0; I < N; ++I)
    Marks[I] += 1;
}

//===--- Other forms of an element ----------------------------------------===//

void copy_to(double *Out, const double *In, long N) {
  // CHECK: :[[@LINE+3]]:3: warning: one thread fills 'Out'
  // CHECK: note: threads use 'Out' here
  // CHECK: note: no fix:
  std::memcpy(Out, In, N * sizeof *Out);
#pragma omp parallel for
  for (long I = 0; I < N; ++I)
    *(Out + I) *= 2;
}

// Rows that an element of another array chooses: as many as one likes.
struct Words {
  std::vector<double> Vectors;
  std::vector<int> Text;
  void make(long Words, long Size) {
    // CHECK: :[[@LINE+3]]:5: warning: one thread fills 'Vectors'
    // CHECK: note: threads use 'Vectors' here
    // CHECK: note: no fix:
    Vectors.resize(Words * Size);
  }
  void train(long N, long Size) {
#pragma omp parallel for
    for (long I = 0; I < N; ++I) {
      int Word = Text[I];
      for (long C = 0; C < Size; ++C)
        Vectors[C + Word * Size] += 1;
    }
  }
};

// What an element of another array chooses from may be as large.
struct Mesh {
  std::vector<double> Widths, Areas;
  std::vector<int> Level;
  void make(long Levels) {
    // CHECK: :[[@LINE+3]]:5: warning: one thread fills 'Widths'
    // CHECK: note: threads use 'Widths' here
    // CHECK: note: no fix:
    Widths.resize(Levels);
    for (long I = 0; I < Levels; ++I)
      Widths[I] = 1.0 / (1 << I);
  }
  void areas(long N) {
#pragma omp parallel for
    for (long I = 0; I < N; ++I) {
      int L = Level[I];
      Areas[I] = Widths[L] * Widths[Level[I]];
    }
  }
};

// Read from a file and from text. Not reported: written to a file.
void load(std::istream &In, std::ostream &Out, FILE *File, long N) {
  std::vector<double> First, Second, Third;
  First.reserve(N), Second.reserve(N), Third.reserve(N);
  // CHECK: :[[@LINE+3]]:3: warning: one thread fills 'First' and 'Second' before
  // CHECK: note: threads use 'First' here
  // CHECK: note: no fix:
  for (long I = 0; I < N; ++I) {
    In >> First[I];
    fscanf(File, "%lf", &Second[I]);
    Out << Third[I];
  }
#pragma omp parallel for
  for (long I = 0; I < N; ++I)
    First[I] += Second[I] + Third[I];
}

// Functions that lead to one another are followed only so far: containers whose
// operator[] calls at(), which may call itself.
class Cells {
  double *Data;

public:
  double &at(int I) { return Data[I]; }
  double &operator[](int I) { return at(I); }
};
double sumOf(Cells &In, int N) {
  double Sum = 0;
  for (int I = 0; I < N; ++I)
    Sum += In[I];
  return Sum;
}
struct Node {
  Node *Next;
  double Value;
};
double &get(Node *Of, int I) {
  if (I == 0)
    return Of->Value;
  return get(Of->Next, I - 1);
}
double sumOf(Node *First, int N) {
  double Sum = 0;
  for (int I = 0; I < N; ++I)
    Sum += get(First, I);
  return Sum;
}
struct Itself {
  double *Data;
  double &operator[](int I) { return (*this)[I]; }
};
double sumOf(Itself &In, int N) {
  double Sum = 0;
  for (int I = 0; I < N; ++I)
    Sum += In[I];
  return Sum;
}
