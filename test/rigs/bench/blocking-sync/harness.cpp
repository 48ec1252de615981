// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// harness THREADS SECTION THINK HOGS MS: threads take one lock, do so many steps of
// work in it, so many out of it, and so on. Prints one JSON line; exits 1 if two were
// in it at once. Without arguments: prints how many steps a nanosecond has.
//
// harness late US ITERATIONS: repeated ITERATIONS times, one thread takes and releases the lock
// without a break until a second thread, which waits for it, has had it, but for at most
// US microseconds. Prints how often the second one did not get the lock in that time, and
// how long it then went on waiting for a lock that no thread used.
//
// -DLOCK="locks/NAME.h" says which lock: a struct Lock with lock() and unlock().
// -DMARK="FILE" has a mark(unsigned) that tells who counts something meanwhile that
// the run begins, 1, or is over, 2.

#include LOCK
#ifdef MARK
#include MARK
#else
inline void mark(unsigned) {}
#endif

#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <sys/resource.h>
#include <thread>
#include <time.h>
#include <vector>

namespace {

uint64_t now(clockid_t clock = CLOCK_MONOTONIC) {
  timespec t;
  clock_gettime(clock, &t);
  return uint64_t(t.tv_sec) * 1000000000u + uint64_t(t.tv_nsec);
}

// Work is counted, not timed, because a thread that has no CPU does none. A chain of multiplications
// takes the same time in each program, however its loops are aligned.
uint64_t step(uint64_t n) {
  uint64_t x = n;
  for (uint64_t i = 0; i < n; ++i) {
    x *= 0x9E3779B97F4A7C15u;
    asm volatile("" : "+r"(x) : : );
  }
  return x;
}

// The best of many: others run on this machine, too.
double stepsPerNs() {
  uint64_t best = UINT64_MAX;
  for (int i = 0; i < 200; ++i) {
    uint64_t begin = now();
    step(100000);
    best = std::min(best, now() - begin);
  }
  return 100000.0 / double(best);
}

// Every so many acquisitions one is timed: reading the clock twice costs more than
// an uncontended lock.
constexpr uint64_t TimedEvery = 32;

struct alignas(128) Worker {
  uint64_t Ops = 0, CpuNs = 0, Sleeps = 0;
  std::vector<uint64_t> Waits;
};

alignas(128) Lock TheLock;
// Under the lock: a second thread in there would be seen between the two.
alignas(128) volatile uint64_t Entered, Left;
alignas(128) std::atomic<bool> Go, Stop;
alignas(128) std::atomic<int> Ready;

// How often this thread has left its CPU because it had nothing to do.
uint64_t sleeps() {
  rusage Used;
  getrusage(RUSAGE_THREAD, &Used);
  return uint64_t(Used.ru_nvcsw);
}

void work(Worker &W, uint64_t Section, uint64_t Think) {
  W.Waits.reserve(1 << 16);
  ++Ready;
  while (!Go.load(std::memory_order_acquire))
    std::this_thread::yield();
  uint64_t Cpu = now(CLOCK_THREAD_CPUTIME_ID), Slept = sleeps();
  while (!Stop.load(std::memory_order_relaxed)) {
    bool Timed = W.Ops % TimedEvery == 0 && W.Waits.size() < W.Waits.capacity();
    uint64_t Begin = Timed ? now() : 0;
    TheLock.lock();
    if (Timed)
      W.Waits.push_back(now() - Begin);
    if (Entered != Left) {
      std::puts("two threads hold the lock");
      std::exit(1);
    }
    Entered = Entered + 1;
    step(Section);
    Left = Left + 1;
    TheLock.unlock();
    step(Think);
    ++W.Ops;
  }
  W.CpuNs = now(CLOCK_THREAD_CPUTIME_ID) - Cpu;
  W.Sleeps = sleeps() - Slept;
}

void hog() {
  while (!Stop.load(std::memory_order_relaxed))
    step(1000);
}

uint64_t quantile(std::vector<uint64_t> &Values, double Which) {
  if (Values.empty())
    return 0;
  auto At = Values.begin() + long(double(Values.size() - 1) * Which);
  std::nth_element(Values.begin(), At, Values.end());
  return *At;
}

// In turn odd, while the other asks, and even.
alignas(128) std::atomic<int> Turn;

void waitForTurn(int Number) {
  while (Turn.load(std::memory_order_acquire) != Number)
    ;
}

void late(uint64_t Us, int Iterations) {
  constexpr uint64_t Section = 3000; // steps, some 3 us
  uint64_t Served = 0;
  std::thread Other([&Served, Iterations] {
    for (int Iteration = 0; Iteration < Iterations; ++Iteration) {
      waitForTurn(2 * Iteration + 1);
      TheLock.lock();
      Served = now();
      TheLock.unlock();
      Turn.store(2 * Iteration + 2, std::memory_order_release);
    }
  });
  std::vector<uint64_t> Waits;
  for (int Iteration = 0; Iteration < Iterations; ++Iteration) {
    TheLock.lock();
    uint64_t Begin = now(), End = Begin;
    Turn.store(2 * Iteration + 1, std::memory_order_release);
    while (End - Begin < Us * 1000 && Turn.load() == 2 * Iteration + 1) {
      TheLock.unlock();
      TheLock.lock();
      step(Section);
      End = now();
    }
    TheLock.unlock();
    waitForTurn(2 * Iteration + 2);
    if (Served > End)
      Waits.push_back(Served - End);
  }
  Other.join();
  std::printf("{\"late\": %.4f, \"then_us\": %.1f, \"then_p90_us\": %.1f}\n",
              double(Waits.size()) / Iterations, double(quantile(Waits, 0.5)) / 1e3,
              double(quantile(Waits, 0.9)) / 1e3);
}

} // namespace

int main(int argc, char **argv) {
  if (argc == 1) {
    std::printf("{\"steps_per_ns\": %.6f}\n", stepsPerNs());
    return 0;
  }
  if (argc == 4 && std::string_view(argv[1]) == "late") {
    late(std::strtoull(argv[2], nullptr, 10), std::atoi(argv[3]));
    return 0;
  }
  if (argc != 6) {
    std::fprintf(stderr, "usage: %s THREADS SECTION THINK HOGS MS | late US ITERATIONS\n", argv[0]);
    return 2;
  }
  int Threads = std::atoi(argv[1]), Hogs = std::atoi(argv[4]);
  uint64_t Section = std::strtoull(argv[2], nullptr, 10);
  uint64_t Think = std::strtoull(argv[3], nullptr, 10);
  std::vector<Worker> Workers(Threads);
  std::vector<std::thread> All;
  for (Worker &W : Workers)
    All.emplace_back([&W, Section, Think] { work(W, Section, Think); });
  for (int I = 0; I < Hogs; ++I)
    All.emplace_back(hog);
  timespec Length = {0, std::atol(argv[5]) * 1000000};
  // To start a thread takes milliseconds where vCPUs wait for CPUs.
  while (Ready.load() < Threads)
    std::this_thread::yield();
  mark(1);
  uint64_t Begin = now();
  Go.store(true, std::memory_order_release);
  nanosleep(&Length, nullptr);
  Stop = true;
  uint64_t Took = now() - Begin;
  mark(2);
  for (std::thread &T : All)
    T.join();

  double Ops = 0, Squares = 0, Cpu = 0, Sleeps = 0;
  std::vector<uint64_t> Waits;
  for (Worker &W : Workers) {
    Ops += double(W.Ops);
    Squares += double(W.Ops) * double(W.Ops);
    Cpu += double(W.CpuNs);
    Sleeps += double(W.Sleeps);
    Waits.insert(Waits.end(), W.Waits.begin(), W.Waits.end());
  }
  std::printf("{\"ops_per_s\": %.0f, \"cpu_ns_per_op\": %.1f, \"p99_wait_ns\": %" PRIu64 ", "
              "\"jain\": %.4f, \"ops\": %.0f, \"sleeps\": %.0f}\n",
              Ops / double(Took) * 1e9, Cpu / std::max(Ops, 1.0), quantile(Waits, 0.99),
              Squares > 0 ? Ops * Ops / (double(Threads) * Squares) : 0, Ops, Sleeps);
  return 0;
}
