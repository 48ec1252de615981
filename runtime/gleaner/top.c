/*===- gleaner/top.c - Live view of all runs ------------------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "gleaner/options.h"
#include "gleaner/output.h"
#include "gleaner/policy.h"
#include "platform/linux/kernel.h"
#include <dirent.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] = "usage: gleaner top [--once] [--json]\n"
                            "\n"
                            "Shows the runs of this user, each second: CPUs "
                            "kept of those allowed, whether\n"
                            "idle CPUs are kept awake, CPUs used, mean "
                            "computation of a thread, mean idle\n"
                            "period of a CPU, trials won of those tried, and "
                            "the last decision.\n"
                            "\n"
                            "  --once  print once and exit\n"
                            "  --json  one JSON object a line\n";

/* Writes the program's name without its folder, and without bytes that would
 * move the columns or that a terminal takes for commands. */
static void plain_name(const struct gl_record *record, char name[17]) {
  const char *slash = strrchr(record->name, '/');
  const char *from = slash && slash[1] ? slash + 1 : record->name;
  int n = 0;
  for (; from[n] && n < 16; ++n)
    name[n] = from[n] >= ' ' && from[n] <= '~' ? from[n] : '?';
  name[n] = '\0';
}

static void show(const struct gl_record *record) {
  struct gl_load load = gl_load_of(&record->sample);
  char name[17];
  plain_name(record, name);
  printf("%7d %-16s %4u/%-4u %-5s %6.2f %9.1f %9.1f %5llu/%-5llu %s\n",
         record->command, name, record->n_kept, record->sample.cpus,
         record->retained ? "awake" : "-", load.used, 1e6 * load.g_comp,
         1e6 * load.gap, (unsigned long long)record->won,
         (unsigned long long)record->trials, gl_reason_text(record->reason));
}

/* Returns the number of runs. */
static int show_all(const char *folder, bool json) {
  DIR *records = opendir(folder);
  int n = 0;
  for (struct dirent *entry; records && (entry = readdir(records));) {
    char path[700];
    gl_print(path, sizeof path, "%s/%s", folder, entry->d_name);
    struct gl_record *record = gl_record_map(path, false);
    if (!record)
      continue;
    if (__atomic_load_n(&record->windows, __ATOMIC_ACQUIRE) > 0 &&
        gl_record_is_live(record)) {
      ++n;
      if (json)
        gl_print_json(record, stdout);
      else
        show(record);
    }
    gl_record_unmap(record);
  }
  if (records)
    closedir(records);
  return n;
}

int gl_top(int argc, char **argv) {
  bool once = false, json = false;
  static const struct option names[] = {{"once", no_argument, NULL, 'o'},
                                        {"json", no_argument, NULL, 'j'},
                                        {"help", no_argument, NULL, 'h'},
                                        {0}};
  for (int option;
       (option = getopt_long(argc, argv, "h", names, NULL)) != -1;) {
    if (option == 'h' || option == '?') {
      fputs(usage, option == 'h' ? stdout : stderr);
      return option == 'h' ? 0 : GL_USAGE;
    }
    once = once || option == 'o';
    json = json || option == 'j';
  }
  if (optind < argc) {
    fprintf(stderr, "gleaner top: '%s' is no option; it shows all runs\n",
            argv[optind]);
    return GL_USAGE;
  }
  bool clears = !json && !once && isatty(STDOUT_FILENO);
  char folder[400];
  gl_record_folder(folder, sizeof folder);
  for (;;) {
    if (clears)
      fputs("\033[H\033[2J", stdout); /* to the top left, and clear */
    if (!json)
      printf("%7s %-16s %9s %-5s %6s %9s %9s %11s %s\n", "PID", "COMMAND",
             "CPUS", "IDLE", "USED", "COMP us", "IDLE us", "WON/TRIED",
             "LAST DECISION");
    int n = show_all(folder, json);
    if (n == 0 && !json)
      printf("no runs of this user\n");
    if (fflush(stdout) != 0) {
      perror("gleaner top");
      return GL_FAILED;
    }
    if (once)
      return 0;
    vf_sleep_ns(1000000000);
  }
}
