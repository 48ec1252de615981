// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information. SPDX-License-Identifier:
// Apache-2.0 WITH LLVM-exception
//
// oneTBB's loop, in the two lines that parallel.cpp needs of it.

#ifndef DEDUP_PARALLEL_FOR_H
#define DEDUP_PARALLEL_FOR_H

#include <cstddef>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

// Debian's libtbb is not built for ThreadSanitizer, which therefore does not
// see that a loop's iterations come after what is before the loop and before
// what is after it.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define DEDUP_TSAN 1
#endif
#endif
#ifdef DEDUP_TSAN
extern "C" void __tsan_acquire(void *);
extern "C" void __tsan_release(void *);
#define DEDUP_UNCHECKED __attribute__((no_sanitize("thread")))
#else
#define DEDUP_UNCHECKED
inline void __tsan_acquire(void *) {}
inline void __tsan_release(void *) {}
#endif

namespace dedup {

/// Calls Body(i) for each i below Count, in any order, on the threads there
/// are.
template <typename BodyT> void parallelFor(size_t Count, const BodyT &Body) {
  char Begins, Ends;
  __tsan_release(&Begins);
  // What the loop copies from thread to thread is oneTBB's; Body is not copied.
  auto Call = [&, Pointer = &Body](size_t I) DEDUP_UNCHECKED {
    __tsan_acquire(&Begins);
    (*Pointer)(I);
    __tsan_release(&Ends);
  };
  tbb::parallel_for(size_t(0), Count, Call);
  __tsan_acquire(&Ends);
}

/// Runs Body, whose loops take up to Threads threads. oneTBB itself has no more
/// than one for each CPU unless it is allowed to.
template <typename BodyT>
void withThreads(unsigned Threads, const BodyT &Body) {
  tbb::global_control Allowed(tbb::global_control::max_allowed_parallelism,
                              Threads);
  tbb::task_arena Arena(static_cast<int>(Threads));
  Arena.execute(Body);
}

} // namespace dedup

#endif
