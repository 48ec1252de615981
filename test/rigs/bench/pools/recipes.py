# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How each program with a thread pool is built and run.

A program is built in three variants: as it is, by flags, and by hand, as a careful
programmer would change its waits. Where it has an option of its own that forbids to
spin, "passive" is the first variant with that option."""

import glob
import os
import shutil
from dataclasses import dataclass, field

import bench
import bring
import model

HERE = os.path.dirname(os.path.abspath(__file__))
WARNINGS = ["-w"]
# By hand: polls for a hand-over, then a yield.
POLLS = 200
LLAMA_EDIT = ("ggml/src/ggml-cpu/ggml-cpu.c", "_mm_pause();",
              f"static _Thread_local unsigned polls; if (++polls % {POLLS}) _mm_pause(); else sched_yield();")


@dataclass
class Flags:
    """What a variant adds to compiling and linking."""

    compile: list = field(default_factory=list)
    link: list = field(default_factory=list)
    hand: bool = False


@dataclass
class Program:
    """compile(tree, source, folder, flags) returns the program; command(program, threads,
    milliseconds, passive) what to run, as a command and an environment."""

    compile: object
    command: object
    needs_source: bool = True
    by_hand: bool = True
    passive: bool = True
    preload: bool = False  # Its waits are in OpenMP's runtime: libvfomp.so instead of flags.


def _edit(source, folder, edits):
    """Returns a copy of source in folder with edits (file, old, new)."""
    made = os.path.join(folder, "source")
    shutil.copytree(source, made, symlinks=True, ignore=shutil.ignore_patterns(".git", "models", "docs"))
    for name, old, new in edits:
        path = os.path.join(made, name)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if old not in text:
            raise bench.Broken(f"{path} is not what it was: '{old.strip()}' is not in it")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace(old, new))
    return made


def _driver(name):
    return os.path.join(HERE, name)


def _objects(tree, folder, sources, options, flags):
    """Compiles C, C++ and assembly and links all of it."""
    made = []
    for source in sources:
        made.append(os.path.join(folder, os.path.basename(source) + ".o"))
        cxx = source.endswith(".cpp")
        bench.build([tree.tool("clang++" if cxx else "clang"), *(["-std=c++17"] if cxx else []), "-O2", "-pthread",
                     *WARNINGS, *options, *flags.compile, "-c", source, "-o", made[-1]])
    program = os.path.join(folder, "program")
    bench.build([tree.tool("clang++"), "-pthread", *made, *flags.link, "-o", program])
    return program


def _alike(tree, source, folder, flags):
    return _objects(tree, folder, [_driver("alike.cpp")], ["-DHAND"] if flags.hand else [], flags)


def _llama_build(source, made, c, cxx, options, openmp, target):
    joined = " ".join(WARNINGS + options)
    bench.build(["cmake", "-S", source, "-B", made, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                 f"-DCMAKE_C_COMPILER={c}", f"-DCMAKE_CXX_COMPILER={cxx}",
                 "-DCMAKE_C_FLAGS_RELEASE=-O2", "-DCMAKE_CXX_FLAGS_RELEASE=-O2", f"-DCMAKE_C_FLAGS={joined}",
                 f"-DCMAKE_CXX_FLAGS={joined}", "-DBUILD_SHARED_LIBS=OFF", f"-DGGML_OPENMP={openmp}",
                 "-DGGML_LLAMAFILE=OFF", "-DLLAMA_CURL=OFF", "-DLLAMA_BUILD_TESTS=OFF", "-DLLAMA_BUILD_TOOLS=OFF",
                 "-DLLAMA_BUILD_EXAMPLES=OFF", "-DLLAMA_BUILD_SERVER=OFF", "-DLLAMA_BUILD_COMMON=OFF"])
    bench.build(["ninja", "-C", made, f"-j{bench.cpus()}", target])


def _llama(openmp):
    """A variant has its own ggml, where all waits are. libllama takes most of the time to build
    and is built once."""

    def compile_llama(tree, source, folder, flags):
        clang = tree.tool("clang"), tree.tool("clang++")
        library = os.path.join(os.path.dirname(folder), "llama-library")
        with bring.Once(library, source) as todo:
            if todo:
                _llama_build(source, os.path.join(library, "build"), *clang, [], "OFF", "llama")
        if flags.hand:
            source = _edit(source, folder, [LLAMA_EDIT])
        made = os.path.join(folder, "build")
        # With OpenMP by gcc, as most of its users build it.
        c, cxx = ("gcc", "g++") if openmp == "ON" else clang
        _llama_build(source, made, c, cxx, flags.compile, openmp, "ggml")
        program = os.path.join(folder, "program")
        libraries = [os.path.join(library, "build/src/libllama.a"),
                     *(os.path.join(made, f"ggml/src/lib{lib}.a") for lib in ("ggml", "ggml-cpu", "ggml-base"))]
        bench.build([cxx, "-O2", "-pthread", *(["-fopenmp"] if openmp == "ON" else []),
                     f"-I{source}/include", f"-I{source}/ggml/include", *flags.compile, _driver("decode.cpp"),
                     *libraries, "-ldl", *flags.link, "-o", program])
        model.write(os.path.join(folder, "model.gguf"))
        return program

    return compile_llama


def _decode(mode, openmp=False):
    def command(program, threads, milliseconds, passive):
        weights = os.path.join(os.path.dirname(program), "model.gguf")
        poll = "0" if passive else "50"  # llama.cpp's own default is 50.
        return ([program, weights, threads, poll, mode, milliseconds],
                {"OMP_WAIT_POLICY": "passive"} if passive and openmp else {})

    return command


def _keydb(tree, source, folder, flags):
    if flags.hand:
        source = _edit(source, folder, [("src/fastlock.cpp", "0x10000 : 0x100000", f"{POLLS} : {POLLS}")])
    return _objects(tree, folder, [_driver("keydb.cpp"), f"{source}/src/fastlock.cpp"], [f"-I{source}/src"], flags)


def _openblas(tree, source, folder, flags):
    """The kernels, which never wait, take most of the time to build: the variants copy the original's."""
    original = os.path.join(os.path.dirname(folder), "openblas-original", "source")
    copied = (flags.compile or flags.hand) and os.path.exists(os.path.join(original, "libopenblas.a"))
    source = _edit(original if copied else source, folder, [])
    if copied:
        for waits in ("others", "level3"):
            for name in glob.glob(os.path.join(source, "driver", waits, "*.o")):
                os.unlink(name)
    by_hand = ["-DYIELDING=sched_yield()"] if flags.hand else []
    bench.build(["make", "-s", "-C", source, f"-j{bench.cpus()}", "libs", f"CC={tree.tool('clang')}", "HOSTCC=cc",
                 "NOFORTRAN=1", "NO_LAPACK=1", "NO_SHARED=1", "BUILD_SINGLE=0", "BUILD_DOUBLE=1", "BUILD_COMPLEX=0",
                 "BUILD_COMPLEX16=0", "NUM_THREADS=8", "USE_THREAD=1", "NO_AFFINITY=1", "DYNAMIC_ARCH=0",
                 "CFLAGS=" + " ".join(f"'{f}'" for f in WARNINGS + by_hand + flags.compile)])
    library = os.path.join(source, "libopenblas.a")
    program = os.path.join(folder, "program")
    bench.build([tree.tool("clang"), "-O2", "-pthread", f"-I{source}", *flags.compile, _driver("openblas.c"), library,
                 "-lm", *flags.link, "-o", program])
    return program


def _eigen(tree, source, folder, flags):
    bench.install(["libeigen3-dev"])
    headers = "/usr/include/eigen3"
    if flags.hand:
        edit = ("unsupported/Eigen/CXX11/src/ThreadPool/NonBlockingThreadPool.h", "5000 / num_threads_", f"{POLLS}")
        headers = _edit(headers, folder, [edit])
    return _objects(tree, folder, [_driver("eigen.cpp")], [f"-I{headers}"], flags)


def _onnx(tree, source, folder, flags):
    """Only the pool, its platform layer and what both need of the rest."""
    bench.install(["libeigen3-dev", "libmsgsl-dev", "libhowardhinnant-date-dev"])
    if flags.hand:
        edit = ("include/onnxruntime/core/common/spin_pause.h", "_mm_pause();",
                f"static thread_local unsigned polls; if (++polls % {POLLS}) _mm_pause(); else sched_yield();")
        source = _edit(source, folder, [edit, (edit[0], "#pragma once", "#pragma once\n#include <sched.h>")])
    # CMake writes this file; the pool needs none of its macros.
    with open(os.path.join(folder, "onnxruntime_config.h"), "w", encoding="utf-8"):
        pass
    # Links, as two files are called env.cc.
    made = []
    for name in ("common/threadpool", "common/cpuid_info", "common/denormal", "common/status", "common/logging/logging",
                 "common/logging/capture", "platform/env", "platform/env_time", "platform/telemetry",
                 "platform/posix/env", "platform/posix/env_time", "platform/posix/stacktrace"):
        made.append(os.path.join(folder, name.replace("/", "-") + ".cpp"))
        os.symlink(f"{source}/onnxruntime/core/{name}.cc", made[-1])
    include = [folder, "/usr/include/eigen3", *(f"{source}/{each}" for each in ("include/onnxruntime", "onnxruntime",
                                                                               "include"))]
    return _objects(tree, folder, [_driver("onnx.cpp"), *made],
                    ["-DNDEBUG", "-DDISABLE_ABSEIL", "-DPLATFORM_POSIX", *(f"-I{each}" for each in include)], flags)


def _pthreadpool(tree, source, folder, flags):
    bench.install(["libfxdiv-dev"])
    if flags.hand:
        edit = ("src/threadpool-common.h", "SPIN_WAIT_ITERATIONS 1000000", f"SPIN_WAIT_ITERATIONS {POLLS}")
        source = _edit(source, folder, [edit])
    sources = [f"{source}/src/{name}.c" for name in ("fastpath", "memory", "portable-api", "pthreads")]
    options = [f"-DPTHREADPOOL_USE_{name}={value}" for name, value in
               (("FUTEX", 1), ("CONDVAR", 0), ("CPUINFO", 0), ("GCD", 0), ("EVENT", 0))]
    return _objects(tree, folder, [_driver("pthreadpool.cpp"), *sources],
                    [*options, f"-I{source}/include", f"-I{source}/src"], flags)


def _marl(tree, source, folder, flags):
    if flags.hand:
        source = _edit(source, folder, [("src/scheduler.cpp", "milliseconds(1)", "microseconds(20)")])
    sources = [f"{source}/src/{name}" for name in ("debug.cpp", "memory.cpp", "scheduler.cpp", "thread.cpp", "trace.cpp",
                                                   "osfiber_x64.c", "osfiber_asm_x64.S")]
    return _objects(tree, folder, [_driver("marl.cpp"), *sources], [f"-I{source}/include"], flags)


def _plainly(program, threads, milliseconds, passive):
    return [program, threads, milliseconds, *(["passive"] if passive else [])], {}


def _timeout(side):
    def command(program, threads, milliseconds, passive):
        # Its shortest: threads sleep after 2^4 ticks.
        return [program, threads, milliseconds, side], {"OPENBLAS_THREAD_TIMEOUT": "4"} if passive else {}

    return command


def _kind(kind):
    def command(program, threads, milliseconds, passive):
        return [program, kind, threads, milliseconds, *(["passive"] if passive else [])], {}

    return command


ALIKE = ("poll", "pop", "deadline", "lock", "turn")
PROGRAMS = {
    **{f"alike-{kind}": Program(_alike, _kind(kind), needs_source=False, passive=kind != "turn") for kind in ALIKE},
    "llama-prompt": Program(_llama("OFF"), _decode("prompt")),
    "llama-generate": Program(_llama("OFF"), _decode("generate")),
    "llama-gaps": Program(_llama("OFF"), _decode("gaps")),
    **{f"llamaomp-{mode}": Program(_llama("ON"), _decode(mode, openmp=True), by_hand=False, preload=True)
       for mode in ("prompt", "generate")},
    "keydb": Program(_keydb, _plainly),
    "openblas": Program(_openblas, _timeout("160")),
    "openblas-96": Program(_openblas, _timeout("96")),
    "eigen": Program(_eigen, _plainly, needs_source=False),
    "onnx": Program(_onnx, _plainly),
    "pthreadpool": Program(_pthreadpool, _plainly),
    "marl": Program(_marl, _plainly, passive=False),
}
