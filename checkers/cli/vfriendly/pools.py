# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs and libraries with pools of threads, and what sets the number of these threads.

One table, POOLS, has them all. A pool is known by what a command names (try, run) or by what was seen while the
program ran (measure). {n} stands for the number of threads.
"""

import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Option:
    """An option of the command line. It replaces the one that is there, else it comes first or last."""

    names: tuple[str, ...]
    joined: str | None = None  # between name and number in one word; None: they are two words
    first: bool = False

    def _has_number(self, word: str, name: str) -> bool:
        """Returns True for the option NAME with its number in the same word."""
        return self.joined is not None and word.startswith(name + self.joined) \
            and word[len(name + self.joined):].isdigit()

    def put(self, words: Sequence[str], n: int) -> list[str]:
        """Returns the words of a command with the option."""
        done, found = [words[0]], False
        rest = list(words[1:])
        while rest:
            word = rest.pop(0)
            name = next((m for m in self.names if word == m or self._has_number(word, m)), None)
            if not name:
                done.append(word)
                continue
            if word == name and rest and rest[0].isdigit():
                rest.pop(0)
            if not found:
                done += self._words(name, n)
            found = True
        if not found:
            at = 1 if self.first else len(done)
            done[at:at] = self._words(self.names[0], n)
        return done

    def _words(self, name: str, n: int) -> list[str]:
        return [name, str(n)] if self.joined is None else [f"{name}{self.joined}{n}"]


@dataclass(frozen=True)
class Pool:
    name: str
    setting: str  # for people
    programs: str = ""  # patterns: of the executable's or the process's name
    libraries: str = ""  # of the path of a mapped file
    threads: str = ""  # of a thread's name, of at most 15 bytes
    functions: str = ""  # of a function's name
    go: bool = False
    variables: Mapping[str, str] = field(default_factory=dict)
    option: Option | None = None
    asks: bool = False  # for the number of CPUs, through libc: libvfcpus.so answers
    interpreted: bool = False  # interpreters load it later

    def text(self, n: int) -> str:
        return self.setting.format(n=n)


_INTERPRETERS = r"python[\d.]*|R|julia|octave.*|ruby[\d.]*"
POOLS = (
    # Servers.
    Pool("Redis", "io-threads {n} (redis.conf, or --io-threads {n})", r"(redis|valkey)-server", threads="io_thd_.*",
         option=Option(("--io-threads",))),
    Pool("KeyDB", "server-threads {n} (keydb.conf, or --server-threads {n})", "keydb-server",
         option=Option(("--server-threads",))),
    Pool("memcached", "-t {n} (memcached)", "memcached", threads="mc-worker", option=Option(("-t", "--threads"))),
    Pool("nginx", "worker_processes {n} (nginx.conf; auto asks)", "nginx", asks=True),
    Pool("HAProxy", "nbthread {n} (haproxy.cfg)", "haproxy", asks=True),
    Pool("Envoy", "--concurrency {n} (envoy)", "envoy", threads=r"wrk:worker_\d+", option=Option(("--concurrency",))),
    Pool("Seastar", "--smp {n}", threads=r"reactor-\d+", option=Option(("--smp",))),
    # Runtimes of languages.
    Pool("Go", "GOMAXPROCS={n}", go=True, variables={"GOMAXPROCS": "{n}"}),
    Pool("Java", "-XX:ActiveProcessorCount={n} (java)", "java", libraries=r"libjvm\.so",
         variables={"JAVA_TOOL_OPTIONS": "-XX:ActiveProcessorCount={n}"}),
    Pool(".NET", "DOTNET_PROCESSOR_COUNT={n}", libraries=r"libcoreclr\.so", threads=r"\.NET .*",
         variables={"DOTNET_PROCESSOR_COUNT": "{n}"}, asks=True),
    Pool("Erlang", "+S {n} +sbwt none (erl; or ERL_FLAGS)", r"beam\.smp", threads=r"erts_sched_\d+|\d+_scheduler",
         variables={"ERL_FLAGS": "+S {n} +sbwt none"}),
    Pool("Julia", "JULIA_NUM_THREADS={n}", "julia", libraries=r"libjulia.*", variables={"JULIA_NUM_THREADS": "{n}"}),
    Pool("Node.js", "UV_THREADPOOL_SIZE={n}", "node(js)?", threads="libuv-worker",
         variables={"UV_THREADPOOL_SIZE": "{n}"}),
    # Libraries that compute.
    Pool("OpenMP", "OMP_NUM_THREADS={n}", libraries=r"lib(gomp|omp|iomp5)[-.].*", variables={"OMP_NUM_THREADS": "{n}"},
         interpreted=True),
    Pool("OpenBLAS", "OPENBLAS_NUM_THREADS={n}", libraries=r"lib(scipy_)?openblas.*",
         variables={"OPENBLAS_NUM_THREADS": "{n}"}, asks=True, interpreted=True),
    Pool("MKL", "MKL_NUM_THREADS={n}", libraries=r"libmkl_.*", variables={"MKL_NUM_THREADS": "{n}"}, interpreted=True),
    Pool("BLIS", "BLIS_NUM_THREADS={n}", libraries=r"libblis.*", variables={"BLIS_NUM_THREADS": "{n}"},
         interpreted=True),
    Pool("NumExpr", "NUMEXPR_NUM_THREADS={n}", libraries=r"numexpr/.*", variables={"NUMEXPR_NUM_THREADS": "{n}"},
         interpreted=True),
    Pool("Numba", "NUMBA_NUM_THREADS={n}", libraries=r"numba/.*", variables={"NUMBA_NUM_THREADS": "{n}"},
         interpreted=True),
    Pool("joblib", "LOKY_MAX_CPU_COUNT={n}", variables={"LOKY_MAX_CPU_COUNT": "{n}"}, interpreted=True),
    Pool("Polars", "POLARS_MAX_THREADS={n}", libraries=r"polars/.*", threads=r"polars-\d+",
         variables={"POLARS_MAX_THREADS": "{n}"}, interpreted=True),
    Pool("oneTBB", "tbb::global_control, max_allowed_parallelism {n}", libraries=r"libtbb\.so.*", asks=True),
    Pool("ONNX Runtime", "intra_op_num_threads {n} (SessionOptions)", libraries=r"libonnxruntime.*", asks=True),
    Pool("Rayon", "RAYON_NUM_THREADS={n}", functions=r".*\brayon_core::.*", variables={"RAYON_NUM_THREADS": "{n}"}),
    Pool("Tokio", "TOKIO_WORKER_THREADS={n}", threads="tokio-(runtime-w|rt-worker)",
         variables={"TOKIO_WORKER_THREADS": "{n}"}),
    # Programs that compute.
    Pool("llama.cpp", "-t {n} (llama.cpp)", "llama-.*", libraries=r"libggml.*", option=Option(("-t", "--threads"))),
    Pool("FFmpeg", "-threads {n} (ffmpeg)", "ffmpeg", libraries=r"libavcodec\.so.*", asks=True),
    Pool("x264", "--threads {n} (x264)", "x264", option=Option(("--threads",)), asks=True),
    Pool("xz", "-T{n} (xz)", "xz", option=Option(("-T",), "", first=True)),
    Pool("zstd", "-T{n} (zstd)", "zstd", option=Option(("-T",), "", first=True)),
    Pool("pigz", "-p {n} (pigz)", "pigz", option=Option(("-p",), first=True)),
)


def _is(pattern: str, names: Iterable[str]) -> bool:
    return bool(pattern) and any(re.fullmatch(pattern, name) for name in names)


def _in_path(pattern: str, paths: Iterable[str]) -> bool:
    """Returns True if the pattern is the end of a path, from a slash on."""
    return bool(pattern) and any(re.search(f"(^|/){pattern}$", path) for path in paths)


def of_command(name: str, libraries: Collection[str], go: bool) -> list[Pool]:
    """Returns the pools of a program before it runs: of its name, and those of its libraries."""
    interpreter = bool(re.fullmatch(_INTERPRETERS, name))
    return [p for p in POOLS if _is(p.programs, (name,)) or _in_path(p.libraries, libraries) or (p.go and go)
            or (p.interpreted and interpreter)]


def seen(processes: Collection[str], paths: Collection[str], threads: Collection[str], functions: Iterable[str],
         go: bool) -> list[Pool]:
    """Returns the pools of programs that ran: by names of processes, then by mapped files, threads and functions."""
    known = set(functions)
    own = [p for p in POOLS if _is(p.programs, processes)]
    return own + [p for p in POOLS if p not in own and (
        _in_path(p.libraries, paths) or _is(p.threads, threads) or _is(p.functions, known) or (p.go and go))]


def named(names: Collection[str]) -> list[Pool]:
    """Returns them in the order of the names; an unknown name is left out."""
    return [p for name in names for p in POOLS if p.name == name]


def variables(pools: Iterable[Pool], n: int, given: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Returns what sets the number of threads in the environment. Options that Java has already stay."""
    found: dict[str, str] = {}
    for pool in pools:
        for name, value in pool.variables.items():
            before = given.get(name, "") if " " in value or value.startswith("-") else ""
            found[name] = f"{before} {value.format(n=n)}".strip()
    return found


def command(pools: Iterable[Pool], words: Sequence[str], n: int) -> list[str]:
    """Returns a command with the options for so many threads."""
    done = list(words)
    for pool in pools:
        if pool.option and _is(pool.programs, (os.path.basename(words[0]),)):
            done = pool.option.put(done, n)
    return done
