#!/bin/bash
# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#   crate.sh BUILD CRATE VERSION
#
# Runs the unit tests of a crate as it is, and again with the waits rewritten, and prints both
# counts and how many remarks name a rewrite. Needs cargo, and the rustc whose LLVM is the linker's.
set -euo pipefail

[ $# = 3 ] || { echo "usage: crate.sh BUILD CRATE VERSION" >&2; exit 2; }
build=$(realpath "$1") crate=$2 version=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# cargo unpacks what a project depends on.
mkdir -p "$work/asks/src"
printf '[package]\nname = "asks"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\n%s = "=%s"\n' "$crate" "$version" > "$work/asks/Cargo.toml"
touch "$work/asks/src/lib.rs"
cargo fetch --quiet --manifest-path "$work/asks/Cargo.toml"
cp -r "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/"$crate-$version" "$work/crate"
cd "$work/crate"
# Benchmarks and their crates are not needed for the unit tests.
/usr/bin/python3 - <<'PYTHON'
import re
text = open("Cargo.toml").read()
open("Cargo.toml", "w").write(re.sub(r"^\[(\[bench\]|dev-dependencies[^]]*\])\n(?:(?!\[).*\n?)*|^\[\[bench\]\]\n(?:(?!\[).*\n?)*", "", text, flags=re.M))
PYTHON

tests() { CARGO_TARGET_DIR=$work/$1 cargo test --release --lib 2>&1 | tee "$work/$1.log" | grep '^test result' || { tail -n 20 "$work/$1.log" >&2; exit 1; }; }
echo "as it is:  $(tests before)"
export CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER=clang-22
RUSTFLAGS="-Clinker-plugin-lto -Clink-arg=-fuse-ld=lld -Clink-arg=-Wl,--load-pass-plugin=$build/lib/libvfriendly.so \
-Clink-arg=$build/lib/vfrt-link.o -Clink-arg=$build/lib/libvfrt.a -Clink-arg=-Wl,--plugin-opt=opt-remarks-filename=$work/remarks.yaml \
-Clink-arg=-Wl,--plugin-opt=opt-remarks-passes=vf-"
export RUSTFLAGS
echo "rewritten: $(tests after)"
echo "waits rewritten: $(cat "$work"/remarks.yaml* | grep -A1 '^--- !Passed' | grep -c 'Pass: *vf-spin-loops' || true)"
