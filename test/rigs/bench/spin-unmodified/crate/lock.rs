// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// lock THREADS SECONDS: threads take a lock of the crate `spin`; prints how often in a second.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

static LOCK: spin::Mutex<u64> = spin::Mutex::new(0);
static STOP: AtomicBool = AtomicBool::new(false);

fn compute(n: u64) -> u64 {
    let mut x = 88172645463325252u64;
    for _ in 0..n {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    x
}

fn take() {
    while !STOP.load(Ordering::Relaxed) {
        let mut taken = LOCK.lock();
        black_box(compute(200));
        *taken += 1;
        drop(taken);
        black_box(compute(200));
    }
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let threads: usize = words[1].parse().unwrap();
    let begin = Instant::now();
    let all: Vec<_> = (0..threads).map(|_| std::thread::spawn(take)).collect();
    std::thread::sleep(Duration::from_secs_f64(words[2].parse().unwrap()));
    STOP.store(true, Ordering::Relaxed);
    for thread in all {
        thread.join().unwrap();
    }
    println!("rate: {:.3}", *LOCK.lock() as f64 / begin.elapsed().as_secs_f64());
}
