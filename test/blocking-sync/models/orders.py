# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks the memory orders of runtime/blocking-sync with Relacy, on the sources
themselves (Inputs/orders/hooks.cpp says how), and that none is stronger than it needs
to be: each order that is not relaxed is weakened by one step, and some scenario must
then fail. One that may be weakened unseen is too strong, or the scenarios too weak.

  orders.py WORK_DIR               all scenarios
  orders.py WORK_DIR --weaken      and all weakenings, a line each
  orders.py WORK_DIR --break       and what else the scenarios are there to find
  --runs N      so many times the runs of each scenario that scenarios.c says
  --only TEXT   those weakenings whose line has it; prints what led to the error"""

import argparse
import glob
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "..", "Inputs"))
from short_run import slice_of

ROOT = os.path.abspath(os.path.join(HERE, "..", "..", ".."))
INPUTS = os.path.join(HERE, "Inputs", "orders")
RUNTIME = os.path.join(ROOT, "runtime")

# What only says how often something is repeated before the code goes another way,
# which no search would ever see it go.
LOWERED = {
    "common/plain_lock.h": ("#define VF_PLAIN_SPINS 80\n", "#define VF_PLAIN_SPINS 1\n"),
    "blocking-sync/mutex.c": ("#define MAX_SKIPS 250u\n", "#define MAX_SKIPS 2u\n"),
}
# Who looks by itself hides that it was not woken.
BLIND = {"blocking-sync/mutex.c": ("is_left_free, locking,", "NULL, locking,")}
WEAKER = {
    "SEQ_CST": ["ACQ_REL"],
    "ACQ_REL": ["ACQUIRE", "RELEASE"],
    "ACQUIRE": ["RELAXED"],
    "RELEASE": ["RELAXED"],
    "CONSUME": ["RELAXED"],
}
# Whose scenarios can tell, by the beginning of their names.
SCENARIOS = {
    "barrier.c": ["barrier"],
    "cond.c": ["cond"],
    "event.c": ["event"],
    "rwlock.c": ["rwlock"],
    "sem.c": ["sem"],
}
EVERYTHING_THAT_LOCKS = ["mutex", "cond", "rwlock"]
# What the scenarios are there to find, besides: (scenario, file, old, new).
BREAKS = [
    # Touched after it was given up.
    ("mutex-last", "mutex.c", "  return held == HELD && change(mutex, &held, 0, __ATOMIC_RELEASE)\n",
     "  int freed = held == HELD && change(mutex, &held, 0, __ATOMIC_RELEASE); mutex->handed_ = 0;\n  return freed\n"),
    ("mutex-last", "mutex.c",
     "    while (!change(mutex, &word, left, __ATOMIC_RELEASE));\n    return VF_WAKE_NONE;",
     "    while (!change(mutex, &word, left, __ATOMIC_RELEASE));\n    mutex->handed_ = 0;\n"
     "    return VF_WAKE_NONE;"),
    ("mutex-shared-last", "plain_lock.h",
     "== VF_HELD_SLEEPERS)\n    vf_futex_wake(word",
     "== VF_HELD_SLEEPERS && word[1])\n    vf_futex_wake(word"),
    ("rwlock-last", "rwlock.c", "vf_futex_wake(&lock->word_, 1, scope)",
     "vf_futex_wake(&lock->word_, 1, vf_scope(lock->flags_))"),
    ("sem-last", "sem.c", "vf_futex_wake(value_word(sem), 1, scope)",
     "vf_futex_wake(value_word(sem), 1, vf_scope(sem->flags_))"),
    ("event-last", "event.c", "vf_futex_wake(&event->word_, INT_MAX, scope)",
     "vf_futex_wake(&event->word_, INT_MAX, vf_scope(event->flags_))"),
    ("barrier-last", "barrier.c", "while (__atomic_load_n(&barrier->inside_, __ATOMIC_ACQUIRE) != 0)",
     "while (0)"),
    ("mutex", "parking.c", "    asleep = vf_parked_wake(first, how);\n",
     "    asleep = vf_parked_wake(first, how); first->next = NULL;\n"),
    # Slept through.
    ("mutex", "mutex.c", "    if (!(word & HELD))\n      return false;\n  } while (!change(locking",
     "  } while (!change(locking"),
    ("mutex", "parking_table.c", "== VF_PARKED_ASLEEP\n             ? word",
     "== VF_PARKED_WOKEN\n             ? word"),
    ("mutex", "parking_table.h", "__atomic_compare_exchange_n(&self->state, &awake, VF_PARKED_ASLEEP,\n"
     "                                     false, __ATOMIC_RELAXED,\n"
     "                                     __ATOMIC_RELAXED) ||",
     "(__atomic_store_n(&self->state, VF_PARKED_ASLEEP, __ATOMIC_RELAXED), true) ||"),
    ("mutex-shared", "mutex.c", "vf_plain_unlock(&mutex->word_, VF_ACROSS)",
     "vf_plain_unlock(&mutex->word_, VF_PRIVATE)"),
    ("cond", "cond.c", "  set_queued(cond, more);\n", "  set_queued(cond, false);\n"),
    ("cond", "mutex.c", "    if (!(word & HELD) && !must)\n      return false;\n", ""),
    ("cond-shared", "cond.c", "  __atomic_fetch_add(&cond->word_, 1, __ATOMIC_RELAXED);\n", ""),
    ("cond-shared-mutex", "cond.c", "vf_mutex_is_parkable(waiting->mutex) ? waiting->mutex : NULL",
     "waiting->mutex"),
    ("rwlock", "rwlock.c", "(before & SLEEPER) && (before & READERS) == 1", "0"),
    ("rwlock-shared", "rwlock.c", "    vf_futex_wake(&lock->word_, 1, scope);",
     "    vf_futex_wake(&lock->word_, 1, VF_PRIVATE);"),
    ("sem", "sem.c", "  if (word >= SLEEPER)\n", "  if (word > SLEEPER)\n"),
    ("barrier", "barrier.c", "  if (phase_of(word) & SLEEPERS)\n", "  if (0)\n"),
    ("barrier-crowd", "barrier.c", "(uint32_t)word - barrier->threads_);", "0);"),
    ("event", "event.c", "  if (word & SLEEPERS)\n", "  if (0)\n"),
    ("event-pulse", "event.c", "return (word & SET) || (word & ~(SET | SLEEPERS)) != begin;",
     "return (word & SET);"),
]


def run(*command, **options):
    return subprocess.run(command, text=True, **options)


class Model:
    """The sources, copied to where they can be changed, and the program made of them."""

    def __init__(self, work):
        self.work = work
        self.files = {}
        shutil.rmtree(work, ignore_errors=True)
        for folder, pattern in (("blocking-sync", "*.[ch]"), ("include/vfriendly", "*.[ch]"), ("common", "plain_lock.h")):
            os.makedirs(os.path.join(work, folder))
            for path in glob.glob(os.path.join(RUNTIME, folder, pattern)):
                name = f"{folder}/{os.path.basename(path)}"
                self.files[name] = open(path).read()
        for name, (old, new) in [*LOWERED.items(), *BLIND.items()]:
            if old not in self.files[name]:
                sys.exit(f"orders.py: {name} no longer has: {old.strip()}")
            self.files[name] = self.files[name].replace(old, new)
        for name, text in self.files.items():
            self.write(name, text)
        self.sources = [n for n in self.files if n.endswith(".c")]
        self.sources.append(os.path.join(INPUTS, "scenarios.c"))
        # Compiled once: Relacy takes seconds.
        self.command("clang++", "-std=c++14", "-O2", "-w", "-c", os.path.join(INPUTS, "hooks.cpp"),
                     "-o", "hooks.o")
        fixed = (os.path.join(INPUTS, "others.c"), os.path.join(RUNTIME, "spin-wait/shared.c"))
        self.fixed = ["hooks.o", *(self.compile(source, "") for source in fixed)]
        self.objects = {source: self.compile(source, "") for source in self.sources}
        self.link(self.objects)

    def write(self, name, text):
        with open(os.path.join(self.work, name), "w") as f:
            f.write(text)

    def command(self, *command):
        includes = [f"-I{d}" for d in (INPUTS, ".", "include", RUNTIME, f"{RUNTIME}/include")]
        run(*command, *(includes if "-c" in command else []), cwd=self.work, check=True)

    def compile(self, source, prefix):
        out = prefix + os.path.basename(source)[:-2] + ".o"
        self.command("clang", "-std=gnu11", "-O1", "-gline-tables-only", "-fsanitize=thread", "-c",
                     source, "-o", out)
        return out

    def link(self, objects):
        # At fixed addresses: runs are the same each time.
        self.command("clang++", "-no-pie", "-fuse-ld=lld", "-o", "model", *self.fixed,
                     *objects.values())

    def change(self, name, text):
        """The program with that file so, in place of the last change."""
        self.write(name, text)
        concerned = [name] if name.endswith(".c") else self.sources
        self.link({**self.objects, **{s: self.compile(s, "changed-") for s in concerned}})
        self.write(name, self.files[name])

    def search(self, prefixes, factor):
        return run("./model", str(factor), *prefixes, cwd=self.work, stdout=subprocess.PIPE,
                   timeout=3600)

    def explain(self, history):
        """Addresses in the code to where they stand in the sources."""
        def where(match):
            out = run("llvm-symbolizer", "-e", "model", "--output-style=GNU", match[1],
                      cwd=self.work, stdout=subprocess.PIPE).stdout
            return "in " + os.path.basename(out.strip())
        return re.sub(r"in , (0x[0-9a-f]+)\(0\)", where, history)


def without_comments(text):
    """With blanks instead, so that places stay the same."""
    return re.sub(r"/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m[0]), text, flags=re.S)


def weakenings(files):
    """(what, file, its text so weakened, scenarios)"""
    for name in sorted(files):
        text = without_comments(files[name])
        scenarios = SCENARIOS.get(os.path.basename(name), EVERYTHING_THAT_LOCKS)
        counts = {}
        for order in re.finditer(r"__ATOMIC_([A-Z_]+)", text):
            heads = re.findall(r"\b(?!if\b|for\b|while\b|switch\b)(\w+)\([^;{}()]*\)\s*\{",
                               text[:order.start()])
            function = heads[-1]
            counts[function] = counts.get(function, 0) + 1
            for to in WEAKER.get(order[1], []):
                yield (f"{os.path.basename(name)} {function}, order {counts[function]}: "
                       f"{order[1]} -> {to}", name,
                       files[name][:order.start()] + "__ATOMIC_" + to + files[name][order.end():],
                       scenarios)


def breaks(files):
    for scenario, name, old, new in BREAKS:
        name = next(n for n in files if os.path.basename(n) == name)
        if files[name].count(old) != 1:
            sys.exit(f"orders.py: {name} does not have once: {old}")
        what = " ".join(new.split()) or "without " + " ".join(old.split())
        yield f"{os.path.basename(name)} {what}", name, files[name].replace(old, new), [scenario]


def verdict(result):
    """What Relacy said, or None if nothing."""
    if result.returncode == 0:
        return None
    failed = re.search(r"^(\S+): error$", result.stdout, re.M)
    how = re.search(r"^(DATA RACE|DEADLOCK|LIVELOCK|USER ASSERT[A-Z ]*)", result.stdout, re.M)
    when = re.search(r"^iteration: (\d+)", result.stdout, re.M)
    return (f"{failed[1] if failed else '?'}: {how[1].lower() if how else 'error'}"
            f"{', run ' + when[1] if when else ''}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work")
    parser.add_argument("--weaken", action="store_true")
    parser.add_argument("--break", action="store_true", dest="breaks")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--only", default="")
    args = parser.parse_args()

    model = Model(os.path.abspath(args.work))
    if not args.only:
        result = model.search([], args.runs)
        print(model.explain(result.stdout), end="", flush=True)
        if result.returncode != 0:
            return 1
    tries = list(weakenings(model.files)) if args.weaken or args.only else []
    if args.breaks or args.only:
        tries += breaks(model.files)
    if not args.only:
        # Each builds and runs a model of its own.
        tries = slice_of(tries, 4)
    tried = missed = 0
    for line, name, text, scenarios in tries:
        if args.only not in line:
            continue
        model.change(name, text)
        result = model.search(scenarios, args.runs)
        seen = verdict(result)
        tried += 1
        missed += seen is None
        print(f"{line}: {seen or 'NOT FOUND'}", flush=True)
        if args.only and seen:
            print(model.explain(result.stdout))
    if tries:
        print(f"tried: {tried}, not found: {missed}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
