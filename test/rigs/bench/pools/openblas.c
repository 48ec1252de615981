/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * openblas THREADS MILLISECONDS SIDE: products of two matrices of SIDE x SIDE,
 * 160 at most, small enough that waits count. Prints microseconds a product. */

#include "cblas.h"
#include "timing.h"
#include <stdlib.h>

enum { MOST = 160 };
static double a[MOST * MOST], b[MOST * MOST], c[MOST * MOST];
static int side;

static void product(void) {
  cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, side, side, side, 1, a,
              side, b, side, 0, c, side);
}

int main(int argc, char **argv) {
  if (argc < 4)
    return 2;
  side = atoi(argv[3]);
  if (side < 1 || side > MOST)
    return 2;
  openblas_set_num_threads(atoi(argv[1]));
  double seconds = atof(argv[2]) / 1000;
  for (int i = 0; i < side * side; i++) {
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
