# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_surroundings.py FOLDER PART: working directories, folders of settings and outputs that others have prepared."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import parts
from parts import read
from project import TOOL, Project

PACKAGE = str(Path(__file__).resolve().parents[3] / "checkers" / "cli")
# Modules that the tool imports, of Python and of others.
MODULES = ("yaml", "psutil", "rich", "unidiff", "json", "argparse", "ctypes", "tomllib", "vfriendly_x")
OTHER = 12345  # a user that is not root


def modules(folder):
    """A module in the working directory is not imported."""
    here = Path(folder)
    marker = here / "ran"
    for name in MODULES:
        (here / f"{name}.py").write_text(f"open({str(marker)!r}, 'a').write({name!r})\n")
    (here / "compile_commands.json").write_text("[]")
    for start in ([TOOL], [sys.executable, "-m", "vfriendly"]):
        done = subprocess.run([*start, "scan", "-q", "--no-cache"], cwd=here, capture_output=True, text=True,
                              env={**os.environ, "PYTHONPATH": PACKAGE}, check=False)
        assert done.returncode == 2 and "has no entries" in done.stderr, (start, done)
        assert not marker.exists(), (start, marker.read_text())


def caches(folder):
    """A relative XDG_CACHE_HOME is none; a folder that others can write is not believed."""
    from vfriendly import cache, chosen
    os.chdir(folder)
    program = shutil.which("true")
    for home in ("cache", "./cache", "../x/cache", "."):
        os.environ["XDG_CACHE_HOME"], os.environ["HOME"] = home, folder
        assert str(cache.user_folder()) == f"{folder}/.cache/vfriendly", cache.user_folder()
        assert str(chosen._file(program)).startswith(f"{folder}/.cache/vfriendly/trials/")
    os.environ["HOME"] = "here"
    assert chosen.load(program) is None
    chosen.store(program, "spin", "x")
    assert not Path(folder, "here").exists()
    os.environ["HOME"] = folder
    chosen.store(program, "spin", "x")
    assert chosen.load(program) == "spin"
    for text in ("[]", "3", "{}", "[" * 100000, "{\"remedy\": "):
        chosen._file(program).write_text(text)
        assert chosen.load(program) is None, text[:20]
    chosen.store(program, "spin", "x")
    chosen._file(program).parent.chmod(0o777)
    assert chosen.load(program) is None


def temporaries(folder):
    """Where others can rename what is in TMPDIR, or in a folder above, no temporary folder is made."""
    from vfriendly import temporary
    os.environ["XDG_CACHE_HOME"] = f"{folder}/own"
    with tempfile.TemporaryDirectory(dir="/tmp") as top:
        os.chmod(top, 0o755)
        for name, owner, mode, used in (("safe", 0, 0o700, True), ("sticky", 0, 0o1777, True), ("others", OTHER, 0o755, False),
                                               ("open", 0, 0o777, False), ("open/below", 0, 0o700, False)):
            where = Path(top, name)
            where.mkdir()
            os.chown(where, owner, owner)
            where.chmod(mode)
            for own in (str(where), f"{top}/link"):
                if own != str(where):
                    Path(own).unlink(missing_ok=True)
                    os.symlink(where, own)
                tempfile.tempdir = own
                with temporary.folder() as made:
                    assert made.startswith(f"{where if used else folder + '/own'}/"), (name, made)
    tempfile.tempdir = None


def outputs(folder):
    """What -o finds where it is to write."""
    project = Project(f"{folder}/project")
    project.entries = [project.entry("src/user.c")]
    project.write()
    shared, own = Path(folder, "shared"), Path(folder, "own")
    for each in (shared, own):
        each.mkdir()
    shared.chmod(0o1777)
    secret = Path(folder, "secret")
    secret.write_text("root's\n")

    def run(output, status=1, **more):
        done = subprocess.run([TOOL, "scan", "-q", "--format", "sarif", "-o", output], cwd=project.root, env=project.environment,
                              capture_output=True, text=True, check=False, timeout=120, **more)
        assert done.returncode == status, (output, done)
        return done

    def is_written(path):
        return json.loads(Path(path).read_text())["version"] == "2.1.0"

    # Of another user, in a folder that both can write.
    for name, make in (("link", lambda p: p.symlink_to(secret)), ("none", lambda p: p.symlink_to("/etc/none")), ("device", lambda p: p.symlink_to("/dev/null")),
                       ("pipe", os.mkfifo), ("file", lambda p: p.write_text("theirs\n")), ("loop", lambda p: p.symlink_to("loop"))):
        path = shared / name
        make(path)
        os.chown(path, OTHER, OTHER, follow_symlinks=False)
        assert "another user's" in run(path, 2).stderr
    assert secret.read_text() == "root's\n"
    # A link of one's own, which stays one, by way of another.
    (own / "link").symlink_to("second")
    (own / "second").symlink_to("file")
    run(own / "link")
    assert (own / "link").is_symlink() and (own / "second").is_symlink() and is_written(own / "file")
    (own / "theirs").symlink_to(shared / "link")
    run(own / "theirs", 2)
    (own / "loop").symlink_to("loop")
    assert "too many links" in run(own / "loop", 2).stderr
    run("/dev/null")
    assert Path("/dev/null").is_char_device()
    # Standard output, whether a file or a pipe; the link in /dev is no file to replace.
    before = os.lstat("/dev/stdout")
    with open(own / "out", "w", encoding="ascii") as out:
        subprocess.run([TOOL, "scan", "-q", "--format", "sarif", "-o", "/dev/stdout"], cwd=project.root, env=project.environment, stdout=out,
                       stderr=subprocess.DEVNULL, check=False)
    assert is_written(own / "out") and os.lstat("/dev/stdout") == before
    assert json.loads(run("/dev/fd/1").stdout)["version"] == "2.1.0"


def processes(folder):
    """What is no process, and children of a tool that is killed."""
    for words in (["-p", "-1"], ["-p", "0"], ["-p", str(10 ** 30)], ["-p", "1", "--seconds", "nan"], ["-p", "1", "--seconds", "-1"],
                  ["-p", "1", "-n", "-1"]):
        done = subprocess.run([TOOL, "measure", "-q", *words], capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 2 and "internal error" not in done.stderr, (words, done)
    slow = Path(folder, "slow.cpp")
    slow.write_text("constexpr long g(long n) { long s = 0; for (long i = 0; i < n; ++i) s += i; return s; }\nstatic_assert(g(1l << 40) > 0);\n")
    Path(folder, "compile_commands.json").write_text(json.dumps([{"directory": folder, "file": "slow.cpp", "arguments": [
        "clang++", "-std=c++20", "-fconstexpr-steps=2000000000", "-c", "slow.cpp"]}]))
    child = subprocess.Popen([sys.executable, TOOL, "scan", "-q", "--no-cache"], cwd=folder, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def running():
        return [p for p in os.listdir("/proc") if p.isdigit() and p != str(child.pid) and str(slow).encode() in read(f"/proc/{p}/cmdline")]

    while not running() or not b"Max data size             unlimited" not in read(f"/proc/{running()[0]}/limits"):
        assert child.poll() is None
        time.sleep(0.02)
    number = running()[0]
    end = time.monotonic() + 60
    while read(f"/proc/{number}/oom_score_adj") != b"1000\n":
        assert time.monotonic() < end
        time.sleep(0.02)
    assert b"Max data size             unlimited" not in read(f"/proc/{number}/limits")
    child.send_signal(signal.SIGKILL)
    child.wait()
    while running():
        assert time.monotonic() < end, running()
        time.sleep(0.02)


def counters(folder):
    """Files of statistics that are none."""
    file = Path(folder, "stats")
    os.mkfifo(file)
    def run():
        return subprocess.run([TOOL, "stats", file], capture_output=True, text=True, check=False, timeout=60)

    done = run()
    assert done.returncode == 2 and "no regular file" in done.stderr, done
    file.unlink()
    for number in ("9" * 400, "-" + "9" * 400, "1e400", "NaN", "9" * 5000, "18446744073709551615", "null", "\"x\""):
        file.write_text(f'{{"vfrt": {{"slept_ns": {number}, "sites": [{{"site": "a+0x1", "slept_ns": {number}}}], "more": {{"a_ns": {number}}}}}, "pid": {number}}}\n')
        done = run()
        assert done.returncode in (0, 2) and "internal error" not in done.stderr, (number[:20], done)


parts.run(globals())
