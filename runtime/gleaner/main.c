/*===- gleaner/main.c - The command line ----------------------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "gleaner/options.h"
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char usage[] =
    "usage: gleaner run [OPTIONS] -- COMMAND...\n"
    "       gleaner tick [--explain] -- COMMAND... | -p PID\n"
    "       gleaner hints [--at SOCKET]\n"
    "       gleaner top [--once] [--json]\n"
    "       gleaner repair\n"
    "\n"
    "Runs a command and, while it runs, keeps vCPUs awake through short waits "
    "and\n"
    "uses only as many of them as the work needs. Each change is a trial that "
    "is\n"
    "undone unless the command makes more progress. Exits as the command "
    "does.\n"
    "\n"
    "  --explain     print each decision and its reason to stderr\n"
    "  --dry-run     measure, but change nothing; with --explain it tells what "
    "would\n"
    "                be tried\n"
    "  --no-retain   do not keep vCPUs awake\n"
    "  --no-fold     do not use fewer vCPUs\n"
    "  --halt-poll NS  while the command runs, all idle vCPUs of this guest "
    "poll for\n"
    "                  so long before they halt, if it has haltpoll (as root; "
    "200000)\n"
    "  --affinity    use CPU affinities, even if a cgroup could be made\n"
    "  --metric-command COMMAND    what counts as progress: a number that "
    "COMMAND\n"
    "                              prints and that grows with the work done,\n"
    "  --metric-url URL#NAME       ... that http://127.0.0.1:PORT/PATH shows "
    "in\n"
    "                              Prometheus' format,\n"
    "  --metric-calls PROG:FUNC    ... or calls of a function; without these, "
    "user\n"
    "                              time and switches\n"
    "  --log FILE         append a JSON object for each decision\n"
    "  --prometheus FILE  write the state each second, in Prometheus' format\n"
    "  --physical    act also where the machine is not virtual\n"
    "\n"
    "tick: gives threads short time slices while they spin and CPUs are "
    "short.\n"
    "hints: as root, tells the locks of programs with libvfrt which of their "
    "holders\n"
    "are off the CPU.\n"
    "repair: gives CPUs back to workloads of runs that were killed with "
    "SIGKILL.\n";

static int run(int argc, char **argv) {
  struct gl_options options = {
      .means = GL_CPUSET_V2, .retain = true, .fold = true};
  static const struct option names[] = {
      {"explain", no_argument, NULL, 'e'},
      {"dry-run", no_argument, NULL, 'd'},
      {"no-retain", no_argument, NULL, 'r'},
      {"no-fold", no_argument, NULL, 'f'},
      {"metric-command", required_argument, NULL, GL_METRIC_COMMAND},
      {"metric-url", required_argument, NULL, GL_METRIC_URL},
      {"metric-calls", required_argument, NULL, GL_METRIC_CALLS},
      {"log", required_argument, NULL, 'l'},
      {"prometheus", required_argument, NULL, 'm'},
      {"halt-poll", required_argument, NULL, 'w'},
      {"affinity", no_argument, NULL, 'a'},
      {"physical", no_argument, NULL, 'p'},
      {"help", no_argument, NULL, 'h'},
      {0}};
  struct stat file;
  for (int option;
       (option = getopt_long(argc, argv, "+h", names, NULL)) != -1;) {
    switch (option) {
    case 'e':
      options.explain = true;
      break;
    case 'd':
      options.dry_run = true;
      break;
    case 'r':
      options.retain = false;
      break;
    case 'f':
      options.fold = false;
      break;
    case 'w': {
      char *end;
      options.halt_poll_ns = strtoul(optarg, &end, 10);
      if (*end || options.halt_poll_ns == 0) {
        fprintf(stderr, "gleaner: --halt-poll %s: not nanoseconds\n", optarg);
        return GL_USAGE;
      }
      break;
    }
    case 'a':
      options.means = GL_AFFINITY;
      break;
    case 'p':
      options.physical = true;
      break;
    case GL_METRIC_COMMAND:
    case GL_METRIC_URL:
    case GL_METRIC_CALLS:
      options.metric = (enum gl_metric)option;
      options.metric_of = optarg;
      break;
    case 'l':
      options.log = optarg;
      break;
    case 'm':
      options.prometheus = optarg;
      if (stat(optarg, &file) == 0 && !S_ISREG(file.st_mode)) {
        /* It is replaced each time: /dev/stdout would become a file. */
        fprintf(stderr, "gleaner: --prometheus %s: not a regular file\n",
                optarg);
        return GL_USAGE;
      }
      break;
    case 'h':
      fputs(usage, stdout);
      return 0;
    default:
      fputs(usage, stderr);
      return GL_USAGE;
    }
  }
  if (optind == argc) {
    fputs("gleaner: run needs a command\n", stderr);
    fputs(usage, stderr);
    return GL_USAGE;
  }
  options.command = argv + optind;
  return gl_run(&options);
}

int main(int argc, char **argv) {
  const char *command = argc > 1 ? argv[1] : "";
  if (strcmp(command, "run") == 0)
    return run(argc - 1, argv + 1);
  if (strcmp(command, "tick") == 0)
    return gl_tick(argc - 1, argv + 1);
  if (strcmp(command, "hints") == 0)
    return gl_hints(argc - 1, argv + 1);
  if (strcmp(command, "top") == 0)
    return gl_top(argc - 1, argv + 1);
  if (strcmp(command, "repair") == 0)
    return gl_repair();
  bool helps = strcmp(command, "--help") == 0 || strcmp(command, "-h") == 0;
  fputs(usage, helps ? stdout : stderr);
  return helps ? 0 : GL_USAGE;
}
