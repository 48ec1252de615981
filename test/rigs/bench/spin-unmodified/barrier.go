// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// barrier THREADS SECONDS: goroutines meet at a barrier that spins; prints how often in a second.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"
)

func main() {
	n, _ := strconv.Atoi(os.Args[1])
	seconds, _ := strconv.ParseFloat(os.Args[2], 64)
	runtime.GOMAXPROCS(n)
	var count, sense int32
	rounds := int64(0)
	for i := 0; i < n; i++ {
		go func() {
			for mine := int32(0); ; mine = 1 - mine {
				if atomic.AddInt32(&count, 1) == int32(n) {
					atomic.StoreInt32(&count, 0)
					atomic.AddInt64(&rounds, 1)
					atomic.StoreInt32(&sense, 1-mine)
				} else {
					for atomic.LoadInt32(&sense) == mine {
					}
				}
			}
		}()
	}
	begin := time.Now()
	time.Sleep(time.Duration(seconds * 1e9))
	fmt.Printf("rate: %.3f\n", float64(atomic.LoadInt64(&rounds))/time.Since(begin).Seconds())
	os.Exit(0)
}
