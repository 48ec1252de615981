# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs git on trees of others, so that nothing in the tree makes git run a program.

A folder that a tree contains may be a git directory itself; a work tree that came as an archive brings
its own .git/config. Either may name programs: a file system monitor, hooks, filters, converters of text,
programs that compare, or a remote from which absent objects are fetched.
"""

import os
import re
import subprocess

from vfriendly.errors import Refused

# Maximum time of a git command: comparing a work tree of Linux's size takes seconds.
SECONDS = 300
SAFE = (
    "core.fsmonitor=", "core.hooksPath=/dev/null", "safe.bareRepository=explicit", "core.quotePath=false",
    "diff.external=", "core.sshCommand=false", "core.gitProxy=false", "core.pager=cat",
    "core.alternateRefsCommand=false", "protocol.allow=never", "submodule.recurse=false",
    "diff.ignoreSubmodules=all", "diff.submodule=short",
)
# Settings of the repository that name programs. Those of the user's own configuration are kept.
PROGRAMS = re.compile(r"(filter\..*\.(clean|smudge|process)|diff\..*\.(textconv|command))$", re.IGNORECASE | re.DOTALL)


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith("GIT_") or name == "GIT_CEILING_DIRECTORIES"}
    return {**kept, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1"}


def _run(folder: str, settings: list[str], words: tuple[str, ...]) -> "subprocess.CompletedProcess[bytes]":
    options = [word for setting in (*SAFE, *settings) for word in ("-c", setting)]
    command = ["git", "-C", folder, "--no-pager", *options, *words]
    return subprocess.run(command, env=_environment(), capture_output=True,
                          stdin=subprocess.DEVNULL, timeout=SECONDS, check=False)


def _programs(folder: str) -> list[str]:
    """Returns settings that disable the programs that the repository's own configuration names."""
    found = list[str]()
    for scope in ("--local", "--worktree"):
        listed = _run(folder, [], ("config", scope, "--includes", "--name-only", "--list", "-z"))
        names = set(listed.stdout.decode("utf-8", "surrogateescape").split("\0")) if not listed.returncode else set()
        found += [f"{name}=" for name in sorted(names) if PROGRAMS.fullmatch(name)]
    return found


def run(folder: str, *words: str) -> bytes:
    """Returns what git prints. Raises Refused with what it says if it fails."""
    try:
        done = _run(folder, _programs(folder), words)
    except subprocess.TimeoutExpired as error:
        raise Refused(f"git {words[0]}: it had no end after {SECONDS} s") from error
    except (OSError, ValueError) as error:
        raise Refused(f"git does not run: {getattr(error, 'strerror', None) or error}; a review needs it") from error
    if done.returncode:
        told = (done.stderr.decode("utf-8", "replace").strip().splitlines() or ["it failed"])[0]
        raise Refused(f"git {words[0]}: {told}")
    return done.stdout
