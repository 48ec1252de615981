# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The programs that `./dev bench openmp` measures. Each prints {"us": ..., "cpu_us": ...}."""

import os
import subprocess
import sys

import bench

HERE = os.path.dirname(os.path.abspath(__file__))
MILLISECONDS, SMOKE_MILLISECONDS = "1000", "20"
# Compilers of regions.c, and what is from PyPI.
COMPILERS = ("gcc", "clang")
PACKAGES = {"numpy": [], "sklearn": ["scikit-learn"], "lightgbm": ["lightgbm"], "faiss": ["faiss-cpu"]}
NAMES = (*COMPILERS, *PACKAGES)


def _installed(out, packages):
    """The folder with the packages, from PyPI."""
    folder = os.path.join(out, "python-" + "-".join(packages))
    if not os.path.exists(folder):
        done = subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--target", folder, *packages],
                              capture_output=True, text=True)
        if done.returncode:
            raise bench.Broken(f"pip: {done.stderr.strip()[-300:]}")
    return folder


def made(name, tree, out, smoke):
    """Returns the command and its environment."""
    length = SMOKE_MILLISECONDS if smoke else MILLISECONDS
    if name in COMPILERS:
        program = os.path.join(out, f"regions-{name}")
        compiler = tree.tool("clang") if name == "clang" else "gcc"
        bench.build([compiler, "-O2", "-fopenmp", os.path.join(HERE, "regions.c"), "-o", program]
                    + ([f"-Wl,-rpath,{tree.llvm}/lib"] if name == "clang" else []))
        return [program, length], {}
    folder = _installed(out, ["numpy", *PACKAGES[name]])
    return ([sys.executable, os.path.join(HERE, "python.py"), name, length], {"PYTHONPATH": folder})
