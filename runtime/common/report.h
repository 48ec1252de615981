/*===- common/report.h - Statistics that VF_STATS=1 prints ----------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 *   static void print(void) {
 *     static const char *const names[2] = {"waits", "sleeps"};
 *     static struct vf_report report;
 *     vf_report_verdict(&report, "all waits were short");
 *     vf_report_counters(&report, "vfthing", names, counters, 2);
 *     vf_report_end(&report);
 *   }
 *   constructor: if (vf_report_is_wanted()) vf_report_register("vfthing",
 * print); destructor:  vf_report_at_exit(print);
 *
 * prints {"vfthing": {"waits": 1, "sleeps": 0}, "verdict": "all waits were
 * short", "pid": 7, "program": "ls"} on a line of its own, with a single write
 * if the line fits the buffer, so that the lines of several processes do not
 * mix. It is written to the file that was stderr when the process started or,
 * with VF_STATS=PATH, appended to the file PATH. PATH must contain a slash or a
 * point; %p in it is replaced by the process id; the file is created for its
 * owner only, and links that others may have made are not followed. If stderr
 * is a terminal, people read lines of text there instead: a verdict, the
 * counters that are not 0, and the places that waited longest.
 *
 * If the process has no handler for SIGTERM when the first library is loaded,
 * the library installs one, which prints and then ends the process as SIGTERM
 * would have ended it. If the program later sets an action of its own for
 * SIGTERM, it replaces this handler, and the statistics are printed only at
 * exit. A thread that SIGTERM interrupts may hold any lock, so a print function
 * must not take locks.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_COMMON_REPORT_H
#define VFRIENDLY_COMMON_REPORT_H

#include "common/process_wide.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The buffer of a report; the user must zero-initialize it. Its size is what a
 * pipe accepts in one write. */
struct vf_report {
  char text[4096];
  size_t length;
  char verdict[200];
  bool is_for_people;
};

/* Returns true if VF_STATS asks for a report. This function, vf_report_register
 * and vf_env_choice may only be called by functions with the attribute
 * constructor: they do not expect other threads. */
bool vf_report_is_wanted(void);

/* Registers the function that prints a library's counters. If a process
 * contains several copies of the library, only the one that goes last prints,
 * so they must share their counters. The name must stay valid until then. */
void vf_report_register(const char *library, void (*print)(void));

/* Calls print if vf_report_register has registered it, and no other copy's is
 * left. */
void vf_report_at_exit(void (*print)(void));

/* Closes the duplicate of stderr. Called before the list of libraries vanishes.
 */
void vf_report_drop_copy(void);
#ifdef VF_FINDS_OTHERS
VF_FOUND(vf_reports_1);
#endif

/* Says in one sentence what the counters mean, before vf_report_counters. The
 * text must need no escapes in JSON; a long one is cut. */
void vf_report_verdict(struct vf_report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Begins the report of a library. Other threads may go on counting while it is
 * written. */
void vf_report_counters(struct vf_report *report, const char *library,
                        const char *const *names, const uint64_t *counters,
                        int n);

/* Returns true if all n counters are 0 and the process has not created a
 * thread. A preloaded library then prints nothing, because the environment also
 * loads it into programs such as sh or timeout that only start the program of
 * interest. */
bool vf_report_is_idle(const uint64_t *counters, int n);

/* Adds JSON to the report; adds nothing to a report for people. A text longer
 * than the buffer is cut. */
void vf_report_add(struct vf_report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Adds text to either kind of report. */
void vf_report_text(struct vf_report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Adds text to a report for people; adds nothing to JSON. */
void vf_report_tell(struct vf_report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void vf_report_end(struct vf_report *report);

#endif /* VFRIENDLY_COMMON_REPORT_H */
