# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_dedup.py FOLDER PART: holds the programs that build.sh left in FOLDER to what they promise.

  identity   every step with every number of threads gives the same archive, and it unpacks;
             a short test run takes a fifth of these pairs for each input (short_run.py)
  faults     input that is damaged, missing or too large for the disk: one line, status 1, no output
"""

import os
import random
import resource
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "Inputs"))
from short_run import slice_of  # noqa: E402

STEPS = ("broadcast", "signal", "batches", "per-chunk", "parallel")
PAIRS = [(step, threads) for step in STEPS for threads in (1, 2, 3, 8, 32)]


def inputs():
    """name -> bytes, the same in each run."""
    r = random.Random(23)
    block = r.randbytes(70_000)
    text = b"".join(b"%d bottles of beer on the wall, %d\n" % (i, i * i) for i in range(20_000))
    return {
        "empty": b"",
        "byte": b"x",
        "window": r.randbytes(48),
        "smallest chunk": r.randbytes(1024),
        "zeros": bytes(300_000),
        "repeats": b"".join(block[: r.randrange(len(block))] for _ in range(30)),
        "random": r.randbytes(700_001),
        "text": text,
        # Slices are 64 KiB: ends of both kinds.
        "slices": block[:65536] * 2,
        "almost": block[:65535],
    }


def run(folder, *words, step="parallel", limit=None):
    def limited():
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return subprocess.run([os.path.join(folder, f"dedup-{step}"), *words], capture_output=True, text=True,
                          preexec_fn=limited, timeout=300)


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def identity(folder, place):
    for name, data in inputs().items():
        write(f"{place}/in", data)
        first = None
        for step, threads in slice_of(PAIRS, 5, name):
            done = run(folder, "-t", str(threads), f"{place}/in", f"{place}/packed", step=step)
            assert done.returncode == 0, (name, step, threads, done.stderr)
            packed = read(f"{place}/packed")
            first = first or packed
            assert packed == first, f"{name}: {step} with {threads} threads gives another archive"
        done = run(folder, "-d", f"{place}/packed", f"{place}/back")
        assert done.returncode == 0 and read(f"{place}/back") == data, (name, done.stderr)
        if name == "repeats":
            assert len(first) < len(data) / 4, "repeats are not found"


def fails(folder, place, what, said, *words, **more):
    """The program ends as it should where WHAT is wrong, and leaves what was there."""
    before = sorted(os.listdir(place))
    done = run(folder, *words, **more)
    assert done.returncode == 1, f"{what}: status {done.returncode}"
    lines = done.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("dedup: ") and said in lines[0], f"{what}: {done.stderr}"
    assert sorted(os.listdir(place)) == before, f"{what}: left {os.listdir(place)}"


def faults(folder, place):
    r = random.Random(5)
    data = inputs()["repeats"]
    write(f"{place}/in", data)
    assert run(folder, f"{place}/in", f"{place}/packed").returncode == 0
    packed = read(f"{place}/packed")
    bad, out = f"{place}/bad", f"{place}/out"
    write(bad, b"")
    for size in [0, 1, 7, 8, 15, 16, 17, len(packed) - 33, len(packed) - 32, len(packed) - 1, *r.sample(range(len(packed)), 40)]:
        write(bad, packed[:size])
        fails(folder, place, f"cut to {size}", "cut off", "-d", bad, out)
    for where in [*range(64), *range(len(packed) - 64, len(packed)), *r.sample(range(len(packed)), 200)]:
        flipped = bytearray(packed)
        flipped[where] ^= 1 << r.randrange(8)
        write(bad, flipped)
        fails(folder, place, f"flipped at {where}", "", "-d", bad, out)
    write(bad, packed[:7] + b"\x01" + packed[8:])
    fails(folder, place, "another version", "has version 1, this program reads 2", "-d", bad, out)
    write(bad, packed + b"E")
    fails(folder, place, "something after it", "something follows its end", "-d", bad, out)
    fails(folder, place, "no archive", "no archive", "-d", f"{place}/in", out)
    fails(folder, place, "no input", "No such file", f"{place}/nothing", out)
    fails(folder, place, "a folder as input", "Is a directory", place, out)
    fails(folder, place, "no folder for the output", "No such file", f"{place}/in", f"{place}/nothing/out")
    write(f"{place}/in", data)
    for step in STEPS:
        fails(folder, place, f"{step}: disk full", "No space left", f"{place}/in", "/dev/full", step=step)
        fails(folder, place, f"{step}: too large", "File too large", f"{place}/in", out, step=step, limit=20_000)
    fails(folder, place, "unpacked: disk full", "No space left", "-d", f"{place}/packed", "/dev/full")
    fails(folder, place, "unpacked: too large", "File too large", "-d", f"{place}/packed", out, limit=200_000)
    # What was there stays if its replacement fails.
    write(out, b"old")
    fails(folder, place, "an old output", "File too large", f"{place}/in", out, limit=20_000)
    assert read(out) == b"old"
    for words in ((), ("a",), ("-t", "0", "a", "b"), ("-t", "x", "a", "b"), ("-z", "a", "b")):
        assert run(folder, *words).returncode == 2, words


def main():
    folder, part = sys.argv[1:]
    place = os.path.join(folder, "files")
    os.makedirs(place, exist_ok=True)
    for name in os.listdir(place):
        os.remove(os.path.join(place, name))
    {"identity": identity, "faults": faults}[part](folder, place)
    print(f"dedup {part}: ok")


if __name__ == "__main__":
    main()
