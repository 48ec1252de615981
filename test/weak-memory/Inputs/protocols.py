# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The protocols of the runtime, a few lines a thread (machines.py says which lines there are).

An order is the one that the source has: `orders` quotes the source, so that a test fails if it
changes, or if an order of the runtime is in no protocol. `found` says where herd7 must find the
order missing: A for Armv8.0, L for Armv8.3 with LSE, R for RISC-V, X for x86-64. An order that is
found missing nowhere is not needed by these threads on these processors: C asks for it all the
same, or another thread does. `breaks` has faults of another kind: a line, and what takes its place.
"""

import dataclasses

WEAK = "ALR"


@dataclasses.dataclass
class Protocol:
    name: str
    says: str      # what it guarantees
    threads: dict  # name: lines
    never: str     # the state that must not be reached
    orders: dict   # name: (found, [(file, quote), ...])
    start: dict = dataclasses.field(default_factory=dict)
    breaks: dict = dataclasses.field(default_factory=dict)  # what: (line, line, found)
    # The state is reached by design: the source says what limits its cost.
    happens: bool = False


def lock(name, says, take, release, start=0):
    """Mutual exclusion: what the last holder wrote is seen, and what it read is not of the next."""
    return Protocol(
        name, says,
        {"holder": f"r = load RELAXED y\nstore RELAXED x 1\n{release[0]}",
         "next": f"{take[0]}\nif a != {start} goto out\nr = load RELAXED x\nstore RELAXED y 1\nmark m\nout:"},
        r"(next.m=1 /\ next.r=0) \/ holder.r=1",
        {"take": (WEAK, take[1]), "release": (WEAK, release[1])}, {"lock": 1 - start})


def publish(name, says, stores, loads):
    orders = {"load": (WEAK, loads)}
    if stores:
        orders["store"] = (WEAK, stores)
    return Protocol(
        name, says,
        {"writer": f"store RELAXED x 1\nstore {'store' if stores else 'RELEASE'} ready 1",
         "reader": "a = load load ready\nif a != 1 goto out\nr = load RELAXED x\nmark m\nout:"},
        r"reader.m=1 /\ reader.r=0", orders)


BLOCK, MUTEX, PLAIN = "spin-wait/block.c", "blocking-sync/mutex.c", "common/plain_lock.h"
TABLE_C, TABLE_H = "blocking-sync/parking_table.c", "blocking-sync/parking_table.h"
EVENT, SEM, RWLOCK, BARRIER = (f"blocking-sync/{name}.c" for name in ("event", "sem", "rwlock", "barrier"))
PRELOAD, PRELOAD_BARRIER = "preload/mutex.c", "preload/barrier.c"
GATE, HELPER, SITES, POOL = "malloc/fork_gate.c", "malloc/helper.c", "common/sites.c", "pool/pool.c"
NUMA, OMP, GLEANER = "numa-placement", "cpu-limits/libgomp.c", "gleaner"
SPIN = "spin-unmodified"

SEQ = [(BLOCK, "seq = __atomic_load_n(&bucket->seq, __ATOMIC_ACQUIRE)")]
ARM_FENCE = [(BLOCK, "} __atomic_thread_fence(__ATOMIC_SEQ_CST); }")]
NOTIFY_FENCE = [(BLOCK, "vf_spin_bucket_of(addr); __atomic_thread_fence(__ATOMIC_SEQ_CST); if")]
BUMP = [(BLOCK, "seq = __atomic_fetch_add(&bucket->seq, 1, __ATOMIC_RELEASE)")]
WRITER = """
  store RELAXED data 1
  fence N3
  a = load RELAXED armed
  if a == 0 goto out
  b = swap RELAXED armed 0
  if b == 0 goto out
  c = add N6 seq 1
  w = wake
  out:"""
WAITER = """
  s = load W1 seq
  a = load RELAXED armed
  if a == 1 goto armed
  b = swap RELAXED armed 1
  armed:
  fence W3
  v = load RELAXED data
  if v != 0 goto out
  k = sleep seq
  if k != s goto out
  mark m
  out:"""

PLAIN_TRY = [(PLAIN, "&free, VF_HELD, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)")]
PLAIN_SLEEP = [(PLAIN, "__atomic_exchange_n(word, VF_HELD_SLEEPERS, __ATOMIC_ACQUIRE)")]
PLAIN_UNLOCK = [(PLAIN, "__atomic_exchange_n(word, VF_FREE, __ATOMIC_RELEASE)")]
STATE = [(TABLE_H, "__atomic_load_n(&self->state, __ATOMIC_ACQUIRE)")]
WAKE = [(TABLE_C, "__atomic_exchange_n(word, state, __ATOMIC_RELEASE)")]
UNLOCKS = [(MUTEX, quote) for quote in (
    "change(mutex, &word, left, __ATOMIC_RELEASE)",
    "(without | PARKED) & ~HELD, __ATOMIC_RELEASE)",
    "with_spinner(left & ~HELD), __ATOMIC_RELEASE)",
    "change(mutex, &word, kept, __ATOMIC_RELEASE)",
    "change(mutex, &held, 0, __ATOMIC_RELEASE)")] + [
    ("include/vfriendly/mutex.h", "&mutex->word_, &held, 0, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED)")]
LOCK_CAS = [(MUTEX, "change(locking->mutex, word, taken, __ATOMIC_ACQUIRE)"),
            (MUTEX, "change(mutex, &word, word | HELD, __ATOMIC_ACQUIRE)")]
LOCK_OR = [(MUTEX, "__atomic_fetch_or(&mutex->word_, HELD, __ATOMIC_ACQUIRE)"),
           ("include/vfriendly/mutex.h", "__atomic_fetch_or(&mutex->word_, 1, __ATOMIC_ACQUIRE)")]
CHANGE = [(RWLOCK, "__atomic_compare_exchange_n(&lock->word_, from, to, false, __ATOMIC_ACQ_REL")]
ARRIVE = [(PRELOAD_BARRIER, "__atomic_add_fetch(&barrier->in, 1, __ATOMIC_ACQ_REL)")]
PHASE = [(PRELOAD_BARRIER, "__atomic_load_n(&barrier->phase, __ATOMIC_ACQUIRE)")]
END = [(PRELOAD_BARRIER, "&phase, ended, false, __ATOMIC_ACQ_REL")]

PROTOCOLS = [
    # -- waits
    Protocol("spin-notify", "A waiter that sleeps is woken by a direct notify.",
             {"waiter": WAITER, "writer": WRITER}, r"waiter.m=1 /\ writer.w=0",
             {"W1": ("", SEQ), "W3": (WEAK, ARM_FENCE), "N3": (WEAK + "X", NOTIFY_FENCE), "N6": ("", BUMP)}),
    # The writer finds the bucket armed with or without fences, so here only its count, which the sleep compares, is needed.
    Protocol("spin-notify-armed", "So is one that finds its bucket armed by another waiter.",
             {"waiter": WAITER, "writer": WRITER}, r"waiter.m=1 /\ writer.w=0",
             {"W1": ("", SEQ), "W3": ("", ARM_FENCE), "N3": ("", NOTIFY_FENCE), "N6": ("", BUMP)}, {"armed": 1},
             {"counts elsewhere": ("c = add N6 seq 1", "c = add N6 other 1", "ALRX")}),
    Protocol("spin-notify-seen", "A waiter that sees the new count sees the new value.",
             {"waiter": "s = load W1 seq\nif s != 1 goto out\nv = load RELAXED data\nmark m\nout:",
              "writer": "store RELAXED data 1\nc = add N6 seq 1"}, r"waiter.m=1 /\ waiter.v=0",
             {"W1": (WEAK, SEQ), "N6": (WEAK, BUMP)}),
    Protocol("spin-notify-tested", "A writer that tests vf_spin_armed first (N2) may miss a waiter, which its timeout then wakes.",
             {"waiter": WAITER.replace("swap RELAXED armed 1", "swap RELAXED armed 1\nn = add RELAXED total 1"),
              "writer": "store RELAXED data 1\na = load RELAXED total\nif a == 0 goto out" + WRITER.replace("store RELAXED data 1", "")},
             r"waiter.m=1 /\ writer.w=0", {"W1": ("", SEQ), "W3": ("", ARM_FENCE), "N3": ("", NOTIFY_FENCE), "N6": ("", BUMP)}, happens=True),
    # -- the parking table
    lock("plain-lock", "The lock of a bucket.", ("a = cas take lock 0 1", PLAIN_TRY), ("b = swap release lock 0", PLAIN_UNLOCK)),
    lock("plain-lock-slept", "The same, taken after a sleep.", ("a = swap take lock 3", PLAIN_SLEEP), ("b = swap release lock 0", PLAIN_UNLOCK)),
    Protocol("plain-lock-sleep", "A thread that sleeps for it is woken.",
             {"waiter": "a = swap take lock 3\nif a == 0 goto out\nk = sleep lock\nif k != 3 goto out\nmark m\nout:",
              "holder": "a = swap release lock 0\nif a != 3 goto out\nw = wake\nout:"}, r"waiter.m=1 /\ holder.w=0",
             {"take": ("", PLAIN_SLEEP), "release": ("", PLAIN_UNLOCK)}, {"lock": 1},
             {"load and store instead of swap": ("a = swap release lock 0", "a = load RELAXED lock\nstore RELEASE lock 0", "ALRX")}),
    Protocol("parked-queue", "An unlock that sees PARKED finds the queued thread.",
             {"waiter": "a = cas lock bucket 0 1\nif a != 0 goto out\nb = cas RELAXED word 1 3\nif b != 1 goto out\n"
                        "store RELAXED queue 1\nc = swap unlock bucket 0\nout:",
              "holder": "a = cas RELEASE word 1 0\nif a != 3 goto out\nb = cas lock bucket 0 1\nif b != 0 goto out\n"
                        "r = load RELAXED queue\nmark m\nout:"}, r"holder.m=1 /\ holder.r=0",
             {"lock": (WEAK, PLAIN_TRY), "unlock": (WEAK, PLAIN_UNLOCK)}, {"word": 1}),
    Protocol("parked-wake", "A thread that falls asleep is woken, or sees that it was.",
             {"waiter": "a = cas RELAXED state 0 1\nif a != 0 goto out\nk = sleep state\nif k != 1 goto out\nmark m\nout:",
              "waker": "a = swap wake state 2\nif a != 1 goto out\nw = wake\nout:"}, r"waiter.m=1 /\ waker.w=0",
             {"wake": ("", WAKE)},
             breaks={"load and store instead of swap": ("a = swap wake state 2", "a = load RELAXED state\nstore RELEASE state 2", "ALRX")}),
    Protocol("parked-handed", "A thread that was handed a lock sees what its holder wrote, and its frame is its own again.",
             {"holder": "store RELAXED x 1\nb = cas RELAXED word 3 1\nstore RELAXED woken 1\na = swap wake state 3",
              "waiter": "r = load state state\nif r != 3 goto out\nv = load RELAXED x\nstore RELAXED woken 2\nmark m\nout:"},
             r"waiter.m=1 /\ (waiter.v=0 \/ [woken]=1)", {"wake": (WEAK, WAKE), "state": ("LAR", STATE)}, {"word": 3}),
    # -- locks of libvfrt
    lock("mutex", "vf_mutex by compare-and-swap.", ("a = cas take lock 0 1", LOCK_CAS), ("b = cas release lock 1 0", UNLOCKS)),
    lock("mutex-inlined", "vf_mutex by fetch-or.", ("a = or take lock 1", LOCK_OR), ("b = cas release lock 1 0", UNLOCKS)),
    Protocol("event", "A thread that sees the event sees what came before it.",
             {"setter": "store RELAXED x 1\na = cas set word 0 5",
              "waiter": "a = load look word\nif a != 5 goto out\nr = load RELAXED x\nmark m\nout:"}, r"waiter.m=1 /\ waiter.r=0",
             {"set": (WEAK, [(EVENT, "&event->word_, &word, set, false, __ATOMIC_RELEASE")]),
              "look": (WEAK, [(EVENT, "__atomic_load_n(&event->word_, __ATOMIC_ACQUIRE)")])}),
    Protocol("event-sleep", "A thread that sleeps for an event is woken.",
             {"waiter": "a = cas RELAXED word 0 2\nif a != 0 goto out\nk = sleep word\nif k != 2 goto out\nmark m\nout:",
              "setter": "a = cas RELEASE word 0 5\nif a == 0 goto out\na = cas RELEASE word 2 5\nif a != 2 goto out\nw = wake\nout:"},
             r"waiter.m=1 /\ setter.w=0", {}, {},
             {"load and store instead of cas": ("a = cas RELEASE word 0 5\nif a == 0 goto out",
                                                "a = load RELAXED word\nstore RELEASE word 5\nif a == 0 goto out", "ALRX")}),
    Protocol("sem", "A thread that takes a unit sees what came before its post.",
             {"poster": "store RELAXED x 1\na = cas post word 0 1",
              "taker": "a = cas take word 1 0\nif a != 1 goto out\nr = load RELAXED x\nmark m\nout:"}, r"taker.m=1 /\ taker.r=0",
             {"post": (WEAK, [(SEM, "&word, word + 1, false, __ATOMIC_RELEASE")]),
              "take": (WEAK, [(SEM, "word - 1 - sleeper, false, __ATOMIC_ACQUIRE")])}),
    Protocol("rwlock-leave", "A writer that finds no reader does not disturb one.",
             {"reader": "r = load RELAXED x\na = add leave word 7",
              "writer": "a = or gate word 8\nif a != 8 goto out\nstore RELAXED x 1\nout:"}, "reader.r=1",
             {"leave": (WEAK, [(RWLOCK, "__atomic_fetch_sub(&lock->word_, 1, __ATOMIC_RELEASE)")]),
              "gate": ("", [(RWLOCK, "__atomic_or_fetch(&lock->word_, GATED, __ATOMIC_ACQUIRE)")])}, {"word": 1}),
    Protocol("rwlock-gate", "A writer reads what the last reader did before it left.",
             {"reader": "store RELAXED x 1\na = add leave word 7",
              "writer": "a = or gate word 16\nif a != 8 goto out\nr = load RELAXED x\nmark m\nout:"}, r"writer.m=1 /\ writer.r=0",
             {"leave": (WEAK, [(RWLOCK, "__atomic_fetch_sub(&lock->word_, 1, __ATOMIC_RELEASE)")]),
              "gate": (WEAK, [(RWLOCK, "__atomic_or_fetch(&lock->word_, GATED, __ATOMIC_ACQUIRE)")])}, {"word": 1}),
    Protocol("rwlock-spun", "So does one that spun.",
             {"reader": "store RELAXED x 1\na = add leave word 7",
              "writer": "a = load look word\nif a != 8 goto out\nr = load RELAXED x\nmark m\nout:"}, r"writer.m=1 /\ writer.r=0",
             {"leave": (WEAK, [(RWLOCK, "__atomic_fetch_sub(&lock->word_, 1, __ATOMIC_RELEASE)")]),
              "look": (WEAK, [(RWLOCK, "word = __atomic_load_n(&lock->word_, __ATOMIC_ACQUIRE)")])}, {"word": 1}),
    Protocol("rwlock-slept", "So does one that slept: it loads relaxed, and acquires by what clears SLEEPER (here a swap).",
             {"reader": "store RELAXED x 1\na = add leave word 7",
              "writer": "k = load RELAXED word\nif k != 8 goto out\na = swap woken word 0\nr = load RELAXED x\nmark m\nout:"},
             r"writer.m=1 /\ writer.r=0",
             {"leave": (WEAK, [(RWLOCK, "__atomic_fetch_sub(&lock->word_, 1, __ATOMIC_RELEASE)")]),
              "woken": (WEAK, [(RWLOCK, "__atomic_and_fetch(&lock->word_, ~SLEEPER, __ATOMIC_ACQUIRE)")])}, {"word": 1}),
    Protocol("rwlock-readers", "A reader that finds the gate open sees what the writer wrote.",
             {"writer": "store RELAXED x 1\na = cas change word 8 1",
              "reader": "a = cas change word 1 2\nif a != 1 goto out\nr = load RELAXED x\nmark m\nout:"}, r"reader.m=1 /\ reader.r=0",
             {"change": (WEAK, CHANGE)}, {"word": 8}),
    Protocol("barrier", "Each thread sees what the others did before they arrived.",
             {"first": "store RELAXED x 1\na = add arrive word 1\nb = load look word\nif b != 8 goto out\nr = load RELAXED y\nmark m\nout:",
              "last": "store RELAXED y 1\na = add arrive word 1\nif a != 1 goto out\nb = load look word\nc = cas RELAXED word 2 8\n"
                      "r = load RELAXED x\nmark m\nout:"},
             r"(first.m=1 /\ first.r=0) \/ (last.m=1 /\ last.r=0)",
             {"arrive": (WEAK, [(BARRIER, "__atomic_fetch_add(&barrier->word_, 1, __ATOMIC_RELEASE)")]),
              "look": (WEAK, [(BARRIER, "__atomic_load_n(&barrier->word_, __ATOMIC_ACQUIRE)")])}),
    Protocol("barrier-destroy", "Who destroys a barrier does so after the last access.",
             {"thread": "store RELAXED x 1\na = add leave inside 7",
              "owner": "a = load look inside\nif a != 8 goto out\nr = load RELAXED x\nmark m\nout:"}, r"owner.m=1 /\ owner.r=0",
             {"leave": (WEAK, [(BARRIER, "__atomic_fetch_sub(&barrier->inside_, 1, __ATOMIC_RELEASE)")]),
              "look": (WEAK, [(BARRIER, "__atomic_load_n(&barrier->inside_, __ATOMIC_ACQUIRE)")])}, {"inside": 1}),
    # -- libvfpthread
    lock("preload-mutex", "A mutex of libvfpthread.", ("a = cas take lock 0 1", [(PRELOAD, "&word, as, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)")]),
         ("b = swap release lock 0", [(PRELOAD, "__atomic_exchange_n(lock, FREE, __ATOMIC_RELEASE)")])),
    lock("preload-mutex-slept", "The same, taken after a sleep.", ("a = swap take lock 2", [(PRELOAD, "__atomic_exchange_n(lock, SLEEPERS, __ATOMIC_ACQUIRE)")]),
         ("b = swap release lock 0", [(PRELOAD, "__atomic_exchange_n(lock, FREE, __ATOMIC_RELEASE)")])),
    lock("preload-spin", "pthread_spin_lock of libvfpthread.", ("a = cas take lock 0 1", [("preload/spin_lock.c", "&word, HELD, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)")]),
         ("store release lock 0", [("preload/spin_lock.c", "__atomic_store_n(lock, FREE, __ATOMIC_RELEASE)")])),
    Protocol("preload-barrier", "Each thread sees what the others did before they arrived.",
             {"first": "store RELAXED x 1\na = add arrive in 1\nb = load look phase\nif b != 2 goto out\nr = load RELAXED y\nmark m\nout:",
              "last": "store RELAXED y 1\na = add arrive in 1\nif a != 1 goto out\nc = cas end phase 0 2\nr = load RELAXED x\nmark m\nout:"},
             r"(first.m=1 /\ first.r=0) \/ (last.m=1 /\ last.r=0)",
             {"arrive": (WEAK, ARRIVE), "look": (WEAK, PHASE), "end": ("A", END)}),
    Protocol("preload-barrier-reset", "The thread that leaves last resets the barrier behind all accesses of the others.",
             {"other": "r = load look phase\na = add leave out 1",
              "last": "a = add leave out 1\nif a != 1 goto out\nstore RELAXED phase 0\nstore reset in 0\nout:",
              "next": "a = add arrive in 1\nif a != 0 goto out\nr = load look phase\nmark m\nout:"},
             r"other.r=0 \/ (next.m=1 /\ next.r=2)",
             {"leave": ("", [(PRELOAD_BARRIER, "__atomic_add_fetch(&barrier->out, 1, __ATOMIC_ACQ_REL)")]), "look": ("", PHASE),
              "reset": (WEAK, [(PRELOAD_BARRIER, "__atomic_store_n(&barrier->in, 0, __ATOMIC_RELEASE)")]), "arrive": (WEAK, [(PRELOAD_BARRIER, "__atomic_add_fetch(&barrier->in, 1, __ATOMIC_ACQ_REL)")])},
             {"phase": 2, "in": 2}),
    # -- memory
    Protocol("pool", "A pool's owner takes blocks back as the other thread left them.",
             {"other": "store RELAXED x 1\na = cas push list 0 1",
              "owner": "a = swap collect list 0\nif a != 1 goto out\nr = load RELAXED x\nstore RELAXED x 2\nmark m\nout:"},
             r"owner.m=1 /\ (owner.r=0 \/ [x]=1)",
             {"push": (WEAK, [(POOL, "&state->freed_by_others, &top, block, true, __ATOMIC_RELEASE")]),
              "collect": (WEAK, [(POOL, "__atomic_exchange_n(&state->freed_by_others, NULL, __ATOMIC_ACQUIRE)")])}),
    Protocol("fork-gate", "A fork that finds no thread counted finds none in its locks, and sees what they wrote.",
             {"thread": "a = add in counter 1\ng = load test gate\nif g != 0 goto out\nstore RELAXED x 1\nb = add leave counter 7\nmark m\nout:",
              "fork": "store close gate 1\nc = load look counter\nif c == 1 goto out\nr = load RELAXED x\nmark m\nout:"},
             r"thread.m=1 /\ fork.m=1 /\ fork.r=0",
             {"in": ("AL", [(GATE, "__atomic_fetch_add(counter, 1, __ATOMIC_SEQ_CST)")]),
              "test": ("A", [(GATE, "__atomic_load_n(&gate, __ATOMIC_SEQ_CST)")]),
              "close": ("ALX", [(GATE, "__atomic_store_n(&gate, CLOSED, __ATOMIC_SEQ_CST)")]),
              "look": (WEAK, [(GATE, "__atomic_load_n(counter, __ATOMIC_SEQ_CST)")]),
              "leave": (WEAK, [(GATE, "__atomic_fetch_sub(counter, 1, __ATOMIC_RELEASE)"), (GATE, "__atomic_fetch_sub(my_counter(), 1, __ATOMIC_RELEASE)")])}),
    Protocol("fork-gate-open", "A thread that finds the gate open again sees what the fork's handlers wrote.",
             {"fork": "store RELAXED x 1\na = swap open gate 0", "thread": "g = load test gate\nif g != 0 goto out\nr = load RELAXED x\nmark m\nout:"},
             r"thread.m=1 /\ thread.r=0",
             {"open": (WEAK, [(GATE, "__atomic_exchange_n(&gate, OPEN, __ATOMIC_RELEASE)")]),
              "test": (WEAK, [(GATE, "__atomic_load_n(&gate, __ATOMIC_SEQ_CST)")])}, {"gate": 1}),
    Protocol("helper-told", "The helper sees what was freed before it was told.",
             {"thread": "store RELAXED freed 1\na = cas change state 1 2",
              "helper": "s = load look state\nif s != 2 goto out\nr = load RELAXED freed\nmark m\nout:"}, r"helper.m=1 /\ helper.r=0",
             {"change": (WEAK, [(HELPER, "&state, &from, to, false, __ATOMIC_ACQ_REL")]),
              "look": (WEAK, [(HELPER, "__atomic_load_n(&state, __ATOMIC_ACQUIRE)")])}, {"state": 1}),
    Protocol("helper-asleep", "What was freed as the helper fell asleep may stay until its next check, CHECK_NS later.",
             {"thread": "store RELAXED freed 1\na = load RELAXED state\nif a == 2 goto told\na = cas change state 1 2\nif a != 1 goto told\nw = wake\ntold:",
              "helper": "store sleep state 1\nr = load RELAXED freed\nif r != 0 goto out\nk = sleep state\nif k != 1 goto out\nmark m\nout:"},
             r"helper.m=1 /\ thread.w=0",
             {"change": ("", [(HELPER, "&state, &from, to, false, __ATOMIC_ACQ_REL")]),
              "sleep": ("", [(HELPER, "__atomic_store_n(&state, ASLEEP, __ATOMIC_SEQ_CST)")])}, {"state": 2}, happens=True),
    publish("helper-none", "A thread that starts the helper again comes after the failed start.",
            [(HELPER, "__atomic_store_n(&state, NONE, __ATOMIC_RELEASE)")], [(HELPER, "__atomic_load_n(&state, __ATOMIC_ACQUIRE)")]),
    lock("cpu-cache", "The lock of a CPU's blocks.", ("a = cas take lock 0 1", PLAIN_TRY),
         ("store release lock 0", [("malloc/cpu_cache.c", "__atomic_store_n(&head->lock, VF_FREE, __ATOMIC_RELEASE)")])),
    publish("arena", "jemalloc's arena is read after it was made; jemalloc stores with release.", [],
            [("malloc/thread_cache.c", "__atomic_load_n(&je_arenas[0], __ATOMIC_ACQUIRE)"), ("malloc/jemalloc.c", "__atomic_load_n(&je_arenas[i], __ATOMIC_ACQUIRE)")]),
    # -- statistics, limits
    Protocol("sites", "Who finds its lock before and after has read this lock's holder.",
             {"taker": "store RELAXED lock 0\nfence begin\nstore RELAXED site 2\nstore end lock 2",
              "freer": "a = load first lock\nif a == 0 goto out\ns = load RELAXED site\nfence last\nb = load RELAXED lock\nif a != b goto out\nmark m\nout:"},
             r"freer.m=1 /\ ((freer.a=1 /\ freer.s=2) \/ (freer.a=2 /\ freer.s=1))",
             {"begin": (WEAK, [(SITES, "__atomic_thread_fence(__ATOMIC_RELEASE)")]), "end": (WEAK, [(SITES, "(uintptr_t)lock, __ATOMIC_RELEASE)")]),
              "first": (WEAK, [(SITES, "__atomic_load_n(&held->lock, __ATOMIC_ACQUIRE)")]), "last": (WEAK, [(SITES, "__atomic_thread_fence(__ATOMIC_ACQUIRE)")])},
             {"lock": 1, "site": 1}),
    lock("limit", "One thread at a time reads the limit.", ("a = cas take lock 0 1", [("spin-wait/limit.c", "&other, unit, false, __ATOMIC_ACQUIRE")]),
         ("store release lock 0", [("spin-wait/limit.c", "__atomic_store_n(&vf_limit_1.reading, 0, __ATOMIC_RELEASE)")])),
    lock("libgomp", "One thread at a time searches a module.", ("a = swap take lock 1", [(OMP, "__atomic_test_and_set(&lock, __ATOMIC_ACQUIRE)")]),
         ("store release lock 0", [(OMP, "__atomic_clear(&lock, __ATOMIC_RELEASE)")])),
    # -- spins of unmodified binaries
    lock("spin-unmodified-thread", "One at a time changes a thread's entry: the watcher, its handler, or itself at its end.",
         ("a = cas take lock 0 1", [(f"{SPIN}/threads.c", "&is, VF_CHANGING, false, __ATOMIC_ACQUIRE"),
                                    (f"{SPIN}/handle.c", "&armed, VF_HANDLING, false, __ATOMIC_ACQUIRE")]),
         ("store release lock 0", [(f"{SPIN}/threads.h", "(uint32_t)state, __ATOMIC_RELEASE)")])),
    lock("spin-unmodified-signals", "One thread at a time changes what the program has set.",
         ("a = swap take lock 1", [(f"{SPIN}/signals.c", "__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE)")]),
         ("store release lock 0", [(f"{SPIN}/signals.c", "__atomic_store_n(&lock, 0, __ATOMIC_RELEASE)")])),
    publish("spin-unmodified-entries", "Entries up to the last one are ready.",
            [(f"{SPIN}/threads.c", "&last, i + 1, false, __ATOMIC_ACQ_REL")],
            [(f"{SPIN}/threads.c", "__atomic_load_n(&end, __ATOMIC_ACQUIRE)")]),
    Protocol("spin-unmodified-end", "Either the watcher that is created sees that it must not be, or who ends it sees it.",
             {"creator": "a = swap come there 1\nb = load look end\nif b == 1 goto out\nmark m\nout:",
              "ender": "store end end 1\nt = load wait there"}, r"creator.m=1 /\ ender.t=0",
             {"come": ("AL", [(f"{SPIN}/arm.c", "__atomic_exchange_n(&is_there, 1, __ATOMIC_SEQ_CST)")]),
              "look": ("A", [(f"{SPIN}/arm.c", "__atomic_load_n(&must_end, __ATOMIC_SEQ_CST)")]),
              "end": ("ALX", [(f"{SPIN}/arm.c", "__atomic_store_n(&must_end, 1, __ATOMIC_SEQ_CST)")]),
              "wait": (WEAK, [(f"{SPIN}/arm.c", "__atomic_load_n(&is_there, __ATOMIC_SEQ_CST)")])}),
    publish("publish", "What is ready was written before.",
            [("cpu-limits/cpus.c", "__atomic_store_n(&known.answer, n, __ATOMIC_RELEASE)"),
             (f"{GLEANER}/tick.c", "__atomic_store_n(&is_on, on, __ATOMIC_RELEASE)"),
             (f"{SPIN}/arm.c", "__atomic_store_n(&is_there, 0, __ATOMIC_RELEASE)"), (f"{SPIN}/sample/main.c", "tail, __ATOMIC_RELEASE)"),
             (f"{SPIN}/signals.c", "__atomic_store_n(&is_started, 1, __ATOMIC_RELEASE)"), (f"{SPIN}/threads.c", "ready, 1, __ATOMIC_RELEASE)"),
             (OMP, "__atomic_store_n(count, n + 1, __ATOMIC_RELEASE)"), ("malloc/views.c", "__atomic_store_n(&is_done, 1, __ATOMIC_RELEASE)"), ("preload/next.c", "ready, 1, __ATOMIC_RELEASE)"),
             ("platform/linux/vcpu_state.c", "all + header.offset, __ATOMIC_RELEASE)"), ("platform/linux/thread_state.c", "cpus.records, __ATOMIC_RELEASE)"),
             (f"{NUMA}/preload/next.c", "ready, 1, __ATOMIC_RELEASE)"), (f"{NUMA}/preload/threads.c", "__atomic_store_n(&pin, found, __ATOMIC_RELEASE)"),
             (f"{NUMA}/preload/start.c", "(size_t)least, __ATOMIC_RELEASE)"), (f"{NUMA}/machine.c", "__atomic_store_n(&state, 2, __ATOMIC_RELEASE)"),
             (f"{NUMA}/machine.c", "__atomic_store_n(&ready, 1, __ATOMIC_RELEASE)"), (f"{NUMA}/probe/ping_pong.c", "turn + 1, __ATOMIC_RELEASE)"),
             (f"{NUMA}/probe/ping_pong.c", "next + 1, __ATOMIC_RELEASE)"), (f"{GLEANER}/daemon.c", "record->windows + 1, __ATOMIC_RELEASE)"),
             (f"{GLEANER}/halt_poll.c", "__atomic_store_n(&record->polls, 1, __ATOMIC_RELEASE)"), (f"{GLEANER}/place.c", "__atomic_store_n(&record->folded, 1, __ATOMIC_RELEASE)"),
             (f"{GLEANER}/place.c", "__atomic_store_n(&record->folded, 0, __ATOMIC_RELEASE)"), (f"{GLEANER}/retain.c", "first + n, __ATOMIC_RELEASE)"),
             (f"{GLEANER}/spread.c", "__atomic_store_n(&record->spreads, 1, __ATOMIC_RELEASE)"),
             (f"{GLEANER}/spread.c", "__atomic_store_n(&record->spreads, 0, __ATOMIC_RELEASE)"), (f"{GLEANER}/retain.c", "turn, __ATOMIC_RELEASE)"), (f"{GLEANER}/retain.c", "2 * ROUNDS, __ATOMIC_RELEASE)")],
            [("malloc/views.c", "__atomic_load_n(&is_done, __ATOMIC_ACQUIRE)"), ("cpu-limits/cpus.c", "__atomic_load_n(&known.answer, __ATOMIC_ACQUIRE)"), (f"{GLEANER}/tick.c", "__atomic_load_n(&is_on, __ATOMIC_ACQUIRE)"),
             (f"{SPIN}/arm.c", "__atomic_load_n(&must_end, __ATOMIC_ACQUIRE)"), (f"{SPIN}/next.h", "ready, __ATOMIC_ACQUIRE)"),
             (f"{SPIN}/sample/main.c", "data_head, __ATOMIC_ACQUIRE)"), (f"{SPIN}/signals.c", "__atomic_load_n(&is_started, __ATOMIC_ACQUIRE)"),
             (f"{SPIN}/threads.h", "__atomic_load_n(&thread->state, __ATOMIC_ACQUIRE)"),
             (OMP, "__atomic_load_n(count, __ATOMIC_ACQUIRE)"), (OMP, "__atomic_load_n(&copies_n, __ATOMIC_ACQUIRE)"), ("preload/next.h", "ready, __ATOMIC_ACQUIRE)"),
             ("platform/linux/vcpu_state.h", "records, __ATOMIC_ACQUIRE)"), ("platform/linux/thread_state.h", "records, __ATOMIC_ACQUIRE)"), (f"{NUMA}/preload/next.h", "ready, __ATOMIC_ACQUIRE)"),
             (f"{NUMA}/preload/threads.c", "__atomic_load_n(&pin, __ATOMIC_ACQUIRE)"), (f"{NUMA}/preload/allocations.c", "least, __ATOMIC_ACQUIRE)"),
             (f"{NUMA}/machine.c", "__atomic_load_n(&state, __ATOMIC_ACQUIRE)"), (f"{NUMA}/machine.c", "__atomic_load_n(&ready, __ATOMIC_ACQUIRE)"),
             (f"{NUMA}/probe/ping_pong.c", "__atomic_load_n(word, __ATOMIC_ACQUIRE)"), (f"{GLEANER}/top.c", "windows, __ATOMIC_ACQUIRE)"),
             (f"{GLEANER}/run.c", "folded, __ATOMIC_ACQUIRE)"), (f"{GLEANER}/spread.c", "spreads, __ATOMIC_ACQUIRE)"), (f"{GLEANER}/retain.c", "turn, __ATOMIC_ACQUIRE)"), (f"{GLEANER}/retain.c", "answers, __ATOMIC_ACQUIRE)")]),
]
