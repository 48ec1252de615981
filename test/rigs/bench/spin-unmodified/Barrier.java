// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Barrier THREADS SECONDS: threads meet at a barrier that spins; prints how often in a second.

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

public class Barrier {
  static final AtomicInteger count = new AtomicInteger(), sense = new AtomicInteger();
  static final AtomicLong rounds = new AtomicLong();

  public static void main(String[] words) throws Exception {
    int n = Integer.parseInt(words[0]);
    double seconds = Double.parseDouble(words[1]);
    for (int i = 0; i < n; i++) {
      Thread thread = new Thread(() -> {
        for (int mine = 0; ; mine = 1 - mine) {
          if (count.incrementAndGet() == n) {
            count.set(0);
            rounds.incrementAndGet();
            sense.set(1 - mine);
          } else {
            while (sense.get() == mine) {
            }
          }
        }
      });
      thread.setDaemon(true);
      thread.start();
    }
    long begin = System.nanoTime();
    Thread.sleep((long) (seconds * 1000));
    System.out.printf("rate: %.3f%n", rounds.get() / ((System.nanoTime() - begin) / 1e9));
    Runtime.getRuntime().halt(0);
  }
}
