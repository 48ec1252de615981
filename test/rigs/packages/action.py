# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a workflow of GitHub's in a bare root, step by step: a project that has the workflow file
alone, and a change that adds a loop. A server of this machine has the files of the release."""

import functools
import http.server
import os
import re
import shlex
import shutil
import threading

import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
INTEGRATIONS = os.path.join(HERE, "..", "..", "..", "checkers", "cli", "integrations")
# What the runner gives each step.
PLACES = {"GITHUB_WORKSPACE": "/root/project", "RUNNER_TEMP": "/root/temp", "GITHUB_PATH": "/root/temp/path",
          "GITHUB_ACTION_PATH": "/srv/integrations/github"}
# In place of actions/checkout, which brings the commits.
CHECKOUT = """
mkdir -p /root/temp; cp -r /srv/project /root/project; cd /root/project
mv wait.c /root/wait.c; mkdir -p .github/workflows; cp /srv/integrations/github/workflow.yml .github/workflows/vfriendly.yml
printf '#include <stdio.h>\\nint main(void) { return puts("before") < 0; }\\n' > wait.c
git init -q; git config user.name Somebody; git config user.email somebody@example.org
git add .; git commit -qm before; mv /root/wait.c .; git commit -qam change
"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def _script(text, inputs, env):
    """A step's script as the runner starts it."""
    lines = [f"export {name}={shlex.quote(value)}" for name, value in PLACES.items()]
    for name, value in env.items():
        found = re.fullmatch(r"\$\{\{ inputs\.([\w-]+) \}\}", value)
        lines.append(f"export {name}={shlex.quote(inputs[found[1]] if found else value)}")
    lines += ['touch "$GITHUB_PATH" 2>/dev/null || true', 'cd "$GITHUB_WORKSPACE" 2>/dev/null || cd /',
              'while read -r folder; do PATH="$folder:$PATH"; done < "$GITHUB_PATH" 2>/dev/null || true', "export PATH"]
    return "\n".join(lines) + "\nstatus=0\nbash -ec " + shlex.quote(text) + ' || status=$?\necho "step ended with $status"'


def run(root, packages):
    """Runs the workflow in ROOT. Returns what its last step printed."""
    shutil.copytree(INTEGRATIONS, os.path.join(root.folder, "srv/integrations"))
    with open(os.path.join(INTEGRATIONS, "github/workflow.yml"), encoding="utf-8") as file:
        steps = yaml.safe_load(file)["jobs"]["vfriendly"]["steps"]
    with open(os.path.join(INTEGRATIONS, "github/action.yml"), encoding="utf-8") as file:
        action = yaml.safe_load(file)
    handler = functools.partial(Quiet, directory=packages)
    said = ""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for step in steps:
            if "run" in step:
                said = root.run(step["run"][:60], _script(step["run"], {}, {}))
            elif step["uses"].startswith("actions/checkout"):
                said = root.run(step["uses"], CHECKOUT)
            else:
                inputs = {name: value.get("default", "") for name, value in action["inputs"].items()}
                inputs.update(step["with"], base="HEAD~1", key="unsigned",
                              release=f"http://127.0.0.1:{server.server_port}")
                for part in action["runs"]["steps"]:
                    what = [line for line in part["run"].splitlines() if "vfriendly" in line][-1].strip()
                    said = root.run(what[:60], _script(part["run"], inputs, part["env"]))
        server.shutdown()
    return said
