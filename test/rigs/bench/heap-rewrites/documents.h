/*===- documents.h - Threads that go through the same documents -----------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 *   static uint64_t treat(const char *text, size_t size) { ... }
 *   int main(int argc, char **argv) {
 *     return run_threads(argc, argv, "[", write, ",", "]");
 *   }
 *
 * PROGRAM THREADS ROUNDS treats all documents in each round of each thread, and
 * prints a sum of what treat returned. Documents are as servers get them: most
 * are small, some are not.
 *===----------------------------------------------------------------------===*/

#ifndef DOCUMENTS_H
#define DOCUMENTS_H

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DOCUMENTS = 16, MAX_THREADS = 64, MAX_ENTRY = 256 };

static struct {
  char *text;
  size_t size;
} documents[DOCUMENTS];
static int rounds;

static uint64_t treat(const char *text, size_t size);

static void *treat_all(void *result) {
  uint64_t sum = 0;
  for (int i = 0; i < rounds * DOCUMENTS; ++i)
    sum = sum * 31 +
          treat(documents[i % DOCUMENTS].text, documents[i % DOCUMENTS].size);
  *(uint64_t *)result = sum;
  return NULL;
}

static void add(int document, const char *text) {
  size_t size = strlen(text);
  memcpy(documents[document].text + documents[document].size, text, size);
  documents[document].size += size;
}

/* Entry number i, of at most MAX_ENTRY characters with what is between. */
typedef void write_entry(char to[MAX_ENTRY], unsigned i);

/* Apart, so that nothing is told of memory that is not the program's matter. */
__attribute__((noinline)) static void
make_document(int number, const char *begin, write_entry *write,
              const char *between, const char *end) {
  /* Every fourth has thousands of entries, some 100 kB to 1 MB. */
  unsigned entries =
      number % 4 ? 10 + 5 * (unsigned)number : 1000 + 700 * (unsigned)number;
  documents[number].text = (char *)malloc((size_t)(entries + 2) * MAX_ENTRY);
  if (!documents[number].text)
    abort();
  add(number, begin);
  for (unsigned i = 0; i != entries; ++i) {
    char entry[MAX_ENTRY];
    write(entry, i + (unsigned)number);
    add(number, i ? between : "");
    add(number, entry);
  }
  add(number, end);
}

static int run_threads(int argc, char **argv, const char *begin,
                       write_entry *write, const char *between,
                       const char *end) {
  int threads = argc == 3 ? atoi(argv[1]) : 0;
  rounds = argc == 3 ? atoi(argv[2]) : 0;
  if (threads < 1 || threads > MAX_THREADS || rounds < 1)
    return fprintf(stderr, "usage: %s THREADS ROUNDS\n", argv[0]), 2;
  for (int i = 0; i != DOCUMENTS; ++i)
    make_document(i, begin, write, between, end);
  pthread_t id[MAX_THREADS];
  uint64_t results[MAX_THREADS], sum = 0;
  for (int i = 0; i != threads; ++i)
    if (pthread_create(&id[i], NULL, treat_all, &results[i]))
      abort();
  for (int i = 0; i != threads; ++i) {
    pthread_join(id[i], NULL);
    sum += results[i];
  }
  printf("%016llx\n", (unsigned long long)sum);
  return 0;
}

#endif
