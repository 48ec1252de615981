// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the runtime decides on a made-up group: which share of the waits counts CPU time, what
// spins that fail and succeed change, and that files which vanish, a fork during a reading and a
// seccomp filter leave a decision.
//
// REQUIRES: native
// RUN: rm -rf %t.tree && mkdir %t.tree
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O1 -g -Wall -Wextra -fsanitize=address,undefined -fno-sanitize-recover=all -I %S/../../Inputs -I %vf_include -I %vf_src/runtime -I %vf_platform %s %vf_src/runtime/spin-wait/*.c %vf_src/runtime/common/*.c %vf_src/runtime/platform/linux/cpu_groups.c -o %t
// RUN: %t %t.tree
// RUN: env VF_SPIN_BUDGET_NS=40000 %t %t.tree 40000

#include "check.h"
#include "platform/linux/kernel.h"
#include "spin-wait/limit.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static char membership[512], mount[512];
static const struct vf_cpu_groups_at where = {membership, mount};
static uint64_t now, used_us, throttled;

static void put(const char *name, const char *text) {
  char path[1024];
  snprintf(path, sizeof path, "%s/%s", mount, name);
  FILE *file = fopen(path, "w");
  CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void put_statistics(void) {
  char text[128];
  snprintf(text, sizeof text, "usage_usec %lu\nnr_periods %lu\nnr_throttled %lu\n",
           (unsigned long)used_us, (unsigned long)(now / 100000000), (unsigned long)throttled);
  put("cpu.stat", text);
}

static void restart(const char *limit) {
  memset(&vf_limit_1, 0, sizeof vf_limit_1);
  put("cpu.max", limit);
  put_statistics();
  now = vf_now_ns();
  vf_limit_start(&where);
  vf_limit_1.cpus = 2;
}

static uint32_t thrifty(void) { return vf_get(&vf_limit_1.thrifty); }

/* Lets the group use a share of a limit of one CPU for 100 ms and more. */
static void use(unsigned permille, unsigned stops) {
  now += UINT64_C(102) << 20;
  used_us += 107 * permille;
  throttled += stops;
  put_statistics();
  vf_limit_look(now);
}

static void stopped_group_saves_until_there_is_time_to_spare(void) {
  restart("100000 100000");
  CHECK(thrifty() == 0 && vf_limit_1.millicpus == 1000 && !vf_limit_counts(7));
  use(600, 0);
  CHECK(thrifty() == 0);
  use(900, 1);
  CHECK(thrifty() == VF_THRIFT_MAX && vf_limit_is_near());
  use(900, 0); /* neither near nor to spare */
  CHECK(thrifty() == VF_THRIFT_MAX);
  use(500, 0);
  CHECK(thrifty() == VF_THRIFT_MAX - 4);
  for (int i = 0; i < 20; ++i)
    use(500, 0);
  CHECK(thrifty() == 0);
  use(980, 0);
  CHECK(thrifty() == 16);
  for (int i = 0; i < 8; ++i)
    use(980, 0);
  CHECK(thrifty() == VF_THRIFT_MAX);
  CHECK(vf_limit_1.reasons[VF_LIMIT_THROTTLED] == 1);
}

static void limit_of_all_cpus_is_none(void) {
  restart("200000 100000");
  for (int i = 0; i < 9; ++i)
    use(2000, 0);
  CHECK(thrifty() == 0 && vf_limit_1.last == VF_LIMIT_SPARE);
}

/* Readings are rare, by whoever asks. */
static void reads_after_100_ms(void) {
  restart("100000 100000");
  use(500, 0);
  uint32_t readings = vf_limit_1.readings;
  throttled += 9;
  put_statistics();
  for (int i = 0; i < 90; ++i)
    vf_limit_look(now += 1000000);
  CHECK(vf_limit_1.readings == readings && thrifty() == 0);
  vf_limit_look(now += 20000000);
  CHECK(vf_limit_1.readings == readings + 1 && thrifty() == VF_THRIFT_MAX);
}

static void limits_come_change_and_go(void) {
  restart("max 100000");
  CHECK(thrifty() == 0 && vf_limit_1.millicpus == VF_NO_LIMIT);
  put("cpu.max", "50000 100000");
  use(900, 5);
  CHECK(vf_limit_1.millicpus == VF_NO_LIMIT); /* reads less often */
  for (int i = 0; i < 6; ++i)
    use(900, 5);
  CHECK(vf_limit_1.millicpus == 500 && thrifty() == VF_THRIFT_MAX);
  put("cpu.max", "80000 100000");
  use(600, 0);
  CHECK(vf_limit_1.millicpus == 800);
  put("cpu.max", "max 100000");
  use(600, 5);
  CHECK(vf_limit_1.millicpus == VF_NO_LIMIT && thrifty() == 0);
}

static void long_periods_are_read_as_long(void) {
  restart("900000 1000000");
  use(500, 0);
  CHECK(vf_limit_1.readings == 0);
  now += 1000000000;
  vf_limit_look(now);
  CHECK(vf_limit_1.readings == 1);
}

static void vanished_group_leaves_no_decision(void) {
  restart("100000 100000");
  use(900, 1);
  CHECK(thrifty() != 0);
  char path[1024];
  snprintf(path, sizeof path, "%s/cpu.stat", mount);
  CHECK(unlink(path) == 0);
  /* An unlinked file can still be read here, unlike one of a control group. */
  close(vf_limit_1.groups.group[0].stat.number - 1);
  now += 200000000;
  vf_limit_look(now);
  CHECK(thrifty() == 0 && vf_limit_1.next == 0);
}

static void closed_files_are_opened_again(void) {
  restart("100000 100000");
  for (int i = 0; i < 100; ++i) {
    close(vf_limit_1.groups.group[0].limit.number - 1);
    use(900, 1);
    use(900, 1);
    if (vf_limit_1.next == 0)
      break;
    CHECK(thrifty() == VF_THRIFT_MAX);
  }
  CHECK(vf_limit_1.next == 0); /* but not for ever */
}

/* After the program has installed a filter, reading a file could kill it. */
static void filter_ends_the_readings(void) {
  pid_t pid = fork();
  CHECK(pid >= 0);
  if (pid == 0) {
    restart("100000 100000");
    use(900, 1);
    CHECK(thrifty() != 0);
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pread64, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
    struct sock_fprog program = {6, code};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
    for (int i = 0; i < 3; ++i)
      vf_limit_look(now += 200000000);
    CHECK(vf_limit_1.next == 0 && thrifty() == 0);
    _exit(0);
  }
  int status;
  CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

static void reader_that_never_ended_is_replaced(void) {
  restart("100000 100000");
  vf_set(&vf_limit_1.reading, (uint32_t)(now >> VF_LIMIT_UNIT_LOG2));
  use(900, 1);
  CHECK(vf_limit_1.readings == 0);
  now += 3000000000;
  vf_limit_look(now);
  CHECK(vf_limit_1.readings == 1 && vf_limit_1.reading == 0);
}

static void share_and_budget(void) {
  vf_set(&vf_limit_1.thrifty, 32);
  int counts = 0, shorter = 0;
  for (uint64_t began = 0; began < 6400; ++began) {
    counts += vf_limit_counts(began);
    shorter += vf_limit_budget(30000, began) == VF_SLEEP_COSTS_NS;
  }
  CHECK(counts > 2900 && counts < 3500 && shorter == counts);
  CHECK(vf_limit_budget(5000, 7) == 5000);
  vf_set(&vf_limit_1.thrifty, VF_THRIFT_MAX);
  for (counts = 0; counts < 6400 && vf_limit_counts(counts); ++counts)
    ;
  CHECK(counts < 640); /* There are trials. */
}

/* A wait of the bucket that is a trial, or none. */
static uint64_t find(const struct vf_spin_bucket *bucket, bool thrifty) {
  uint64_t began = 0;
  while (vf_limit_is_thrifty(bucket, began) != thrifty)
    ++began;
  return began;
}

static void spins_that_fail_are_shortened(void) {
  struct vf_spin_bucket bucket = {0};
  vf_set(&vf_limit_1.thrifty, VF_THRIFT_MAX);
  for (int i = 0; i < 9; ++i) {
    vf_limit_began(&bucket, find(&bucket, true));
    vf_limit_blocks(&bucket);
  }
  CHECK(bucket.failed == VF_FAILED_SPINS);
  uint64_t trial = find(&bucket, false), other = find(&bucket, true);
  CHECK(vf_limit_notified(&bucket, 20000, other) == VF_SLEEP_COSTS_NS >> VF_FAILED_SPINS);
  /* A trial lasts as long as a wake-up of the other thread. */
  CHECK(vf_limit_notified(&bucket, 20000, trial) == VF_BUDGET_DEFAULT_NS);
  CHECK(vf_limit_notified(&bucket, 90000, trial) == 90000);
  vf_limit_began(&bucket, other);
  CHECK(bucket.failed == VF_FAILED_SPINS); /* The last one did not succeed. */
  vf_limit_began(&bucket, other);
  CHECK(bucket.failed == VF_FAILED_SPINS - 1);
  vf_limit_blocks(&bucket);
  vf_limit_began(&bucket, find(&bucket, false));
  CHECK(bucket.failed == VF_FAILED_SPINS);
  vf_limit_began(&bucket, find(&bucket, true));
  CHECK(bucket.failed == 0);
  CHECK(vf_limit_notified(&bucket, 20000, find(&bucket, false)) == 20000);
}

/* The budget is what a sleep takes in this machine, within bounds. */
static void sleeps_are_measured(void) {
  vf_set(&vf_limit_1.thrifty, VF_THRIFT_OF);
  CHECK(vf_limit_measures(63) == 0 && vf_limit_measures(64) != 0);
  CHECK(vf_limit_sleep_costs() == VF_SLEEP_COSTS_NS);
  for (int i = 0; i < 100; ++i)
    vf_limit_measured(&vf_limit_1.sleep_ns, vf_limit_cpu_ns() - 10000, 1);
  CHECK(vf_limit_sleep_costs() == VF_SLEEP_COSTS_NS); /* Half of it is not known. */
  for (int i = 0; i < 100; ++i)
    vf_limit_measured(&vf_limit_1.wake_ns, vf_limit_cpu_ns() - 20000, 2);
  CHECK(vf_limit_sleep_costs() > 19000 && vf_limit_sleep_costs() < 28000);
  CHECK(vf_limit_budget(90000, 7) == vf_limit_sleep_costs() && vf_limit_budget(5000, 7) == 5000);
  for (int i = 0; i < 100; ++i)
    vf_limit_measured(&vf_limit_1.wake_ns, 0, 1);
  CHECK(vf_limit_sleep_costs() == 4 * VF_SLEEP_COSTS_NS);
  vf_set(&vf_limit_1.sleep_ns, 1);
  vf_set(&vf_limit_1.wake_ns, 1);
  CHECK(vf_limit_sleep_costs() == VF_SLEEP_COSTS_NS / 4);
  vf_set(&vf_limit_1.sleep_ns, 0);
  vf_set(&vf_limit_1.thrifty, 0);
  CHECK(vf_limit_measures(64) == 0);
}

static int trials_of(const struct vf_spin_bucket *bucket) {
  int trials = 0;
  for (uint64_t began = 0; began < 6400; ++began)
    trials += !vf_limit_is_thrifty(bucket, began);
  return trials;
}

/* Where spins begin to fail there are many trials, and fewer for each that fails. */
static void trials_that_fail_get_rarer(void) {
  struct vf_spin_bucket bucket = {0};
  vf_set(&vf_limit_1.thrifty, VF_THRIFT_MAX);
  int usual = trials_of(&bucket);
  bucket.failed = 1;
  int last = trials_of(&bucket);
  CHECK(last > 6400 / 5 && last < 6400 / 3);
  for (int i = 0; i < 9; ++i) {
    vf_limit_began(&bucket, find(&bucket, false));
    vf_limit_blocks(&bucket);
    int now = trials_of(&bucket);
    CHECK(bucket.failed == VF_FAILED_MAX ? now == usual : now < last);
    last = now;
  }
  CHECK(bucket.failed == VF_FAILED_MAX);
  CHECK(vf_limit_notified(&bucket, 20000, find(&bucket, true)) == VF_SLEEP_COSTS_NS >> VF_FAILED_SPINS);
}

int main(int argc, char **argv) {
  CHECK(argc >= 2);
  snprintf(membership, sizeof membership, "%s/self", argv[1]);
  snprintf(mount, sizeof mount, "%s", argv[1]);
  put("self", "0::/\n");
  if (argc == 3) { /* What the user says stays. */
    vf_set(&vf_limit_1.thrifty, VF_THRIFT_MAX);
    uint64_t budget = (uint64_t)atol(argv[2]);
    for (uint64_t began = 0; began < 100; ++began)
      CHECK(vf_limit_budget(vf_spin_budget_ns(), began) == budget);
    return 0;
  }
  stopped_group_saves_until_there_is_time_to_spare();
  limit_of_all_cpus_is_none();
  reads_after_100_ms();
  limits_come_change_and_go();
  long_periods_are_read_as_long();
  vanished_group_leaves_no_decision();
  closed_files_are_opened_again();
  filter_ends_the_readings();
  reader_that_never_ended_is_replaced();
  share_and_budget();
  spins_that_fail_are_shortened();
  trials_that_fail_get_rarer();
  sleeps_are_measured();
  return 0;
}
