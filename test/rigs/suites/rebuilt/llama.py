# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""llama.cpp's ggml with its own threads, from the source package of llama-cpp-python of PyPI."""

import os
import re
import sys

import bring

SENTENCE = "ggml of llama.cpp, its own threads: tests of its barrier, operators, training and formats"
VERSION = "0.3.16"
THREADS = (2, 4, 8)
# Programs that need no more than ggml, and how they are called.
TESTS = {
    **{f"barrier-{n}": ["test-barrier", str(n), "20"] for n in THREADS},
    "rope": ["test-rope"],
    "quantize-fns": ["test-quantize-fns"],
    "opt": ["test-opt"],
    "gguf": ["test-gguf", "1"],
    **{f"backend-ops-{op.lower()}": ["test-backend-ops", "test", "-b", "CPU", "-o", op, *which]
       for op, *which in (("ADD",), ("SOFT_MAX",), ("MUL_MAT_ID", "-p", "type_a=(f32|f16|q4_0),"), ("RMS_NORM",),
                          ("FLASH_ATTN_EXT", "-p", "hsk=64,hsv=64,.*kv=512,nb=1,.*type_KV=f16"))},
}
# As it is, a pool of more threads than CPUs takes minutes at a barrier; other tests take two beside load.
BARRIER_SECONDS, SECONDS = 60, 240
# Each operator and case of test-backend-ops and test-opt says how it ended.
CASE = re.compile(r"^ +(\w+\(.*\)): (?:\x1b\[[\d;]*m)*(OK|FAIL)", re.M)


def prepare(place):
    bring.need("cmake", "ninja")
    source = place.path("source")
    with bring.Once(source, VERSION) as todo:
        if todo:
            bring.call([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", "-d", source,
                        f"llama-cpp-python=={VERSION}"], "pip download of llama-cpp-python")
            bring.call(["tar", "xf", f"llama_cpp_python-{VERSION}.tar.gz", "--strip-components=1"], "tar", cwd=source)
    return os.path.join(source, "vendor", "llama.cpp")


def build(source, folder, cc, cxx):
    said = bring.call(["sh", "-c", 'exec 2>&1; cmake -S "$1" -B . -G Ninja -DCMAKE_BUILD_TYPE=Release '
                       '"-DCMAKE_C_COMPILER=$2" "-DCMAKE_CXX_COMPILER=$3" -DCMAKE_C_FLAGS_RELEASE=-O2 '
                       "-DCMAKE_CXX_FLAGS_RELEASE=-O2 -DBUILD_SHARED_LIBS=OFF -DGGML_OPENMP=OFF -DGGML_LLAMAFILE=OFF "
                       "-DLLAMA_CURL=OFF -DLLAMA_BUILD_COMMON=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_TOOLS=OFF "
                       "-DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_SERVER=OFF && ninja -j2 ggml", "sh", source, cc, cxx],
                      "the build of ggml", cwd=folder)
    libraries = [f"ggml/src/lib{name}.a" for name in ("ggml", "ggml-cpu", "ggml-base")]
    for name in sorted({call[0] for call in TESTS.values()}):
        said += bring.call(["sh", "-c", 'exec "$@" 2>&1', "sh", cxx, "-std=c++17", "-O2", "-w", "-pthread",
                            f"-I{source}/include", f"-I{source}/ggml/include", f"-I{source}/ggml/src",
                            f"{source}/tests/{name}.cpp", *libraries, "-ldl", "-o", name], f"the build of {name}", cwd=folder)
    return said


def test(_, folder):
    results = {}
    for name, call in TESTS.items():
        seconds = BARRIER_SECONDS if call[0] == "test-barrier" else SECONDS
        command = ["sh", "-c", 'timeout "$0" "$@"; echo "status $?"', str(seconds), f"./{call[0]}", *call[1:]]
        said = bring.output(command, timeout=2 * seconds, cwd=folder)
        with open(f"{folder}-{name}.log", "w") as log:
            log.write(said)
        results[name] = said.endswith("status 0\n")
        for case, ended in CASE.findall(said):
            results[f"{name} {case}"] = ended == "OK"
    return results
