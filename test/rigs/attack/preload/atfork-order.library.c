// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The library of atfork-order.c.

#include <pthread.h>
pthread_mutex_t lib_lock = PTHREAD_MUTEX_INITIALIZER;
static void l(void) { pthread_mutex_lock(&lib_lock); }
static void u(void) { pthread_mutex_unlock(&lib_lock); }
__attribute__((constructor)) static void init(void) { pthread_atfork(l, u, u); }
