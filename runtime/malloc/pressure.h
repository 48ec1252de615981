/*===- malloc/pressure.h - Memory pressure by other programs --------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_MALLOC_PRESSURE_H
#define VFRIENDLY_MALLOC_PRESSURE_H

#include <stdbool.h>

/* Returns true if memory was short since the last call, in our control group or
 * in the whole machine. For one thread only. */
bool vf_pressure_rose(void);

#endif /* VFRIENDLY_MALLOC_PRESSURE_H */
