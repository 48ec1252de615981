/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * openblas THREADS MILLISECONDS: products of two matrices of 160 x 160, small
 * enough that waits count. Prints microseconds a product. */

#include "cblas.h"
#include "timing.h"
#include <stdlib.h>

enum { SIDE = 160 };
static double a[SIDE * SIDE], b[SIDE * SIDE], c[SIDE * SIDE];

static void product(void) {
  cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, SIDE, SIDE, SIDE, 1, a,
              SIDE, b, SIDE, 0, c, SIDE);
}

int main(int argc, char **argv) {
  if (argc < 3)
    return 2;
  openblas_set_num_threads(atoi(argv[1]));
  double seconds = atof(argv[2]) / 1000;
  for (int i = 0; i < SIDE * SIDE; i++) {
    a[i] = i % 7;
    b[i] = i % 5;
  }
  product();
  double begin = wall(), used = cpu();
  long done = 0;
  for (; wall() - begin < seconds || !done; done++)
    product();
  report(wall() - begin, cpu() - used, done);
  return 0;
}
