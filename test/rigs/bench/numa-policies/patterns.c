/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * patterns PATTERN MEGABYTES: two threads access an array until they are
 * killed.
 *   own     each fills a half and uses it
 *   all     the first thread fills it, both use all of it
 *   halves  the first thread fills it, each uses a half */

#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  int own = strcmp(argv[1], "own") == 0, all = strcmp(argv[1], "all") == 0;
  size_t size = strtoul(argv[2], NULL, 10) << 20;
  size_t length = size / sizeof(long);
  long *array = malloc(size);
  if (!array)
    return 1;
  if (!own)
    memset(array, 1, size);
#pragma omp parallel num_threads(2)
  {
#pragma omp for schedule(static)
    for (size_t i = 0; i < length; ++i)
      if (own)
        array[i] = 1;
    for (;;)
      if (all) {
        long sum = 0;
        for (size_t i = 0; i < length; ++i)
          sum += array[i];
        __asm__ volatile("" : : "r"(sum) : "memory");
      } else {
#pragma omp for schedule(static)
        for (size_t i = 0; i < length; ++i)
          ++array[i];
      }
  }
}
