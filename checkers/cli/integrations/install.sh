#!/bin/bash
# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#   install.sh RELEASE FOLDER [KEY [VERSION]]
#
# Installs the archive of a release, for this machine, into FOLDER, and what it needs by apt.
# RELEASE is the address of the release's files, which are those of build/release after
# `./dev release VERSION`: the archives, SHA256SUMS with their checksums, and SHA256SUMS.minisig, which
# signs these and the version. KEY is the public key of the signer, as minisign prints it, from elsewhere
# than RELEASE; by default, or if it is empty, that in release.pub beside this script. VERSION is the one
# that is wanted: an older one, which the same key has signed, is not installed in its place. The word
# unsigned for KEY installs files that nobody has signed, such as those of `./dev package`. Whatever fails,
# FOLDER is not created: a later step cannot take half of an installation for a whole one.
set -euo pipefail

die() { echo "vfriendly: $*" >&2; exit 2; }

[ $# -ge 2 ] && [ $# -le 4 ] || die "usage: install.sh RELEASE FOLDER [KEY [VERSION]]"
release=${1%/} folder=$2 key=${3:-} version=${4:-}
here=$(cd "$(dirname "$0")" && pwd)
[ -n "$release" ] || die "vfriendly is not on PATH, and no release is named"
[ ! -e "$folder" ] || die "$folder exists"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

get() { curl --fail --silent --show-error --location --retry 3 --output "$tmp/$1" --url "$release/$1" || die "cannot download $release/$1"; }

sudo=
[ "$(id -u)" = 0 ] || sudo=sudo

[ -n "$key" ] || [ ! -f "$here/release.pub" ] || key=$(tail -n 1 "$here/release.pub")
[ -n "$key" ] || die "no key: name the public key of the release's signer, or unsigned for files that nobody has signed"
[ "$key" = unsigned ] || [ -n "$version" ] || die "no version: name the one that is wanted, as an older one may be served in its place"
get SHA256SUMS
if [ "$key" != unsigned ]; then
  get SHA256SUMS.minisig
  command -v minisign > /dev/null || { $sudo apt-get update -qq && $sudo apt-get install -y -qq --no-install-recommends minisign > /dev/null; } ||
    die "apt cannot install minisign, which verifies the release"
  signed=$(minisign -VQ -P "$key" -m "$tmp/SHA256SUMS" 2> /dev/null) || die "$release/SHA256SUMS is not signed by the key $key"
  [ "$signed" = "vfriendly $version" ] || die "$release is signed as '$signed', not as 'vfriendly $version'"
fi
archive=$(sed -n "s/^[0-9a-f]\{64\} [ *]\(vfriendly-[0-9][^ /]*-$(uname -m)\.tar\.gz\)$/\1/p" "$tmp/SHA256SUMS" | head -n 1)
[ -n "$archive" ] || die "$release has no archive for $(uname -m)"
get "$archive"
(cd "$tmp" && grep -F " $archive" SHA256SUMS | sha256sum --check --status) || die "$release/$archive does not have the checksum of SHA256SUMS"
mkdir "$tmp/unpacked"
tar xzf "$tmp/$archive" -C "$tmp/unpacked" --strip-components=1
[ -x "$tmp/unpacked/bin/vfriendly" ] || die "$archive has no bin/vfriendly"

# What the tool runs, and what it imports.
if ! command -v clang-tidy-22 > /dev/null; then
  $sudo apt-get update -qq && $sudo apt-get install -y -qq --no-install-recommends clang-tidy-22 clang-tools-22 llvm-22 libbpf1 libdw1 \
    python3 python3-yaml python3-rich python3-unidiff python3-psutil > /dev/null ||
    die "apt cannot install clang-tidy-22: add LLVM's archive, https://apt.llvm.org, first"
fi
mkdir -p "$(dirname "$folder")"
mv "$tmp/unpacked" "$folder"
