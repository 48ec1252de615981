#!/usr/bin/env bash
# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# verdicts.sh SOURCE FOLDER PLATFORM: builds and runs ../verdicts.c as gcc and
# clang compile it; see test/Inputs/short_run.py for VF_TEST_SLICE.
set -e
runtime=$1/runtime test=$1/test/spin-unmodified
rm -rf "$2" && mkdir "$2"
for file in machine emulate memory decode_x86_64 prove; do
  clang -std=gnu11 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror -I "$runtime" -I "$3" -c "$runtime/spin-unmodified/$file.c" -o "$2/$file.o"
done
failed=0
for compiler in gcc clang; do
  for level in 0 1 2 3; do
    # A short run takes two levels; that of the next commit, the others.
    [ "${VF_TEST_SLICE:-all}" = all ] || (((level + VF_TEST_SLICE) % 2 == 0)) || continue
    program=$2/$compiler-$level
    $compiler -std=gnu11 -D_GNU_SOURCE -O$level -w -I "$runtime" -I "$3" "$test/verdicts.c" "$2"/*.o -l:libcapstone.a -pthread -o "$program"
    "$program" "$compiler-$level" || failed=1
  done
done
exit $failed
