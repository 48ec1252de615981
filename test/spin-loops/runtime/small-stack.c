// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The first wait of a program is in a signal handler, whose stack is the smallest that the
// kernel accepts and 2 KiB: all functions of libc that the runtime calls are bound already.
//
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O1 -Wall -Wextra -I %S/../../Inputs -I %vf_include %s -o %t.shared -fpass-plugin=%vf_plugin %vf_link
// RUN: %t.shared
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O1 -I %S/../../Inputs -I %vf_include %s -o %t.static --config=%vf_lib/vfriendly.cfg -pthread
// RUN: %t.static
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O1 -I %S/../../Inputs -I %vf_include %s -o %t.alone -fpass-plugin=%vf_plugin -pthread
// RUN: %t.alone

#include "check.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

static atomic_int in_handler, release;

static void on_signal(int number) {
  (void)number;
  atomic_store(&in_handler, 1);
  while (!atomic_load(&release))
    ;
}

static void *writer(void *unused) {
  while (!atomic_load(&in_handler))
    sleep_ms(1);
  sleep_ms(50); /* The wait yields, and sleeps. */
  atomic_store(&release, 1);
  return unused;
}

int main(void) {
  long page = sysconf(_SC_PAGESIZE);
  size_t size = (size_t)sysconf(_SC_MINSIGSTKSZ) + 2048;
  size_t pages = (size + (size_t)page - 1) / (size_t)page * (size_t)page;
  char *memory = mmap(NULL, (size_t)page + pages, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(memory != MAP_FAILED && mprotect(memory, (size_t)page, PROT_NONE) == 0);
  stack_t stack = {.ss_sp = memory + page, .ss_size = size};
  CHECK(sigaltstack(&stack, NULL) == 0);
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
  CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, writer, NULL) == 0);
  CHECK(raise(SIGUSR1) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  return 0;
}
