# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Debian's packages that spin before they sleep: ./dev bench packages [--packages A,B] [--threads 2,8] [--hogs 0,1]

Each is built by clang as it is, and with vfriendly.cfg: all passes and libvfrt. The first also runs with libvfpthread
and libvfmalloc preloaded. Servers of all three run at the same time, and are loaded in turn. CPU is that of the server
and its client.
"""

import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import bench
import comparison
import measure
from recipes import RECIPES

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "suites"))
import bring

SENTENCE = "Debian's packages that spin before they sleep: as they are, with the plugin, and with preloads."
ALONE = False  # It downloads and builds programs of millions of lines.

FIRST_PORT = 17500
START_S, LOAD_S = 60, 120
HZ = os.sysconf("SC_CLK_TCK")
# vfriendly.cfg and what it names: a build is made again when one of them changes.
FILES = ("vfriendly.cfg", "libvfriendly.so", "vfrt-link.o", "libvfrt.a")


def options(parser):
    parser.add_argument("--packages", metavar="A,B", help=f"of {', '.join(RECIPES)} [all]")
    parser.add_argument("--threads", metavar="N,M", help="threads, or connections [1 and 4 a CPU]")
    parser.add_argument("--hogs", metavar="N,M", default="0", help="threads that compute beside it [%(default)s]")
    parser.add_argument("--reps", type=int, default=7, metavar="N", help="runs of each [%(default)s]")


def sh(script, folder, environment=None, log=None):
    """Runs a script to its end; its output is in log, or thrown away."""
    with open(log or os.devnull, "w") as out:
        status = subprocess.run(["sh", "-c", script], cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                env={**os.environ, **(environment or {})}).returncode
    if status:
        raise bench.Broken(f"exit status {status} in {folder} of: {script}" + (f"; see {log}" if log else ""))


def compilers(tree, folder, variant):
    """Programs: some build systems take no compiler with arguments."""
    made = {}
    for name, tool in (("CC", "clang"), ("CXX", "clang++")):
        config = f"--config={tree.lib}/vfriendly.cfg -Rpass=vf- " if variant == "rewritten" else ""
        made[name] = os.path.join(folder, tool)
        with open(made[name], "w") as script:
            script.write(f'#!/bin/sh\nexec {tree.tool(tool)} {config}"$@" -w -Wno-error\n')
        os.chmod(made[name], 0o755)
    return made


def digest(tree):
    content = hashlib.sha256()
    for name in FILES:
        with open(os.path.join(tree.lib, name), "rb") as file:
            content.update(file.read())
    return content.hexdigest()


def compile_package(tree, debian, sources, recipe, folder, variant):
    key = f"{recipe.sources} {recipe.build} {digest(tree) if variant == 'rewritten' else ''}"
    with bring.Once(folder, key) as todo:
        if todo:
            for name in recipe.sources:
                # Linked, as LLVM's is large: no build writes into a file of its source.
                shutil.copytree(debian.source(os.path.join(sources, name), name), os.path.join(folder, name), symlinks=True,
                                copy_function=os.link)
            sh(recipe.build, folder, compilers(tree, folder, variant), os.path.join(folder, "build.log"))
    return folder


def copy_of_build(original, folder):
    """A server writes into its folder, so that each has one; the programs are linked."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(original, folder, symlinks=True, copy_function=os.link, ignore=shutil.ignore_patterns("data", "www"))
    return folder


def rewrites(folder):
    """How many places the passes rewrote, by what the compiler said."""
    with open(os.path.join(folder, "build.log"), errors="replace") as log:
        return len({line.split(": remark:")[0] for line in log if ": remark:" in line})


def cpu_seconds(pid):
    """What a process, its children that have ended, and those that have not, have used."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            ticks = sum(map(int, file.read().rsplit(")", 1)[1].split()[11:15]))
        children = []
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children") as file:
                children += file.read().split()
    except OSError:  # It has just ended; its parent has its time.
        return 0
    return ticks / HZ + sum(map(cpu_seconds, children))


class Built:
    """A build that serves, if it is a server, and can be loaded."""

    def __init__(self, recipe, folder, threads, port, requests, preloads=()):
        self.recipe, self.folder, self.server = recipe, folder, None
        # Of the server, or of the load where that is the program.
        self.preload = f"export LD_PRELOAD={':'.join(preloads)}; " if preloads else ""
        self.words = {"{threads}": str(threads), "{port}": str(port), "{requests}": str(requests)}
        shutil.rmtree(os.path.join(folder, "data"), ignore_errors=True)
        self.user = bring.not_as_root() if recipe.name == "postgresql" else []
        if recipe.prepare:
            self.call(recipe.prepare)
        if recipe.serve:
            self.server = subprocess.Popen(self.command(self.preload + recipe.serve), cwd=folder, stdin=subprocess.DEVNULL,
                                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
            self.wait()

    def command(self, script):
        for word, value in self.words.items():
            script = script.replace(word, value)
        return [*self.user, "sh", "-c", script]

    def call(self, script):
        log = os.path.join(self.folder, "prepare.log")
        with open(log, "w") as out:
            if subprocess.run(self.command(script), cwd=self.folder, stdin=subprocess.DEVNULL, stdout=out, stderr=out).returncode:
                raise bench.Broken(f"{self.recipe.name} cannot make its data: see {log}")

    def wait(self):
        """Returns when the server takes a load of one request."""
        self.words["{requests}"], asked = "1", self.words["{requests}"]
        until = time.monotonic() + START_S
        while self.load().status != "ok":
            if self.server.poll() is not None or time.monotonic() > until:
                self.stop()
                raise bench.Broken(f"{self.recipe.name} does not serve: try, in {self.folder}: {self.command(self.recipe.serve)[-1]}")
            time.sleep(0.5)
        self.words["{requests}"] = asked

    def load(self):
        before = cpu_seconds(self.server.pid) if self.server else 0
        script = self.recipe.load if self.recipe.serve else self.preload + self.recipe.load
        one = measure.run(self.command(script), LOAD_S, folder=self.folder)
        if self.server:
            one.cpu += cpu_seconds(self.server.pid) - before
        return one

    def measured(self):
        one = self.load()
        if one.status == "failed":
            raise bench.Broken(f"{self.command(self.recipe.load)[-1]}: {(one.errors + one.output).strip()[-300:]}")
        return one

    def stop(self):
        if self.server and self.server.poll() is None:
            self.server.send_signal(signal.SIGTERM)
            try:
                self.server.wait(30)
            except subprocess.TimeoutExpired:
                os.killpg(self.server.pid, signal.SIGKILL)
                self.server.wait()


def compare(tree, report, recipe, folders, threads, hogs, repetitions, smoke):
    requests = recipe.requests // 100 if smoke else recipe.requests
    built, beside = {}, []
    what = f"{recipe.name}, {threads} threads, {hogs} hogs"
    try:
        for number, (variant, folder) in enumerate(folders.items()):
            built[variant] = Built(recipe, folder, threads, FIRST_PORT + number, requests,
                                   tree.preloads() if variant == "preload" else ())
        beside = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(hogs)]
        runs, ratios = comparison.compare({v: b.measured for v, b in built.items()}, repetitions, what)
    finally:
        for hog in beside:
            hog.kill()
            hog.wait()
        for one in built.values():
            one.stop()
    comparison.summarize(report, runs, ratios, package=recipe.name, threads=threads, hogs=hogs)
    print(f"\n{what}, {rewrites(folders['rewritten'])} places rewritten")
    bench.table(comparison.HEADER, list(comparison.rows(runs, ratios)))


def main(tree, options, out):
    names = bench.choice(options.packages, RECIPES, "package")
    counts = [bench.cpus(), 4 * bench.cpus()]
    if options.threads:
        if not re.fullmatch(r"[1-9]\d*(,[1-9]\d*)*", options.threads):
            raise bench.Usage(f"--threads takes numbers above 0 with commas between, not '{options.threads}'")
        counts = [int(n) for n in options.threads.split(",")]
    all_hogs = [int(h) for h in bench.choice(options.hogs, [str(n) for n in range(9)], "number of hogs")]
    repetitions = 1 if options.smoke else options.reps
    place = os.path.join(out, "packages")
    os.makedirs(place, exist_ok=True)
    debian = bring.Debian(place)
    report = bench.Report("packages", tree, out, {"smoke": options.smoke, "reps": repetitions})
    progress = measure.Progress("packages")
    for name in names:
        recipe = RECIPES[name]
        bench.install(recipe.needs)
        folders = {}
        for variant in ("original", "rewritten"):
            progress.at(f"building {name}, {variant}")
            try:
                folders[variant] = compile_package(tree, debian, os.path.join(place, "sources"), recipe,
                                                   os.path.join(place, name, variant), variant)
            except bring.NotRun as why:
                raise bench.Broken(str(why))
        folders["preload"] = copy_of_build(folders["original"], os.path.join(place, name, "preload"))
        for hogs in all_hogs:
            for threads in counts:
                compare(tree, report, recipe, folders, threads, hogs, repetitions, options.smoke)
    progress.end()
    report.write()
    return 0
