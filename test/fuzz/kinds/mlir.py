# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random MLIR modules run with the same result after the MLIR passes, under --verify-each.

A process takes many modules, each on its own in the passes; what they leave is linked to one
program that runs them all and prints their results. If a batch differs or does not end, each
of its modules is judged alone.
"""

import os
import re
import shutil

from compare import Found, Skip, call, call_patiently
from generators import buffers

SENTENCE = "buffers in nested loops of MLIR, run before and after vf-default"
PIPELINES = ("vf-default", "vf-pool-allocs", "vf-default,vf-default", "canonicalize,cse,vf-default,canonicalize", "vf-pool-allocs,canonicalize,cse",
             "vf-default,func.func(affine-loop-normalize,affine-scalrep),canonicalize")
# To what mlir-runner takes.
LOWERING = ("expand-realloc,lower-affine,convert-linalg-to-loops,convert-scf-to-cf,convert-vf-to-llvm,expand-strided-metadata,lower-affine,"
            "convert-vector-to-llvm,convert-to-llvm,reconcile-unrealized-casts")
SECONDS, SECONDS_ONE = 240, 30
SPLIT = "// -----\n"
MAIN = """func.func private @printI64(i64)
func.func private @printNewline()
func.func @main() -> i32 {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %yes = arith.constant true
  %no = arith.constant false
  %flag = memref.alloca() : memref<1xi32>
  memref.store %one, %flag[%c0] : memref<1xi32>
"""
# Freed memory, and memory that is not written yet, has this in each byte.
MEMORY = {"MALLOC_PERTURB_": "165"}


def main_of(seeds):
    """A function that runs the modules of seeds, each with a small and a larger size."""
    lines = [MAIN]
    for seed in seeds:
        for size, choice in ((2, "yes"), (seed % 7 + 2, "no")):
            at = f"{seed}_{size}_{choice}"
            lines.append(f"  %n{at} = arith.constant {size} : index\n"
                         f"  %r{at} = func.call @f{seed}(%n{at}, %{choice}, %flag) : (index, i1, memref<1xi32>) -> i32\n"
                         f"  %w{at} = arith.extsi %r{at} : i32 to i64\n  func.call @printI64(%w{at}) : (i64) -> ()\n"
                         f"  func.call @printNewline() : () -> ()\n")
    return "".join([*lines, "  return %zero : i32\n}\n"])


class Kind:
    BATCH = 100

    def __init__(self, tools, folder):
        self.tools, self.folder = tools, folder
        self.rewrites = self.skipped = 0
        plugin = os.path.join(tools.build, "lib", "libvfriendly-mlir.so")
        if not os.path.exists(plugin):
            raise SystemExit(f"mlir: there is no {plugin}: install libmlir-22-dev and mlir-22-tools, then ./dev build")
        plugin = shutil.copy(plugin, tools.lib)
        self.opt = ["mlir-opt", f"--load-dialect-plugin={plugin}", "--verify-each"]
        self.libraries = os.path.join(tools.lib, "libvfrt.so")

    def write(self, seed, folder):
        path = os.path.join(folder, f"{seed}.mlir")
        with open(path, "w") as file:
            file.write(buffers.Module(seed).text())
        return path

    def pipeline(self, seed):
        return PIPELINES[seed // self.BATCH % len(PIPELINES)]

    def run(self, functions, seeds, name, seconds):
        """Returns what mlir-runner says of main, or of what kept it from running."""
        source, lowered = (os.path.join(self.folder, f"{name}{suffix}.mlir") for suffix in ("", ".lowered"))
        with open(source, "w") as file:
            file.write(functions + main_of(seeds))
        done = call_patiently([*self.opt, f"--pass-pipeline=builtin.module({LOWERING})", source, "-o", lowered], timeout=seconds)
        if done.status or done.hangs:
            return done
        runner = os.path.join(os.path.dirname(os.path.realpath(shutil.which("mlir-runner"))), "..", "lib", "libmlir_c_runner_utils.so")
        return call_patiently(["mlir-runner", "-O1", "-e", "main", "-entry-point-result=i32", f"-shared-libs={runner},{self.libraries}", lowered],
                              timeout=seconds, env=MEMORY)

    def compare(self, texts, pipeline, seconds):
        """Raises Found or Skip for the modules {seed: text} together."""
        seeds = list(texts)
        before = self.run("".join(texts.values()), seeds, "before", seconds)
        if before.status or before.hangs:
            raise Skip(f"fails without the passes: {before.err[:600]}")
        source, changed = (os.path.join(self.folder, f"{name}.mlir") for name in ("split", "changed"))
        with open(source, "w") as file:
            file.write(SPLIT.join(texts.values()))
        done = call_patiently([*self.opt, "--split-input-file", "--mlir-print-local-scope", "--remarks-filter=vf-.*", "--remark-policy=all",
                               f"--pass-pipeline=builtin.module({pipeline})", source, "-o", changed], timeout=seconds)
        how = f"mlir-opt --verify-each {pipeline}"
        if done.status or done.hangs:
            raise Found("hangs" if done.hangs else "compiler", how, done.err)
        with open(changed) as file:
            # Out of their modules, which are printed at the margin.
            functions = re.sub(r"^(module \{|\}|// -----)$", "", file.read(), flags=re.M)
        after = self.run(functions, seeds, "after", seconds)
        if after.hangs:
            raise Found("hangs", how, f"{before.seconds:.2f} s before")
        if (after.status, after.out) != (before.status, before.out):
            raise Found("status" if after.status else "output", how,
                        f"status {after.status}\n--- before\n{before.out[-800:]}--- after\n{after.out[-800:]}{after.err[-800:]}")
        self.rewrites += done.err.count("[Passed]")

    def judge(self, seed, source, reducing=False):
        with open(source) as file:
            self.compare({seed: file.read()}, self.pipeline(seed), SECONDS_ONE)

    def judge_all(self, sources):
        """Returns {seed: Found}."""
        found, texts = {}, {}
        for seed, source in sources.items():
            with open(source) as file:
                texts[seed] = file.read()
        for pipeline in dict.fromkeys(map(self.pipeline, texts)):
            try:
                self.compare({s: t for s, t in texts.items() if self.pipeline(s) == pipeline}, pipeline, SECONDS)
            except (Found, Skip):
                for seed in (s for s in texts if self.pipeline(s) == pipeline):
                    try:
                        self.judge(seed, sources[seed])
                    except Found as what:
                        found[seed] = what
                    except Skip:
                        self.skipped += 1
        return found
