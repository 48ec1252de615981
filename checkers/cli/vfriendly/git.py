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

from vfriendly.children import die_with_parent
from vfriendly.errors import Refused

# Maximum time of a git command: comparing a work tree of Linux's size takes seconds.
SECONDS = 300
SAFE = [
    ("core.fsmonitor", ""), ("core.hooksPath", "/dev/null"), ("safe.bareRepository", "explicit"),
    ("core.quotePath", "false"), ("diff.external", ""), ("core.sshCommand", "false"), ("core.gitProxy", "false"),
    ("core.pager", "cat"),
    ("core.alternateRefsCommand", "false"), ("protocol.allow", "never"), ("submodule.recurse", "false"),
    # The commit of a submodule is compared, without a look into its work tree.
    ("diff.ignoreSubmodules", "dirty"), ("diff.submodule", "short"), ("core.commitGraph", "false"),
]
# Settings of the repository that name programs. Those of the user's own configuration are kept.
PROGRAMS = re.compile(r"(filter\..*\.(clean|smudge|process)|diff\..*\.(textconv|command))$", re.IGNORECASE | re.DOTALL)


def _environment(settings: list[tuple[str, str]]) -> dict[str, str]:
    """Settings go by the environment: on a command line, the name of a driver could have "=" in it."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith("GIT_") or name == "GIT_CEILING_DIRECTORIES"}
    count = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (name, value) in enumerate(settings):
        count[f"GIT_CONFIG_KEY_{number}"], count[f"GIT_CONFIG_VALUE_{number}"] = name, value
    # Replaced objects and grafts would be another base than the commit that was named.
    return {**kept, **count, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1",
            "GIT_NO_REPLACE_OBJECTS": "1", "GIT_GRAFT_FILE": os.devnull}


def _run(folder: str, settings: list[tuple[str, str]],
         words: tuple[str, ...]) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(["git", "-C", folder, "--no-pager", *words], env=_environment([*SAFE, *settings]),
                          capture_output=True, stdin=subprocess.DEVNULL, timeout=SECONDS, check=False,
                          preexec_fn=die_with_parent())


def _programs(folder: str) -> list[tuple[str, str]]:
    """Returns settings that disable the programs that the repository's own configuration names."""
    found = list[tuple[str, str]]()
    for scope in ("--local", "--worktree"):
        listed = _run(folder, [], ("config", scope, "--includes", "--name-only", "--list", "-z"))
        names = set(listed.stdout.decode("utf-8", "surrogateescape").split("\0")) if not listed.returncode else set()
        found += [(name, "") for name in sorted(names) if PROGRAMS.fullmatch(name)]
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


def top_of(folder: str) -> str:
    """Returns the real path of the work tree around the folder. Raises Refused if git takes another for it."""
    top = os.fsdecode(run(folder, "rev-parse", "--show-toplevel")).rstrip("\n")
    above = here = os.path.realpath(folder)
    while not os.path.lexists(os.path.join(above, ".git")) and above != "/":
        above = os.path.dirname(above)
    if above != top:
        raise Refused(f"git takes {top} for the work tree of {here}: core.worktree in its configuration is wrong")
    return top
