#!/bin/bash
# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#   gcc-project.sh BUILD [REPOSITORY]
#
# A project that GCC compiles, https://github.com/bshoshany/thread-pool or another clone of it: its
# compile database, made by GCC with options that clang does not have, is scanned, and its own tests run
# as they are, with the preloads, and with vf::mutex in place of std::mutex.
set -euo pipefail

[ $# = 1 ] || [ $# = 2 ] || { echo "usage: gcc-project.sh BUILD [REPOSITORY]" >&2; exit 2; }
build=$(realpath "$1") from=${2:-https://github.com/bshoshany/thread-pool} commit=bd4533f1f70c2b975cbd5769a60d8eaaea1d2233
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

git clone --quiet "$from" "$work/std" && git -C "$work/std" checkout --quiet "$commit"
cp -r "$work/std" "$work/vf"
# A condition variable for any lock takes the place of the one for std::mutex only.
sed -i -E 's/std::mutex\b/vf::mutex/; s/std::condition_variable\b/std::condition_variable_any/' "$work"/vf/{include,tests}/*.?pp

for each in std vf; do
  printf '%s\n' 'cmake_minimum_required(VERSION 3.20)' 'project(pool CXX)' 'add_executable(tests tests/BS_thread_pool_test.cpp)' \
    'target_compile_features(tests PRIVATE cxx_std_20)' 'target_include_directories(tests PRIVATE include)' \
    'target_compile_options(tests PRIVATE -pthread -fconserve-stack -fno-ipa-icf)' 'target_link_options(tests PRIVATE -pthread)' > "$work/$each/CMakeLists.txt"
done
CXX=g++ cmake -S "$work/std" -B "$work/std/build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_EXPORT_COMPILE_COMMANDS=ON > "$work/log"
CXX=g++ cmake -S "$work/vf" -B "$work/vf/build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS="-isystem $(realpath "$(dirname "$0")/../../../runtime/include") -include vfriendly/sync.hpp" \
  -DCMAKE_CXX_STANDARD_LIBRARIES="$build/lib/vfrt-link.o $build/lib/libvfrt.a" > "$work/log"
for each in std vf; do cmake --build "$work/$each/build" > "$work/log.$each" & done; wait

status=0
"$build/bin/vfriendly" scan -p "$work/std/build" --no-cache > "$work/scan" 2>&1 || status=$?
echo "scan: exit status $status, $(grep -c '\[vfriendly-' "$work/scan" || true) findings, $(grep -o 'dropped: .*' "$work/scan" | head -n 1)"

# Prints how many of the project's checks hold. Its tests of throughput are left out.
own_tests() {
  (cd "$work" && env VF_STATS=1 "${@:2}" "$1/build/tests" tests stdout > "$work/tests" 2> "$work/stats") || echo "exit status $?"
  echo "$(grep -c -- '-> passed' "$work/tests") passed, $(grep -c -- '-> FAILED' "$work/tests" || true) failed; $(grep -oE 'SUCCESS: .*|FAILURE: .*' "$work/tests" | head -n 1) $(cut -c 1-120 "$work/stats")"
}
echo "as it is:             $(own_tests std)"
echo "libvfpthread:         $(own_tests std LD_PRELOAD="$build/lib/libvfpthread.so")"
echo "libvfmalloc:          $(own_tests std LD_PRELOAD="$build/lib/libvfmalloc.so")"
echo "vf::mutex:            $(own_tests vf)"
