// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Thread pools that poll and then sleep, in four forms, and one that never
// sleeps:
//
//   alike KIND THREADS MILLISECONDS [passive]
//
// poll: a bounded loop around a function that says whether there is work.
//
// pop: a bounded loop of tries to take a task out of a queue.
//
// deadline: polls until a time by the time-stamp counter, then a condition
// variable, in one loop.
//
// lock: a ticket lock that sleeps after each 2^20 polls, in one loop.
//
// turn: a loop without a hint that looks into a worker's eight queues in turn.
// One of them is filled every 2 to 5 ms.
//
// With passive no polls come before the sleep, as the pools' own options have
// it. With -DHAND each spin yields after 200 polls. Prints {"us": microseconds
// a region of all threads, a turn of the lock, or from the moment a queue is
// filled until it is found}.

#include "timing.h"
#include <atomic>
#include <climits>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <linux/futex.h>
#include <mutex>
#include <sched.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <vector>

#if defined(__x86_64__)
#define PAUSE() __builtin_ia32_pause()
#define TICKS() __builtin_ia32_rdtsc()
#else
#define PAUSE() ((void)0)
#define TICKS() ((unsigned long)(wall() * 1e9))
#endif

#ifdef HAND
static void hint(unsigned &polls) {
  if (++polls < 200)
    PAUSE();
  else
    sched_yield();
}
#else
static void hint(unsigned &) { PAUSE(); }
#endif

namespace {

// Work of each thread in a region, and while it holds the lock: about 5 us and
// 1 us.
constexpr long RegionSteps = 5000, LockSteps = 1000;
constexpr int MostThreads = 64;

std::mutex Mutex;
std::condition_variable Wakeup;
std::atomic<bool> Stop{false};
std::atomic<int> Generation{0}, Left{0};
long Limit = 1 << 22;              // polls of poll and pop: some 50 ms and more
unsigned long Timeout = 1ul << 26; // ticks of deadline: some 25 ms
unsigned LockLimit = 1 << 20;      // polls of lock

struct Worker {
  int Last = 0;
  bool Pending = false;
  std::atomic<void *> Queue{nullptr};
} Workers[MostThreads];

bool isReady(Worker &W) {
  if (W.Pending || Stop)
    return true;
  int Now = Generation.load(std::memory_order_relaxed);
  if (Now != W.Last) {
    W.Pending = true;
    W.Last = Now;
  }
  return W.Pending;
}

void waitPoll(Worker &W) {
  unsigned Polls = 0;
  const long Rounds = Limit;
  for (long I = 0; !isReady(W) && I < Rounds; I++)
    hint(Polls);
  if (!isReady(W)) {
    std::unique_lock<std::mutex> Hold(Mutex);
    while (!isReady(W))
      Wakeup.wait(Hold);
  }
  std::atomic_thread_fence(std::memory_order_seq_cst);
  W.Pending = false;
}

void *tryPop(Worker &W) {
  void *Task = W.Queue.load(std::memory_order_relaxed);
  if (!Task || !W.Queue.compare_exchange_strong(Task, nullptr))
    return nullptr;
  return Task;
}

void waitPop(Worker &W) {
  void *Task = nullptr;
  unsigned Polls = 0;
  const long Rounds = Limit;
  for (long I = 0; I < Rounds && !Task && !Stop; I++) {
    Task = tryPop(W);
    hint(Polls);
  }
  if (!Task) {
    std::unique_lock<std::mutex> Hold(Mutex);
    while (!Stop && !(Task = tryPop(W)))
      Wakeup.wait(Hold);
  }
}

void waitDeadline(Worker &W) {
  unsigned long Last = TICKS();
  unsigned Polls = 0;
  void *Task = W.Queue.load();
  while (!Task && !Stop) {
    hint(Polls);
    if (TICKS() - Last > Timeout) {
      std::unique_lock<std::mutex> Hold(Mutex);
      while (!Stop && !W.Queue.load())
        Wakeup.wait(Hold);
      Last = TICKS();
    }
    Task = W.Queue.load();
  }
  W.Queue.store(nullptr);
}

void regions(int Threads, void (*Wait)(Worker &), double Seconds) {
  std::vector<std::thread> Pool;
  for (int T = 1; T < Threads; T++)
    Pool.emplace_back([T, Wait] {
      for (;;) {
        Wait(Workers[T]);
        if (Stop)
          return;
        work(RegionSteps);
        Left--;
      }
    });
  double Begin = wall(), Used = cpu();
  long Done = 0;
  for (; wall() - Begin < Seconds || !Done; Done++) {
    Left = Threads - 1;
    {
      std::lock_guard<std::mutex> Hold(Mutex);
      Generation++;
      for (int T = 1; T < Threads; T++)
        Workers[T].Queue = &Pool;
      Wakeup.notify_all();
    }
    work(RegionSteps);
    unsigned Polls = 0;
    while (Left.load(std::memory_order_acquire))
      hint(Polls);
  }
  report(wall() - Begin, cpu() - Used, Done);
  {
    std::lock_guard<std::mutex> Hold(Mutex);
    Stop = true;
    Wakeup.notify_all();
  }
  for (std::thread &T : Pool)
    T.join();
}

struct TicketLock {
  std::atomic<uint32_t> Active{0};
  std::atomic<uint32_t> Next{0}, Sleepers{0};

  void sleep(uint32_t Seen) {
    Sleepers++;
    syscall(SYS_futex, &Active, FUTEX_WAIT_PRIVATE, Seen, nullptr, nullptr, 0);
    Sleepers--;
  }
  void lock() {
    uint32_t Mine = Next.fetch_add(1);
    const unsigned Rounds = LockLimit;
    unsigned Count = 0, Polls = 0;
    for (;;) {
      uint32_t Seen = Active.load();
      if (Seen == Mine)
        break;
      hint(Polls);
      if (++Count % Rounds == 0)
        sleep(Seen);
    }
  }
  void unlock() {
    Active++;
    if (Sleepers)
      syscall(SYS_futex, &Active, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr,
              0);
  }
};

void turns(int Threads, double Seconds) {
  static TicketLock Lock;
  std::atomic<long> Turns{0};
  double Begin = wall(), Used = cpu();
  std::vector<std::thread> Pool;
  for (int T = 0; T < Threads; T++)
    Pool.emplace_back([&] {
      for (long Mine = 0; wall() - Begin < Seconds || !Mine; Mine++) {
        Lock.lock();
        work(LockSteps);
        Lock.unlock();
        Turns++;
        work(LockSteps);
      }
    });
  for (std::thread &T : Pool)
    T.join();
  report(wall() - Begin, cpu() - Used, Turns);
}

constexpr int Queues = 8;

struct alignas(64) Queue {
  volatile long Items;
  double FilledAt;
} InTurn[MostThreads][Queues];
volatile long IsOpen = 1;

int waitTurn(Queue *Mine) {
  int I = 0;
  unsigned Polls = 0;
  while (Mine[I].Items == 0 && IsOpen > 0) {
#ifdef HAND
    hint(Polls);
#endif
    I = (I + 1) % Queues;
  }
  (void)Polls;
  return I;
}

void queuesInTurn(int Threads, double Seconds) {
  sem_t Found;
  sem_init(&Found, 0, 0);
  double Late = 0;
  std::vector<std::thread> Pool;
  for (int T = 1; T < Threads; T++)
    Pool.emplace_back([&, Mine = InTurn[T]] {
      for (;;) {
        int I = waitTurn(Mine);
        if (!IsOpen)
          return;
        Late += wall() - Mine[I].FilledAt;
        Mine[I].Items = 0;
        sem_post(&Found);
      }
    });
  double Begin = wall(), Used = cpu();
  long Done = 0;
  for (unsigned Random = 1; wall() - Begin < Seconds || !Done; Done++) {
    Random = Random * 1103515245 + 12345;
    usleep(2000 + (Random >> 16) % 3000);
    Queue &Filled = InTurn[1 + (Random >> 8) % unsigned(Threads - 1)]
                          [(Random >> 20) % Queues];
    Filled.FilledAt = wall();
    Filled.Items = 1;
    while (sem_wait(&Found) != 0) {
    }
  }
  report(Late, cpu() - Used, Done);
  IsOpen = 0;
  for (std::thread &T : Pool)
    T.join();
}

} // namespace

int main(int Argc, char **Argv) {
  int Threads = Argc > 3 ? std::atoi(Argv[2]) : 0;
  if (Threads < 1 || Threads > MostThreads)
    return 2;
  double Seconds = std::atof(Argv[3]) / 1000;
  if (Argc > 4) {
    Limit = 0;
    Timeout = 0;
    LockLimit = 1;
  }
  if (!std::strcmp(Argv[1], "poll"))
    regions(Threads, waitPoll, Seconds);
  else if (!std::strcmp(Argv[1], "pop"))
    regions(Threads, waitPop, Seconds);
  else if (!std::strcmp(Argv[1], "deadline"))
    regions(Threads, waitDeadline, Seconds);
  else if (!std::strcmp(Argv[1], "lock"))
    turns(Threads, Seconds);
  else if (!std::strcmp(Argv[1], "turn") && Threads > 1)
    queuesInTurn(Threads, Seconds);
  else
    return 2;
}
