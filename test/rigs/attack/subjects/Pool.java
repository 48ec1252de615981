// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

public class Pool {
  public static void main(String[] arguments) throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(8);
    List<Future<Long>> sums = new ArrayList<>();
    for (int i = 0; i < 200; i++) {
      int number = i;
      sums.add(pool.submit(() -> {
        long sum = 0;
        for (int j = 0; j < 2000; j++)
          sum += new byte[1000 + j].length + number;
        synchronized (Pool.class) {
          Pool.class.notifyAll();
        }
        return sum;
      }));
    }
    long total = 0;
    for (Future<Long> sum : sums)
      total += sum.get();
    pool.shutdown();
    System.out.println(total + " " + new ProcessBuilder("true").start().waitFor());
  }
}
