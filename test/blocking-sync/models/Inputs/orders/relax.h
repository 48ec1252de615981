/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * In place of runtime/platform/x86-64/relax.h: in the model a pause takes no time.
 */

#ifndef VFRIENDLY_PLATFORM_RELAX_H
#define VFRIENDLY_PLATFORM_RELAX_H

static inline void vf_relax(void) {}

#endif
