# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_cluster.py FOLDER: two workers, one killed in the middle, give what one machine gives."""

import os
import signal
import subprocess
import sys
import time

from project import HERE, TOOL, Project


def start(project, *words):
    paths = str(HERE.parents[2] / "checkers" / "cli")
    environment = {**project.environment, "PYTHONPATH": paths, "DASK_DISTRIBUTED__WORKER__DAEMON": "False"}
    return subprocess.Popen([sys.executable, "-m", "distributed.cli." + words[0], *words[1:]], cwd=project.root,
                            env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                            start_new_session=True)


def main():
    project = Project(sys.argv[1])
    # More units, so that the death of a worker falls among them.
    project.entries = [project.entry(e["file"], f"-DX={n}") for n in range(6) for e in project.entries]
    project.write()
    wanted = project.run("scan", "--format", "sarif", "--no-cache", status=1)
    place = project.root / "scheduler.json"
    started = [start(project, "dask_scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", str(place))]
    try:
        while not place.exists():
            time.sleep(0.1)
            assert started[0].poll() is None
        import json
        time.sleep(0.2)
        address = json.loads(place.read_text())["address"]
        started += [start(project, "dask_worker", address, "--no-nanny", "--nthreads", "1", "--no-dashboard")
                    for _ in range(2)]
        for _ in range(100):  # until the workers are known
            done = subprocess.run([sys.executable, TOOL, "scan", "-q", "--no-cache", "--scheduler", address],
                                  cwd=project.root, env=project.environment, capture_output=True, text=True)
            if "no workers" not in done.stderr:
                break
            time.sleep(0.2)
        words = [sys.executable, TOOL, "scan", "-q", "--format", "sarif", "--scheduler", address]
        child = subprocess.Popen(words, cwd=project.root, env=project.environment, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True)
        while len(project.results()) < 8 and child.poll() is None:
            time.sleep(0.02)
        middle = child.poll() is None
        os.killpg(started[1].pid, signal.SIGKILL)
        out, err = child.communicate(timeout=120)
        assert middle and child.returncode == 1, (middle, child.returncode, err)
        assert out == wanted, err
        # No scheduler: refused before any unit.
        project.run("scan", "--scheduler", "tcp://127.0.0.1:1", status=2, tool=TOOL)
    finally:
        for one in started:
            try:
                os.killpg(one.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            one.wait()


main()
