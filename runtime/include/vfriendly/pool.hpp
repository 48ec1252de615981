//===- vfriendly/pool.hpp - Pools for C++ objects and containers ----------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   vf::pool Phase;
//   std::list<int, vf::pool_allocator<int>> Numbers(Phase);
//   ...
//   // Numbers is destroyed first, then the pool with all its memory.
//
// The rules of vfriendly/pool.h about the owner and other threads apply here,
// too. C++14; header only, over libvfrt's C interface.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_POOL_HPP
#define VFRIENDLY_POOL_HPP

#include "vfriendly/pool.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace vf {

namespace detail {

[[noreturn]] inline void outOfMemory() {
#if defined(__cpp_exceptions)
  throw std::bad_alloc();
#else
  std::abort();
#endif
}

} // namespace detail

class pool {
public:
  pool() noexcept = default;
  pool(const pool &) = delete;
  pool &operator=(const pool &) = delete;
  ~pool() { vf_pool_destroy(&Native); }

  // Throws bad_alloc; without exceptions it aborts, as operator new does.
  void *allocate(std::size_t Size,
                 std::size_t Alignment = alignof(std::max_align_t)) {
    if (void *Memory = vf_pool_aligned_alloc(&Native, Alignment, Size))
      return Memory;
    detail::outOfMemory();
  }

  void deallocate(void *Memory) noexcept { vf_pool_free(&Native, Memory); }
  void trim() noexcept { vf_pool_trim(&Native); }
  void reset() noexcept { vf_pool_reset(&Native); }
  vf_pool *native_handle() noexcept { return &Native; }

private:
  vf_pool Native = VF_POOL_INIT;
};

// An allocator for the containers of the standard library. pre: the pool
// outlives the containers.
template <class T> class pool_allocator {
public:
  using value_type = T;

  pool_allocator(pool &Pool) noexcept : Pool(&Pool) {}
  template <class U>
  pool_allocator(const pool_allocator<U> &Other) noexcept : Pool(Other.Pool) {}

  T *allocate(std::size_t Count) {
    if (Count > PTRDIFF_MAX / sizeof(T))
      detail::outOfMemory();
    return static_cast<T *>(Pool->allocate(Count * sizeof(T), alignof(T)));
  }

  void deallocate(T *Memory, std::size_t) noexcept { Pool->deallocate(Memory); }

  template <class U>
  bool operator==(const pool_allocator<U> &Other) const noexcept {
    return Pool == Other.Pool;
  }
  template <class U>
  bool operator!=(const pool_allocator<U> &Other) const noexcept {
    return Pool != Other.Pool;
  }

private:
  template <class U> friend class pool_allocator;
  pool *Pool;
};

} // namespace vf

#endif // VFRIENDLY_POOL_HPP
