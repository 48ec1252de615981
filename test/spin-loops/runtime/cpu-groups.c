// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Made-up trees of control groups: what is read of v1 and v2, nested, in a
// container with and without a namespace; and files that change, vanish, hold
// nonsense, or whose descriptors the program closes or uses for something else.
//
// REQUIRES: native
// RUN: rm -rf %t.tree && mkdir %t.tree
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O1 -g -Wall -Wextra -fsanitize=address,undefined -fno-sanitize-recover=all -I %S/../../Inputs -I %vf_include -I %vf_src/runtime %s %vf_src/runtime/platform/linux/cpu_groups.c -o %t
// RUN: %t %t.tree

#include "check.h"
#include "platform/linux/cpu_groups.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *tree;
static char membership[512], mount[512];
static const struct vf_cpu_groups_at where = {membership, mount};
static struct vf_cpu_groups groups;
static struct vf_cpu_reading now;
static uint64_t clock_ns = 1000000000;

/* Creates folders as needed, and the file if text is not null. */
static void put(const char *name, const char *text) {
  char path[1024];
  snprintf(path, sizeof path, "%s/%s", tree, name);
  for (char *c = path + strlen(tree) + 1; (c = strchr(c, '/')); *c++ = '/') {
    *c = '\0';
    mkdir(path, 0777);
  }
  if (!text)
    return;
  FILE *file = fopen(path, "w");
  CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void begin(const char *name, const char *lines) {
  char file[64];
  snprintf(file, sizeof file, "%s/self", name);
  put(file, lines);
  snprintf(membership, sizeof membership, "%s/%s/self", tree, name);
  snprintf(mount, sizeof mount, "%s/%s/cgroup", tree, name);
}

static int find(void) { return vf_cpu_groups_find(&groups, &where); }

/* Reads 100 ms later. */
static int look(void) {
  clock_ns += 100000000;
  return vf_cpu_groups_read(&groups, clock_ns, &now);
}

/* Returns the number of descriptors in use below `end`. */
static int files_below(int end) {
  int n = 0;
  for (int i = 0; i < end; ++i)
    n += fcntl(i, F_GETFD) >= 0;
  return n;
}

static int open_files(void) {
  vf_cpu_groups_close(&groups);
  return files_below(2 * VF_GROUP_FILES_FROM);
}

static void v2(void) {
  begin("v2", "0::/pod/inner\n");
  put("v2/cgroup/pod/cpu.max", "150000 100000\n");
  put("v2/cgroup/pod/cpu.stat",
      "usage_usec 900\nnr_periods 10\nnr_throttled 2\nthrottled_usec 70\n");
  put("v2/cgroup/pod/inner/cpu.max", "max 100000\n");
  CHECK(find() == 0);
  CHECK(groups.n == 2 && !groups.is_v1);
  CHECK(look() == 0);
  CHECK(now.millicpus == 1500 && now.period_us == 100000 &&
        now.elapsed_ns == 0);
  CHECK(now.throttled == 0 && now.used_permille == VF_USE_UNKNOWN);
  /* 75 of the 150 ms that are allowed in 100 ms. */
  put("v2/cgroup/pod/cpu.stat", "usage_usec 75900\nuser_usec 5\nnr_periods "
                                "14\nnr_throttled 3\nthrottled_usec 170\n");
  CHECK(look() == 0);
  CHECK(now.elapsed_ns == 100000000 && now.periods == 4 && now.throttled == 1);
  CHECK(now.throttled_us == 100 && now.used_permille == 500);
  CHECK(look() == 0 && now.throttled == 0 && now.used_permille == 0);

  /* The inner group gets a limit: its statistics must be opened. */
  put("v2/cgroup/pod/inner/cpu.max", "20000 100000\n");
  put("v2/cgroup/pod/inner/cpu.stat",
      "usage_usec 0\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n");
  CHECK(look() == ESTALE);
  CHECK(find() == 0 && look() == 0 && now.millicpus == 200);
  /* The group that was throttled and the one that used most need not be the
   * same. */
  put("v2/cgroup/pod/inner/cpu.stat",
      "usage_usec 10000\nnr_periods 4\nnr_throttled 4\nthrottled_usec 9\n");
  put("v2/cgroup/pod/cpu.stat",
      "usage_usec 195900\nnr_periods 15\nnr_throttled 3\nthrottled_usec 170\n");
  CHECK(look() == 0 && now.throttled == 4 && now.throttled_us == 9);
  CHECK(now.used_permille == 800);
  /* Limits change, and end. */
  put("v2/cgroup/pod/inner/cpu.max", "300000 50000\n");
  CHECK(look() == 0 && now.millicpus == 1500);
  put("v2/cgroup/pod/inner/cpu.max", "max 50000\n");
  put("v2/cgroup/pod/cpu.max", "max 100000\n");
  CHECK(look() == 0 && now.millicpus == VF_NO_LIMIT);
}

static void v1(void) {
  begin("v1",
        "9:cpuacct:/a/b\n8:memory:/elsewhere\n4:cpu:/a/b\n1:cpuset:/\n0::/\n");
  put("v1/cgroup/unified/cgroup.procs", "");
  put("v1/cgroup/cpuacct/a/b/cpuacct.usage", "1000000\n");
  put("v1/cgroup/cpuacct/a/cpuacct.usage", "1000000\n");
  put("v1/cgroup/cpu/a/cpu.cfs_quota_us", "-1\n");
  put("v1/cgroup/cpu/a/b/cpu.cfs_quota_us", "50000\n");
  put("v1/cgroup/cpu/a/b/cpu.cfs_period_us", "100000\n");
  put("v1/cgroup/cpu/a/b/cpu.stat",
      "nr_periods 1\nnr_throttled 1\nthrottled_time 5000000\n");
  CHECK(find() == 0 && groups.is_v1 && look() == 0 && now.millicpus == 500);
  put("v1/cgroup/cpu/a/b/cpu.stat",
      "nr_periods 3\nnr_throttled 2\nthrottled_time 7000000\n");
  put("v1/cgroup/cpuacct/a/b/cpuacct.usage", "46000000\n");
  CHECK(look() == 0 && now.periods == 2 && now.throttled == 1);
  CHECK(now.throttled_us == 2000 && now.used_permille == 900);
  put("v1/cgroup/cpu/a/b/cpu.cfs_period_us", "25000\n");
  CHECK(look() == 0 && now.millicpus == 2000);

  /* Other groups for accounting: they tell nothing of this group. */
  begin("v1", "9:cpuacct:/\n4:cpu:/a/b\n");
  CHECK(find() == 0 && look() == 0 && look() == 0);
  CHECK(now.used_permille == VF_USE_UNKNOWN);

  /* Controllers that share a mount. */
  begin("v1", "4:cpu,cpuacct:/a/b\n");
  CHECK(find() == 0 && look() == 0 && now.millicpus == 2000);
}

/* The mount of a container without a namespace begins at the container's
 * group; one with a namespace names a group outside by "/..". */
static void containers(void) {
  begin("in", "4:cpu,cpuacct:/docker/123/sub\n");
  put("in/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "100000\n");
  put("in/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  put("in/cgroup/cpu,cpuacct/cpu.stat", "nr_periods 1\n");
  CHECK(find() == 0 && groups.n == 1 && look() == 0 && now.millicpus == 1000);
  put("in/cgroup/cpu,cpuacct/sub/cpu.cfs_quota_us", "-1\n");
  CHECK(find() == 0 && groups.n == 2 && look() == 0 && now.millicpus == 1000);
  begin("in", "4:cpu,cpuacct:/../other\n");
  CHECK(find() == 0 && groups.n == 1 && look() == 0 && now.millicpus == 1000);
}

static void none(void) {
  int before = open_files();
  begin("none", "0::/\n");
  put("none/cgroup/cgroup.procs", "");
  CHECK(find() == ENOENT && groups.n == 0);
  begin("none", "");
  CHECK(find() == ENOENT);
  begin("none", "nonsense\n::\n:\n4:cpu\n4:cpu:");
  CHECK(find() == ENOENT);
  char line[5000];
  memset(line, 'x', sizeof line);
  strcpy(line + sizeof line - 8, "\n0::/a\n");
  put("none/cgroup/a/cpu.max", "100 1000\n");
  put("none/cgroup/a/cpu.stat", "nr_periods 0\n");
  begin("none", line); /* after a line that is too long */
  CHECK(find() == 0 && look() == 0 && now.millicpus == 100);
  memcpy(line, "0::/", 4);
  memset(line + sizeof line - 8, 'x', 7);
  begin("none", line);
  CHECK(find() == ENOENT);
  strcpy(membership, "/nowhere");
  CHECK(find() == ENOENT);
  CHECK(open_files() == before);
}

static void nonsense(void) {
  static const char *const limits[] = {
      "",       "\n",       "max",
      "-5 100", "0 100000", "99999999999999999999999 1",
      "x",      "max 0",    "18446744073709551615 1"};
  begin("bad", "0::/a\n");
  put("bad/cgroup/a/cpu.stat", "nr_periods\nnr_throttled x\n");
  for (unsigned i = 0; i < sizeof limits / sizeof *limits; ++i) {
    put("bad/cgroup/a/cpu.max", limits[i]);
    int error = find();
    if (!error && !(error = look()))
      CHECK(now.millicpus == VF_NO_LIMIT);
    CHECK(error == 0 || error == ESTALE);
  }
  /* A quota without a period, or one of 0, is none that can be used. */
  put("bad/cgroup/a/cpu.max", "100");
  CHECK(find() == ENOENT || look() == ESTALE);
  put("bad/cgroup/a/cpu.max", "100 0");
  CHECK(find() == ENOENT || look() == ESTALE);
  put("bad/cgroup/a/cpu.max", "4294967295 1");
  CHECK(find() == 0 && look() == 0 && now.millicpus != 0);
  put("bad/cgroup/a/cpu.max", "100000 100000");
  CHECK(find() == 0 && look() == 0 && look() == 0 && now.throttled == 0);
  /* Numbers that run backwards. */
  put("bad/cgroup/a/cpu.stat",
      "nr_periods 5\nnr_throttled 5\nusage_usec 500\n");
  CHECK(look() == 0 && now.throttled == 5);
  put("bad/cgroup/a/cpu.stat", "nr_periods 1\nnr_throttled 1\nusage_usec 5\n");
  CHECK(look() == 0 && now.throttled == 0);
}

/* The limit cannot be used without statistics. */
static void no_statistics(void) {
  int before = open_files();
  begin("mute", "0::/a\n");
  put("mute/cgroup/a/cpu.max", "100000 100000\n");
  CHECK(find() == ENOENT && groups.n == 0 && open_files() == before);
}

/* Of two groups, the one whose file may not be read has no limit; the other's counts. */
static void unreadable(void) {
  int before = open_files();
  char path[1024];
  begin("shut", "0::/pod/inner\n");
  put("shut/cgroup/pod/cpu.max", "150000 100000\n");
  put("shut/cgroup/pod/cpu.stat", "nr_periods 0\n");
  put("shut/cgroup/pod/inner/cpu.stat", "nr_periods 0\n");
  put("shut/cgroup/pod/inner/cpu.max", "50000 100000\n");
  CHECK(find() == 0 && look() == 0 && now.millicpus == 500);

  snprintf(path, sizeof path, "%s/shut/cgroup/pod/inner/cpu.max", tree);
  /* Root reads all, so it becomes another user, who may reach none of the folders. */
  bool is_root = geteuid() == 0;
  CHECK(chmod(path, 0) == 0 && (!is_root || seteuid(65534) == 0));
  int error = find();
  CHECK(!is_root || seteuid(0) == 0);
  CHECK((error == ENOENT && is_root) || (error == 0 && look() == 0 && now.millicpus == 1500));
  CHECK(chmod(path, 0644) == 0 && open_files() == before);
}

static int file_of(const struct vf_group_file *file) {
  return file->number - 1;
}

static void descriptors(void) {
  int before = open_files(), low = files_below(VF_GROUP_FILES_FROM);
  begin("v1", "4:cpu,cpuacct:/a/b\n");
  CHECK(find() == 0 && look() == 0);
  CHECK(files_below(VF_GROUP_FILES_FROM) == low);
  int stat = file_of(&groups.group[0].stat), pipes[2];
  CHECK(stat >= VF_GROUP_FILES_FROM && (fcntl(stat, F_GETFD) & FD_CLOEXEC));

  /* The program closes it, and has a pipe of its own there. */
  close(stat);
  CHECK(look() == ESTALE);
  CHECK(pipe(pipes) == 0 && dup2(pipes[0], stat) == stat);
  CHECK(write(pipes[1], "nr_throttled 7\n", 15) == 15);
  CHECK(look() == ESTALE);
  vf_cpu_groups_close(&groups); /* leaves the pipe alone */
  char text[32];
  CHECK(read(stat, text, sizeof text) == 15);
  close(stat), close(pipes[0]), close(pipes[1]);
  CHECK(open_files() == before);

  CHECK(find() == 0 && find() == 0 && look() == 0);
  vf_cpu_groups_close(&groups);
  CHECK(open_files() == before && groups.n == 0);
  CHECK(look() == 0 && now.millicpus == VF_NO_LIMIT);
}

int main(int argc, char **argv) {
  CHECK(argc == 2);
  tree = argv[1];
  errno = 77;
  v2();
  v1();
  containers();
  none();
  nonsense();
  no_statistics();
  unreadable();
  descriptors();
  return 0;
}
