// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions that call themselves, results by pointer, and what a function makes for its caller.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-heap-churn-loop-allocation' %s -- -std=c++17 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <string>
#include <vector>

struct Node {
  Node *Children[8];
  double Up[64];
};
void multiply(const double *From, double *To, int N);

// Few iterations, but in each node of a tree.
void up(Node &Of, int N) {
  for (int I = 0; I < 8; I++)
    if (Of.Children[I])
      up(*Of.Children[I], N);
  for (int I = 0; I < 8; I++)
    if (Of.Children[I]) {
      // CHECK: :[[@LINE+1]]:27: warning: 'Buffer' allocates and releases memory in each iteration of a loop
      std::vector<double> Buffer(N);
      multiply(Of.Children[I]->Up, &Buffer[0], N);
      for (int K = 0; K < N; K++)
        Of.Up[K] += Buffer[K];
    }
}

// Not reported: few iterations, and nothing calls it again and again.
void once(Node &Of, int N) {
  for (int I = 0; I < 8; I++) {
    std::vector<double> Buffer(N);
    multiply(Of.Up, &Buffer[0], N);
  }
}

struct Handle {
  void encodeTo(std::string *To) const;
};
void addBlock(const std::string &Key);
void addBlocks(const std::vector<Handle> &All) {
  for (const Handle &Each : All) {
    // CHECK: :[[@LINE+1]]:17: warning: 'Encoded' allocates and releases memory in each iteration of a loop
    std::string Encoded;
    Each.encodeTo(&Encoded);
    addBlock(Encoded);
  }
}

// Not reported: another pointer to it stays.
std::string *Last;
void noteBlocks(const std::vector<Handle> &All) {
  for (const Handle &Each : All) {
    std::string Encoded;
    Last = &Encoded;
    Each.encodeTo(Last);
  }
}

static char *escape(const char *Text) {
  // CHECK: :[[@LINE+1]]:27: warning: the result of 'escape' is allocated and released in each iteration of a loop: {{.*}}; let it fill what the caller keeps for all iterations
  auto *Escaped = (char *)calloc(5 * strlen(Text) + 1, 1);
  char *To = Escaped;
  for (; *Text; Text++)
    if (*Text == '<') {
      memcpy(To, "&lt;", 4);
      To += 4;
    } else {
      *To++ = *Text;
    }
  return Escaped;
}
void printAll(FILE *To, const char *const *Texts, int N) {
  for (int I = 0; I < N; I++) {
    char *Escaped = escape(Texts[I]); // CHECK: :[[@LINE]]:21: note: the caller releases it here
    fputs(Escaped, To);
    free(Escaped);
  }
}

// Not reported: each call reads a file to its end.
static long lengthOf(const char *Name, FILE *From) {
  char *Block = (char *)malloc(strlen(Name) + 4096);
  long Length = 0;
  size_t Read;
  while ((Read = fread(Block, 1, 4096, From)) > 0)
    Length += Read;
  free(Block);
  return Length;
}
long lengthOfAll(const char *const *Names, FILE **Files, int N) {
  long Sum = 0;
  for (int I = 0; I < N; I++)
    Sum += lengthOf(Names[I], Files[I]);
  return Sum;
}

// Not reported: each call opens a file.
static int linesOf(const char *Name) {
  char *Path = (char *)malloc(strlen(Name) + 10);
  sprintf(Path, "/tmp/%s", Name);
  FILE *File = fopen(Path, "r");
  free(Path);
  if (!File)
    return 0;
  int First = getc(File);
  fclose(File);
  return First;
}
int linesOfAll(const char *const *Names, int N) {
  int Sum = 0;
  for (int I = 0; I < N; I++)
    Sum += linesOf(Names[I]);
  return Sum;
}
