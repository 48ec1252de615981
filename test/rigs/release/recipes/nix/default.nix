# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
{ pkgs ? import <nixpkgs> { } }:
pkgs.stdenv.mkDerivation {
  pname = "vfriendly";
  version = "@VERSION@";
  src = pkgs.fetchurl { url = "@URL@"; sha256 = "@SHA256@"; };
  nativeBuildInputs = [ pkgs.autoPatchelfHook ];
  buildInputs = [ pkgs.stdenv.cc.cc.lib ];
  # The plugins load into the clang that loads them, which has their libraries.
  autoPatchelfIgnoreMissingDeps = true;
  installPhase = "cp -r . $out";
}
