/*===- records.c - Records unpacked into memory of their own -------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Each thread unpacks records, turns them over, and sums them up. For each
 * record it takes memory twice, and gives it back: that is soon written, and
 * few allocations for so much work. But nothing else is on the thread's heap,
 * so what is freed goes back to the kernel each time, which interrupts all the
 * other threads.
 *
 *   records [THREADS [RECORDS]]
 *
 * Prints the checksum of all records.
 *===----------------------------------------------------------------------===*/

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_THREADS = 64, PACKED = 1800 };

static int threads = 16;
static int records = 20000;

struct worker {
  pthread_t id;
  uint32_t number;
  uint64_t checksum;
  int failed;
};

/* Pairs of a length and a byte. Returns how much it makes. */
static size_t pack(unsigned char *packed, uint32_t seed) {
  size_t size = 0;
  for (size_t i = 0; i != PACKED; i += 2) {
    seed = seed * 1664525 + 1013904223;
    packed[i] = (unsigned char)(seed >> 24);
    packed[i + 1] = (unsigned char)(seed >> 16);
    size += packed[i];
  }
  return size;
}

static void unpack(unsigned char *to, const unsigned char *packed) {
  for (size_t i = 0; i != PACKED; i += 2) {
    memset(to, packed[i + 1], packed[i]);
    to += packed[i];
  }
}

static void turn(unsigned char *to, const unsigned char *from, size_t size) {
  for (size_t i = 0; i != size; ++i)
    to[i] = from[size - 1 - i];
}

static uint64_t sum(const unsigned char *record, size_t size) {
  uint64_t result = size;
  for (size_t i = 0; i < size; i += 64)
    result = result * 31 + record[i];
  return result;
}

static void *work(void *arg) {
  struct worker *self = arg;
  for (int i = 0; i < records; ++i) {
    unsigned char packed[PACKED];
    size_t size = pack(packed, self->number * 7919 + (uint32_t)i);
    unsigned char *record = malloc(size), *turned = malloc(size);
    if (record && turned) {
      unpack(record, packed);
      turn(turned, record, size);
      self->checksum += sum(turned, size);
    } else {
      self->failed = 1;
    }
    free(turned);
    free(record);
  }
  return NULL;
}

int main(int argc, char **argv) {
  static struct worker workers[MAX_THREADS];
  if (argc > 1)
    threads = atoi(argv[1]);
  if (argc > 2)
    records = atoi(argv[2]);
  if (threads < 1 || threads > MAX_THREADS || records < 1) {
    fprintf(stderr, "usage: records [THREADS [RECORDS]], at most %d threads\n",
            MAX_THREADS);
    return 2;
  }
  uint64_t checksum = 0;
  int failed = 0;
  for (int i = 0; i < threads; ++i) {
    workers[i].number = (uint32_t)i;
    if (pthread_create(&workers[i].id, NULL, work, &workers[i]) != 0) {
      fprintf(stderr, "records: cannot create thread %d\n", i);
      return 1;
    }
  }
  for (int i = 0; i < threads; ++i) {
    pthread_join(workers[i].id, NULL);
    checksum += workers[i].checksum;
    failed |= workers[i].failed;
  }
  if (failed) {
    fprintf(stderr, "records: out of memory\n");
    return 1;
  }
  printf("%016llx\n", (unsigned long long)checksum);
  return 0;
}
