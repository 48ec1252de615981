// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The message of a wait, by a stream of libc++. Another stream may be a file.
//
// RUN: %verify_cxx -std=c++17 %s -o /dev/null

namespace std {
inline namespace __1 {
struct ostream;
extern ostream cerr, file;
ostream &operator<<(ostream &, const char *);
} // namespace __1
} // namespace std
extern "C" int sched_yield();
bool ready();

void told() {
  while (!ready()) { // expected-remark {{what 'ready' returns left as it is: it calls}}
    std::cerr << "waiting";
    sched_yield();
  }
}
void written() {
  while (!ready()) {
    std::file << "waiting";
    sched_yield();
  }
}
