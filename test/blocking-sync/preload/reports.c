// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where and when VF_STATS=1 prints: once for each library, on the stderr that the process
// began with, also if it is closed by the end, and never into another file that has its
// number. A process that SIGTERM ends prints first, and ends as without us; what a program
// has decided about SIGTERM stays as it is.
//
// libvfnuma is for x86-64.
// REQUIRES: preload, heap-churn-malloc, host-x86_64
// RUN: clang -std=gnu11 -O2 -Wall -Wextra -I %S/../../Inputs -I %vf_include %s -o %t -pthread
// DEFINE: %{how} =
// DEFINE: %{run} = env VF_STATS=1 LD_PRELOAD=%vf_lib/libvfpthread.so %t %{how}
//
// REDEFINE: %{how} = close
// RUN: %{run} 2>&1 | FileCheck %s
// REDEFINE: %{how} = reuse %t.other
// RUN: %{run} 2>&1 | FileCheck %s
// RUN: count 0 < %t.other
// CHECK: {"vfrt": {"waits": 0, {{.*}}"pid": {{[0-9]+}}, "program": "reports.c.tmp"}
// CHECK: {"vfpthread": {"spins":
//
// A daemon that closes stderr has no other descriptor of it, so its reader goes on.
// REDEFINE: %{how} = daemon
// RUN: %{run} 2>&1 | count 2
//
// REDEFINE: %{how} = term
// RUN: %{run} > %t.out 2>&1
// RUN: count 2 < %t.out
// RUN: FileCheck --check-prefix=TERM %s < %t.out
// TERM-DAG: {"vfpthread": {
// TERM-DAG: {"vfrt": {{.*}}"site": "{{.*}}reports.c.tmp+0x{{[0-9a-f]+}}"
// RUN: env VF_NUMA=interleave VF_STATS=1 LD_PRELOAD=%vf_lib/libvfmalloc.so:%vf_lib/libvfnuma.so %t term > %t.out 2>&1
// RUN: count 2 < %t.out
// RUN: FileCheck --check-prefix=OTHERS %s < %t.out
// OTHERS-DAG: {"vfmalloc": {
// OTHERS-DAG: {"vfnuma": {
// RUN: rm -f %t.file && env VF_STATS=%t.file LD_PRELOAD=%vf_lib/libvfpthread.so %t term
// RUN: count 2 < %t.file
//
// With an action of the program's own, only what it prints at exit.
// REDEFINE: %{how} = ignored
// RUN: %{run} 2>&1 | count 2
// REDEFINE: %{how} = handled
// RUN: %{run} 2>&1 | count 2
// REDEFINE: %{how} = inherited
// RUN: %{run} 2>&1 | count 2
//
// A process with nothing to report is silent, such as the programs that start the one of interest.
// REDEFINE: %{how} = idle
// RUN: %{run} 2>&1 | count 0
// RUN: env VF_STATS=1 LD_PRELOAD=%vf_lib/libvfmalloc.so:%vf_lib/libvfnuma.so timeout 60 %t idle 2>&1 | count 0
// RUN: env VF_STATS=1 LD_PRELOAD=%vf_lib/libvfpthread.so timeout 60 sh -c "%t contend; true" 2>&1 | count 2
//
// A terminal shows text for people; a file that VF_STATS names gets JSON from there, too.
// RUN: %python %S/../../Inputs/terminal.py env VF_STATS=1 LD_PRELOAD=%vf_lib/libvfpthread.so %t contend | FileCheck --check-prefix=PEOPLE %s --implicit-check-not={{[{]}}
// PEOPLE-DAG: vfriendly: libvfpthread in reports.c.tmp, process {{[0-9]+}}: of 1 spins for mutexes 0 acquired one without sleep; mutexes, conditions and barriers slept {{[12]}} times
// PEOPLE-DAG: {{^}}  spins 1, sleeps {{[12]}}, wakes {{[12]}}{{$}}
// PEOPLE-DAG: vfriendly: libvfrt in reports.c.tmp, process {{[0-9]+}}: no rewritten wait was long enough to count
// PEOPLE-DAG: {{^}}     0.0{{[0-9]+}} s, waits 1, slept 1: {{.*}}reports.c.tmp+0x{{[0-9a-f]+$}}
// RUN: rm -f %t.file && %python %S/../../Inputs/terminal.py env VF_STATS=%t.file LD_PRELOAD=%vf_lib/libvfpthread.so %t contend | count 0
// RUN: FileCheck --check-prefix=TERM %s < %t.file
//
// Without VF_STATS there is no handler.
// RUN: env LD_PRELOAD=%vf_lib/libvfpthread.so %t untouched 2>&1 | count 0
//
// Two copies print once.
// RUN: cp %vf_lib/libvfpthread.so %t.vfpthread.so && cp %vf_lib/libvfmalloc.so %t.vfmalloc.so && cp %vf_lib/libvfnuma.so %t.vfnuma.so
// RUN: env VF_STATS=1 LD_PRELOAD=%vf_lib/libvfpthread.so:%t.vfpthread.so %t contend 2> %t.out
// RUN: count 2 < %t.out
// RUN: FileCheck --check-prefix=TWICE %s < %t.out
// TWICE: {"vfpthread": {{.*}}"wakes": {{[1-9]}}
// RUN: env VF_NUMA=interleave VF_STATS=1 LD_PRELOAD=%vf_lib/libvfmalloc.so:%t.vfmalloc.so:%vf_lib/libvfnuma.so:%t.vfnuma.so %t contend 2> %t.out
// RUN: count 2 < %t.out
// RUN: FileCheck --check-prefix=USED %s < %t.out
// USED-DAG: {"vfmalloc": {"used": {{[1-9]}}
// USED-DAG: {"vfnuma": {

#include "check.h"
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int handled;
static struct sigaction inherited;

static void *take(void *arg) {
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  return arg;
}

static void contend(void) {
  pthread_t id;
  void *volatile block = malloc(8 << 20);
  free(block);
  pthread_mutex_lock(&mutex);
  CHECK(pthread_create(&id, NULL, take, NULL) == 0);
  sleep_ms(20);
  pthread_mutex_unlock(&mutex);
  CHECK(pthread_join(id, NULL) == 0);
}

static void handle(int number) {
  ++handled;
  if (inherited.sa_handler != SIG_DFL)
    inherited.sa_handler(number);
}

static void decide(void (*what)(int)) {
  struct sigaction action = {.sa_handler = what};
  CHECK(sigaction(SIGTERM, &action, &inherited) == 0);
}

/* In a child: how does it end, and is that what the kernel says of one without us? */
static void ends_by_sigterm(void) {
  pid_t child = fork();
  if (child == 0) {
    contend();
    kill(getpid(), SIGTERM);
    for (;;)
      pause();
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
  _exit(0);
}

static void become_daemon(void) {
  struct stat first, now;
  CHECK(fstat(2, &first) == 0);
  pid_t child = fork();
  if (child == 0) {
    bool has_other = false;
    close(1);
    close(2);
    for (int file = 3; file < 1000; ++file)
      has_other |= fstat(file, &now) == 0 && now.st_ino == first.st_ino;
    _exit(has_other);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
}

int main(int argc, char **argv) {
  CHECK(argc >= 2);
  alarm(60);
  if (strcmp(argv[1], "term") == 0)
    ends_by_sigterm();
  if (strcmp(argv[1], "idle") == 0)
    return 0;
  if (strcmp(argv[1], "untouched") != 0)
    contend();
  if (strcmp(argv[1], "close") == 0)
    close(2);
  if (strcmp(argv[1], "reuse") == 0) {
    close(2);
    CHECK(open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0600) == 2);
  }
  if (strcmp(argv[1], "daemon") == 0)
    become_daemon();
  if (strcmp(argv[1], "ignored") == 0) {
    decide(SIG_IGN);
    raise(SIGTERM);
  }
  if (strcmp(argv[1], "handled") == 0) {
    decide(handle);
    inherited.sa_handler = SIG_DFL;
    raise(SIGTERM);
    CHECK(handled == 1);
  }
  if (strcmp(argv[1], "inherited") == 0) {
    decide(handle); /* One that calls the handler it has replaced. */
    raise(SIGTERM);
    CHECK(handled == 1);
  }
  if (strcmp(argv[1], "untouched") == 0) {
    decide(handle);
    CHECK(inherited.sa_handler == SIG_DFL);
  }
  return 0;
}
