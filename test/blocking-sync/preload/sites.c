// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// VF_STATS=1 tells what each place of a program that nobody rebuilt waited for.
//
// RUN: clang -std=gnu11 -O2 -g -Wall -Wextra -I %S/../../Inputs -I %vf_include %s -o %t -lpthread
// RUN: env VF_STATS=1 %vf_preload %t 2> %t.json
// RUN: grep '^{"vfrt"' %t.json > %t.vfrt
// RUN: %python %S/../Inputs/sites.py %t.vfrt > %t.sites
// RUN: FileCheck %s --input-file=%t.sites
// RUN: %vf_preload %t 2>&1 | count 0

#include "check.h"
#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int go;

static void *wait_for_it(void *arg) {
  (void)arg;
  pthread_mutex_lock(&mutex);
  // CHECK-DAG: sites.c:[[@LINE-1]] acquisitions=1 contended=1 spun=0 blocked=1 wakes={{[01]}} waited=long held=short
  while (!go)
    pthread_cond_wait(&cond, &mutex);
  // CHECK-DAG: sites.c:[[@LINE-1]] acquisitions=1 contended=1 spun=0 blocked=1 wakes={{[01]}} waited=long held=short
  pthread_mutex_unlock(&mutex);
  return NULL;
}

int main(void) {
  pthread_t id;
  pthread_mutex_lock(&mutex);
  // CHECK-DAG: sites.c:[[@LINE-1]] acquisitions=1 contended=0 spun=0 blocked=0 wakes=1 waited=never held=long
  CHECK(pthread_create(&id, NULL, wait_for_it, NULL) == 0);
  sleep_ms(60);
  pthread_mutex_unlock(&mutex);
  sleep_ms(60);
  go = 1;
  pthread_cond_signal(&cond);
  pthread_join(id, NULL);
  return 0;
}
