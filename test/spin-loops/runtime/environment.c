// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the environment may set, and how a mistake in it is reported: one line
// that names variable, value and what is allowed.
//
// REQUIRES: native
// RUN: clang -std=gnu11 -O2 -Wall -Wextra -I %S/../../Inputs -I %vf_include %s -o %t %vf_link
// RUN: %t 2>&1 | count 0
// RUN: env VF_STATS=0 VF_SPIN_NOTIFY=on VF_SPIN_BUDGET_NS=0 %t 2>&1 | count 0
// RUN: env VF_SPIN_BUDGET_NS=1000000 %t 2>&1 | count 0
//
// RUN: env VF_SPIN_BUDGET_NS=1000001 %t > %t.out 2>&1
// RUN: count 1 < %t.out
// RUN: FileCheck --check-prefix=BUDGET %s < %t.out
// BUDGET: vfriendly: VF_SPIN_BUDGET_NS='1000001' is not a number in 0..1000000; using the default, 50000
// RUN: env VF_SPIN_BUDGET_NS= %t 2>&1 | count 1
// RUN: env VF_SPIN_BUDGET_NS=-1 %t 2>&1 | count 1
// RUN: env VF_SPIN_BUDGET_NS=5us %t 2>&1 | count 1
// RUN: env VF_SPIN_BUDGET_NS=18446744073709551617 %t 2>&1 | count 1
//
// RUN: env VF_SPIN_NOTIFY=no %t > %t.out 2>&1
// RUN: count 1 < %t.out
// RUN: FileCheck --check-prefix=NOTIFY %s < %t.out
// NOTIFY: vfriendly: VF_SPIN_NOTIFY='no' is not off or on; using the default, on
//
// RUN: env VF_STATS=yes %t > %t.out 2>&1
// RUN: count 1 < %t.out
// RUN: FileCheck --check-prefix=STATS %s < %t.out
// STATS: vfriendly: VF_STATS='yes' is not 0 or 1; using the default, 0
//
// A name that nothing reads is reported once for a process and its children.
//
// RUN: env VF_SPIN_BUDGET=5 VF_TEST_ANY=1 sh -c '%t; LD_PRELOAD=%vf_lib/libvfpthread.so sh -c %t' 2>&1 | count 2
// RUN: env VF_SPIN_BUDGET=5 LD_PRELOAD=%vf_lib/libvfpthread.so sh -c '%t; %t' > %t.out 2>&1
// RUN: count 1 < %t.out
// RUN: FileCheck --check-prefix=NAME %s < %t.out
// NAME: vfriendly: unknown environment variable VF_SPIN_BUDGET; is the name misspelt?
// RUN: env VF_NONSENSE=5 VF_STATS=0 LD_PRELOAD=%vf_lib/libvfnuma.so:%vf_lib/libvfmalloc.so %t 2>&1 | count 1
//
// The counters are JSON, keyed by the library's name.
//
// RUN: env VF_STATS=1 %t 2> %t.json
// RUN: python3 -c "import json, sys; c = json.load(open(sys.argv[1]))['vfrt']; print(sorted(c)); assert c['waits'] == 1 and c['spun'] > 0 and c['blocks'] > 0" %t.json | FileCheck --check-prefix=JSON %s
// JSON: ['blind', 'blind_sleeps', 'blocks', {{('limit', )?}}'notifies', 'numa', 'overcommit', 'sites', 'spun', 'timeouts', 'waits', 'wakes', 'yields']
//
// Into a file, also where stderr is closed, with who wrote it; a file for each process with %p.
//
// RUN: rm -rf %t.d && mkdir %t.d && env VF_STATS=%t.d/all sh -c '%t 2>&-; %t' && env VF_STATS=%t.d/of-%%p %t
// RUN: python3 %S/Inputs/stats.py %t.d
// A name with a point is a file of the working directory.
// RUN: cd %t.d && env VF_STATS=stats.json %t 2>&1 | count 0
// RUN: FileCheck --check-prefix=HERE %s < %t.d/stats.json
// HERE: {"vfrt": {
// RUN: env VF_STATS=%t.d/none/such %t 2>&1 | FileCheck --check-prefix=NOFILE %s
// NOFILE: vfriendly: VF_STATS: {{.*}}/none/such: No such file or directory; writing to stderr
// NOFILE: {"vfrt": {

#include "check.h"
#include <sys/resource.h>

// Beside much other load 20 ms may pass in a single yield.
static long sleeps(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nvcsw;
}

int main(void) {
  long before = sleeps();
  uint32_t flag = 0;
  uint64_t state = 0;
  for (double begin = seconds(), end = begin + 0.02;
       seconds() < end || (sleeps() == before && seconds() < begin + 30);)
    state = vf_spin_wait(&flag, 0, state, 4 | VF_SPIN_NOTIFIED);
}
