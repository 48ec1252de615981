# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_threads.py FOLDER: threads that share CPUs, the table of pools, and the remedy that sets their number."""

import os
import re
import subprocess
import sys
from pathlib import Path

from project import BUILD, HERE, TOOL

from vfriendly import pools, programs, remedies
from vfriendly.measuring import profile as profiles
from vfriendly.measuring.threads import Threads

FOLDER = Path(sys.argv[1])
ONE = max(os.sched_getaffinity(0))


def options():
    """An option replaces the one that is there, in each of its forms, and else is added."""
    redis, xz = pools.Option(("--io-threads",)), pools.Option(("-T", "--threads"), "", first=True)
    t = pools.Option(("-t", "--threads"))
    assert redis.put(["redis-server", "--io-threads", "4", "x"], 2) == ["redis-server", "--io-threads", "2", "x"]
    assert redis.put(["redis-server", "a.conf"], 1) == ["redis-server", "a.conf", "--io-threads", "1"]
    assert redis.put(["redis-server", "--io-threads-do-reads", "yes"], 1)[1:3] == ["--io-threads-do-reads", "yes"]
    assert t.put(["memcached", "--threads", "8", "-u", "x"], 1) == ["memcached", "--threads", "1", "-u", "x"]
    assert xz.put(["xz", "-T8", "-k", "f"], 2) == ["xz", "-T2", "-k", "f"]
    assert xz.put(["xz", "-k", "f"], 2) == ["xz", "-T2", "-k", "f"]
    # Of the same letter, but another option.
    assert xz.put(["xz", "-Test"], 2) == ["xz", "-T2", "-Test"]
    # Only the program itself has the option.
    assert pools.command(pools.POOLS, ["/usr/bin/memcached"], 1) == ["/usr/bin/memcached", "-t", "1"]
    assert pools.command(pools.POOLS, ["my-memcached"], 1) == ["my-memcached"]


def names(found):
    return sorted(p.name for p in found)


def table():
    """Each pool is recognized by what it has, and by nothing that is only alike."""
    def seen(processes=(), paths=(), threads=(), functions=(), go=False):
        return names(pools.seen(processes, paths, threads, functions, go))

    assert seen(processes=["redis-server"]) == ["Redis"] and seen(threads=["io_thd_3"]) == ["Redis"]
    assert seen(processes=["redis-server-x"]) == [] and seen(threads=["io_thd"]) == []
    for library in ("/usr/lib/libgomp.so.1.0.0", "/x/numpy.libs/libgomp-a34b3233.so.1.0.0", "/usr/lib/libomp.so.5",
                    "/opt/libiomp5.so"):
        assert seen(paths=[library]) == ["OpenMP"], library
    for library in ("/usr/lib/libgmp.so.10", "/usr/lib/libcompel.so.1", "/usr/lib/libc.so.6"):
        assert seen(paths=[library]) == [], library
    assert seen(paths=["/x/numpy.libs/libscipy_openblas64_-56d6.so"]) == ["OpenBLAS"]
    assert seen(go=True) == ["Go"] and seen(threads=["tokio-runtime-w"]) == ["Tokio"]
    assert seen(functions=["<rayon_core::registry::WorkerThread>::wait"]) == ["Rayon"] and seen(functions=["rayon"]) == []
    # What belongs to the program itself stands before what its libraries brought along.
    assert seen(processes=["ffmpeg"], paths=["/x/libgomp.so.1"]) == ["FFmpeg", "OpenMP"]
    assert names(pools.named(["FFmpeg", "OpenMP"])) == ["FFmpeg", "OpenMP"] and pools.named(["other"]) == []
    assert names(pools.of_command("nginx", [], False)) == ["nginx"]
    assert {"OpenMP", "OpenBLAS"} <= set(names(pools.of_command("python3.11", [], False)))
    assert names(pools.of_command("prog", ["libgomp.so.1"], False)) == ["OpenMP"]
    assert names(pools.of_command("prog", ["libc.so.6"], False)) == []
    # What is set for Java already stays.
    java = pools.named(["Java"])
    assert pools.variables(java, 2, {"JAVA_TOOL_OPTIONS": "-Xmx1g"}) == {
        "JAVA_TOOL_OPTIONS": "-Xmx1g -XX:ActiveProcessorCount=2"}
    assert pools.variables(pools.named(["OpenMP"]), 2, {"OMP_NUM_THREADS": "8"}) == {"OMP_NUM_THREADS": "2"}
    for pool in pools.POOLS:
        assert "{n}" in pool.setting and (pool.variables or pool.option or pool.asks), pool.name
        for pattern in (pool.programs, pool.libraries, pool.threads, pool.functions):
            re.compile(pattern)


def measured(*command, tier=()):
    file = FOLDER / "profile.json"
    # The tool itself may use all CPUs.
    done = subprocess.run([TOOL, "measure", "-q", *tier, "-o", str(file), "--", "taskset", "-c", str(ONE), *command],
                          cwd=FOLDER, capture_output=True, text=True)
    assert done.returncode == 0, done
    return profiles.read(str(file)), done.stdout


def crowds():
    """Threads on one CPU, in each way to measure: four share it, one does not, beside whatever."""
    for tier in ((), ("--without-bpf",), ("--without-perf",)):
        # Named like a pool's, so that the verdict has a setting.
        profile, out = measured("./crowd", "4", "io_thd_1", tier=tier)
        crowd = profile.crowd
        assert crowd.cpus == 1 and crowd.is_crowded and 3 <= round(crowd.active) <= 5, (tier, crowd)
        assert crowd.names["io_thd_1"]["threads"] == 4 and crowd.pools == ["Redis"], crowd
        assert re.match(r"[345] threads share one CPU: set io-threads 1 ", out), out
        # The cause has the second line.
        assert re.search("CPU time|sample", out.splitlines()[1]) and "\\n" not in out, out
        assert profile.run_delay_s and "threads that could run, for one CPU" in out, out
        on_one(profile, out)
        hog = subprocess.Popen(["taskset", "-c", str(ONE), "sh", "-c", "while :; do :; done"])
        try:
            profile, out = measured("./crowd", "1", "io_thd_1", tier=tier)
        finally:
            hog.kill()
            hog.wait()
        assert not profile.crowd.is_crowded and "share" not in out.splitlines()[0], (tier, profile.crowd, out)


def on_one(profile, out, waits=2):
    """The time of threads on one CPU is that CPU's; taskset itself has begun on any."""
    cpu = profile.user_s + profile.system_s
    row = profile.by_cpu[str(ONE)]
    assert 0.9 * cpu <= row["run_s"] <= sum(r["run_s"] for r in profile.by_cpu.values()) < 1.05 * cpu + 0.02, profile.by_cpu
    # Four threads that share it wait three times as long as it runs, or longer, as others run on it, too.
    assert row["delay_s"] > waits * row["run_s"], profile.by_cpu
    assert sum(r["delay_s"] for r in profile.by_cpu.values()) < 1.05 * profile.run_delay_s, profile.by_cpu
    assert (row["steal_s"] is None) == any(line.startswith("steal: ") for line in profile.missing), profile.missing
    [shown] = [line for line in out.splitlines() if re.match(rf" +{ONE}  ", line)]
    assert "threads waited for it" in out and ("unknown" in shown) == (None in row.values()), out


def without_samples():
    """Where no sample is taken, time by CPU is that of looks at the threads, and their spins are unknown."""
    child = subprocess.Popen(["taskset", "-c", str(ONE), "./crowd", "4", "crowd", "60"], cwd=FOLDER)
    try:
        file = FOLDER / "looks.json"
        out = subprocess.run([TOOL, "measure", "-q", "--without-perf", "-o", str(file), "-p", str(child.pid), "--seconds", "1"],
                             check=True, capture_output=True, text=True).stdout
    finally:
        child.kill()
        child.wait()
    profile = profiles.read(str(file))
    assert list(profile.by_cpu) == [str(ONE)] and profile.by_cpu[str(ONE)]["spin_s"] is None, profile.by_cpu
    assert any(line.startswith("where CPU time goes: ") for line in profile.missing), profile.missing


def ended():
    """A process that does not exist has no threads, and one that has just begun no crowd."""
    threads = Threads()
    threads.begin([999999999])
    threads.look([999999999], last=True)
    assert threads.crowd({}) is None


def run(*words, environment=None, cpus=None):
    prefix = ["taskset", "-c", str(cpus)] if cpus is not None else []
    done = subprocess.run([*prefix, TOOL, *words], cwd=FOLDER, capture_output=True, text=True,
                          env={**os.environ, **(environment or {})})
    return done


def remedy():
    """What vfriendly run and try do: variables and options; libvfcpus.so only where there are fewer CPUs."""
    shown = run("run", "threads", "--show", "--", "./memcached", "-t", "8", cpus=ONE).stdout
    assert shown.endswith("./memcached -t 1\n"), shown
    preload = f"LD_PRELOAD={BUILD}/lib/libvfcpus.so "
    assert shown.startswith(preload) == (os.cpu_count() > 1), shown
    shown = run("run", "threads", "--show", "--", "./python3", "x.py", cpus=ONE).stdout
    assert "OMP_NUM_THREADS=1 " in shown and shown.endswith("./python3 x.py\n"), shown
    if os.cpu_count() > 1:
        asks = ["run", "cpus", "--", "./python3", "-c", "import os; print(os.cpu_count())"]
        assert run(*asks, cpus=ONE).stdout == "1\n" and run(*asks).stdout == f"{len(os.sched_getaffinity(0))}\n"
        assert run("run", "threads", *asks[2:], cpus=ONE).stdout == "1\n"
    if len(os.sched_getaffinity(0)) == os.cpu_count():
        done = run("run", "threads", "--", "/bin/true")
        assert done.returncode == 2 and "no setting of" in done.stderr and done.stderr.count("\n") == 1, done
    found, _ = remedies.suitable(programs.find([str(FOLDER / "memcached")]))
    assert "threads" in [r.name for r in found], found


os.environ["VFRIENDLY_LIB"] = str(BUILD / "lib")  # as the tool's own start does
FOLDER.mkdir(parents=True, exist_ok=True)
subprocess.run(["cc", "-O2", "-pthread", str(HERE / "truth" / "crowd.c"), "-o", "crowd"], cwd=FOLDER, check=True)
# Names of known programs.
for name, to in (("memcached", "/bin/true"), ("python3", sys.executable)):
    (FOLDER / name).unlink(missing_ok=True)
    (FOLDER / name).symlink_to(os.path.realpath(to))
options()
table()
crowds()
without_samples()
ended()
remedy()
