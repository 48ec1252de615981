# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The programs that `./dev bench openmp` measures. Each takes milliseconds and numbers of threads,
and prints {"parts": {"2 threads": {"us": ..., "cpu_us": ...}, ...}}."""

import os
import subprocess
import sys

import bench

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "suites"))
import bring  # pylint: disable=wrong-import-position

HERE = os.path.dirname(os.path.abspath(__file__))
# Compilers of regions.c, what is from PyPI, and what is from Debian.
COMPILERS = ("gcc", "clang")
PYPI = ("numpy", "sklearn", "lightgbm", "faiss")
PACKAGES = ("numpy", "scikit-learn", "lightgbm", "faiss-cpu")
NAMES = (*COMPILERS, *PYPI, "torch")


def _pypi(out):
    """The folder with the packages, from PyPI."""
    folder = os.path.join(out, "python")
    with bring.Once(folder, " ".join(PACKAGES)) as todo:
        if todo:
            bench.build([sys.executable, "-m", "pip", "install", "-q", "--target", folder, *PACKAGES])
    return {"PYTHONPATH": folder}


def _torch(out):
    """PyPI's torch needs CUDA; Debian's is built for CPUs, with gcc's runtime. Not installed."""
    root = bring.Debian(out).packages(os.path.join(out, "torch"), ["python3-torch", "python3-numpy"])
    libraries = os.path.join(root, "usr/lib/x86_64-linux-gnu")
    return {"PYTHONPATH": os.path.join(root, "usr/lib/python3/dist-packages"),
            "LD_LIBRARY_PATH": ":".join([os.path.join(root, "usr/lib"), libraries, os.path.join(libraries, "blas"),
                                         os.path.join(libraries, "lapack")])}


def made(name, tree, out):
    """Returns the beginning of the command, and its environment."""
    if name in COMPILERS:
        program = os.path.join(out, f"regions-{name}")
        compiler = tree.tool("clang") if name == "clang" else "gcc"
        bench.build([compiler, "-O2", "-fopenmp", os.path.join(HERE, "regions.c"), "-o", program]
                    + ([f"-Wl,-rpath,{tree.llvm}/lib"] if name == "clang" else []))
        return [program], {}
    try:
        environment = _torch(out) if name == "torch" else _pypi(out)
    except bring.NotRun as why:
        raise bench.Broken(str(why)) from why
    return [sys.executable, os.path.join(HERE, "python.py"), name], environment
