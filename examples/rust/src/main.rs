// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads take turns: each waits by std::hint::spin_loop until the turn is its own.
// `handover [THREADS]` prints the number of turns and the time in seconds.

use std::sync::atomic::{AtomicU32, Ordering::*};
use std::time::Instant;
fn main() {
    let threads: u32 = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(4);
    let turns: u32 = 2000;
    let turn = AtomicU32::new(0);
    let begin = Instant::now();
    std::thread::scope(|scope| {
        for me in 0..threads {
            let turn = &turn;
            scope.spawn(move || {
                for i in 0..turns {
                    while turn.load(Acquire) != i * threads + me {
                        std::hint::spin_loop();
                    }
                    turn.store(i * threads + me + 1, Release);
                }
            });
        }
    });
    println!("{} turns, {:.3} s", turn.load(Relaxed), begin.elapsed().as_secs_f64());
}
