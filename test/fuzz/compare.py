# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs compilers and programs, and compares a program before and after the passes.

A judge raises Found if the rewritten program behaves differently, and Skip if
the program proves nothing: without the plugin it does not compile or does not end.
"""

import contextlib
import os
import random
import resource
import shutil
import signal
import subprocess
import time

# Programs run for milliseconds and compilers for a second; what takes longer than this hangs.
# On a busy machine they may get no CPU for that long: what hangs runs again, with a limit
# PATIENCE times as long and, where that is allowed, before others: each yield of a program of
# little weight gives away the turns of all others.
TIMEOUT, TIMEOUT_COMPILER, PATIENCE = 10, 60, 3
NICE_BEFORE_OTHERS = -15
# Slower by this factor and this many seconds is a finding, if repeats say the same.
SLOWER, SLACK = 3, 0.3
REPEATS = 10
# What a build with the plugin draws beside its level: none of it may change what a program does.
DEBUG = ("-g0", "-g1", "-g", "-gsplit-dwarf")
LTO = (None, None, None, "-flto", "-flto=thin")
INSTRUMENTATION = (None, None, "-fdebug-info-for-profiling", "-fsanitize-coverage=inline-8bit-counters,pc-table",
                   "-fsanitize-coverage=trace-pc-guard,trace-cmp")
# Options that leave a precompiled header as it is.
NOT_IN_HEADERS = ("-fpass-plugin", "-fverify", "-flto", "-fuse-ld", "-fdebug-info", "-fsanitize-coverage")


class Found(Exception):
    """A difference. symptom is its class, the same before and after reduction."""

    def __init__(self, symptom, how, detail=""):
        super().__init__(f"{symptom} ({how}): {detail.strip()[:2000]}")
        self.symptom, self.how = symptom, how


class Skip(Exception):
    """The reason why a program proves nothing."""


class Done:
    """How a command ended."""

    def __init__(self, status, out, err, seconds, hangs, cpu):
        self.status, self.out, self.err = status, out, err
        self.seconds, self.hangs, self.cpu = seconds, hangs, cpu


def _limits():
    # Cores of thousands of programs fill a disk.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _limits_before_others():
    _limits()
    with contextlib.suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, NICE_BEFORE_OTHERS)


def _cpu_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def call(command, timeout=TIMEOUT, env=None, cwd=None, before_others=False):
    """Runs command in a session of its own, so that its children end with it."""
    began, cpu = time.monotonic(), _cpu_of_children()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, errors="replace", start_new_session=True, cwd=cwd, env={**os.environ, **(env or {})},
                               preexec_fn=_limits_before_others if before_others else _limits)
    hangs = False
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        hangs = True
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
    return Done(process.returncode, out, err, time.monotonic() - began, hangs, _cpu_of_children() - cpu)


def call_patiently(command, timeout=TIMEOUT, **options):
    """As call, for what is a finding if it hangs."""
    done = call(command, timeout, **options)
    return call(command, PATIENCE * timeout, before_others=True, **options) if done.hangs else done


class Tools:
    """Where the compiler and what this project builds are: copies in folder, so that a build
    meanwhile changes nothing."""

    def __init__(self, build, folder, plugin=None, tidy=None, malloc=None):
        self.build, self.folder, self.malloc = os.path.abspath(build), folder, malloc
        self.lib = os.path.join(folder, "lib")
        os.makedirs(self.lib)
        built = os.path.join(self.build, "lib")
        self.plugin, self.tidy, _ = (
            shutil.copy(os.path.abspath(file), self.lib)
            for file in (plugin or os.path.join(built, "libvfriendly.so"), tidy or os.path.join(built, "libvfriendly-tidy.so"),
                         os.path.join(built, "libvfrt.so.0")))
        os.symlink("libvfrt.so.0", os.path.join(self.lib, "libvfrt.so"))
        self.inputs = os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs")
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        self.include = os.path.join(root, "runtime", "include")
        # The compiler verifies the module that the passes leave; lld does by itself.
        self.with_plugin = [f"-fpass-plugin={self.plugin}", "-fverify-intermediate-code"]
        self.with_runtime = [f"-L{self.lib}", f"-Wl,-rpath,{self.lib}", "-Wl,--no-as-needed", "-lvfrt"]

    @staticmethod
    def debug(seed):
        """The option for debug information that the program of a seed draws."""
        return random.Random(f"debug {seed}").choice(DEBUG)

    def drawn(self, seed, number=0):
        """What build number of the program of a seed draws, beside debug information. Only for
        builds of a source that are linked."""
        draw = random.Random(f"{number} {seed}")
        lto, instrumentation = draw.choice(LTO), draw.choice(INSTRUMENTATION)
        linker = ["-fuse-ld=lld", f"-Wl,--load-pass-plugin={self.plugin}"] if lto else []
        return [self.debug(f"{seed} {number}"), *(o for o in (lto, instrumentation) if o), *linker]

    def compile(self, source, program, *options):
        """Compiles and links. Returns what the compiler said; raises Found if it
        fails with the plugin, Skip if it fails without."""
        cxx = source.endswith(".cpp")
        standard = ["-std=c++17"] if cxx else ["-std=gnu11"] if source.endswith(".c") else []
        # mold takes the least time.
        command = ["clang++" if cxx else "clang", "-w", *standard, "-pthread", "-fuse-ld=mold", *self.headers(cxx, options),
                   source, *options, "-o", program]
        done = call_patiently(command, timeout=TIMEOUT_COMPILER)
        if done.status or done.hangs:
            said = "hangs" if done.hangs else f"status {done.status}: {done.err}"
            if any("-fpass-plugin" in option for option in options):
                raise Found("compiler", " ".join(options), said)
            raise Skip(f"does not compile: {said[:2000]}")
        return done.err

    def headers(self, cxx, options):
        """Options that take the C++ headers from a precompiled header, one for each set of
        options that change what they say. Parsing them is half the time of a compilation."""
        if not cxx:
            return []
        language = [o for o in options if o.startswith(("-O", "-f")) and not o.startswith(NOT_IN_HEADERS)]
        path = os.path.join(self.folder, "".join(["headers", *language]) + ".pch")
        if not os.path.exists(path):
            source = os.path.join(self.inputs, "headers.hpp")
            call(["clang++", "-w", "-std=c++17", "-pthread", *language, "-xc++-header", source, "-o", path], timeout=60)
        # Programs include what they need, and compile without it too.
        return ["-include-pch", path] if os.path.exists(path) else []


def named(level, options):
    """The options of a build, for a finding: without paths."""
    return " ".join([level, *(o for o in options if "/" not in o)])


def reference(program, timeout=TIMEOUT, **options):
    """Runs the program as built without the plugin."""
    before = call([program], timeout, **options)
    # With little CPU time, it may end yet; random programs that do not end use all that they get.
    if before.hangs and before.cpu < timeout / 2:
        before = call([program], PATIENCE * timeout, before_others=True, **options)
    if before.hangs:
        raise Skip("does not end without the plugin")
    return before


def _slower(before, after):
    return after > SLOWER * before + SLACK


def same(before, program, how, reference_program, env=None):
    """Raises Found unless program behaves as the reference, which gave before."""
    after = call_patiently([program], env=env)
    if after.hangs:
        raise Found("hangs", how, f"over {PATIENCE * TIMEOUT} s, {before.seconds:.2f} s without the plugin")
    if (after.out, after.status) != (before.out, before.status):
        symptom = "output" if after.status == before.status else "status"
        raise Found(symptom, how, f"status {after.status}, not {before.status}\n--- without\n{before.out[-800:]}"
                                  f"--- with\n{after.out[-800:]}{after.err[-800:]}")
    if _slower(before.seconds, after.seconds):
        # The best of many each: other work on the machine only adds, and adds much where a program yields.
        least, now = before.seconds, after.seconds
        for _ in range(REPEATS):
            least = min(least, call([reference_program], env=env, before_others=True).seconds)
            now = min(now, call([program], env=env, before_others=True).seconds)
            if not _slower(least, now):
                return after
        raise Found("slow", how, f"{now:.2f} s, {least:.2f} s without the plugin")
    return after


def check_defined(tools, source, folder, *options):
    """Raises Skip if a sanitizer objects: a reducer must not leave what the language defines."""
    program = os.path.join(folder, "sanitized")
    tools.compile(source, program, "-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", *options)
    done = call([program], timeout=60, env={"ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1"})
    if done.hangs or "runtime error" in done.err or "AddressSanitizer" in done.err:
        raise Skip("is not defined: " + done.err[:500])
