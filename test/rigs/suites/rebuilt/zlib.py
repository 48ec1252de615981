# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""zlib."""

import os
import re
import shutil

import bring

SENTENCE = "zlib: make check"


def prepare(place):
    return place.debian.source(place.path("source"), "zlib")


def build(source, folder, cc, _):
    shutil.copytree(source, folder, dirs_exist_ok=True)
    bring.call(["sh", "./configure"], "zlib's configure", cwd=folder,
               env={**os.environ, "CC": cc, "CFLAGS": "-O2"})
    return bring.call(["sh", "-c", "make 2>&1"], "zlib's make", cwd=folder)


def test(_, folder):
    said = bring.output(["make", "check"], cwd=folder, timeout=600)
    return {what: ended == "OK" for what, ended in re.findall(r"\*\*\* (.*test) (OK|FAILED)", said)}
