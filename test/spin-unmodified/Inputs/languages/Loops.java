// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops NAME: a loop that never ends; those whose names begin with c_ compute.

import java.util.Arrays;
import java.util.HashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;

public class Loops {
  static volatile boolean flag;
  static volatile long[] table = new long[1024];
  static volatile long sink;
  static final AtomicInteger taken = new AtomicInteger(1), serving = new AtomicInteger(1000);
  static final AtomicIntegerArray four = new AtomicIntegerArray(4);
  static final AtomicBoolean open = new AtomicBoolean();
  static final AtomicReference<Object> next = new AtomicReference<>();
  static final ReentrantLock lock = new ReentrantLock();
  static final ConcurrentLinkedQueue<Object> queue = new ConcurrentLinkedQueue<>();
  static BooleanSupplier ready = () -> open.get();

  static void load() { while (!flag) { } }
  static void hint() { while (!flag) Thread.onSpinWait(); }
  static void get() { while (!open.get()) { } }
  static void swap() { while (taken.getAndSet(1) != 0) { } }
  static void compareAndSet() { while (!taken.compareAndSet(0, 1)) Thread.onSpinWait(); }
  static void testThenSet() { for (;;) { while (taken.get() != 0) { } if (taken.compareAndSet(0, 1)) return; } }
  static void ticket() { while (serving.get() != 7) Thread.onSpinWait(); }
  static void pointer() { while (next.get() == null) { } }
  static void tryLock() { while (!lock.tryLock()) { } }
  static void method() { while (!ready.getAsBoolean()) { } }
  static void emptyQueue() { while (queue.poll() == null) Thread.onSpinWait(); }
  static void anyOfFour() { for (;;) for (int i = 0; i < 4; i++) if (four.get(i) != 0) return; }
  static void givesUp() { for (;;) for (long i = 0; i < 1L << 40; i++) if (flag) return; }

  static void compute(String name) {
    HashMap<Long, Long> map = new HashMap<>();
    for (long x = 88172645463325252L;; sink = x)
      switch (name) {
        case "c_sum": { long s = 0; for (long v : table) s += v; table[0] = s | 1; break; }
        case "c_xorshift": for (int i = 0; i < 10000; i++) { x ^= x << 13; x ^= x >>> 7; x ^= x << 17; } break;
        case "c_sort": { long[] t = table; for (int i = 0; i < t.length; i++) t[i] = i * 7919 & 1023; Arrays.sort(t); break; }
        case "c_increments": serving.incrementAndGet(); break;
        case "c_lockAndUnlock": lock.lock(); x++; lock.unlock(); break;
        case "c_map": x++; map.put(x % 1000, x); break;
        case "c_text": x++; sink = Long.toHexString(x).length(); break;
        default: System.exit(2);
      }
  }

  public static void main(String[] words) throws Exception {
    Thread holder = new Thread(() -> { lock.lock(); try { Thread.sleep(1L << 40); } catch (InterruptedException e) { } });
    holder.setDaemon(true);
    if (words[0].equals("tryLock")) {
      holder.start();
      Thread.sleep(100);
    }
    if (words[0].startsWith("c_"))
      compute(words[0]);
    Loops.class.getDeclaredMethod(words[0]).invoke(null);
  }
}
