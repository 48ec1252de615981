# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_second_attack.py FOLDER PART: trees, databases and files of settings that try what check_tree.py does not."""

import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import parts
from parts import WAIT
from project import Project

from vfriendly import allowed, baseline, documents, tools, unit
from vfriendly.errors import Refused
from vfriendly.measuring import profile

EVIL = "-fplugin=/x.so"

# Words of a command, in which EVIL must not become an option, and nothing may be read as a file with options.
SMUGGLED = [
    ["-I", "@large"], ["-include", "@large"], ["-isystem", "@fifo"], ["-D", "@loop"], ["-x", "@large"], ["-Xclang", "-include", "-Xclang", "@large"],
    ["-module-dependency-dir", "-DX"], ["-module-file-info"], ["-meabi", EVIL], ["-mthread-model", EVIL], ["-iframeworkwithsysroot", EVIL],
    ["-iwithsysroot", EVIL], ["--gcc-toolchain", EVIL], ["--gcc-install-dir", EVIL], ["--target", EVIL], ["-mlink-builtin-bitcode", "x"],
    ["-fmodule-file=/x.pcm"],
]


def options(folder):
    """Also if a message says that clang does not know one of the words, so that it is left out in a second run."""
    root = Path(folder)
    (root / "large").write_bytes(b"-DX " * (allowed.MOST_BYTES // 4 + 1))
    os.mkfifo(root / "fifo")
    (root / "loop").write_text(f"'@{root}/none'")
    for words in SMUGGLED:
        kept = allowed.choose(["clang", *words, "-c", "a.c"], folder, "/a.c").words
        assert not any(w.startswith("@") for w in kept) and EVIL not in kept and "-DX" not in kept, (words, kept)
        assert kept[1] == "--no-default-config", kept
    for word in ("-D", "-I", "-include", "-Xclang", "-target", "-x", "--sysroot", "--no-default-config"):
        assert not allowed.stands_alone(word), word


def known_options(folder):
    """No option that is passed on alone takes the next word: of all that clang knows."""
    listed = subprocess.run([tools.program("clang", None), "--autocomplete=-"], capture_output=True, text=True, check=True).stdout
    words = [line.split("\t")[0] for line in listed.splitlines()]
    # Of those with a list of values one stands for all.
    words = list({w.split("=")[0]: w for w in words if w.startswith("-") and not w.startswith(("-W", "-R"))}.values())
    assert len(words) > 1000, len(words)
    alone = [w for w in words if w not in allowed.VALUES and w in allowed.choose(["clang", w, "-DA"], "/", "/a.c").words]

    def takes(word):
        done = subprocess.run([tools.program("clang", None), "-###", word, "-DPROBE", "-fsyntax-only", "-x", "c", "/dev/null"],
                              capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False, cwd=folder)
        return '"PROBE"' not in done.stderr and "error:" not in done.stderr

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        bad = [w for w, is_bad in zip(alone, pool.map(takes, alone), strict=True) if is_bad]
    assert len(alone) > 300 and not bad, (len(alone), bad)


def precompiled(folder):
    """A precompiled header of the tree is not read in place of the header beside it."""
    project = Project(f"{folder}/project")
    # Of the same size: clang notices another one.
    (project.root / "a.h").write_text(f"//{'x' * (len(WAIT) - 3)}\n")
    (project.root / "a.c").write_text("int x;\n")
    clang = tools.program("clang", None)
    subprocess.run([clang, "-x", "c-header", "a.h", "-o", "a.h.gch", "-Xclang", "-fno-pch-timestamp"], cwd=project.root, check=True)
    (project.root / "a.h").write_text(WAIT)
    for words in (["-include", "a.h"], ["-includea.h"], ["-Xclang", "-include", "-Xclang", "a.h"], ["-I", ".", "-include", "a.h"]):
        project.entries = [project.entry("a.c", *words)]
        project.write()
        out = project.run("scan", "--no-cache", status=1)
        assert "a.h:4:" in out, (words, out)


# What a .clang-tidy has, and what a scan of a unit with one wait ends with.
TIDY = [
    ("Checks: ['vfriendly-spin-loops,clang-diagnostic-*,misc-*']\n", 1),
    ("Checks: ['vfriendly-spin-loops', 'misc-*,google-*']\n", 1),
    ("Checks: 'vfriendly-spin-loops\n\n  misc-*'\n", 1),
    ("[]\n", 3), ("- a\n- b\n", 3), ("3\n", 3), ("Checks: {a: b}\n", None), ("Checks: [[vfriendly-*]]\n", None), ("? [a, b]\n: c\n", 3),
    ("Checks: !!bool x\n", 3), ("Checks: !!int ''\n", 3), ("a: " + "[" * 50000, 3), ("{" * 50000, 3), ("\xff\n", 3),
    ("a: &a [x, x]\nb: &b [*a, *a, *a]\nChecks: [*b, *b]\n", None), ("Checks: 2001-99-99\n", None), ("# " + "x" * (2 << 20), 3),
    ("ExtraArgs: {a: b}\n", None), ("ExtraArgs: [[a]]\n", None), ("CheckOptions: [3]\n", None), ("", 1), ("InheritParentConfig: [1]\n", None),
]


def clang_tidy(folder):
    project = Project(f"{folder}/project")
    (project.root / "a.c").write_text("int *p = 0;\n" + WAIT)
    project.entries = [project.entry("a.c")]
    project.write()
    for text, status in TIDY:
        (project.root / ".clang-tidy").write_text(text, encoding="latin-1")
        out = project.run("scan", "--no-cache", "--format", "sarif", status=status)
        assert project.status in (1, 3) and "internal error" not in project.errors, (text[:60], project.status, project.errors)
        assert {r["ruleId"] for r in json.loads(out)["runs"][0]["results"]} <= {"vfriendly-spin-loops"}, (text[:60], out)
    assert unit._own_globs(["vfriendly-a,misc-*", "-vfriendly-b", 3, "vfriendly-a\nbugprone-*", "vfriendly-a misc-*"]) == \
        ["vfriendly-a", "-vfriendly-b", "vfriendly-a"]
    (project.root / ".clang-tidy").unlink()
    for value in ("*", "vfriendly-*,misc-*", "vfriendly-a b", "-vfriendly-a,*"):
        (project.root / "vfriendly.toml").write_text(f"checks = '{value}'\n")
        project.run("scan", status=2)
        assert "their names begin with" in project.errors, project.errors
    if os.geteuid():
        return
    # Files of another user in a folder above, as in /tmp.
    project = Project(f"{folder}/shared/project")
    (project.root / "a.c").write_text(WAIT)
    project.entries = [project.entry("a.c")]
    project.write()
    for name, text in ((".clang-tidy", "Checks: '-*,-vfriendly-spin-loops'\nExtraArgs: ['-DEVIL']\n"), ("vfriendly.toml", "fail-on = 'never'\n")):
        above = project.root.parent / name
        above.write_text(text)
        os.chown(above, 12345, 12345)
    project.run("scan", "--no-cache", status=1)
    (project.root / ".clang-tidy").write_text("InheritParentConfig: true\n")
    project.run("scan", "--no-cache", status=3)


VALUES = ["", "3", "null", "[]", "{}", "[[]]", '"x"', "NaN", "[" * 100000, "1" * 5000, '{"runs": 3}', '{"runs": [3]}', '{"runs": [{"results": 3}]}',
          '{"runs": [{"results": [{"partialFingerprints": {"vfriendly/v1": {}}}]}]}',
          '{"runs": [{"results": [{"partialFingerprints": {"vfriendly/v1": []}}]}]}']
# Changes of a good profile.
FIELDS = [("cpus", "4"), ("cpus", 1e400), ("cpus", -(10 ** 400)), ("wall_s", None), ("wall_s", "x"), ("wall_s", float("nan")), ("user_s", 10 ** 400),
          ("command", "x"), ("command", [3]), ("totals", []), ("totals", {"block": 3}), ("totals", {"block": {"count": "x"}}), ("missing", 3),
          ("overhead", {"a": None}), ("modules", {"a": 3}), ("timeline", {"work": "x"}), ("timeline", {"work": [None]}), ("crowd", 3),
          ("crowd", {"cpus": "x"}), ("crowd", {"cpus": 1, "names": 3}), ("proved", [1]), ("unknown", 3), ("tier", 3), ("frames", 3),
          ("frames", [3]), ("frames", [{"function": 3, "file": "", "line": 1, "module": "", "offset": 0}]), ("stacks", {"a": 3}), ("stacks", [3]),
          ("stacks", [{"what": "spin", "cause": "spinning", "call": "", "count": 1, "seconds": "1", "delay": 0, "frames": []}]),
          ("stacks", [{"what": "spin", "cause": "spinning", "call": "", "count": 1, "seconds": 1, "delay": 0, "frames": [9]}]),
          ("period_s", "x"), ("new", 3), ("version", 2)]


def refused(read, path):
    try:
        read(str(path))
    except Refused:
        return True
    return False


def shapes(folder):
    """Of baselines and profiles."""
    root = Path(folder)
    file = root / "x.json"
    for text in VALUES:
        file.write_text(text)
        assert refused(profile.read, file), text[:60]
        assert refused(baseline.read, file) or not baseline.read(str(file)), text[:60]
    good = {"vfriendly": "profile", "version": profile.VERSION, "command": ["x"], "tier": "bpf", "missing": [], "cpus": 1, "wall_s": 1.0, "user_s": 1,
            "system_s": 0, "steal_s": None, "throttled_s": None, "run_delay_s": 0.5, "totals": {"block": {"count": 1}}, "overhead": {}, "frames": [],
            "stacks": []}
    file.write_text(json.dumps(good))
    assert profile.read(str(file)).wall_s == 1
    for name, value in FIELDS:
        file.write_text(json.dumps({**good, name: value}))
        assert refused(profile.read, file), (name, value)
    os.mkfifo(root / "fifo")
    assert refused(profile.read, root / "fifo") and refused(baseline.read, root / "fifo")
    for name, text in (("deep", "[" * 100000), ("alias", "&a [*a]")):
        try:
            documents.yaml_of(text)
        except ValueError:
            continue
        assert name == "alias"


parts.run(globals())
