/*===- gleaner/halt_poll.h - The guest's own polling before a halt --------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Linux' haltpoll governor polls before a vCPU halts, and a waker need not
 * interrupt a vCPU that polls, which retention cannot save. It is one setting
 * for the whole guest, so it is changed only if the user asks for it.
 *
 *   error = gl_halt_poll_start(record, 200000);   // before the first fork
 *   gl_halt_poll_end(record);                     // by whoever is left
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_GLEANER_HALT_POLL_H
#define VFRIENDLY_GLEANER_HALT_POLL_H

#include "gleaner/record.h"

/* Makes idle vCPUs poll for up to ns, and notes in the record what was set
 * before. The caller and processes that it forks hold a lock on the setting
 * until they end. Returns null, or why nothing was changed: another run holds
 * the lock, no privileges, no haltpoll. */
const char *gl_halt_poll_start(struct gl_record *record, unsigned long ns);

/* Undoes that, unless somebody has changed the setting since. Does nothing if
 * it was not started, or has ended. */
void gl_halt_poll_end(struct gl_record *record);

#endif /* VFRIENDLY_GLEANER_HALT_POLL_H */
