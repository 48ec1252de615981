# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What every benchmark shares: the built tree, the report and its table."""

import json
import os
import platform
import re
import signal
import subprocess
import sys
import time

import measure


class Broken(Exception):
    """The benchmark cannot give a result: a build failed, a payload was wrong.
    Being slow is a result, never this."""


class Usage(Broken):
    """The command line asks for what there is not."""


def exit_with(main):
    """Runs main and exits with what it returns. A SIGTERM ends it as Ctrl-C does, so that
    what is being run is killed, not left."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)


def choice(text, known, what):
    """What an option with commas between picks of what is known; all without it."""
    picked = text.split(",") if text else list(known)
    for one in picked:
        if one not in known:
            raise Usage(f"no {what} '{one}', there are: {', '.join(known)}")
    return picked


class Tree:
    """A build tree with the plugin and the runtime in it."""

    def __init__(self, build):
        self.build = os.path.abspath(build)
        self.source = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
        self.lib = os.path.join(self.build, "lib")
        self.plugin = os.path.join(self.lib, "libvfriendly.so")
        self.tidy_module = os.path.join(self.lib, "libvfriendly-tidy.so")
        cache = os.path.join(self.build, "CMakeCache.txt")
        try:
            found = re.search(r"^VF_LLVM_DIR:PATH=(.*)$", open(cache).read(), re.M)
        except OSError:
            raise Broken(f"{self.build} is not a build tree: run ./dev build")
        self.llvm = found.group(1) if found else "/usr/lib/llvm-22"

    def tool(self, name):
        return os.path.join(self.llvm, "bin", name)

    def plugin_flags(self):
        return [f"-fpass-plugin={self.plugin}"]

    def link_flags(self):
        """Links libvfrt even if no loop was rewritten, as users would."""
        return [f"-L{self.lib}", f"-Wl,-rpath,{self.lib}", "-Wl,--no-as-needed", "-lvfrt"]

    def preloads(self):
        """What a server runs with that nobody builds again."""
        return [os.path.join(self.lib, name) for name in ("libvfpthread.so", "libvfmalloc.so")]


def checked(*command, timeout):
    """Runs a program that prints values, and returns the run (measure.Run)."""
    one = measure.run([str(word) for word in command], timeout)
    if one.status != "ok" or not one.values:
        raise Broken(f"{' '.join(map(str, command))}: {one.status} {one.output}{one.errors}")
    return one


def build(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise Broken(f"{' '.join(command)}\n{done.stdout}{done.stderr}".rstrip())
    return done.stdout + done.stderr


def install(packages):
    """Of what is compared: those that are missing, if we may."""
    missing = [p for p in packages
               if subprocess.run(["dpkg-query", "-W", p], capture_output=True).returncode]
    if not missing:
        return
    print(f"installing {' '.join(missing)}", flush=True)
    done = subprocess.run(["apt-get", "-o", "DPkg::Lock::Timeout=300", "install", "-y", "-qq",
                           "--no-install-recommends", *missing], capture_output=True, text=True)
    if done.returncode:
        raise Broken(f"missing {' '.join(missing)}: install them, or leave out what needs them "
                     f"with --peers: {done.stderr.strip()[-200:]}")


def cpus():
    return len(os.sched_getaffinity(0))


def machine():
    about = {"system": platform.platform(), "cpus": cpus(), "load": os.getloadavg()}
    try:
        text = open("/proc/cpuinfo").read()
        name = re.search(r"^model name\s*: (.*)$", text, re.M)
        about["model"] = name.group(1) if name else platform.machine()
        about["virtual"] = bool(re.search(r"^flags\s*:.*\bhypervisor\b", text, re.M))
    except OSError:
        about["model"] = platform.machine()
    return about


def commit(source):
    def git(*args):
        done = subprocess.run(["git", "-C", source, *args], capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else ""

    head = git("rev-parse", "HEAD")
    return {"commit": head or "unknown", "dirty": bool(git("status", "--porcelain", "-uno"))}


class Report:
    """Collects a benchmark's samples and writes them to OUT/NAME.json."""

    def __init__(self, name, tree, out, parameters):
        self.path = os.path.join(out, f"{name}.json")
        self.content = {
            "name": name,
            "began": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "machine": machine(),
            **commit(tree.source),
            "parameters": parameters,
            "samples": [],
            "summary": [],
        }

    def add_to_last(self, varying=(), replaces=lambda row: False):
        """Keeps what the last run of the same commit has measured, so that a table of many cells can
        be measured in parts, but for the rows that this run replaces. The parameters `varying` may
        differ from the last run's. Returns the last run's parameters."""
        try:
            with open(self.path) as file:
                last = json.load(file)
        except (OSError, ValueError):
            return {}

        def fixed(content):
            return {name: value for name, value in content["parameters"].items() if name not in varying}

        if last["commit"] != self.content["commit"] or fixed(last) != fixed(self.content):
            raise Usage(f"{self.path} is of commit {last['commit'][:10]} or of other options: it cannot be added to")
        for kind in ("samples", "summary"):
            self.content[kind] = [row for row in last[kind] if not replaces(row)]
        self.content["dirty"] |= last["dirty"]
        return last["parameters"]

    def samples(self, runs, **cell):
        for variant, each in runs.items():
            self.content["samples"].append(
                {**cell, "variant": variant, "runs": [r.record() for r in each]}
            )

    def summary(self, **row):
        self.content["summary"].append(row)

    def save(self):
        """Writes what there is; a later call replaces it."""
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        with open(self.path + ".new", "w") as file:
            json.dump(self.content, file, indent=1)
            file.write("\n")
        os.replace(self.path + ".new", self.path)

    def write(self):
        self.save()
        print(f"all samples: {os.path.relpath(self.path)}")


def table(header, rows):
    """Prints columns; everything but the first and the last is right-aligned."""
    cells = [header] + [[str(c) for c in row] for row in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    for row in cells:
        last = len(row) - 1
        print(
            "  ".join(
                c.ljust(w) if i in (0, last) else c.rjust(w)
                for i, (c, w) in enumerate(zip(row, widths))
            ).rstrip()
        )
    sys.stdout.flush()
