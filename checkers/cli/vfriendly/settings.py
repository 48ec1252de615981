# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""vfriendly.toml: a project's defaults of options. What the command line says wins.

The file is that of the working directory or of the nearest folder above it, up to the root of the git work tree. It may
be that of a change under review, so it names no program, no library and no file to write.

  build = "out/debug"              # folder of compile_commands.json
  checks = "vfriendly-*,-vfriendly-heap-churn*"
  baseline = "known.sarif"
  profile = "before.json"
  fail-on = "warning"
"""

import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

from vfriendly import allowed, ownership, regular
from vfriendly.errors import Refused

NAME = "vfriendly.toml"
# Options, and whether they are files or folders, which are relative to the file.
_PATHS = {"build": True, "checks": False, "baseline": True, "profile": True, "fail-on": False}
_LEVELS = ("note", "warning", "error", "never")
_LARGEST = 1 << 16  # bytes: some 1000 times what the options take


def find(folder: Path) -> Path | None:
    """Returns the file; not one that another user has put into a folder above, as into /tmp."""
    top = next((each for each in (folder, *folder.parents) if (each / ".git").exists()), None)
    found = ownership.nearest(NAME, folder)[0]
    return found[0] if found and (not top or found[0].parent.is_relative_to(top)) else None


def _read(path: Path) -> dict[str, Any]:
    try:
        import tomllib
    except ImportError:
        raise Refused(f"{path}: reading it needs Python 3.11") from None
    try:
        with regular.open_regular(path) as file:
            text = file.read(_LARGEST + 1)
        if len(text) > _LARGEST:
            raise Refused(f"{path}: is larger than {_LARGEST >> 10} KiB")
        read: dict[str, Any] = tomllib.loads(text.decode())
        return read
    except OSError as error:
        raise Refused(f"{path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise Refused(f"{path}: {error}") from None


def defaults(options: Collection[str], folder: Path | None = None) -> dict[str, str]:
    """Returns the defaults that a project's file gives, of the options that a command has. Raises Refused."""
    path = find(folder or Path.cwd())
    if not path:
        return {}
    found = {}
    for name, value in _read(path).items():
        if name not in _PATHS:
            raise Refused(f"{path}: no setting '{name}': there are {', '.join(_PATHS)}")
        if not isinstance(value, str) or not value:
            raise Refused(f"{path}: {name} must be a text")
        if name == "fail-on" and value not in _LEVELS:
            raise Refused(f"{path}: fail-on '{value}': there are {', '.join(_LEVELS)}")
        if name == "checks" and not all(allowed.OWN_CHECK.fullmatch(glob.strip()) for glob in value.split(",")):
            raise Refused(f"{path}: checks '{value}': their names begin with vfriendly-")
        key = name.replace("-", "_")
        if key in options:
            found[key] = os.path.join(path.parent, value) if _PATHS[name] else value
    return found
