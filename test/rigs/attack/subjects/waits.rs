// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

fn main() {
    let shared = Arc::new((Mutex::new(0u64), Condvar::new()));
    let threads: Vec<_> = (0..12)
        .map(|i| {
            let shared = shared.clone();
            thread::spawn(move || {
                for j in 0..500 {
                    let bytes = vec![0u8; 1000 * (j % 50) + i];
                    *shared.0.lock().unwrap() += bytes.len() as u64;
                    shared.1.notify_all();
                }
            })
        })
        .collect();
    for each in threads {
        each.join().unwrap();
    }
    println!("{}", shared.0.lock().unwrap());
}
