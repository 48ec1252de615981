/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * mark(1) and mark(2) tell the hypervisor between which moments to count, in
 * guests, where MARK names the header that does so; elsewhere they do nothing. */

#ifdef MARK
#include MARK
#else
static void mark(unsigned number) { (void)number; }
#endif
