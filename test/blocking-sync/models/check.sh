#!/bin/sh
# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# check.sh MODEL [-DNAME=VALUE...]: checks MODEL.pml of this folder, or the file MODEL,
# ROUNDS=1 unless told otherwise, and prints Spin's summary. A search that was cut short
# is an error here. A short test run (test/Inputs/short_run.py) checks a third of the
# mutants, -DBREAK=N.
# The search is compiled with -O0, in 0.2 s instead of 2 s, which no search of the tests gets
# back: the longest has 2 million states. For a longer one: PAN_CFLAGS=-O2 check.sh ...
set -eu
case $1 in
*.pml) model=$(realpath "$1") ;;
*) model=$(dirname "$(realpath "$0")")/$1.pml ;;
esac
shift
slice=${VF_TEST_SLICE:-all}
for option; do
  case $slice$option in
  all*) ;;
  *-DBREAK=*)
    [ $(((slice + ${option#-DBREAK=}) % 3)) = 0 ] || { echo "left to another slice"; exit; }
    ;;
  esac
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
rounds=-DROUNDS=1
for option; do
  case $option in -DROUNDS=*) rounds= ;; esac
done
spin -a $rounds "$@" "$model" >&2
clang -w ${PAN_CFLAGS:--O0} -DSAFETY -DCOLLAPSE -DVECTORSZ=2048 -DMEMLIM=4000 -o pan pan.c
# Deeper than the longest run, which is some 300 steps with two rounds.
./pan -m10000 >summary
if grep -q 'max search depth too small\|out of memory' summary; then
  cat summary >&2
  exit 1
fi
cat summary
