/*===- gleaner/hints_kernel.h - Pages that BPF programs write -------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * The kernel's side of `gleaner hints`: loads hints.bpf.c and changes its maps.
 * Pages have numbers below VF_HINT_PAGES.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_GLEANER_HINTS_KERNEL_H
#define VFRIENDLY_GLEANER_HINTS_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

/* Where processes look, platform/linux/thread_state.c. */
#define GL_HINTS_FOLDER "/run/gleaner"
#define GL_HINTS_SOCKET GL_HINTS_FOLDER "/hints"

/* Loads and attaches the programs. Returns NULL, or what is missing. To be
 * called once, and first. */
const char *gl_hint_load(void);

/* Makes new pages with these numbers, in place of those that have them, and
 * sets map to the kernel's numbers of them. Returns how many were made, the
 * first ones; fewer if there is no memory. pre: nobody uses pages with these
 * numbers. */
uint32_t gl_hint_make(const uint32_t *numbers, uint32_t count, uint32_t *map);

/* Returns a descriptor for reading of a page, given the kernel's number; -1 if
 * there is none. */
int gl_hint_open(uint32_t map);

/* Threads that use the page. */
uint64_t gl_hint_uses(uint32_t page);

/* Lets a thread, given as a pidfd, use the page. Returns false if it uses one
 * already, or has ended. */
bool gl_hint_add(int thread, uint32_t page);

/* Returns the page that a thread uses, or VF_HINT_PAGES. */
uint32_t gl_hint_page_of(int thread);

#endif /* VFRIENDLY_GLEANER_HINTS_KERNEL_H */
