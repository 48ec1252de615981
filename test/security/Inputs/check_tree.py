# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_tree.py FOLDER: trees that would have the tool run programs, write files, wait, or hide findings."""

import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import parts
from parts import WAIT, read
from project import TOOL, Project

from vfriendly import allowed, changes, programs


def script(path, marker):
    path.write_text(f"#!/bin/sh\necho \"$0 $*\" >> {marker}\ncat\n")
    path.chmod(0o755)
    return path


def git(project):
    """Programs that git's configuration in a tree names: in the work tree's own, and in a folder that is a repository."""
    marker = project.root.parent / f"{project.root.name}.ran"
    marker.unlink(missing_ok=True)
    program = script(project.root.parent / f"{project.root.name}.program", marker)
    project.git("branch", "base")
    (project.root / ".gitattributes").write_text("*.c filter=x diff=y\n")
    project.commit()
    project.edit("src/user.c", "// Nothing", "// Something")
    for setting in ("filter.x.clean", "diff.y.textconv", "diff.y.command", "core.fsmonitor", "core.sshCommand"):
        project.git("config", setting, str(program))
    hooks = project.root / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    script(hooks / "post-index-change", marker)
    assert changes.read(str(project.root), "base").changed
    assert not marker.exists(), marker.read_text()
    # The test sees it: plain git runs them.
    subprocess.run(["git", "-C", project.root, "diff"], capture_output=True, stdin=subprocess.DEVNULL)
    assert marker.exists()
    marker.unlink()

    for setting in ("filter.x.clean", "diff.y.textconv", "diff.y.command", "core.fsmonitor"):
        project.git("config", "--unset", setting)
    (hooks / "post-index-change").unlink()
    lib = project.root / "lib"
    subprocess.run(["git", "init", "-q", "--bare", lib], check=True)
    (lib / "b.c").write_text(WAIT)
    (lib / "config").write_text("[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n"
                                f"\tfsmonitor = {program}\n")
    project.entries = [project.entry("lib/b.c")]
    project.write()
    for words in (["scan"], ["review", "--diff", "HEAD"]):
        project.run(*words)
        assert not marker.exists(), marker.read_text()


NOTHING = ("clang", "--no-default-config", "/d/a.c")


def options(_):
    """Each option that runs, loads or writes is left out, and those that say how to read the code are not."""
    def chosen(*words):
        return allowed.choose(["clang", *words, "-c", "a.c"], "/d", "/d/a.c")

    harmful = [["-fplugin=x.so"], ["-fpass-plugin=x.so"], ["-Xclang", "-load", "-Xclang", "x.so"], ["-mllvm", "-load=x.so"],
               ["-x", "hip", "--offload-arch=native"], ["-xcuda"], ["--offload-arch=native"], ["-fopenmp-targets=nvptx64"],
               ["--target=amdgcn-amd-amdhsa"], ["-target", "nvptx64-nvidia-cuda"], ["--config=x"], ["--config", "x"],
               ["-Xclang", "-dependency-file", "-Xclang", "x"], ["-Xclang", "-header-include-file", "-Xclang", "x"],
               ["-ftime-trace=x"], ["-fcrash-diagnostics-dir=x"], ["-fmodules-cache-path=x"], ["-foptimization-record-file=x"],
               ["-ivfsoverlay", "x"], ["-fproc-stat-report=x"], ["--driver-mode=cl"], ["-fembed-offload-object=x"],
               ["-fdump-record-layouts-complete"], ["@missing"], ["-Xarch_host", "-fplugin=x"], ["-wrapper", "x"], ["-specs=x"],
               ["-W/../x"], ["-fsave-optimization-record=x"], ["-Xanalyzer", "x"], ["-working-directory", "x"]]
    for words in harmful:
        got = chosen(*words)
        assert got.words == NOTHING and got.left_out, (words, got)
    silent = [["-o", "x"], ["-MD", "-MF", "x"], ["-Wp,-MD,x"], ["-MFx"], ["-ox"], ["--serialize-diagnostics", "x"], ["-save-temps=obj"],
              ["-g3"], ["-flto=thin"], ["-Wl,-z,now"], ["-lx"], ["x.o"], ["-fno-integrated-as"], ["-B", "x"], ["-Bx"],
              ["-Xclang", "-include-pch", "-Xclang", "x"], ["-fprofile-use=x"]]
    for words in silent:
        got = chosen(*words)
        assert got.words == NOTHING and not got.left_out, (words, got)
    good = [["-Ix"], ["-I", "x"], ["-isystem", "x"], ["-isystemx"], ["-DA=\"b\""], ["-D", "A"], ["-UA"], ["-std=c++20"], ["-std=gnu11"],
            ["-O2"], ["-fPIC"], ["-fno-exceptions"], ["-fno-strict-aliasing"], ["-march=native"], ["-msse4.2"], ["-mno-avx"],
            ["-Xclang", "-include", "-Xclang", "x.h"], ["-Wall"], ["-Wno-error=x"], ["-Wp,-D_FORTIFY_SOURCE=2"], ["--sysroot=/x"], ["--sysroot", "/x"],
            ["--target=aarch64-linux-gnu"], ["-target", "x86_64-pc-linux-gnu"], ["-x", "c++"], ["-xc++"], ["-pthread"], ["-fopenmp"],
            ["-fvisibility=hidden"], ["-ftemplate-depth=2000"], ["-fsanitize=address,undefined"], ["-nostdinc++"], ["-stdlib=libc++"]]
    for words in good:
        assert chosen(*words) == allowed.Command((*NOTHING[:2], *words, NOTHING[2]), ()), (words, chosen(*words))
    assert allowed.choose(["/d/amdgcn-amd-amdhsa-clang++"], "/", "/a.c").words[0] == "clang++"
    assert allowed.choose(["ccache", "/usr/bin/g++-12", "-DX"], "/", "/a.c").words[:3] == ("/usr/bin/g++-12", "--no-default-config", "-DX")


def databases(project):
    """The same at work: nothing runs, and nothing is written."""
    marker = project.root / "ran"
    bin_ = project.root / "bin"
    bin_.mkdir()
    for name in ("clang", "amdgpu-arch", "nvptx-arch", "offload-arch", "as"):
        script(bin_ / name, marker)
    (bin_ / "clang.cfg").write_text(f"-ftime-trace={project.root}/written.cfg\n")
    (project.root / "rsp").write_text(f"-DFROM_FILE '-ftime-trace={project.root}/written.rsp'\n")
    (project.root / "w.c").write_text(f"#ifndef FROM_FILE\n#error\n#endif\n{WAIT}")
    project.entries = [{"directory": str(project.root), "file": "w.c", "arguments": [
        str(bin_ / "clang"), "-x", "hip", "--offload-arch=native", "-nogpulib", "-Xclang", "-dependency-dot", "-Xclang",
        f"{project.root}/written.dot", "-Xclang", "-header-include-file", "-Xclang", f"{project.root}/written.hdr",
        f"-ftime-trace={project.root}/written.trace", f"-fplugin={project.root}/evil.so", "@rsp", "-c", "w.c"]}]
    project.write()
    (project.root / ".clang-tidy").write_text(
        f'ExtraArgs: ["-Xclang", "-dependency-dot", "-Xclang", "{project.root}/written.tidy", "-DEXTRA"]\n')
    for words in (["scan", "--no-cache"], ["scan", "--no-cache", "--remarks"]):
        out = project.run(*words)
        assert "1 finding" in out and "-fplugin=" in out, (out, project.errors)
        assert not marker.exists() and not list(project.root.glob("written.*")), list(project.root.iterdir())


def caches(project):
    """Results in the tree are not believed; those of an option are taken for what they are."""
    project.entries = [project.entry("src/user.c"), project.entry("src/crlf.c")]
    project.write()
    own = project.root / ".vfriendly"
    time.sleep(0.1)
    wanted = project.run("scan", "--cache", str(own))
    assert stat.S_IMODE(own.stat().st_mode) == 0o700
    for entry in own.glob("*.json"):
        if entry.name != "files.json":
            kept = json.loads(entry.read_text())
            kept["result"]["diagnostics"] = []
            entry.write_text(json.dumps(kept))
    assert project.run("scan").splitlines()[:-1] == wanted.splitlines()[:-1] and project.results()
    assert stat.S_IMODE(project.results()[0].parent.stat().st_mode) == 0o700
    result = {"status": "ok", "reason": "", "dropped": [], "diagnostics": []}
    digest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    odd = [{}, [], None, {"files": 3}, {"files": [None], "digest": "x"}, {"files": [], "digest": digest},
           *({"files": [], "digest": digest, "result": {**result, **change}} for change in (
               {"diagnostics": [{"x": 1}]}, {"diagnostics": 5}, {"diagnostics": [["c", "m", 3, 0, "W", None, [], []]]},
               {"status": 3}, {"dropped": [[]]}, {"reason": None}, {"status": "clean"}))]
    keys = [p for p in own.glob("*.json") if p.name != "files.json"]
    for entry in odd:
        for path in keys:
            path.write_text(json.dumps(entry))
        got = project.run("scan", "--cache", str(own))
        assert got == wanted, (entry, got, project.errors)
    for index in ([], 3, {"/x": 5}, {str(project.root / "src/crlf.c"): ["q", [1]]}):
        (own / "files.json").write_text(json.dumps(index))
        got = project.run("scan", "--cache", str(own)).splitlines()[:-1]
        assert got == wanted.splitlines()[:-1], (index, got, project.errors)
    own.chmod(0o777)
    project.run("scan", "--cache", str(own), status=2)
    assert "others can write in it" in project.errors


def files(project):
    """What is no regular file is not waited for; the names of files are not believed either."""
    os.mkfifo(project.root / "fifo.c")
    os.symlink("/dev/zero", project.root / "zero.c")
    (project.root / "folder.c").mkdir()
    project.entries = [project.entry(f"{n}.c") for n in ("fifo", "zero", "folder")]
    project.write()
    began = time.monotonic()
    out = project.run("scan", "--no-cache", status=3)
    assert out.count("no regular file") == 3, out
    assert time.monotonic() - began < 120
    (project.root / "compile_commands.json").unlink()
    os.mkfifo(project.root / "compile_commands.json")
    project.run("scan", status=2)
    try:  # as the executable of a process that is measured
        programs.read_elf(str(project.root / "fifo.c"))
        raise AssertionError("read")
    except OSError:
        pass


def as_in_a_terminal():
    """Undoes what a shell has ignored: SIGINT of a job in the background, SIGHUP by nohup."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def signals(project):
    """A signal ends what was started, and leaves no folder."""
    slow = project.root / "slow.cpp"
    slow.write_text("constexpr long g(long n) { long s = 0; for (long i = 0; i < n; ++i) s += i; return s; }\n"
                    "static_assert(g(1l << 40) > 0);\n")
    project.entries = [project.entry("slow.cpp", "-std=c++20", "-fconstexpr-steps=2000000000")]
    project.write()
    temporary = project.root / "tmp"
    temporary.mkdir()
    for number, status in ((signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)):
        child = subprocess.Popen([sys.executable, TOOL, "scan", "-q", "--no-cache"], cwd=project.root, stderr=subprocess.PIPE,
                                 stdout=subprocess.PIPE, env={**project.environment, "TMPDIR": str(temporary)}, text=True,
                                 preexec_fn=as_in_a_terminal)
        while not list(temporary.glob("vfriendly-*/compile_commands.json")) and child.poll() is None:
            time.sleep(0.02)
        time.sleep(0.2)
        child.send_signal(number)
        _, errors = child.communicate(timeout=120)
        assert child.returncode == status and "Traceback" not in errors, (number, child.returncode, errors)
        assert not list(temporary.iterdir()), list(temporary.iterdir())
        left = [p for p in os.listdir("/proc") if p.isdigit() and str(slow).encode() in read(f"/proc/{p}/cmdline")]
        assert not left, left
    out = project.run("scan", "--no-cache", "--timeout", "1", status=3)
    assert "had no end after 1 s" in out, out
    for value in ("nan", "inf", "-1", "0"):
        project.run("scan", "--timeout", value, status=2)


def in_project(part):
    return lambda folder: part(Project(f"{folder}/project", git=part is git))


parts.run({"options": options, **{part.__name__: in_project(part) for part in (git, databases, caches, files, signals)}})
