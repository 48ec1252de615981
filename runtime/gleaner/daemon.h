/*===- gleaner/daemon.h - The process that measures and decides -----------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_GLEANER_DAEMON_H
#define VFRIENDLY_GLEANER_DAEMON_H

#include "gleaner/options.h"

/* Runs until SIGTERM, or until the supervisor dies, and releases the workload.
 * Closes `ready` once the command may start. Does not return. */
_Noreturn void gl_daemon(const struct gl_options *options,
                         struct gl_record *record, int ready);

#endif /* VFRIENDLY_GLEANER_DAEMON_H */
