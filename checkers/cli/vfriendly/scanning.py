# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scans a project: its units in parallel, findings merged, named and ranked."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vfriendly import escaping, fingerprint, fixes, git, program
from vfriendly.database import Unit
from vfriendly.errors import Refused
from vfriendly.findings import Finding, Remark, merge
from vfriendly.sources import Sources, real
from vfriendly.unit import Outcome

if TYPE_CHECKING:
    from vfriendly.measuring.joining import Joined

Outcomes = list[tuple[Unit, Outcome]]
Runner = Callable[[Sequence[Unit]], Iterator[tuple[Unit, Outcome]]]


@dataclass(frozen=True)
class Problem:
    """A unit that was not examined, or only in part."""

    path: str
    status: str
    reason: str


@dataclass
class Result:
    root: str
    findings: list[Finding]
    problems: list[Problem]
    sources: Sources
    units: int = 0
    cached: int = 0
    other_languages: int = 0
    dropped: list[str] = field(default_factory=list)
    # Options that do not only say how to read the code.
    left_out: list[str] = field(default_factory=list)
    # For a review: the ranges of lines that the diff shows, for each file.
    hunks: dict[str, list[tuple[int, int]]] | None = None
    # With a profile: what the findings cost.
    joined: "Joined | None" = None


def project_root(units: Sequence[Unit], build: str) -> str:
    """Returns the root of the git work tree that contains the sources; else their common folder."""
    here = units[0].file if units else build
    folder = os.path.dirname(here)
    while folder and not os.path.isdir(folder) and folder != "/":
        folder = os.path.dirname(folder)
    try:
        return git.top_of(folder or "/")
    except Refused:
        pass  # there is no git, or it trusts no work tree here
    base = os.path.abspath(build)
    base = base if os.path.isdir(base) else os.path.dirname(base)
    folders = [os.path.dirname(u.file) for u in units]
    common = os.path.commonpath([base, *folders])
    return common if common != "/" else os.path.commonpath(folders)


def in_threads(examine: Callable[[Unit], Outcome], jobs: int, stop: Callable[[], None]) -> Runner:
    def run(units: Sequence[Unit]) -> Iterator[tuple[Unit, Outcome]]:
        pool = ThreadPoolExecutor(jobs)
        waiting: dict[Future[Outcome], Unit] = {pool.submit(examine, u): u for u in units}
        try:
            while waiting:
                done, _ = wait(waiting, return_when=FIRST_COMPLETED)
                for future in done:
                    yield waiting.pop(future), future.result()
        finally:
            if waiting:
                stop()
            pool.shutdown(cancel_futures=True)
    return run


class Progress:
    """Shows progress: a bar on a terminal, elsewhere a line after each tenth of the units."""

    def __init__(self, total: int, quiet: bool = False) -> None:
        self.total, self.done, self.quiet = total, 0, quiet
        self._bar = None
        if not quiet and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
            self._bar = Progress(TextColumn("scanning"), BarColumn(), MofNCompleteColumn(),
                                 TimeRemainingColumn(), TextColumn("{task.description}", markup=False),
                                 console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task("", total=total)

    def __enter__(self) -> "Progress":
        if self._bar:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar:
            self._bar.stop()

    def step(self, what: str) -> None:
        self.done += 1
        if self._bar:
            self._bar.update(self._task, advance=1, description=escaping.terminal(what))
        elif not self.quiet and self.total >= 10 and \
                self.done * 10 // self.total != (self.done - 1) * 10 // self.total:
            escaping.say(f"{self.done} of {self.total} units")


def outcomes_of(units: Sequence[Unit], runner: Runner, quiet: bool = False) -> Outcomes:
    # The largest units come first, so that no long one begins last.
    def size(unit: Unit) -> int:
        try:
            return -os.stat(unit.file).st_size
        except OSError:
            return 0

    done: Outcomes = []
    with Progress(len(units), quiet) as progress:
        for unit, outcome in runner(sorted(units, key=size)):
            done.append((unit, outcome))
            progress.step(os.path.basename(unit.file))
    return sorted(done, key=lambda pair: pair[0].name)


def _readable_name(unit: Unit) -> str:
    """Returns the real path; for a link to nothing its own path, because that is where it can be mended."""
    return real(unit.directory, unit.file) if os.path.exists(unit.file) else unit.file


def gather(outcomes: Outcomes, root: str, sources: Sources | None = None) -> Result:
    sources = sources or Sources()
    findings = merge((u.name, program.without_conditions(o.diagnostics)) for u, o in outcomes)
    for f in findings:
        files = {real(root, name.split("\0")[0]) for name in f.units}
        f.units = sorted(fingerprint.relative(name, root) for name in files)
    fingerprint.add(findings, sources, root)
    fixes.with_line_ends(findings, sources)
    problems = sorted({Problem(_readable_name(u), o.status, o.reason) for u, o in outcomes
                       if o.status != "ok"}, key=lambda p: (p.path, p.status, p.reason))
    return Result(
        root, findings, problems, sources, len(outcomes), sum(o.cached for _, o in outcomes),
        dropped=sorted({flag for _, o in outcomes for flag in o.dropped}),
        left_out=sorted({option for u, _ in outcomes for option in u.left_out}),
    )


def remarks_of(units: Sequence[Unit], runner: Runner) -> list[Remark]:
    return [r for _, outcome in outcomes_of(units, runner, quiet=True) for r in outcome.remarks]
