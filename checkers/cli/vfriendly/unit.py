# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Examines one unit: one clang-tidy on a database of one entry.

Findings are read from --export-fixes, never from the text; the list of files read, which
the cache goes by, is the compiler's own.
"""

import json
import os
import re
import select
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vfriendly import allowed, cache, documents, exported, ownership, program, regular, temporary, tools
from vfriendly import children as bounds
from vfriendly.database import Unit
from vfriendly.errors import Refused
from vfriendly.findings import Diagnostic, Remark
from vfriendly.sources import Source, real
from vfriendly.tools import Tools

# Maximum size in bytes of a source file to examine. A parsed unit takes about 30 times the size of
# its text. The largest source files that people write by hand or amalgamate are far smaller
# (SQLite: 9 MB).
LARGEST = 64 << 20
UNKNOWN = [
    re.compile(r"unknown argument:? '([^']+)'"),
    re.compile(r"unsupported option '([^']+)'"),
    re.compile(r"invalid value '[^']*' in '([^']+)'"),
    re.compile(r"unsupported argument '(?P<value>[^']+)' to option '(?P<option>[^']+)'"),
]
COMPILER = "clang-diagnostic-"
LONGEST_ERRORS = 1 << 20  # bytes of stderr that are read
# tools.find() of the default of --checks
DEFAULT_CHECKS = (f"-*,{tools.DEFAULT}", f"-*,{tools.DEFAULT_WITH_BLOCKS}")
FOREIGN = "another user's"  # in place of a digest
LONGEST_POLL_MS = 2**31 - 1  # poll takes an int: 24 days


@dataclass
class Outcome:
    """status: ok; partial (findings may be missing); anything else: not examined."""

    status: str
    reason: str = ""
    diagnostics: list[Diagnostic] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    cached: bool = False
    remarks: list[Remark] = field(default_factory=list)
    facts: list[program.Fact] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        return {"status": self.status, "reason": self.reason, "dropped": self.dropped,
                "diagnostics": [d.to_json() for d in self.diagnostics], "facts": self.facts}

    @staticmethod
    def from_json(row: dict[str, Any], files: list[str]) -> "Outcome":
        found = [Diagnostic.from_json(d) for d in row["diagnostics"]]
        dropped, facts = row["dropped"], row["facts"]
        if row["status"] != "ok" or not isinstance(row["reason"], str) or not cache.are_words(dropped) \
                or not isinstance(facts, list) or not all(map(program.is_fact, facts)):
            raise ValueError("it is no entry of the cache")
        return Outcome("ok", row["reason"], found, dropped, files, cached=True, facts=facts)


def configuration(file: str) -> list[tuple[str, str]]:
    """Returns the .clang-tidy files that concern a file, the nearest first, with digests."""
    found = []
    paths, foreign = ownership.nearest(".clang-tidy", Path(file).parent)
    for path in paths:
        found.append((str(path), cache.Files().digest(str(path)) or ""))
        try:
            if documents.settings(str(path)).get("InheritParentConfig") is not True:
                return found
        except (OSError, ValueError):
            return found  # Examiner says what is wrong with it
    if found and foreign:
        found.append((str(foreign), FOREIGN))
    return found


def _own_globs(named: Any) -> list[str]:
    """Returns the globs of vfriendly's checks in a list of checks: a text with commas, or a list of such texts."""
    texts = [t for t in (named if isinstance(named, list) else [named]) if isinstance(t, str)]
    globs = [glob.strip() for text in texts for glob in re.split("[,\n]", text)]
    return [glob for glob in globs if allowed.OWN_CHECK.fullmatch(glob)]


def checks(file: str, given: str) -> str:
    """Returns the checks of a unit: those given, or what the nearest .clang-tidy says of vfriendly's.

    Only names that begin with vfriendly- count: a file that selects other checks with -* has not asked for none of
    these.
    """
    if given not in DEFAULT_CHECKS:
        return given
    for path, _ in configuration(file):
        try:
            own = _own_globs(documents.settings(path).get("Checks"))
        except (OSError, ValueError):
            continue  # Examiner says what is wrong with it
        if own:
            return ",".join(["-*", *([] if not own[0].startswith("-") else [tools.DEFAULT]), *own])
    return given


def key(unit: Unit, tools: Tools, extra: Sequence[str]) -> str:
    return cache.key_of("tidy", tools.identity, unit.directory, unit.file, unit.arguments,
                        list(extra), configuration(unit.file), unit.known)


def read_files(text: str, directory: str) -> list[str]:
    """Returns the prerequisites in a makefile rule that clang has written."""
    words = re.findall(r"(?:\\[ #]|\$\$|\S)+", text.replace("\\\n", " "))
    names = [w.replace("\\ ", " ").replace("\\#", "#").replace("$$", "$") for w in words]
    # The target of the make rule is the name of the object file. This name may contain spaces, so
    # the target ends at the first word with a colon at its end.
    first = next((i for i, n in enumerate(names) if n.endswith(":")), -1)
    return [real(directory, n) for n in names[first + 1:]]


def _wait(child: "subprocess.Popen[bytes]", timeout: float) -> int | None:
    """Returns the exit status; None after the timeout. Popen.wait would return up to 50 ms late."""
    try:
        handle = os.pidfd_open(child.pid)
    except (AttributeError, OSError):  # not Linux, or a container that forbids it
        try:
            return child.wait(timeout)
        except subprocess.TimeoutExpired:
            return None
    try:
        ended = select.poll()
        ended.register(handle, select.POLLIN)
        return child.wait() if ended.poll(min(timeout * 1000, LONGEST_POLL_MS)) else None
    finally:
        os.close(handle)


def run_bounded(command: Sequence[str], cwd: str, timeout: float,
                children: set[int] | None = None,
                variables: dict[str, str] | None = None) -> tuple[int | None, str]:
    """Returns the exit status (None after the timeout) and stderr. Kills processes that are left.

    variables: of the environment, besides those of this process.
    """
    with tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors,
                                 start_new_session=True, preexec_fn=bounds.die_with_parent(),
                                 env={**temporary.environment(), **(variables or {})})
        if children is not None:
            children.add(child.pid)
        # A unit could otherwise fill the disk with messages, and the memory.
        bounds.limit(child.pid)
        try:
            status = _wait(child, timeout)
        finally:
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
            if children is not None:
                children.discard(child.pid)
        errors.seek(0)
        return status, errors.read(LONGEST_ERRORS).decode("utf-8", "replace")


class _Unconfigured(Exception):
    """clang-tidy does not understand a .clang-tidy."""


# What a .clang-tidy may set. Its checks are for checks().
_SETTINGS = ("WarningsAsErrors", "HeaderFileExtensions", "ImplementationFileExtensions", "ExcludeHeaderFilterRegex",
             "FormatStyle", "CheckOptions", "SystemHeaders")


def _words(value: Any) -> list[str]:
    return [str(word) for word in value if isinstance(word, (str, int, float))] if isinstance(value, list) else []


def _configuration_options(wanted: dict[str, Any]) -> list[str]:
    kept = {name: wanted[name] for name in _SETTINGS if wanted.get(name) is not None}
    options = [f"--config={json.dumps(kept)}"]
    for name, option in (("ExtraArgsBefore", "--extra-arg-before"), ("ExtraArgs", "--extra-arg")):
        options += [f"{option}={word}" for word in allowed.extra(_words(wanted.get(name)))]
    return options


class Examiner:
    """Examines units with the same tools and options; used from several threads."""

    def __init__(self, found: Tools, store: cache.Cache, timeout: float,
                 extra: Sequence[str] = ()) -> None:
        self.tools, self.store, self.timeout, self.extra = found, store, timeout, tuple(extra)
        self._lock = threading.Lock()
        self._unknown: set[str] = set()
        self._children: set[int] = set()
        self._stopped = False
        self._distrusted: set[str] = set()
        self._configurations: dict[tuple[tuple[str, str], ...], list[str]] = {}

    def stop(self) -> None:
        """Ends what runs; used when the whole scan is interrupted."""
        self._stopped = True
        for child in list(self._children):
            try:
                os.killpg(child, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def cached(self, unit: Unit) -> Outcome | None:
        name = key(unit, self.tools, self.extra)
        result = self.store.load(name) if name not in self._distrusted else None
        if result is None:
            return None
        entry = self.store.entry(name) or {}
        try:
            return Outcome.from_json(result, entry.get("files", []))
        except (KeyError, ValueError, TypeError):
            return None  # something else has written it

    def distrust(self, unit: Unit) -> None:
        """Lets the unit be examined again: it may read other files than those by which its result is known."""
        self._distrusted.add(key(unit, self.tools, self.extra))

    def known_files(self, unit: Unit) -> list[str] | None:
        """Returns the files that the unit read when it was last examined; they may have changed since."""
        entry = self.store.entry(key(unit, self.tools, self.extra))
        return entry["files"] if entry else None

    def __call__(self, unit: Unit) -> Outcome:
        if self._stopped:
            return Outcome("failed", "interrupted")
        done = self.cached(unit)
        if done:
            return done
        began = time.time_ns()
        done = self.examine(unit)
        if done.status == "ok" and done.files:
            self.store.store(key(unit, self.tools, self.extra), began, done.files, done.to_json())
        return done

    def examine(self, unit: Unit, overlay: str = "") -> Outcome:
        """Runs clang-tidy; if clang does not know some flags, runs it again without them."""
        try:
            with regular.open_regular(unit.file) as source:
                size = os.fstat(source.fileno()).st_size
        except FileNotFoundError:
            return Outcome("missing", "the file does not exist")
        except OSError as error:
            return Outcome("unreadable", f"it cannot be read: {error.strerror}")
        if size > LARGEST:
            return Outcome("too-large", f"it has {size >> 20} MiB, more than {LARGEST >> 20}")
        if not os.path.isdir(unit.directory):
            return Outcome("missing", f"its folder {unit.directory} does not exist")
        dropped: list[str] = []
        deadline = time.monotonic() + self.timeout
        try:
            options = self._configured(unit.file)
        except _Unconfigured as error:
            return Outcome("failed", f"its .clang-tidy cannot be read: {error}")
        while True:
            with self._lock:
                dropped += [a for a in unit.arguments[1:]
                            if a in self._unknown and a not in dropped]
            arguments = [a for a in unit.arguments if a not in dropped]
            done, unknown = self._once(unit, arguments, overlay, options, deadline - time.monotonic())
            fresh = [a for a in unknown if a in arguments and allowed.stands_alone(a)]
            if not fresh:
                done.dropped = sorted(dropped)
                return done
            with self._lock:
                self._unknown.update(fresh)

    def _configured(self, file: str) -> list[str]:
        """Returns options in place of .clang-tidy, which could pass any option to the compiler."""
        found = tuple(configuration(file))
        if not found:
            return ["--config={}"]
        if found not in self._configurations:
            tidy = [self.tools.clang_tidy, f"--load={self.tools.module}", f"--checks={self.tools.checks}"]
            try:
                for path, digest in found:
                    if digest == FOREIGN:
                        raise _Unconfigured(f"it inherits {path}, which is another user's")
                    documents.settings(path)
                status, text, told = tools.output([*tidy, "--dump-config", file, "--"], "/")
                if status:
                    raise _Unconfigured((told.strip().splitlines() or [f"status {status}"])[0][:300])
                wanted = documents.yaml_of(text)
                self._configurations[found] = _configuration_options(wanted if isinstance(wanted, dict) else {})
            except OSError as error:
                raise _Unconfigured(str(error.strerror)) from error
            except (Refused, ValueError) as error:
                raise _Unconfigured(str(error).splitlines()[0]) from error
        return self._configurations[found]

    def _once(self, unit: Unit, arguments: list[str], overlay: str, options: list[str],
              seconds: float) -> tuple[Outcome, list[str]]:
        with temporary.folder() as folder:
            fixes, read = os.path.join(folder, "fixes.yaml"), os.path.join(folder, "read.d")
            told, index = os.path.join(folder, "facts"), os.path.join(folder, "index")
            Path(index).write_text("".join(line + "\n" for line in unit.known), encoding="utf-8")
            with open(os.path.join(folder, "compile_commands.json"), "w", encoding="utf-8") as db:
                json.dump([unit.entry(arguments)], db)
            command = [
                self.tools.clang_tidy, f"--load={self.tools.module}",
                f"--checks={checks(unit.file, self.tools.checks)}", "--header-filter=.*", "--quiet",
                f"--export-fixes={fixes}", "-p", folder, *options, "--extra-arg=-Wno-error",
                # Passes -MD to the preprocessor, because clang-tidy removes the options -MD and -MF
                # from the command.
                f"--extra-arg=-Wp,-MD,{read}", *self.extra,
                *([f"--vfsoverlay={overlay}"] if overlay else []), unit.file,
            ]
            try:
                status, errors = run_bounded(command, unit.directory, max(seconds, 0), self._children,
                                             {"VF_FACTS": told, "VF_INDEX": index})
            except OSError as error:
                return Outcome("failed", f"clang-tidy does not start: {error}"), []
            if status is None:
                return Outcome("timeout", f"clang-tidy had no end after {self.timeout:g} s"), []
            if status < 0 or status >= 128:
                number = -status if status < 0 else status - 128
                return Outcome("crashed", f"clang-tidy crashed ({_signal(number)})"), []
            try:
                data = regular.read(fixes) if os.path.exists(fixes) else b""
                found = exported.diagnostics(data)
            except (*documents.WRONG, OSError) as error:
                what = (str(error).splitlines() or [type(error).__name__])[0]
                return Outcome("failed", f"its results cannot be read: {what}"), []
            files = read_files(os.fsdecode(regular.read(read)), unit.directory) if os.path.exists(read) else []
            # The driver reports unknown flags in messages without a location.
            texts = [errors, *(d.message for d in found if not d.path)]
            unknown = [_flag(m) for text in texts for p in UNKNOWN for m in p.finditer(text)]
            outcome = self._judge(status, errors, found, files)
            outcome.facts = program.facts(regular.read(told)) if os.path.exists(told) else []
            return outcome, unknown

    def _judge(self, status: int, errors: str, found: list[Diagnostic],
               files: list[str]) -> Outcome:
        ours = [d for d in found if not d.check.startswith(COMPILER) and d.path]
        broken = [d for d in found if d.check.startswith(COMPILER) and d.level == "Error"]
        if broken:
            return Outcome("partial", f"it does not compile: {_place(broken[0])}", ours, [], files)
        told = [line for line in errors.splitlines() if "error:" in line or "Error " in line]
        if status and not ours:
            what = (told or errors.splitlines() or [f"status {status}"])[0]
            return Outcome("failed", f"clang-tidy failed: {what[:300]}")
        return Outcome("ok", "", ours, [], files)


def _flag(match: "re.Match[str]") -> str:
    named = match.groupdict()
    return named["option"] + named["value"] if named else match.group(1)


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"status {number}"


def _place(d: Diagnostic) -> str:
    if not d.path:
        return d.message
    try:
        line = Source(regular.read(d.path)).position(d.offset).line
    except OSError:
        return f"{d.path}: {d.message}"
    return f"{d.path}:{line}: {d.message}"
