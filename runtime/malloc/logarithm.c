/*===- malloc/logarithm.c - libm functions that jemalloc calls ------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "malloc/logarithm.h"
#include <float.h>
#include <stdint.h>
#include <string.h>

#define LN2 0.693147180559945309417
#define SQRT2 1.41421356237309504880

/* The fields of an IEEE 754 double. */
#define MANTISSA_BITS (DBL_MANT_DIG - 1)
#define BIAS (DBL_MAX_EXP - 1)

static double power_of_2(int exponent) {
  uint64_t bits = (uint64_t)(exponent + BIAS) << MANTISSA_BITS;
  double result;
  memcpy(&result, &bits, sizeof result);
  return result;
}

/* x = m 2^e with m in sqrt(1/2)..sqrt(2), and ln m = 2 artanh f with
 * f = (m - 1) / (m + 1). As |f| < 0.172, eleven terms of the series suffice. */
double vf_log(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  int exponent = (int)(bits >> MANTISSA_BITS) - BIAS;
  double m = x / power_of_2(exponent);
  if (m > SQRT2) {
    m /= 2;
    ++exponent;
  }
  double f = (m - 1) / (m + 1), sum = 0;
  for (int n = 21; n > 0; n -= 2)
    sum = sum * f * f + 1.0 / n;
  return 2 * f * sum + exponent * LN2;
}

/* x = k ln 2 + r with |r| <= ln 2 / 2, so 14 terms of the series suffice. */
double vf_exp(double x) {
  if (x < DBL_MIN_EXP * LN2)
    return 0;
  int k = (int)(x / LN2 + (x < 0 ? -0.5 : 0.5));
  double r = x - k * LN2, sum = 1;
  for (int n = 14; n > 0; --n)
    sum = 1 + sum * r / n;
  return sum * power_of_2(k);
}

double vf_round(double x) {
  double whole = (double)(uint64_t)x;
  return x - whole < 0.5 ? whole : whole + 1;
}
