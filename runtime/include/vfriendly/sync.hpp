//===- vfriendly/sync.hpp - Primitives with standard interfaces -----------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   vf::mutex lock;                            // std::timed_mutex
//   std::scoped_lock held(lock);
//
//   vf::shared_mutex    std::shared_timed_mutex, without nested read locks
//   vf::counting_semaphore                     std::counting_semaphore
//   vf::barrier<F>      std::barrier<F>
//   vf::event           a manual-reset event
//
// Members that a class shares with the standard class next to it behave as the
// standard says. The mutexes work with std::unique_lock and std::shared_lock
// and, because they are Lockable, with std::condition_variable_any. C++14;
// header only, over libvfrt's C interface.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_SYNC_HPP
#define VFRIENDLY_SYNC_HPP

#include "vfriendly/event.h"
#include "vfriendly/mutex.h"
#include "vfriendly/rwlock.h"
#include "vfriendly/sem.h"
#include "vfriendly/spin_wait.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <system_error>
#include <utility>

namespace vf {

namespace detail {

template <class Duration> timespec toTimespec(Duration SinceEpoch) {
  auto Seconds = std::chrono::duration_cast<std::chrono::seconds>(SinceEpoch);
  if (Seconds > SinceEpoch) // Before the epoch: nanoseconds are never negative.
    Seconds -= std::chrono::seconds(1);
  auto Rest = std::chrono::duration_cast<std::chrono::nanoseconds>(SinceEpoch -
                                                                   Seconds);
  return {static_cast<time_t>(Seconds.count()),
          static_cast<long>(Rest.count())};
}

// Calls W(clock, deadline) until it succeeds or the time At has passed on the
// clock of At. Returns true if it succeeded.
template <class Wait, class Duration>
bool until(std::chrono::time_point<std::chrono::steady_clock, Duration> At,
           Wait W) {
  timespec T = toTimespec(At.time_since_epoch());
  return W(CLOCK_MONOTONIC, &T) == 0;
}

template <class Wait, class Duration>
bool until(std::chrono::time_point<std::chrono::system_clock, Duration> At,
           Wait W) {
  timespec T = toTimespec(At.time_since_epoch());
  return W(CLOCK_REALTIME, &T) == 0;
}

template <class Wait, class Rep, class Period>
bool within(std::chrono::duration<Rep, Period> Time, Wait W) {
  using Steady = std::chrono::steady_clock;
  // Waits for a year at most: the end of a longer time might not fit into a
  // time_point.
  constexpr auto Longest = std::chrono::hours(24 * 365);
  if (Time > Longest)
    return until(Steady::now() + Longest, W);
  // Rounds up, so that the wait is no shorter than requested.
  auto Ticks = std::chrono::duration_cast<Steady::duration>(Time);
  if (Ticks < Time)
    ++Ticks;
  return until(Steady::now() + Ticks, W);
}

template <class Wait, class Clock, class Duration>
bool until(std::chrono::time_point<Clock, Duration> At, Wait W) {
  do
    if (within(At - Clock::now(), W))
      return true;
  while (Clock::now() < At);
  return false;
}

// A function object that calls one of the C functions that wait until a
// deadline: Wait, on *Object.
template <class Native> struct Timed {
  Native *Object;
  int (*Wait)(Native *, clockid_t, const timespec *);
  int operator()(clockid_t Clock, const timespec *At) const {
    return Wait(Object, Clock, At);
  }
};

inline void check(int Error) {
  if (Error == 0)
    return;
#ifdef __cpp_exceptions
  throw std::system_error(Error, std::generic_category());
#else
  std::abort();
#endif
}

} // namespace detail

class mutex {
public:
  using native_handle_type = vf_mutex *;

  constexpr mutex() noexcept = default;
  mutex(const mutex &) = delete;
  mutex &operator=(const mutex &) = delete;

  void lock() { vf_mutex_lock(&Native); }
  bool try_lock() { return vf_mutex_trylock(&Native) == 0; }
  void unlock() { vf_mutex_unlock(&Native); }

  template <class Rep, class Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period> &Time) {
    return detail::within(Time, waiter());
  }
  template <class Clock, class Duration>
  bool try_lock_until(const std::chrono::time_point<Clock, Duration> &At) {
    return detail::until(At, waiter());
  }

  native_handle_type native_handle() { return &Native; }

private:
  detail::Timed<vf_mutex> waiter() { return {&Native, vf_mutex_clocklock}; }

  vf_mutex Native = VF_MUTEX_INIT;
};

class shared_mutex {
public:
  using native_handle_type = vf_rwlock *;

  constexpr shared_mutex() noexcept = default;
  shared_mutex(const shared_mutex &) = delete;
  shared_mutex &operator=(const shared_mutex &) = delete;

  void lock() { vf_rwlock_wrlock(&Native); }
  bool try_lock() { return vf_rwlock_trywrlock(&Native) == 0; }
  void unlock() { vf_rwlock_unlock(&Native); }
  void lock_shared() { detail::check(vf_rwlock_rdlock(&Native)); }
  bool try_lock_shared() { return vf_rwlock_tryrdlock(&Native) == 0; }
  void unlock_shared() { vf_rwlock_unlock(&Native); }

  template <class Rep, class Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period> &Time) {
    return detail::within(Time, writer());
  }
  template <class Clock, class Duration>
  bool try_lock_until(const std::chrono::time_point<Clock, Duration> &At) {
    return detail::until(At, writer());
  }
  template <class Rep, class Period>
  bool try_lock_shared_for(const std::chrono::duration<Rep, Period> &Time) {
    return detail::within(Time, reader());
  }
  template <class Clock, class Duration>
  bool
  try_lock_shared_until(const std::chrono::time_point<Clock, Duration> &At) {
    return detail::until(At, reader());
  }

  native_handle_type native_handle() { return &Native; }

private:
  detail::Timed<vf_rwlock> writer() { return {&Native, vf_rwlock_clockwrlock}; }
  detail::Timed<vf_rwlock> reader() { return {&Native, vf_rwlock_clockrdlock}; }

  vf_rwlock Native = VF_RWLOCK_INIT;
};

class counting_semaphore {
public:
  // pre: 0 <= Value <= max().
  explicit counting_semaphore(std::ptrdiff_t Value) {
    detail::check(vf_sem_init(&Native, 0, static_cast<unsigned>(Value)));
  }
  counting_semaphore(const counting_semaphore &) = delete;
  counting_semaphore &operator=(const counting_semaphore &) = delete;

  static constexpr std::ptrdiff_t max() noexcept { return VF_SEM_MAX; }

  // pre: the semaphore has at most max() units afterwards.
  void release(std::ptrdiff_t Count = 1) {
    for (; Count > 0; --Count)
      detail::check(vf_sem_post(&Native));
  }
  void acquire() { vf_sem_wait(&Native); }
  bool try_acquire() noexcept { return vf_sem_trywait(&Native) == 0; }

  template <class Rep, class Period>
  bool try_acquire_for(const std::chrono::duration<Rep, Period> &Time) {
    return detail::within(Time, waiter());
  }
  template <class Clock, class Duration>
  bool try_acquire_until(const std::chrono::time_point<Clock, Duration> &At) {
    return detail::until(At, waiter());
  }

private:
  detail::Timed<vf_sem> waiter() { return {&Native, vf_sem_clockwait}; }

  vf_sem Native;
};

class event {
public:
  constexpr event() noexcept = default;
  event(const event &) = delete;
  event &operator=(const event &) = delete;

  void set() { vf_event_set(&Native); }
  void reset() { vf_event_reset(&Native); }
  bool is_set() { return vf_event_trywait(&Native) == 0; }
  void wait() { vf_event_wait(&Native); }

  template <class Rep, class Period>
  bool wait_for(const std::chrono::duration<Rep, Period> &Time) {
    return detail::within(Time, waiter());
  }
  template <class Clock, class Duration>
  bool wait_until(const std::chrono::time_point<Clock, Duration> &At) {
    return detail::until(At, waiter());
  }

private:
  detail::Timed<vf_event> waiter() { return {&Native, vf_event_clockwait}; }

  vf_event Native = VF_EVENT_INIT;
};

namespace detail {
struct Nothing {
  void operator()() const noexcept {}
};
} // namespace detail

// Does not use vf_barrier, which can neither call a function between the last
// arrival and the release of the other threads, nor let a thread arrive now and
// wait later.
template <class Completion = detail::Nothing> class barrier {
public:
  class arrival_token {
    friend class barrier;
    explicit arrival_token(std::uint32_t Phase) : Phase(Phase) {}
    std::uint32_t Phase;
  };

  static constexpr std::ptrdiff_t max() noexcept {
    return std::numeric_limits<std::int32_t>::max();
  }

  // pre: 0 <= Threads <= max().
  explicit barrier(std::ptrdiff_t Threads, Completion F = Completion())
      : Expected(Threads), Missing(Threads), WhenComplete(std::move(F)) {}
  barrier(const barrier &) = delete;
  barrier &operator=(const barrier &) = delete;

  // pre: 0 < Count <= number of missing arrivals.
  arrival_token arrive(std::ptrdiff_t Count = 1) {
    // Loads the phase before the arrival is counted, because the phase may end
    // as soon as the last arrival is counted.
    std::uint32_t Now = Phase.load(std::memory_order_relaxed);
    if (Missing.fetch_sub(Count, std::memory_order_acq_rel) == Count) {
      WhenComplete();
      Missing.store(Expected.load(std::memory_order_relaxed),
                    std::memory_order_relaxed);
      Phase.store(Now + 1, std::memory_order_release);
      vf_spin_notify(&Phase);
    }
    return arrival_token(Now);
  }

  void wait(arrival_token &&Token) const {
    std::uint64_t State = 0;
    while (Phase.load(std::memory_order_acquire) == Token.Phase)
      State = vf_spin_wait(&Phase, Token.Phase, State,
                           sizeof Token.Phase | VF_SPIN_NOTIFIED);
  }

  void arrive_and_wait() { wait(arrive()); }

  void arrive_and_drop() {
    Expected.fetch_sub(1, std::memory_order_relaxed);
    (void)arrive();
  }

private:
  std::atomic<std::uint32_t> Phase{0};
  std::atomic<std::ptrdiff_t> Expected, Missing;
  Completion WhenComplete;
};

} // namespace vf

#endif
