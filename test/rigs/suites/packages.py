# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Source packages of Debian with threads or much use of the heap, and tests of their own.

A package is how it is built and tested in a copy of its source, by $CC and $CXX: only the
compilers differ between without and with the passes. Tests that want a network, or take
minutes, are left out.
"""

import os
import re
import shutil

import bring

CMAKE = "cmake -S . -B out -DCMAKE_BUILD_TYPE=None -DCMAKE_C_FLAGS=-O2 -DCMAKE_CXX_FLAGS=-O2 {} && cmake --build out -j2 {}"
CTEST = "ctest --test-dir out --timeout 120 {}"
# Debian's patches leave configure.ac newer than configure; autotools are not needed for that.
CONFIGURE = "export ACLOCAL=: AUTOCONF=: AUTOHEADER=: AUTOMAKE=:; ./configure {} && make -j2 {}"
# `t NAME COMMAND` is a test that passes if the command does.
PRELUDE = 't() { n=$1; shift; if "$@" > "t-$n.log" 2>&1; then echo "PASS: $n"; else echo "FAIL: $n"; fi; }\n'
# What test programs say of a test: each has a group `name`, and `ok` if it passed.
FORMATS = {
    "automake": re.compile(r"^(?:(?P<ok>PASS)|FAIL|ERROR): (?P<name>\S.*?)(?: *\(\d.*)?$", re.M),
    "ctest": re.compile(r"Test +#\d+: (?P<name>\S+) \.+ *(?:(?P<ok>Passed)|\S.*) +[\d.]+ sec", re.M),
    "gtest": re.compile(r"^\[ +(?:(?P<ok>OK)|FAILED) +\] (?P<name>\S+)(?: \(\d+ ms\))$", re.M),
    "tap": re.compile(r"^(?:(?P<ok>ok)|not ok) \d+ - (?P<name>\S.*?)$", re.M),
    "libevent": re.compile(r"^(?P<name>\w+/\S+): (?:.*?(?P<ok>\bOK)$)?", re.M),
    "apr": re.compile(r"^(?P<name>test\w+) +: *\S*(?:(?P<ok>SUCCESS)|FAILED)", re.M),
}


class Package:
    def __init__(self, what, build, test, results="automake", needs=(), source=None, seconds=300, lto=False):
        self.what, self.script, self.tests = what, build, test
        self.results, self.needs, self.package, self.seconds = results, needs, source, seconds
        self.lto = lto  # Archives of it then hold what only LLVM's tools read.

    def named(self, name):
        self.name, self.package = name, self.package or name
        self.SENTENCE = f"Debian's {self.package}: {self.what}"
        return self

    def prepare(self, place):
        bring.need("dpkg-query", "sh", "make")
        for need in self.needs:
            if "ok installed" not in bring.output(["dpkg-query", "-W", "-f", "${Status}", need], timeout=30):
                raise bring.NotRun(f"needs {need}, which is not installed")
        return place.debian.source(place.path("source"), self.package)

    def version(self, source):
        with open(os.path.join(source, "debian", "changelog")) as file:
            return re.search(r"\((\S+)\)", file.readline())[1]

    def build(self, source, folder, cc, cxx):
        shutil.copytree(source, folder, dirs_exist_ok=True, symlinks=True)
        env = {**os.environ, "CC": cc, "CXX": cxx, "CFLAGS": "-O2", "CXXFLAGS": "-O2"}
        return bring.call(["sh", "-c", f"exec 2>&1; {self.script}"], f"the build of {self.name}", cwd=folder, env=env)

    def test(self, _, folder):
        said = bring.output(["sh", "-c", PRELUDE + self.tests], timeout=self.seconds, cwd=folder)
        with open(folder + "-tests.log", "w") as log:
            log.write(said)
        results = {}
        for m in FORMATS[self.results].finditer(said):
            # Of tests of one name all must pass.
            results[m["name"]] = results.get(m["name"], True) and bool(m["ok"])
        return results


PACKAGES = {
    "bzip2": Package("make test", "make -j2 CC=$CC bzip2 bzip2recover",
                     "for f in 1 2 3; do t compress$f sh -c \"./bzip2 -$f < sample$f.ref | cmp - sample$f.bz2\"; t expand$f sh -c \"./bzip2 -d < sample$f.bz2 | cmp - sample$f.ref\"; done"),
    "zstd": Package("fuzzer, zstreamtest, poolTests, a run of each with threads", "make -j2 -C lib libzstd.a-mt libzstd.a && make -j2 -C tests fuzzer zstreamtest poolTests && make -j2 -C programs zstd",
                    "t pool tests/poolTests; t fuzzer tests/fuzzer -s1 -i300 --no-big-tests; t stream tests/zstreamtest -s1 -i300 --no-big-tests; t stream-threads tests/zstreamtest --mt -s1 -i100 --no-big-tests;"
                    "t new-api tests/zstreamtest --newapi -s1 -i100 --no-big-tests; t round-trip sh -c 'cat /usr/bin/python3* | programs/zstd -T4 -c | programs/zstd -dc | cmp - /dev/stdin < /dev/null; cat /usr/bin/perl | programs/zstd -T4 -6 | programs/zstd -t'"),
    "xz-utils": Package("make check", CONFIGURE.format("--disable-nls --disable-doc", ""), "make check"),
    "lz4": Package("fuzzer and frametest", "make -j2 -C tests fuzzer frametest roundTripTest",
                   "t fuzzer tests/fuzzer -s1 -i300 --no-prompt; t frames tests/frametest -s1 -i500 ; t file tests/roundTripTest /usr/bin/perl"),
    "libuv1": Package("uv_run_tests", CMAKE.format("-DLIBUV_BUILD_TESTS=ON", "--target uv_run_tests_a"), "UV_RUN_AS_ROOT=1 out/uv_run_tests_a", "tap"),
    "libevent": Package("regress", CMAKE.format("-DEVENT__DISABLE_OPENSSL=ON -DEVENT__DISABLE_BENCHMARK=ON -DEVENT__DISABLE_SAMPLES=ON", ""), "out/bin/regress", "libevent"),
    "c-ares": Package("arestest without the network", CMAKE.format("-DCARES_BUILD_TESTS=ON", ""), "out/bin/arestest --gtest_filter='-*Live*'", "gtest"),
    "leveldb": Package("its tests", CMAKE.format("-DLEVELDB_BUILD_BENCHMARKS=OFF", ""), CTEST.format(""), "ctest", ("libgtest-dev", "libgmock-dev", "libbenchmark-dev")),
    "snappy": Package("its tests", CMAKE.format("-DSNAPPY_BUILD_BENCHMARKS=OFF", ""), "out/snappy_unittest", "gtest", ("libgtest-dev", "libgmock-dev")),
    "jansson": Package("its tests", CMAKE.format("-DJANSSON_BUILD_DOCS=OFF", ""), CTEST.format(""), "ctest"),
    "cjson": Package("its tests", CMAKE.format("-DENABLE_CJSON_TEST=On", ""), CTEST.format(""), "ctest"),
    # Valgrind 3.19 gives up at debug information of Clang 22, which libvfrt.a has.
    "json-c": Package("its tests, without Valgrind", CMAKE.format("", ""), "USE_VALGRIND=0 " + CTEST.format(""), "ctest"),
    "libyaml": Package("its tests", CMAKE.format("-DBUILD_TESTING=ON", ""), CTEST.format(""), "ctest"),
    "pbzip2": Package("files there and back by threads", "make -j2 CXX=$CXX",
                      "for p in 1 2 4; do t threads$p sh -c \"./pbzip2 -p$p -1 -c /usr/bin/perl > a$p.bz2 && ./pbzip2 -p$p -d -c a$p.bz2 | cmp - /usr/bin/perl\"; t test$p ./pbzip2 -t -p$p a$p.bz2; t stream$p sh -c \"./pbzip2 -p$p -c < /usr/bin/perl | bzip2 -t\"; done",
                      needs=("libbz2-dev",)),
    # A million acquisitions of a lock by two threads take minutes if they share their CPUs with others.
    "ck": Package("regressions of its data structures, locks and barriers, two threads",
                  "sed -i -E 's/^(#define ITERATE) [0-9]+/\\1 20000/; s/^(#define ITERATIONS) [0-9]+/\\1 4/' regressions/ck_spinlock/validate/validate.h regressions/ck_[br]*/validate/*.c && "
                  "./configure && make -j2 && for d in array bitmap ec fifo hp hs ht pr queue rhs ring rwlock sequence stack spinlock barrier; do make -C regressions/ck_$d/validate || exit; done",
                  "for d in array bitmap ec fifo hp hs ht pr queue rhs ring rwlock sequence stack; do t $d timeout 60 make -C regressions/ck_$d/validate check CORES=2; done;"
                  "for p in regressions/ck_spinlock/validate/[cl]*[a-z] regressions/ck_barrier/validate/barrier_*[a-z]; do case $p in *.c|*.h) ;; *) t ${p##*/} timeout 60 $p 2 1 $(case $p in (*barrier_*) echo 1;; esac);; esac; done",
                  seconds=600, lto=True),
    "liburcu": Package("unit tests", CONFIGURE.format("--disable-shared", ""), "make -C tests/unit check; make -C tests/regression rcutorture_urcu_mb 2>/dev/null; true"),
    "memcached": Package("testapp and tests of its commands", CONFIGURE.format("--disable-docs", ""), "./testapp; prove -v t/binary.t t/binary-get.t t/cas.t t/incrdecr.t t/lru.t t/slabs-reassign2.t t/stats.t t/touch.t t/multiversioning.t t/item_size_max.t", "tap", ("libevent-dev",)),
    "apr": Package("make check", "./configure && make -j2", "make check", "apr"),
    # Three of the eleven parts of the tests of tensors, which take 5, 32 and 6 s to compile; tasks of the first test poll until the others run.
    "eigen3": Package("tests of its thread pool, its event count, its queue and tensors on the pool, five runs of each",
                      "b() { f=$1; shift; $CXX -std=c++14 -O2 -pthread -w -I. -Iunsupported -Itest -DEIGEN_TEST_MAX_SIZE=320 -DEIGEN_USE_THREADS \"$@\" unsupported/test/cxx11_${f%-*}.cpp -o $f || exit; };"
                      "for f in non_blocking_thread_pool eventcount runqueue; do b $f -DEIGEN_TEST_PART_ALL=1; done; for p in 1 2 9; do b tensor_thread_pool-$p -DEIGEN_TEST_PART_$p=1; done",
                      "for i in 1 2 3 4 5; do for f in non_blocking_thread_pool eventcount runqueue tensor_thread_pool-1 tensor_thread_pool-2 tensor_thread_pool-9; do "
                      "case $f in (tensor*) r=r1;; (*) r=;; esac; t $f-$i timeout 60 ./$f s$i $r; done; done", seconds=1200),
    "pcre2": Package("make check", CONFIGURE.format("--enable-jit", ""), "make check"),
}
PACKAGES = {name: package.named(name) for name, package in PACKAGES.items()}
