// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// loops NAME: a loop that never ends; those whose names begin with c_ compute.

use std::collections::HashMap;
use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering::*};
use std::sync::{Arc, Mutex, RwLock};
use std::time::{Duration, Instant};

// The compiler must not see that nobody sets it.
#[no_mangle]
pub static FLAG: AtomicBool = AtomicBool::new(false);
static TAKEN: AtomicU32 = AtomicU32::new(1);
static SERVING: AtomicU32 = AtomicU32::new(1000);
static COUNT: AtomicU64 = AtomicU64::new(0);
static NEXT: AtomicPtr<u64> = AtomicPtr::new(std::ptr::null_mut());

struct Gate {
    open: AtomicBool,
}
trait Ready {
    fn ready(&self) -> bool;
}
impl Ready for Gate {
    fn ready(&self) -> bool {
        self.open.load(Acquire)
    }
}

fn wait(name: &str) {
    let mutex = Mutex::new(0);
    let rw = RwLock::new(0);
    let gate: Arc<dyn Ready> = black_box(Arc::new(Gate { open: AtomicBool::new(false) }));
    let queue: Mutex<Vec<u64>> = Mutex::new(Vec::new());
    match name {
        "load" => while !FLAG.load(Acquire) {},
        "load_hint" => while !FLAG.load(Relaxed) { spin_loop() },
        "swap" => while TAKEN.swap(1, AcqRel) != 0 {},
        "compare_exchange" => while TAKEN.compare_exchange(0, 1, Acquire, Relaxed).is_err() { spin_loop() },
        "compare_exchange_weak" => while TAKEN.compare_exchange_weak(0, 1, Acquire, Relaxed).is_err() {
            while TAKEN.load(Relaxed) != 0 { spin_loop() }
        },
        "ticket" => while SERVING.load(Acquire) != black_box(7) { spin_loop() },
        "pointer" => while NEXT.load(Acquire).is_null() { spin_loop() },
        "yields" => while !FLAG.load(Acquire) { std::thread::yield_now() },
        "try_lock" => { let _held = mutex.lock(); while mutex.try_lock().is_err() { spin_loop() } }
        "try_read" => { let _held = rw.write(); while rw.try_read().is_err() {} }
        "method" => while !gate.ready() { spin_loop() },
        "closure" => { let done = || FLAG.load(Acquire); while !black_box(&done)() {} }
        "gives_up" => loop { for _ in 0..1u64 << 40 { if FLAG.load(Acquire) { return } spin_loop() } },
        "until_time" => { let end = Instant::now() + Duration::from_secs(1 << 20); while !FLAG.load(Acquire) && Instant::now() < end {} }
        "empty_queue" => while queue.lock().unwrap().pop().is_none() { spin_loop() },
        _ => compute(name),
    }
}

fn compute(name: &str) {
    let mut table: Vec<u64> = (0..1024).map(|i| i * 7919 % 1024).collect();
    let mut map = HashMap::new();
    let mut x = 88172645463325252u64;
    loop {
        match name {
            "c_sum" => { black_box(black_box(&table).iter().sum::<u64>()); }
            "c_xorshift" => for _ in 0..10000 { x ^= x << 13; x ^= x >> 7; x ^= x << 17; },
            "c_sort" => { table.sort_unstable(); table.reverse(); }
            "c_increments" => { COUNT.fetch_add(1, AcqRel); }
            "c_lock_and_unlock" => { *black_box(&Mutex::new(x)).lock().unwrap() += 1; x += 1; }
            "c_map" => { x += 1; map.insert(x % 1000, x); }
            "c_text" => { x += 1; black_box(format!("{x:x}")); }
            "c_collatz" => { x = black_box(x | 1) % 1000003; let mut n = x; while n > 1 { n = if n % 2 == 1 { 3 * n + 1 } else { n / 2 }; } x += 2; }
            _ => std::process::exit(2),
        }
        black_box(x);
    }
}

fn main() {
    wait(&std::env::args().nth(1).unwrap());
}
