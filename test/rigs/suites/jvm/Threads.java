// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Many threads of a JVM on monitors, java.util.concurrent's locks, timed waits, queues and
// a fork-join pool, while the collector and the compilers have work as well.

import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import java.util.concurrent.locks.*;

public class Threads {
  static final int THREADS = 32, ROUNDS = 20000;
  static final Object monitor = new Object();
  static final ReentrantLock lock = new ReentrantLock();
  static final Condition changed = lock.newCondition();
  static final ReentrantReadWriteLock guard = new ReentrantReadWriteLock();
  static long underMonitor, underLock, underGuard;

  static void expect(String what, long is, long should) {
    if (is != should)
      throw new AssertionError(what + ": " + is + ", not " + should);
  }

  static void inParallel(ThrowingRunnable body) throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(THREADS);
    List<Future<?>> all = new ArrayList<>();
    for (int i = 0; i < THREADS; ++i)
      all.add(pool.submit(() -> { body.run(); return null; }));
    for (Future<?> each : all)
      each.get(120, TimeUnit.SECONDS);
    pool.shutdown();
    if (!pool.awaitTermination(60, TimeUnit.SECONDS))
      throw new AssertionError("the pool does not end");
  }

  interface ThrowingRunnable { void run() throws Exception; }

  static void locks() throws Exception {
    CyclicBarrier together = new CyclicBarrier(THREADS);
    inParallel(() -> {
      for (int i = 0; i < ROUNDS; ++i) {
        synchronized (monitor) { ++underMonitor; }
        lock.lock();
        try { ++underLock; } finally { lock.unlock(); }
        guard.writeLock().lock();
        try { ++underGuard; } finally { guard.writeLock().unlock(); }
        if (i % 2000 == 0)
          together.await(60, TimeUnit.SECONDS);
      }
    });
    expect("monitor", underMonitor, (long) THREADS * ROUNDS);
    expect("lock", underLock, (long) THREADS * ROUNDS);
    expect("guard", underGuard, (long) THREADS * ROUNDS);
  }

  static void waits() throws Exception {
    AtomicInteger turn = new AtomicInteger();
    AtomicInteger next = new AtomicInteger();
    inParallel(() -> {
      int mine = next.getAndIncrement();
      for (int i = 0; i < 50; ++i) {
        synchronized (monitor) {
          while (turn.get() != mine)
            monitor.wait(1000);
          turn.set((mine + 1) % THREADS);
          monitor.notifyAll();
        }
        lock.lock();
        try { changed.awaitNanos(1000); changed.signal(); } finally { lock.unlock(); }
        LockSupport.parkNanos(1000);
      }
    });
  }

  static void queues() throws Exception {
    BlockingQueue<byte[]> queue = new ArrayBlockingQueue<>(16);
    SynchronousQueue<Integer> hands = new SynchronousQueue<>();
    AtomicInteger next = new AtomicInteger();
    AtomicLong bytes = new AtomicLong();
    inParallel(() -> {
      boolean gives = next.getAndIncrement() % 2 == 0;
      for (int i = 0; i < 2000; ++i)
        if (gives) {
          queue.put(new byte[1024]); // For the collector.
          hands.put(i);
        } else {
          bytes.addAndGet(queue.take().length);
          hands.take();
        }
    });
    expect("bytes", bytes.get(), THREADS / 2 * 2000L * 1024);
  }

  static void forkJoin() {
    long sum = java.util.stream.LongStream.range(0, 2_000_000).parallel().map(i -> i % 1000).sum();
    expect("sum", sum, 2000L * 499500);
  }

  public static void main(String[] arguments) throws Exception {
    locks();
    waits();
    queues();
    forkJoin();
    System.out.println("all as it should be");
  }
}
