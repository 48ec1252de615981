/*===- malloc/helper.h - The thread that returns memory -------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * The helper exists only in a multi-threaded process: a single-threaded program
 * stays single-threaded. It blocks all signals. It ends one second after the
 * last free that notified it, and as soon as at most one other thread is left,
 * so that it does not keep a process alive whose own threads have ended. Calls
 * that need a process with one thread end it before (alone.c). The next free
 * that needs it starts it again.
 *
 * Without a helper, the freeing thread does its work (caller.h).
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_MALLOC_HELPER_H
#define VFRIENDLY_MALLOC_HELPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Notifies the helper that memory was freed; `drained` and the result as in
 * vf_caller_look. May allocate, so must not be called from inside the
 * allocator. May change errno. */
bool vf_helper_tell(size_t drained);

/* Returns how often the library gave memory back because memory was short for
 * other programs. */
uint64_t vf_helper_pressure(void);

/* Ends the helper and waits for its end. Returns false if there was none since
 * the last call. A later free may start it again. */
bool vf_helper_stop(void);

/* Resets the state in the child process after a fork. */
void vf_helper_after_fork(void);

#endif /* VFRIENDLY_MALLOC_HELPER_H */
