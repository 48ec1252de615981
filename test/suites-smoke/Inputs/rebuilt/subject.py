# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A program with a wait and a short-lived block. One of its tests fails if the wait was rewritten."""

import os
import subprocess

import bring

SENTENCE = "a test that the passes break"
TEXT = """#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
atomic_int flag = 1;
int main(int count, char **names) {
  while (!atomic_load(&flag)) ;
  for (int i = 0; i < count; ++i) {
    char *block = malloc(64);
    if (!block || !memset(block, i, 64) || block[names[i][0] % 64] != i) return 1;
    free(block);
  }
  return 0;
}
"""


def prepare(place):
    return place.folder


def build(source, folder, cc, _):
    with open(os.path.join(folder, "wait.c"), "w") as file:
        file.write(TEXT)
    return bring.call(["sh", "-c", f"{cc} -O2 wait.c -o wait 2>&1"], "the build", cwd=folder)


def test(_, folder):
    said = subprocess.run(["nm", "wait"], cwd=folder, capture_output=True, text=True, check=True).stdout
    return {"runs": not subprocess.run(["./wait"], cwd=folder).returncode, "as-written": "vf_spin_wait" not in said}
