#!/usr/bin/env python3
# Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""List the loops of the corpora that a person must judge, as a TSV without any code.

A spin-loop detector can only be measured against labels that were chosen without it. This script therefore
knows nothing about the compiler: it tokenizes the sources (comments and strings removed, line numbers kept), finds
every for/while/do loop, every backward goto and every use of a macro that hides a waiting loop, and selects
  --liberal       each loop that conceivably waits, by words and shape (see `why`), and
  --random N      N loops from the rest that hold no hint, evenly over the corpora, to estimate what liberal missed.
Choices are ordered by a hash of seed, file and line, so they do not depend on the Python version or the machine.
"""
import argparse
import hashlib
import multiprocessing
import os
import re
import sys

from cloops import loops, streams

VENDORED = r"(^|/)(tests?|unittest|examples?|perfor|testsuite|contrib|doc)/|lex\.yy|sql_yacc|/yy_"
# corpus: (root below --src, folders, what to leave out, accepted file names)
CORPORA = {
    "splash3": ("splash3", ["codes"], r"libtiff/", r"\.[ch]$"),
    "parsec": ("parsec", ["pkgs/apps", "pkgs/kernels", "pkgs/netapps", "pkgs/libs/tbblib/src/src",
                          "pkgs/libs/tbblib/src/include", "pkgs/libs/hooks", "ext/splash2x"],
               r"libtiff/|tbblib/src/src/(test|perf)/|/(ia64|sparc64|alpha)/|" + VENDORED, r"\.(c|cc|cpp|cxx|h|hh|hpp)$"),
    "nginx": ("nginx-1.22.1", ["src"], r"os/win32", r"\.[ch]$"),
    "dpdk": ("dpdk-22.11.11", ["lib", "drivers"], r"/windows/|/freebsd/", r"\.[ch]$"),
    "mariadb": ("mariadb-10.11.18", ["storage/innobase", "storage/maria", "storage/perfschema", "mysys", "sql", "tpool",
                                     "include", "vio"], r"libmarias3/|my_win|_win\.|" + VENDORED,
                r"\.(c|cc|cpp|h|hpp|ic|inl)$"),
    "jemalloc": ("jemalloc-5.3.0", ["src", "include"], r"/msvc_compat/", r"\.(c|cpp|h|h\.in)$"),
}
# Never looked at while the detectors were made.
HELD_OUT = {
    # the other processors' and FreeBSD's primitives, and i386's, are left out
    "ck": ("ck-0.7.1", ["src", "include"], r"/freebsd/|gcc/(aarch64|arm|ppc|ppc64|riscv64|s390x|sparcv9|x86)/", r"\.(c|h|h\.in)$"),
    "liburcu": ("liburcu-0.13.2", ["src", "include"],
                r"(arch|uatomic)/(aarch64|alpha|arm|hppa|ia64|m68k|mips|nios2|ppc|riscv|s390|sparc64|tile|sh4|generic)\.h$", r"\.[ch]$"),
    "onetbb": ("onetbb-2021.8.0", ["src", "include"], r"(^|/)(test|examples)/|function_replacement|[Ww]indows|python/", r"\.(c|cc|cpp|h|hpp)$"),
    "haproxy": ("haproxy-2.6.12", ["src", "include"], r"(^|/)ev_(evports|kqueue)\.c$", r"\.[ch]$"),
    "rocksdb": ("rocksdb-7.8.3", ["cache", "db", "env", "file", "include", "logging", "memory", "memtable", "monitoring", "options",
                                  "port", "table", "trace_replay", "util", "utilities"],
                r"port/win/|_win\.|_test\.|_test_|test_util|_test2?\.cc|_bench|bench_|/mock_|_stress|gtest|testharness|testutil",
                r"\.(c|cc|cpp|h|hpp)$"),
    "postgresql": ("postgresql-15.18", ["src/backend/storage", "src/include/storage", "src/backend/access/transam", "src/port",
                                        "src/backend/utils"],
                   r"win32|/dirmod\.c|mb/Unicode/", r"\.[ch]$"),
}
# Chosen later for the same, and read by one person.
FRESH = {
    "openmp": ("llvm-openmp", ["runtime/src"], r"z_Windows|thirdparty|/test/", r"\.(c|cpp|h)$"),
    "openblas": ("openblas-0.3.21+ds", ["driver/others", "driver/level3", "lapack"], r"win_server|_win", r"\.[ch]$"),
    "libgc": ("libgc-8.2.2", ["."], r"(^|/)(tests|win32|os2)|WCC", r"\.[ch]$"),
    "abseil": ("abseil-20220623.1", ["absl"], r"_test|_bench|win32|testing", r"\.(cc|h|inc)$"),
    "mimalloc": ("mimalloc-2.0.9+ds", ["src", "include"], r"/tests?/", r"\.[ch]$"),
    "starpu": ("starpu-1.3.10+dfsg", ["src"], r"/tests?/", r"\.[ch]$"),
}
# A third set, likewise.
THIRD = {
    "musl": ("musl-1.2.3", ["src", "arch/x86_64", "arch/generic", "ldso"], r"src/(math|complex|locale|string|regex|multibyte|ctype)/", r"\.[ch]$"),
    "qthreads": ("qthreads", ["src", "include"], r"/(powerpc|sparc)", r"\.[ch]$"),
    "argobots": ("argobots", ["src"], r"/(tests?|windows)/", r"\.[ch]$"),
    "galois": ("galois", ["libgalois", "libsupport"], r"/tests?/|/test_|/win32", r"\.(cpp|cxx|c|h|hpp)$"),
    "snmalloc": ("snmalloc", ["src"], r"/tests?/|windows|(^|/)test", r"\.(h|cc|cpp)$"),
    "ocaml": ("ocaml", ["runtime"], r"win32|(^|/)(arm|power|riscv|s390)", r"\.[ch]$"),
}
# A fourth.
FOURTH = {
    "wiredtiger": ("wiredtiger", ["src"], r"/docs/|os_win|os_darwin|/tests?/", r"\.(c|cpp|h)$"),
    "vpp": ("vpp", ["src/svm", "src/vlib", "src/vlibapi", "src/vlibmemory", "src/vnet", "src/vppinfra"],
            r"/tests?/|/freebsd/|(^|/)test_", r"\.[ch]$"),
    "brpc": ("brpc", ["src"], r"/tests?/|_(arm|mac|riscv|mips|loongarch)\w*_gcc|_(mac|win)\.", r"\.(c|cc|cpp|h)$"),
}
# A fifth.
FIFTH = {
    "litl": ("litl", ["src", "include"], r"/topology", r"\.[ch]$"),
    "kokkos": ("kokkos", ["core/src", "containers/src", "algorithms/src"], r"src/(Cuda|HIP|SYCL|OpenACC|OpenMPTarget|HPX)/", r"\.(c|cpp|h|hpp)$"),
    "dbx1000": ("DBx1000", ["."], r"^libs/", r"\.(c|cpp|h)$"),
    "ethread": ("erlang-25.2.3+dfsg", ["erts/lib_src", "erts/include"], r"/(win|yielding_c_fun|doc)/|/ethr_atomics\.h|/(ppc32|sparc\w*|tile|win|libatomic_ops)/", r"\.[ch]$"),
    "masstree": ("masstree", ["."], r"_test\.|(^|/)test_", r"\.(c|cc|h|hh)$"),
    "cheetah": ("cheetah", ["runtime", "include"], r"/tests?/", r"\.[ch]$"),
}
# Thread pools.
SIXTH = {
    "enkits": ("enkiTS", ["src"], r"_c\.(h|cpp)$", r"\.(cpp|h)$"),
    "dispenso": ("dispenso", ["dispenso"], r"third-party/|/windows/", r"\.(cpp|h)$"),
}
# Two more.
SEVENTH = {
    "embree": ("embree-3.13.5", ["common", "kernels"], r"common/(simd|math)/|/sycl/|_win\.", r"\.(cpp|h)$"),
    "gts": ("gts/source/gts", ["source", "include"], r"/_win32/|/tests?/|/examples?/", r"\.(cpp|h|inl)$"),
}
# And two, of which all loops in some files were read.
EIGHTH = {
    "taskflow": ("taskflow", ["taskflow/core", "taskflow/utility"], r"^$", r"\.hpp$"),
    "concurrencpp": ("concurrencpp", ["source", "include"], r"^$", r"\.(cpp|h)$"),
}
# Eight more: six pools whose workers poll before they sleep, one whose workers block, a profiler with its queues and allocator.
NINTH = {
    "fibertasking": ("FiberTaskingLib", ["source", "include"], r"^$", r"\.(cpp|h)$"),
    "nanothread": ("nanothread", ["src", "include"], r"^$", r"\.(cpp|h)$"),
    "gemmlowp": ("gemmlowp", ["internal", "profiling"], r"_(neon|msa|sse|avx|wasmsimd)\w*\.h|neon|_test", r"\.(cc|h)$"),
    "ruy": ("ruy", ["ruy"], r"test|example|benchmark|(kernel|pack)_\w+\.cc$", r"\.(cc|h)$"),
    "jolt": ("JoltPhysics", ["Jolt/Core", "Jolt/Physics"], r"/(Vehicle|SoftBody|Hair|Ragdoll|Character|Constraints|Shape)/", r"\.(cpp|h|inl)$"),
    "bullet": ("bullet3", ["src/LinearMath"], r"^$", r"\.(cpp|h)$"),
    "toomanycooks": ("TooManyCooks", ["include"], r"^$", r"\.(hpp|ipp)$"),
    "tracy": ("tracy", ["public/client", "public/common"], r"apple|windows|_lz4|TracyCallstack", r"\.(cpp|h|hpp)$"),
}
# Six more: two runtimes of languages, two of actors and coroutines, a fork-join library with two pools, and lock-free queues.
TENTH = {
    "photon": ("photon", ["thread", "common"], r"/test/|checksum|arm|aarch64", r"\.(cpp|h)$"),
    "libfork": ("libfork", ["include"], r"^$", r"\.(hpp|h)$"),
    "xenium": ("xenium", ["xenium"], r"^$", r"\.hpp$"),
    "caf": ("caf", ["libcaf_core"], r"\.test\.|/test/", r"\.(cpp|hpp)$"),
    "verona": ("verona", ["src/rt"], r"^$", r"\.(cc|h)$"),
    "pony": ("pony", ["src/libponyrt"], r"^$", r"\.(c|h)$"),
}
# Two more: a library of locks, queues and executors, and a runtime of tasks.
ELEVENTH = {
    # of folly's first level and io/async the files that share memory between threads
    "folly": ("folly", ["folly"],
              r"^folly/(?!(synchronization|concurrency|executors|detail|system)/|"
              r"io/async/(Atomic|(Virtual)?EventBase|Notification|MuxIO|\w*Executor)[^/]*$)[^/]+/|"
              r"^folly/(?!(Atomic|Cancellation|Concurrent|DefaultKeep|Executor|Indexed|Lifo|MPMC|Micro|ObserverC|PackedSync|Producer|RWSpin|SharedMutex|Singleton|SpinLock|"
              r"Synchronized|Thread|TokenBucket)[^/]*$)[^/]+$|/tests?/|[Bb]ench", r"\.(cpp|h)$"),
    "nanos6": ("nanos6", ["src"], r"/tests?/|/(cuda|openacc|toml)/", r"\.(cpp|hpp|c|h)$"),
}
# And two more with pools: Grand Central Dispatch's and a runtime of task graphs.
TWELFTH = {
    "libdispatch": ("libdispatch", ["src", "private", "os"], r"/swift/|/BlocksRuntime/|_win_|windows|event_kevent|darwin", r"\.(c|cpp|h)$"),
    # not PARSEC, the set of benchmarks, which is `parsec` above; without other processors' and compilers' primitives
    "parsec-runtime": ("parsec", ["parsec"], r"/tests?/|/(cuda|hip|level_zero)/|\.[ly]\.[ch]$|atomic-(ppc|xlc|winnt|x86_32)", r"\.(c|h)$"),
}
# Runtimes of languages.
THIRTEENTH = {
    "ghc": ("ghc-9.0.2", ["rts"], r"win32/|/tests?/|/sm/Windows", r"\.[ch]$"),
    "mono": ("mono-6.8.0.105+dfsg", ["mono/eglib", "mono/metadata", "mono/mini", "mono/profiler", "mono/sgen", "mono/utils"],
             r"/(tests?|jemalloc)/|win32|windows|darwin|mach-|-(arm|arm64|mips|ppc|riscv|s390x|sparc|wasm)\b", r"\.[ch]$"),
    "hotspot": ("openjdk-17-17.0.19+10", ["src/hotspot/share", "src/hotspot/os/posix", "src/hotspot/os/linux", "src/hotspot/cpu/x86",
                                          "src/hotspot/os_cpu/linux_x86"],
                r"share/(adlc|c1|ci|libadt|opto|jvmci)/", r"\.(cpp|hpp|h)$"),
    "gcc": ("gcc", ["libgomp", "libitm", "libgcc"], r"/(testsuite|plugin)/|nvptx|gcn|mingw|libgcc/(config|soft-fp)/|config/(arm|aarch64|alpha|ia64|mips|powerpc|s390|sh|sparc|rtems|bsd)",
            r"\.(c|cc|h)$"),
    "sbcl": ("sbcl", ["src/runtime"], r"win32|darwin|bsd|sunos|/(arm|arm64|mips|ppc|ppc64|riscv|sparc|loongarch64|haiku)-", r"\.[ch]$"),
    "swipl": ("swi-prolog-9.0.4+dfsg", ["src"], r"/(Tests?|test|win32|os/windows|minizip|libtai)/", r"\.[ch]$"),
    "ruby": ("ruby3.1-3.1.2", ["."], r"win32|/test/|^\.pc/|^(spec|test|benchmark|sample|enc|coverage|debian)/|^missing/|(^|/)ext/(-test-|win)", r"\.(c|h|y)$"),
    "php": ("php8.2-8.2.32", ["Zend", "TSRM", "main", "sapi/fpm", "sapi/cli", "ext/opcache", "ext/standard", "ext/sockets", "ext/pcntl", "ext/sysvshm"],
            r"win32|/tests?/|windows|/jit/(dynasm|libudis86)/", r"\.(c|h)$"),
}
# What passes messages, what plays sound, and a game engine.
FOURTEENTH = {
    "openmpi": ("openmpi-4.1.4", ["opal", "ompi", "oshmem", "orte"], r"/tests?/|/(arm|arm64|powerpc|sparcv9|mips|ia32|gcc_builtin)/|opal/mca/(event|hwloc|pmix/pmix3x)/|romio", r"\.(c|h)$"),
    "mpich": ("mpich-4.0.2", ["src/include", "src/mpi", "src/mpid", "src/mpl", "src/pmi", "src/util"], r"/romio/|/tests?/", r"\.(c|h)$"),
    "ucx": ("ucx-1.13.1", ["src"], r"/(aarch64|ppc64|arm)/|/(cuda|rocm|gdr_copy|ugni)/", r"\.(c|cc|h|inl)$"),
    "libfabric": ("libfabric", ["src", "prov", "include"], r"windows|osx|freebsd|/(test|tests)/", r"\.(c|h|cpp)$"),
    "pipewire": ("pipewire", ["src", "spa"], r"/tests?/|/examples?/", r"\.(c|cpp|h)$"),
    "jackd2": ("jackd2-1.9.21~dfsg", ["common", "linux", "posix", "tools"], r"windows|macosx", r"\.(c|cpp|h)$"),
    "godot": ("godot-3.2.3-stable", ["core", "drivers", "main", "modules", "scene", "servers"], r"/(tests?|windows|wasapi|coreaudio|winmidi|coremidi)/|thirdparty|win32", r"\.(cpp|h|inc)$"),
    "openal": ("openal-soft", ["al", "alc", "common", "core"], r"/tests?/|win32|wasapi|winmm|coreaudio", r"\.(c|cpp|h|hpp)$"),
}
SETS = {"developed": CORPORA, "held-out": HELD_OUT, "fresh": FRESH, "third": THIRD, "fourth": FOURTH, "fifth": FIFTH, "sixth": SIXTH,
        "seventh": SEVENTH, "eighth": EIGHTH, "ninth": NINTH, "tenth": TENTH, "eleventh": ELEVENTH, "twelfth": TWELFTH, "thirteenth": THIRTEENTH, "fourteenth": FOURTEENTH}
ALL = {corpus: what for one in SETS.values() for corpus, what in one.items()}
HELD_OUT_CAP = (44, 15)  # rows `hint` and others a corpus with more than 80, so that people can judge them all
DRIVER_CAP = 120  # dpdk drivers mostly poll registers: enough of them to measure false positives, not more

HINT = re.compile(r"""(?ix) (^|_|m)pauses?$ | ^asm_hint$ | relax | ut_delay | (^|_)spin(?!lock|_?un|_?lock|_?init|_?dest) |
    yield | sleep | backoff | ^(rte_)?delay(_(us|ms)\w*)?$ | [um]s(ec)?_delay | wait_until | (^|_)wfe$ | ^udelay$ | ^mdelay$ |
    ^ck_pr_stall$ | ^AsmVolatilePause$ | _busy_wait$""")
NOHINT = re.compile(r"""(?ix) relaxed | relaxation | ^relax$ | sleeping | sleepers | asleep | state_sleep | spinlock | spin(_rw)?_mutex |
    [tr]x_pause | cap_pause | spinflag | max_spin | sleep_handler | yield_threshold | ^delay$""")
RMW = re.compile(r"""(?ix) cmp_?x?chg | cmpset | compare_?and_?swap | compare_?(and_)?(swap|exchange) | (^|_)cas(\d*|_\w+)?$ |
    xchg | exchange | test_?and_?set | fetch_?and | fetch_(add|sub|or|and|store) | try_?(\w*_)?(acquire|lock) | trylock | ^trx?_lock$ |
    interlocked | ^__sync_ | ngx_atomic_ | ^my_atomic | lf_pin | seq_?lock | seqcount | read_(re)?try | ^tas$ |
    ^ck_pr_(fas|faa|bt[crs])_""")
ATOMIC = re.compile(r"""(?ix) ^(std_)?atomic | _atomic | ^__atomic | memory_order | ^volatile$ | access_once | read_once |
    load_(with_)?(acquire|relaxed|consume) | ^load$ | rte_s?m?[rw]?mb$ | memory_barrier | __tbb_load |
    ^ck_pr_(md_)?load | ^ck_pr_(fence|barrier) | ^uatomic_ | ^_?cmm_(load|smp|access)""")
BLOCKS = re.compile(r"(?i)cond_?(timed)?_?wait|sem_wait|^wait(_for|_until)?$")
LOCKS = re.compile(r"(?i)mutex_(enter|lock)$|spin_?lock(_lock)?$")
WALK = re.compile(r"(?i)next|prev")  # `for (; p; p = p->next)` ends by itself
READS = {"getc", "fgetc", "getchar", "yyGet", "my_b_get", "isspace", "my_isspace", "json_scan_next"}
PLAIN = {"count", "value", "begin", "error", "result"}  # too common as locals to be taken for a volatile member
SHARED = re.compile(r"^(Global|global|gp|Shared|shared|sh_mem|glob)$")
ACCESSOR = re.compile(r"(?m)^\s*#\s*define\s+(\w+)\([^)]*\)[^\n]*->\s*(\w+)\)?\s*$")
DECL = re.compile(r"(?:\bvolatile\b|\b[Aa]tomic(?:_\w+)?\s*<[^;{}()]*>|\b(?:rte|ngx|std)?_?atomic\w*_t\b)[\w\s\*:<>,]*?\b(\w{3,})"
                  r"\s*(?:\[[^\]]*\])?\s*[;,={]")


def counted(form, cond):
    """`for (i = a; i < b; i++)` and `for (x : list)`: the loop ends by its own count."""
    text = [t for t, _ in cond]
    if form != "for" or text.count(";") != 2:
        return form == "for"
    a = text.index(";")
    b = text.index(";", a + 1)
    step = text[b + 1:]
    return bool(step) and any(x in text[a:b] for x in step if x.isidentifier()) and "&&" not in text[a:b]


def judge(tok, loop, inside, shared):
    """(why, hints) of one loop; `inside` are the (why, first, last) of the loops within it."""
    form, first, cond, (b, e), last = loop
    own, i, nested = list(cond), b, {f: (w, l) for w, f, l in inside}
    while i <= e:
        if i in nested and nested[i][1] > i:
            i = nested[i][1]
        elif tok[i][0][0] != "#":
            own.append(tok[i])
        i += 1
    words = {t for t, _ in own if t[0].isalpha() or t[0] == "_"}
    hints = sorted(w for w in words if HINT.search(w) and not NOHINT.search(w))
    body = [t for t, _ in own[len(cond):] if t not in ("{", "}", ";", "else")]
    size = tok[e][1] - tok[b][1] + 1 if b < len(tok) else 0
    if any(x[0] == "poll" and y[0] == "(" and z[0] == "NULL" for x, y, z in zip(own, own[1:], own[2:])):
        hints.append("poll")  # poll(NULL, 0, ms): how liburcu sleeps
    if hints:
        return "hint", hints
    if nested and not body:
        return ("nest" if all(w for w, _ in nested.values()) else ""), hints
    text, short = [t for t, _ in cond], size <= 12
    bounded = counted(form, cond)
    if bounded and not {"break", "return", "goto"} & words:
        return "", hints
    if form != "goto" and any(RMW.search(w) for w in text):
        return "rmw", hints
    if short and any(RMW.search(w) or ATOMIC.search(w) for w in words):
        return "atomic", hints
    if form == "goto" or bounded or any(BLOCKS.search(w) for w in words):
        return "", hints
    if any(w and w != "nest" for w, _ in nested.values()) and size <= 25:
        return "outer", hints
    scan = any(t in ("++", "--", "+=", "-=") for t in text) or form == "for" and any(WALK.search(t) for t in text)
    if not body and not scan and not READS & words:
        return "empty", hints
    if size <= 10 and not scan and mentions(body if "".join(text) in ("", "1", ";;", "true") else text, shared):
        return "flag", hints
    if short and any(LOCKS.search(w) for w in words):
        return "locked", hints
    return "", hints


def mentions(text, shared):
    """Returns True if the condition reads an object that is declared volatile or atomic, or is shared by convention."""
    for before, t, after in zip([""] + text, text, text[1:] + [""]):
        if SHARED.match(t) or t + "(" in shared and after == "(":
            return True
        if t in shared and after != "(" and (before in ("->", ".") or len(t) > 4 and t not in PLAIN):
            return True
    return False


def scan(job):
    """(rows, macros, uses) of one file; a row is (line, form, why, hints, size)."""
    path, shared = job
    rows, macros, uses = {}, {}, []
    with open(path, errors="replace") as f:
        text = f.read()
    for macro, tok in streams(text):
        if not macro:
            uses = [(t, l) for k, (t, l) in enumerate(tok) if k + 1 < len(tok) and tok[k + 1][0] == "(" and len(t) > 3]
        found = []
        done = []
        for loop in loops(tok):
            found.append((loop[1], loop[4] if loop[4] is not None else loop[3][1], loop))
        for first, last, loop in sorted(found, key=lambda x: (-x[0], x[1])):  # inner loops first
            inside = [d for d in done if first < d[1] and d[2] <= last and loop[0] != "goto"]
            why, hints = judge(tok, loop, inside, shared)
            if loop[0] != "goto" or why:
                row = (tok[first][1], loop[0], why, hints, tok[min(last, len(tok) - 1)][1] - tok[first][1] + 1)
                if row[0] not in rows or not rows[row[0]][2] or why and loop[0] != "goto":
                    rows[row[0]] = row
            if loop[0] != "goto":
                done.append((why, first, last))
            if macro and why in ("hint", "rmw", "atomic"):
                macros[macro] = why
    return path, list(rows.values()), macros, uses


def order(seed, *key):
    return hashlib.sha256(":".join(map(str, (seed,) + key)).encode()).hexdigest()


def read(src, corpus, pool):
    """Returns all rows (file, line, form, why, hints, size) of a corpus."""
    root, folders, out, ends = ALL[corpus]
    root, jobs, by_dir, accessors = os.path.join(src, root), [], {}, []
    for folder in folders:
        for where, _, files in os.walk(os.path.join(root, folder)):
            for name in files:
                path = os.path.join(where, name)
                rel = os.path.relpath(path, root)
                if re.search(ends, name) and not re.search(out, rel) and os.path.isfile(path):
                    with open(path, errors="replace") as f:
                        text = f.read()
                    names = by_dir.setdefault(where, set())
                    names.update(DECL.findall(text))
                    accessors += [(where, macro + "(", field) for macro, field in ACCESSOR.findall(text)]
                    jobs.append(path)
    for where, macro, field in accessors:
        by_dir[where] |= {macro} if field in by_dir[where] else set()
    done = pool.map(scan, [(p, frozenset(by_dir[os.path.dirname(p)])) for p in sorted(jobs)], 16)
    hiding = {m for _, _, macros, _ in done for m in macros}
    rows = []
    for path, found, _, uses in done:
        rel = os.path.relpath(path, root)
        rows += [(rel,) + r for r in found]
        rows += [(rel, l, "macro", "macro", [m], 1) for m, l in sorted(set(uses)) if m in hiding]
    return rows


def one_a_line(liberal, rows):
    """Keeps one row of a macro that is used on a loop's own line, or twice on one line."""
    loops_at = {r[:2] for r in rows if r[2] != "macro"}
    out = {}
    for r in liberal:
        if r[2] != "macro" or r[:2] not in loops_at:
            out.setdefault(r[:2], r)
    return list(out.values())


def beyond_cap(liberal, seed, corpus):
    if len(liberal) <= 80:
        return set()
    by_hash = sorted(liberal, key=lambda r: order(seed, corpus, *r[:2]))
    hints, others = ([r for r in by_hash if (r[3] == "hint") == is_hint] for is_hint in (True, False))
    return {r[:2] for r in hints[HELD_OUT_CAP[0]:] + others[HELD_OUT_CAP[1]:]}


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("--src", required=True, help="folder with the unpacked corpora")
    ap.add_argument("--corpus", action="append", choices=ALL, help="only these")
    for name in list(SETS)[1:]:
        ap.add_argument("--" + name, dest="set", action="store_const", const=name, default="developed", help=f"the set of labels-{name}.tsv")
    ap.add_argument("--liberal", action="store_true")
    ap.add_argument("--random", type=int, default=0, metavar="N")
    ap.add_argument("--seed", type=int, default=1)
    a = ap.parse_args()
    out, totals, names = [], [], a.corpus or list(SETS[a.set])
    with multiprocessing.Pool(2) as pool:
        for n, corpus in enumerate(names):
            rows = read(a.src, corpus, pool)
            if not rows:
                sys.exit(f"candidates: no loops in {corpus} below {a.src}: unpacked and m4-expanded? (README.md)")
            liberal = [r for r in rows if r[3]]
            driver = sorted((r for r in liberal if r[0].startswith("drivers/")), key=lambda r: order(a.seed, *r[:2]))
            drop = {r[:2] for r in driver[DRIVER_CAP:]}
            if corpus not in CORPORA:
                liberal = one_a_line(liberal, rows)
            if corpus in HELD_OUT:
                drop |= beyond_cap(liberal, a.seed, corpus)
            rest = sorted((r for r in rows if not r[3] and not r[4]), key=lambda r: order(a.seed, corpus, *r[:2]))
            share = a.random // len(names) + (n < a.random % len(names))
            picked = [("liberal", r) for r in liberal if r[:2] not in drop] if a.liberal else []
            picked += [("random", r) for r in rest[:share]]
            totals.append(f"{corpus}: {len(rows)} loops, {len(liberal)} liberal before the cap")
            out += [(corpus, f, line, form, s, why or "-", ",".join(h) or "-", size) for s, (f, line, form, why, h, size) in picked]
    print("\n".join(totals), file=sys.stderr)
    print("corpus\tfile\tline\tform\tselection\twhy\twords\tlines")
    for r in sorted(set(out)):
        print(*r, sep="\t")


if __name__ == "__main__":
    main()
