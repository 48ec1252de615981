// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C++ class and its allocator with the standard's containers.
//
// RUN: clang++ -std=c++14 -Wall -Wextra -Werror -O1 -I %S/../../Inputs -I %vf_include %s -o %t %vf_link
// RUN: %t
// RUN: clang++ -std=c++20 -fno-exceptions -Wall -Wextra -Werror -fsyntax-only -I %S/../../Inputs -I %vf_include %s

#include "check.h"
#include "vfriendly/pool.hpp"

#include <cstdint>
#include <list>
#include <map>
#include <string>
#include <vector>

struct alignas(128) Wide {
  char Bytes[200];
};

template <class T> using Pooled = vf::pool_allocator<T>;
using Text = std::basic_string<char, std::char_traits<char>, Pooled<char>>;

static void checkContainers(vf::pool &Pool) {
  std::list<int, Pooled<int>> Numbers(Pool);
  std::vector<Wide, Pooled<Wide>> Wides(Pool);
  std::map<int, Text, std::less<int>, Pooled<std::pair<const int, Text>>> Texts(
      Pool);
  for (int I = 0; I < 1000; ++I) {
    Numbers.push_back(I);
    Wides.push_back({});
    CHECK(reinterpret_cast<std::uintptr_t>(&Wides.back()) % 128 == 0);
    Texts.emplace(I, Text(static_cast<std::size_t>(I), 'x', Pool));
  }
  int Sum = 0;
  for (int N : Numbers)
    Sum += N;
  CHECK(Sum == 999 * 500);
  CHECK(Texts.at(500).size() == 500 && Texts.at(500)[499] == 'x');
  CHECK(Numbers.get_allocator() == Pooled<int>(Pool));
}

static void checkThatItThrows(vf::pool &Pool) {
#if defined(__cpp_exceptions)
  bool Thrown = false;
  try {
    Pooled<Wide>(Pool).allocate(SIZE_MAX / sizeof(Wide) + 2);
  } catch (const std::bad_alloc &) {
    Thrown = true;
  }
  CHECK(Thrown);
#else
  (void)Pool;
#endif
}

int main() {
  vf::pool Pool, Other;
  checkContainers(Pool);
  checkThatItThrows(Pool);
  CHECK(Pooled<int>(Pool) != Pooled<char>(Other));
  Pool.trim();
  CHECK(!Pool.native_handle()->state_);
  checkContainers(Pool);
  void *Memory = Pool.allocate(10);
  Pool.deallocate(Memory);
  Pool.reset();
  return 0;
}
