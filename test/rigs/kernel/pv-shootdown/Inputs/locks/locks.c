// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// locks VCPUS PHASES: a thread on each vCPU takes one vf_mutex again and again,
// in phases of a second which differ in what the runtime has of
// /dev/vcpu_state:
//
//   absent   it was not mapped
//   ignored  it is read as with `used`, and then nothing counts as preempted
//   used     as a program has it
//
// so that what others do on this machine is spread over all three. Prints for
// each, and each phase, one line of JSON: critical sections, how many of them
// had the mutex to themselves, and how often a waiter that spun saw that the
// holder's vCPU was preempted.
//
// Linked with the runtime's sources, and --wrap of the function below.

#include "../../../paratick/Inputs/guest.h"

#include "platform/linux/vcpu_state.h"
#include "vfriendly/mutex.h"

#include <stdatomic.h>
#include <stdbool.h>

enum variant { ABSENT, IGNORED, USED, VARIANTS };
static const char *const names[VARIANTS] = {"absent", "ignored", "used"};

// Of an iteration, a quarter is in the critical section: with 4 threads there
// is a waiter most of the time.
enum { INSIDE = 1000, OUTSIDE = 3000 };

struct worker {
  _Alignas(128) uint64_t sections;
  pthread_t thread;
};

static struct worker workers[MAX_CPUS];
static _Alignas(128) vf_mutex mutex;
// Protected by the mutex; volatile, so that it is read before step() and
// written after it: two threads in the section lose an increment.
static volatile uint64_t alone;
static enum variant variant;
static atomic_bool stop;
static _Alignas(128) atomic_ullong seen;

bool __real_vf_vcpu_is_preempted(vf_cpu cpu);
bool __wrap_vf_vcpu_is_preempted(vf_cpu cpu);

bool __wrap_vf_vcpu_is_preempted(vf_cpu cpu) {
  if (!__real_vf_vcpu_is_preempted(cpu))
    return false;
  atomic_fetch_add_explicit(&seen, 1, memory_order_relaxed);
  return variant == USED;
}

static void *work(void *argument) {
  struct worker *me = argument;
  while (!stop) {
    vf_mutex_lock(&mutex);
    uint64_t before = alone;
    step(INSIDE);
    alone = before + 1;
    vf_mutex_unlock(&mutex);
    ++me->sections;
    step(OUTSIDE);
  }
  return 0;
}

static void phase(int vcpus, struct vf_vcpu_states states) {
  if (variant == ABSENT)
    states.records = 0;
  vf_vcpu_states = states;
  vf_mutex_init(&mutex, 0);
  stop = false;
  seen = alone = 0;
  double begin = now(CLOCK_MONOTONIC);
  for (int i = 0; i < vcpus; ++i) {
    workers[i].sections = 0;
    workers[i].thread = start(work, &workers[i], i);
  }
  sleep_for(1);
  stop = true;
  uint64_t sections = 0;
  for (int i = 0; i < vcpus; ++i) {
    pthread_join(workers[i].thread, 0);
    sections += workers[i].sections;
  }
  printf("{\"variant\": \"%s\", \"vcpus\": %d, \"seconds\": %f, "
         "\"sections\": %llu, \"alone\": %llu, \"saw_preempted\": %llu}\n",
         names[variant], vcpus, now(CLOCK_MONOTONIC) - begin,
         (unsigned long long)sections, (unsigned long long)alone,
         (unsigned long long)seen);
  fflush(stdout);
}

int main(int argc, char **argv) {
  if (argc != 3)
    errx(2, "usage: locks VCPUS PHASES");
  int vcpus = atoi(argv[1]), phases = atoi(argv[2]);
  if (vcpus < 1 || vcpus > MAX_CPUS || phases < 1)
    errx(2, "1 to %d vCPUs, and 1 phase at least", MAX_CPUS);
  if (!vf_vcpu_states_are_there())
    errx(1, "there is no /dev/vcpu_state that the runtime can read");
  struct vf_vcpu_states states = vf_vcpu_states;
  for (int i = 0; i < phases; ++i)
    for (int v = 0; v < VARIANTS; ++v) {
      // Each comes first as often.
      variant = (enum variant)((v + i) % VARIANTS);
      phase(vcpus, states);
    }
}
