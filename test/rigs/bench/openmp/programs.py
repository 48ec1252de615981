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
# PyPI's torch needs CUDA; Debian's is built for CPUs, with gcc's runtime. Threads of Debian's OpenBLAS
# wait by sched_yield, those of numpy's from PyPI by instructions that do nothing. Each has
# packages with all they need, and packages alone.
DEBIAN = {"torch": (["python3-torch", "python3-numpy"],),
          "openblas": ([], ["python3-numpy", "python3-threadpoolctl", "libopenblas0-pthread", "libgfortran5", "libquadmath0"])}
NAMES = (*COMPILERS, *PYPI, *DEBIAN)


def _pypi(out):
    """The folder with the packages, from PyPI."""
    folder = os.path.join(out, "python")
    with bring.Once(folder, " ".join(PACKAGES)) as todo:
        if todo:
            bench.build([sys.executable, "-m", "pip", "install", "-q", "--target", folder, *PACKAGES])
    return {"PYTHONPATH": folder}


def _debian(out, name):
    """Unpacks packages of Debian; installs none."""
    root = bring.Debian(out).packages(os.path.join(out, name), *DEBIAN[name])
    libraries = os.path.join(root, "usr/lib/x86_64-linux-gnu")
    return {"PYTHONPATH": os.path.join(root, "usr/lib/python3/dist-packages"),
            "LD_LIBRARY_PATH": ":".join([os.path.join(root, "usr/lib"), libraries,
                                         *(os.path.join(libraries, kind) for kind in ("openblas-pthread", "blas", "lapack"))])}


def made(name, tree, out):
    """Returns the beginning of the command, and its environment."""
    if name in COMPILERS:
        program = os.path.join(out, f"regions-{name}")
        compiler = tree.tool("clang") if name == "clang" else "gcc"
        bench.build([compiler, "-O2", "-fopenmp", os.path.join(HERE, "regions.c"), "-o", program]
                    + ([f"-Wl,-rpath,{tree.llvm}/lib"] if name == "clang" else []))
        return [program], {}
    try:
        environment = _debian(out, name) if name in DEBIAN else _pypi(out)
    except bring.NotRun as why:
        raise bench.Broken(str(why)) from why
    return [sys.executable, os.path.join(HERE, "python.py"), name], environment
