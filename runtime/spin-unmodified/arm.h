/*===- spin-unmodified/arm.h - Which threads are watched closely ----------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Lets threads of binaries that spin in their own code give way while CPUs are
 * short.
 *
 * A watcher, a thread of the library, looks 20 times a second whether CPUs are
 * short: threads wait for a CPU, the process is near its CPU limit, or the host
 * takes CPUs away. While that is so it arms the threads that run for long at a
 * time (trigger.h); all others, and all in a process that is idle or has CPUs
 * enough, run as without the library.
 *
 * It starts with the program's first thread and ends when the main thread is
 * left alone, so that the process may end by its last thread, or call unshare.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_SPIN_UNMODIFIED_ARM_H
#define VFRIENDLY_SPIN_UNMODIFIED_ARM_H

#include <stdbool.h>

/* Why the library does nothing in this process, or NULL if it is on. Written
 * once, by the constructor, or by the watcher. */
extern const char *vf_arm_off;

/* Sets whether threads are armed whether or not CPUs are short, for tests. */
void vf_arm_always(bool always);

/* Starts the watcher if it is not there. Returns false if the library is off.
 */
bool vf_arm_watches(void);

/* Ends the watcher for good, and returns when no thread is armed any more. The
 * reason must stay valid. Not in a signal handler. */
void vf_arm_stop(const char *reason);

/* After a fork. */
void vf_arm_in_child(void);

#endif /* VFRIENDLY_SPIN_UNMODIFIED_ARM_H */
