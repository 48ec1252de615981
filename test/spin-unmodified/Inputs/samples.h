// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs each loop of loops.h in a child, interrupts it, and counts the verdicts.

#include "registers.h"
#include "spin-unmodified/prove.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SAMPLES 10

struct seen {
  volatile unsigned runs, samples, of[VF_VERDICTS];
  char why[64];
};

static struct seen *seen;

static void sample(int number, siginfo_t *info, void *context) {
  static struct vf_memory memory = {.access = VF_MEMORY_GUARDED};
  static struct vf_decoded cache;
  static struct vf_wait wait;
  (void)number, (void)info;
  struct vf_registers at = vf_registers_of(context);
  enum vf_verdict verdict = vf_prove(&at, &memory, &cache, &wait);
  ++seen->of[verdict];
  if (verdict == VF_COMPUTES)
    strncpy(seen->why, wait.why, sizeof seen->why - 1);
  ++seen->samples;
}

static void pass_time(long us) {
  struct timespec t = {0, us * 1000};
  nanosleep(&t, NULL);
}

// Returns how many of the samples have one of the expected verdicts.
static unsigned count(void (*run)(void), const char *expected) {
  memset(seen, 0, sizeof *seen);
  pid_t child = fork();
  if (child == 0) {
    struct sigaction action = {.sa_sigaction = sample,
                               .sa_flags = SA_SIGINFO | SA_RESTART};
    sigaction(SIGUSR1, &action, NULL);
    seen->runs = 1;
    run();
    _exit(3);
  }
  while (!seen->runs)
    pass_time(200);
  pass_time(1000);
  for (unsigned i = 0; i != SAMPLES; ++i) {
    kill(child, SIGUSR1);
    for (unsigned k = 0; k != 20000 && seen->samples == i; ++k)
      pass_time(500);
    pass_time(137 + 61 * (i % 5));
  }
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  unsigned right = 0;
  for (unsigned i = 0; i != VF_VERDICTS; ++i)
    if (strchr(expected, i == VF_COMPUTES ? '-' : *vf_verdict_name(i)))
      right += seen->of[i];
  return right;
}

static int start_samples(void) {
  seen = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
              -1, 0);
  return seen == MAP_FAILED || vf_decoder_start() != 0;
}
