/*===- malloc/logarithm.h - libm functions that jemalloc calls ------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Heap profiles (MALLOC_CONF=prof:true) use these functions to compute sampling
 * rates. Loading libm for them would cost 0.1 ms in each process that preloads
 * the library, and libm cannot be linked statically into a shared library.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_MALLOC_LOGARITHM_H
#define VFRIENDLY_MALLOC_LOGARITHM_H

/* Returns ln x. The relative errors of vf_log and vf_exp are below 1e-12.
 *
 * pre: x is finite, normal and positive. */
double vf_log(double x);

/* Returns e^x, or 0 if that is below the smallest normal number.
 *
 * pre: x <= 700. */
double vf_exp(double x);

/* Rounds half away from zero.
 *
 * pre: 0 <= x < 2^63. */
double vf_round(double x);

#endif /* VFRIENDLY_MALLOC_LOGARITHM_H */
