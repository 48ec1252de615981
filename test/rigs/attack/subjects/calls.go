// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
package main

/*
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long count;

static void bump(void) {
  pthread_mutex_lock(&lock);
  count++;
  pthread_mutex_unlock(&lock);
  free(malloc(100000));
}

static long get(void) { return count; }
*/
import "C"

import (
	"fmt"
	"os/exec"
	"sync"
)

func main() {
	var all sync.WaitGroup
	for i := 0; i < 50; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for j := 0; j < 200; j++ {
				C.bump()
			}
		}()
	}
	all.Wait()
	said, _ := exec.Command("echo", "hi").Output()
	fmt.Println(C.get(), string(said))
}
