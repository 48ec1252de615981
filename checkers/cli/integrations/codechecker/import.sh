#!/bin/sh
# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Makes CodeChecker's reports of a scan, in the folder that holds the sources:
#
#   import.sh BUILD REPORTS [OPTION OF vfriendly scan]...
#   CodeChecker parse REPORTS
#   CodeChecker store REPORTS --name PROJECT --url http://HOST:8001/Default
#
# BUILD is the folder with compile_commands.json. vfriendly and report-converter (pip install
# codechecker) must be on PATH. Through the text format, as CodeChecker's reader of SARIF does
# not know names with spaces. Exit status 3 if units were not examined; the reports are made.
set -u
build=${1:?usage: import.sh BUILD REPORTS [OPTION]...} reports=${2:?usage: import.sh BUILD REPORTS [OPTION]...}
shift 2
command -v report-converter > /dev/null || { echo "report-converter is missing: pip install codechecker" >&2; exit 2; }
# The converter takes paths as relative to the folder of what it reads.
findings=$(mktemp ./.vfriendly-XXXXXX) || exit 2
trap 'rm -f "$findings"' EXIT
vfriendly scan -p "$build" --root . --fail-on never "$@" -o "$findings"
status=$?
[ $status = 0 ] || [ $status = 3 ] || exit $status
report-converter -t clang-tidy -c -o "$reports" "$findings" > "$findings.log" 2>&1 || { cat "$findings.log" >&2; status=2; }
rm -f "$findings.log"
exit $status
