# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_integrations.py FOLDER: runs what the integrations' files say."""

import functools
import hashlib
import http.server
import json
import os
import shlex
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import yaml
from project import BUILD, HERE, Project

INTEGRATIONS = HERE.parents[2] / "checkers" / "cli" / "integrations"


def run(project, script, **variables):
    environment = {**project.environment, "PATH": f"{BUILD}/bin:{os.environ['PATH']}", **variables}
    return subprocess.run(["bash", "-e", "-c", script], cwd=project.root, env=environment,
                          capture_output=True, text=True, check=False)


def signed(project, step, variables, release, temporary):
    """Signs the release, and returns the public key. Of another signer's, changed, or an older one, nothing is installed."""
    keys = {}
    for name in ("right", "wrong"):
        files = [str(Path(f"{project.root}-{name}.{end}")) for end in ("pub", "key")]
        subprocess.run(["minisign", "-G", "-W", "-f", "-p", files[0], "-s", files[1]], check=True, capture_output=True)
        keys[name] = Path(files[0]).read_text().splitlines()[1], files[1]
    sums = (release / "SHA256SUMS").read_text()

    def sign(key, comment, text=sums):
        (release / "SHA256SUMS").write_text(text)
        subprocess.run(["minisign", "-S", "-W", "-s", keys[key][1], "-m", release / "SHA256SUMS", "-t", comment], check=True, capture_output=True)
        (release / "SHA256SUMS").write_text(sums)

    def refused(**more):
        done = run(project, step["run"], **{**variables, "KEY": keys["right"][0], **more})
        assert done.returncode == 2 and not list(temporary.iterdir()), done
        return done.stderr

    assert "cannot download" in refused()  # there is no signature
    sign("wrong", "vfriendly 0.2")
    assert "is not signed by the key" in refused()
    sign("right", "vfriendly 0.2", sums.replace("0.2", "0.1"))
    assert "is not signed by the key" in refused()
    for comment in ("vfriendly 0.1", "vfriendly release", "vfriendly 0.20", "vfriendly 0.2 "):
        sign("right", comment)
        assert "not as 'vfriendly 0.2'" in refused(), comment
    sign("right", "vfriendly 0.2")
    signature = release / "SHA256SUMS.minisig"
    text = signature.read_text()
    assert "vfriendly 0.2" in text
    # The comment is signed: a server cannot change it.
    signature.write_text(text.replace("vfriendly 0.2", "vfriendly 0.3"))
    assert "is not signed by the key" in refused(VERSION="0.3")
    signature.write_text(text)
    assert "no version: name the one" in refused(VERSION="")
    return keys["right"][0]


def installed(project, step):
    """Runs the action's installation from a server in place of the release; returns the PATH that it leaves."""
    release, temporary = Path(f"{project.root}-release"), Path(f"{project.root}-runner")
    for folder in (release, temporary):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
    # The archive of a build would take minutes to make: this one has the same layout, and calls the build.
    top = release / "vfriendly-0" / "bin"
    top.mkdir(parents=True)
    (top / "vfriendly").write_text(f'#!/bin/sh\nexec {BUILD}/bin/vfriendly "$@"\n')
    (top / "vfriendly").chmod(0o755)
    archive = f"vfriendly-0.2-{os.uname().machine}.tar.gz"
    subprocess.run(["tar", "czf", archive, "vfriendly-0"], cwd=release, check=True)
    right = hashlib.sha256((release / archive).read_bytes()).hexdigest()
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=release)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        without = ":".join(f for f in os.environ["PATH"].split(":") if not os.path.exists(f"{f}/vfriendly"))
        variables = {"PATH": without, "RUNNER_TEMP": str(temporary), "GITHUB_PATH": str(temporary / "path"), "no_proxy": "127.0.0.1",
                     "GITHUB_ACTION_PATH": str(INTEGRATIONS / "github"), "RELEASE": f"http://127.0.0.1:{server.server_port}/", "KEY": "unsigned",
                     "VERSION": "0.2"}
        # A wrong sum, no archive for this machine, no release: nothing is installed.
        for sums, told in (("0" * 64 + f"  {archive}", "does not have the checksum"), (f"{right}  vfriendly-0.2-vax.tar.gz", "no archive for")):
            (release / "SHA256SUMS").write_text(sums + "\n")
            done = run(project, step["run"], **variables)
            assert done.returncode == 2 and told in done.stderr and not list(temporary.iterdir()), done
        done = run(project, step["run"], **{**variables, "RELEASE": ""})
        assert done.returncode == 2 and "no release is named" in done.stderr, done
        done = run(project, step["run"], **{**variables, "KEY": ""})
        assert done.returncode == 2 and "no key: name the public key" in done.stderr and not list(temporary.iterdir()), done
        (release / "SHA256SUMS").write_text(f"{right}  {archive}\n")
        if shutil.which("minisign"):
            variables["KEY"] = signed(project, step, variables, release, temporary)
        done = run(project, step["run"], **variables)
        assert done.returncode == 0, done
        server.shutdown()
    return {"PATH": (temporary / "path").read_text().strip() + ":" + without}


def main():
    project = Project(sys.argv[1], git=True)
    base = project.git("rev-parse", "HEAD").strip()
    project.edit("src/with space.c", "while (!done) {\n  }", "while (!done) {\n    ;\n  }")
    project.commit()

    # GitHub: the composite action's step, with its inputs filled in.
    action = yaml.safe_load((INTEGRATIONS / "github/action.yml").read_text())
    step = action["runs"]["steps"][1]
    inputs = {"build": ".", "base": base, "guidelines": "https://example.org/pages",
              **{k: v["default"] for k, v in action["inputs"].items() if k in ("fail-on", "sarif")}}
    values = {name: inputs[text.split("inputs.")[1].rstrip(" }")] for name, text in step["env"].items()}
    done = run(project, step["run"], **installed(project, action["runs"]["steps"][0]), **values)
    assert done.returncode == 1, done
    assert "%0Ahttps://example.org/pages/guidelines/spin-loops.md" in done.stdout, done.stdout
    assert done.stdout.startswith("::warning file=src/with space.c,line=4,col=3,"), done.stdout
    assert done.stdout.count("\n") == 1
    assert len(json.loads((project.root / "vfriendly.sarif").read_text())["runs"][0]["results"]) == 1

    # GitLab: the job's script.
    job = yaml.safe_load((INTEGRATIONS / "gitlab/vfriendly.gitlab-ci.yml").read_text())[".vfriendly"]
    done = run(project, "\n".join(job["script"]), CI_MERGE_REQUEST_DIFF_BASE_SHA=base,
               **{**job["variables"], "VFRIENDLY_BUILD": "."})
    assert done.returncode == 1, done
    rows = json.loads((project.root / job["artifacts"]["reports"]["codequality"]).read_text())
    assert [r["location"]["path"] for r in rows] == ["src/with space.c"], rows

    # pre-commit: the entry with the names of the files; of a header by a unit that reads it.
    hook = yaml.safe_load((INTEGRATIONS / "pre-commit/.pre-commit-config.yaml").read_text())["repos"][0]["hooks"][0]
    entry = hook["entry"].replace("-p build", "-p .")
    for files, found in ((["src/user.c"], 0), (["src/with space.c"], 1), (["include/flag.h", "src/user.c"], 1)):
        done = run(project, " ".join([entry, *map(shlex.quote, files)]))
        assert done.returncode == found and f"{found} finding" in done.stdout, (files, done)

    # efm-langserver: the command prints what the formats read.
    tool = yaml.safe_load((INTEGRATIONS / "editors/efm-langserver.yaml").read_text())["languages"]["cpp"][0]
    done = run(project, tool["lint-command"].replace("${INPUT}", "src/utf8.cpp"))
    assert done.stdout.startswith("src/utf8.cpp:7:19: warning: "), done.stdout


main()
