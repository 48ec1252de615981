#!/usr/bin/env bash
# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# guest.sh PROGRAM LIBRARY STATS [CASE...]: runs each case of ../guest.c with the library, which
# must have been at work there, or must not.
program=$1 library=$2 stats=$3
shift 3
at_work=(actions masks stacks small_stacks safepoints filter forks executes main_ends
  alone_again queue closes unloads cancels calls crash ignores)
# Processes with a debugger, and with a filter of system calls.
left_alone=(traced filtered)
# A thread with a real-time policy, and waits that are ended by CPU time: the cases check themselves
# that they are left alone.
checked=(real_time_threads cpu_timer posix_timer)
# Where it depends on chance whether a thread runs for long enough.
either=(many jumps handler_ends_wait)
failed=0
check() { # NAME PATTERN
  rm -f "$stats"
  VF_TEST_SPIN_ALWAYS=1 VF_STATS=$stats LD_PRELOAD=$library timeout 60 "$program" "$1"
  local status=$?
  [ $status -eq 0 ] || { echo "$1: exit status $status"; failed=1; }
  [ -z "$2" ] || grep -qE "$2" "$stats" 2>/dev/null || { echo "$1: $2 is not in: $(cat "$stats" 2>/dev/null)"; failed=1; }
}
export GUEST_AWAITS=1
for name in "${@:-${at_work[@]}}"; do
  case $name in
  executes) check "$name" '' ;; # what the process was before exec has no report
  *) check "$name" '"polls": [1-9]' ;;
  esac
done
[ $# -gt 0 ] && exit $failed
unset GUEST_AWAITS
for name in "${left_alone[@]}"; do check "$name" '"armed": 0'; done
for name in "${either[@]}" "${checked[@]}"; do check "$name" '"armed"'; done
if [ -x "$program-sanitized" ]; then
  program+=-sanitized
  export ASAN_OPTIONS=verify_asan_link_order=0
  check spins '"armed": 0.*sanitizer'
fi
exit $failed
