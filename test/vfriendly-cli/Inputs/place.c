/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A function whose line stats.test looks for. */

int waits_here(int n) {
  return n + 1;
}
int main(void) { return waits_here(-1); }
