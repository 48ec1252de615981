// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// loops NAME: a loop that never ends; those whose names begin with c_ compute.
package main

import (
	"fmt"
	"os"
	"runtime"
	"sort"
	"sync"
	"sync/atomic"
	"time"
)

type node struct{ value int }
type gate interface{ ready() bool }
type flagged struct{ open atomic.Bool }

func (f *flagged) ready() bool { return f.open.Load() }

var (
	flag, serving int32
	taken         int32 = 1
	count         int64
	next          atomic.Pointer[node]
	mutex         sync.Mutex
	rw            sync.RWMutex
	channel              = make(chan int, 1)
	opening       gate   = &flagged{}
	kept          uint64 = 88172645463325252
)

func wait(name string) {
	switch name {
	case "load":
		for atomic.LoadInt32(&flag) == 0 {
		}
	case "swap":
		for atomic.SwapInt32(&taken, 1) != 0 {
		}
	case "compare_and_swap":
		for !atomic.CompareAndSwapInt32(&taken, 0, 1) {
		}
	case "test_then_swap":
		for {
			for atomic.LoadInt32(&taken) != 0 {
			}
			if atomic.CompareAndSwapInt32(&taken, 0, 1) {
				return
			}
		}
	case "ticket":
		for mine := int32(len(os.Args)); atomic.LoadInt32(&serving) != mine; {
		}
	case "pointer":
		for next.Load() == nil {
		}
	case "try_lock":
		mutex.Lock()
		for !mutex.TryLock() {
		}
	case "try_read":
		rw.Lock()
		for !rw.TryRLock() {
		}
	case "method":
		for !opening.ready() {
		}
	case "closure":
		done := func() bool { return atomic.LoadInt32(&flag) != 0 }
		for !done() {
		}
	case "empty_channel":
		for {
			select {
			case <-channel:
				return
			default:
			}
		}
	case "gives_up":
		for {
			for i := 0; i < 1<<40; i++ {
				if atomic.LoadInt32(&flag) != 0 {
					return
				}
			}
		}
	case "any_of_four":
		var flags [4]int32
		for p := &flags; ; {
			for i := range p {
				if atomic.LoadInt32(&p[i]) != 0 {
					return
				}
			}
		}
	default:
		compute(name)
	}
}

func compute(name string) {
	table, m, x := make([]uint64, 1024), map[uint64]uint64{}, kept
	for {
		switch name {
		case "c_sum":
			s := uint64(0)
			for _, v := range table {
				s += v
			}
			table[0] = s | 1
		case "c_xorshift":
			for i := 0; i < 10000; i++ {
				x ^= x << 13
				x ^= x >> 7
				x ^= x << 17
			}
		case "c_sort":
			for i := range table {
				table[i] = uint64(i*7919) & 1023
			}
			sort.Slice(table, func(a, b int) bool { return table[a] < table[b] })
		case "c_increments":
			atomic.AddInt64(&count, 1)
		case "c_lock_and_unlock":
			mutex.Lock()
			x++
			mutex.Unlock()
		case "c_map":
			x++
			m[x%1000] = x
		case "c_text":
			x++
			kept = uint64(len(fmt.Sprintf("%x", x)))
		case "c_channel":
			channel <- 1
			<-channel
			x++
		default:
			os.Exit(2)
		}
		atomic.StoreUint64(&kept, x)
	}
}

func main() {
	runtime.LockOSThread()
	go func() { time.Sleep(time.Hour) }()
	wait(os.Args[1])
}
