# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Breaks libvfpthread, one line at a time, and wants the tests to notice.

broken.py SOURCE FILES INCLUDES MAP OUT [NAME...]   builds into OUT; only the named ones

FILES are those of the library, INCLUDES options for them, each in one word, and MAP is its version script.

The whole library passes each program first. A broken one has to fail, by a sentence
or by not ending, in one of TRIES runs: a lost wake-up takes luck.
"""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "..", "..", "Inputs"))
from short_run import slice_of

TRIES = 20
SECONDS = 4  # the whole library takes a tenth of that

# name: file, what is there, what is there instead, program and arguments
BREAKS = {
    "mutex-wakes-nobody": ("mutex.c", "vf_futex_wake(lock, 1, VF_PRIVATE);", ";",
                           "stress normal 8 2000"),
    "mutex-forgets-the-others": ("mutex.c", "attempt.as = SLEEPERS;", ";",
                                 "stress normal 8 2000"),
    "cond-queues-too-late": ("cond.c",
                             "bool behind = vf_queue_enter(&wait.self, cond, mutex);\n"
                             "  if (vf_queue_is_closed())\n"
                             "    return wait_in_libc(&wait, cond, deadline, type);\n"
                             "  vf_mutex_unlock_to_wait(mutex);",
                             # With a yield, as the gap is too short to be met by chance.
                             "vf_mutex_unlock_to_wait(mutex);\n  vf_yield();\n"
                             "  bool behind = vf_queue_enter(&wait.self, cond, mutex);",
                             "cond turns 2 40000"),
    "cond-keeps-a-cancelled-signal": ("cond.c", "    vf_queue_wake_one(wait->cond);\n", "    ;\n",
                                      "cond cancel 2 1000"),
    "cond-breaks-the-chain": ("cond.c", "if (wait->self.passes_on)", "if (0)",
                              "cond gates 8 200"),
    "cond-breaks-it-when-cancelled": ("cond.c", "  lock_again(wait);\n",
                                      "  vf_mutex_lock_again(wait->mutex, &(bool){false}, 0);\n",
                                      "cond gates 8 200"),
    "cond-stays-queued": ("cond.c", "vf_queue_leave(&wait.self, cond) == VF_LEFT_WAITING",
                          "true", "cond gates 8 200"),
    "cond-is-not-cancelled": ("cond.c", "pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS",
                              "pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED",
                              "cond cancel 2 200"),
    "cond-asks-libc-last": ("cond.c",
                            "  int result = vf_next()->pthread_cond_broadcast(cond);\n"
                            "  if (ours)\n    vf_queue_wake_all(cond);\n",
                            "  if (ours)\n    vf_queue_wake_all(cond);\n"
                            "  int result = vf_next()->pthread_cond_broadcast(cond);\n",
                            "cond destroy-by-waiter 2 1000"),
    "cond-forgets-libc": ("cond.c", "if (ours && !both && vf_queue_wake_one(cond))",
                          "if (ours && (vf_queue_wake_one(cond), true))",
                          "cond foreign 4 100"),
    "cond-signals-one-queue": ("cond.c", "both = ours && libc_has_waiters(cond)", "both = false",
                               "cond cancel-mixed 2 1000"),
    "table-survives-fork": ("parking_table.c",
                            "madvise(&vf_parking_2, sizeof vf_parking_2, MADV_WIPEONFORK) == 0",
                            "true", "fork"),
    "queue-broadcasts-to-one": ("queue.c", "other->key = mutex;", ";", "cond gates 8 200"),
    "table-wakes-nobody": ("parking_table.c", "== VF_PARKED_ASLEEP\n             ? word",
                           "== VF_PARKED_ASLEEP\n             ? NULL", "cond gates 8 200"),
    "table-keeps-who-left": ("parking_table.c", "    set(&bucket->first, waiter->next);", "    ;",
                             "cond gates 8 200"),
    "barrier-wakes-nobody": ("barrier.c", "vf_futex_wake(&barrier->phase, INT_MAX, VF_PRIVATE);",
                             ";", "others barrier 8 3000"),
    "barrier-does-not-start-anew": ("barrier.c", "  __atomic_store_n(&barrier->in, 0, __ATOMIC_RELEASE);",
                                    "", "others barrier-anew 3 100"),
    "barrier-leaves-too-early": ("barrier.c", "  if (phase < place)\n"
                                 "    wait_for_phase(barrier, place, phase, VF_CALLER);\n  leave(barrier);",
                                 "  leave(barrier);\n  if (phase < place)\n"
                                 "    wait_for_phase(barrier, place, phase, VF_CALLER);",
                                 "others barrier-destroy 3 500"),
    "barrier-ends-phases-early": ("barrier.c", "ended = place - place % threads",
                                  "ended = place + 1", "others barrier 8 300"),
    "sem-takes-nothing": ("sem.c", "  if (would_wait(sem))\n",
                          "  if (would_wait(sem) &&\n"
                          "      vf_spin(sem, &spins, has_some, vf_libc_sem_value(sem), NULL))\n"
                          "    return 0;\n"
                          "  if (would_wait(sem))\n",
                          "others sem 8 3000"),
    "rwlock-takes-nothing": ("rwlock.c", "  if (would_wait(lock, may)) {\n",
                             "  if (writes && would_wait(lock, may) &&\n"
                             "      vf_spin(lock, &spins, may, lock, NULL))\n"
                             "    return 0;\n"
                             "  if (would_wait(lock, may)) {\n",
                             "others rwlock-readers 8 3000"),
}


def compile_one(source, includes, path):
    runtime = os.path.join(source, "runtime")
    subprocess.run(
        ["clang", "-std=gnu11", "-D_GNU_SOURCE", "-O1", "-fPIC", "-fvisibility=hidden", "-c",
         "-I", runtime, "-I", os.path.join(runtime, "include"), *includes.split(), path,
         "-o", path + ".o"], check=True)


def link(variant):
    """Of its own objects, and of the whole library's where it has none."""
    whole = os.path.join(os.path.dirname(variant), "whole")
    own = [f for f in os.listdir(variant) if f.endswith(".o")]
    objects = [os.path.join(variant if f in own else whole, f)
               for f in os.listdir(whole) if f.endswith(".o")]
    library = os.path.join(variant, "lib.so")
    subprocess.run(["clang", "-shared", "-Wl,--version-script=" + os.path.join(whole, "exports.map"),
                    "-o", library, *objects], check=True)
    return library


def passes(out, library, command, seconds):
    program, *arguments = command.split()
    # Brief spins: what they would outlast is to be slept through.
    environment = {**os.environ, "LD_PRELOAD": library, "VF_SPIN_BUDGET_NS": "2000",
                   "VF_PTHREAD_CROWDS": "own"}
    try:
        return subprocess.run([os.path.join(out, program), *arguments], env=environment,
                              timeout=seconds, stderr=subprocess.DEVNULL).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def build_whole(source, sources, includes, exports, out):
    runtime = os.path.join(source, "runtime")
    whole = os.path.join(out, "whole")
    shutil.rmtree(whole, ignore_errors=True)
    shutil.copytree(os.path.join(runtime, "preload"), whole)
    for file in sources.split():
        shutil.copy(file, whole)
    shutil.copy(exports, os.path.join(whole, "exports.map"))
    for file in os.listdir(whole):
        if file.endswith(".c"):
            compile_one(source, includes, os.path.join(whole, file))
    return link(whole)


def notice(source, includes, out, name):
    """What became of the broken library; True if all is as it should be."""
    file, old, new, command = BREAKS[name]
    variant = os.path.join(out, name)
    shutil.rmtree(variant, ignore_errors=True)
    os.makedirs(variant)
    with open(os.path.join(out, "whole", file)) as f:
        text = f.read()
    if text.count(old) != 1:
        return f"{name}: NOT NOTICED, {file} has {text.count(old)} times: {old}", False
    path = os.path.join(variant, file)
    with open(path, "w") as f:
        f.write(text.replace(old, new))
    compile_one(source, includes, path)
    library = link(variant)
    for run in range(1, TRIES + 1):
        if not passes(out, library, command, SECONDS):
            return f"{name}: noticed by {command}, run {run}", True
    return f"{name}: NOT NOTICED by {command}", False


def main():
    source, sources, includes, exports, out, *names = sys.argv[1:]
    whole = build_whole(source, sources, includes, exports, out)
    names = names or slice_of(BREAKS, 4)
    failures = 0
    for command in sorted({BREAKS[n][3] for n in names}):
        if not passes(out, whole, command, 60):
            print(f"whole: {command}: FAILS")
            failures += 1
    with ThreadPoolExecutor(2) as pool:  # those that hang wait only
        for line, good in pool.map(lambda n: notice(source, includes, out, n), names):
            print(line, flush=True)
            failures += not good
    print("as it should be" if failures == 0 else f"{failures} failures")
    return 1 if failures else 0


sys.exit(main())
