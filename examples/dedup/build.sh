#!/bin/sh
# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# build.sh FOLDER [FLAG...]: builds each step of the walk as FOLDER/dedup-STEP, with
# $CXX or clang++-22. Needs libssl-dev, libzstd-dev and libtbb-dev.
set -eu
here=$(dirname "$0")
out=$1
shift
mkdir -p "$out"
build() {
  step=$1
  shift
  "${CXX:-clang++-22}" -std=c++17 -O2 -Wall -Wextra -pthread "$@" -o "$out/dedup-$step"
}
for file in chunks archive files main; do
  "${CXX:-clang++-22}" -std=c++17 -O2 -Wall -Wextra -pthread "$@" -c "$here/$file.cpp" -o "$out/$file.o"
done
set -- "$@" "$out/chunks.o" "$out/archive.o" "$out/files.o" "$out/main.o" -lcrypto -lzstd
for step in broadcast signal batches; do
  build $step "-DQUEUE=\"queue-$step.h\"" "$here/pipeline.cpp" "$@"
done
build per-chunk -DOUTPUT_PER_CHUNK "$here/parallel.cpp" "$@" -ltbb
build parallel "$here/parallel.cpp" "$@" -ltbb
