# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the passes do at each finding: compiles units with the plugin and reads its remarks."""

import os
import re
import time
from collections.abc import Iterable
from typing import Any

from vfriendly import cache, documents, exported, regular, temporary
from vfriendly.database import Unit
from vfriendly.findings import Finding, Remark
from vfriendly.sources import Sources
from vfriendly.tools import Tools
from vfriendly.unit import Examiner, Outcome, read_files, run_bounded

# Options to remove from the command: those that name outputs, and those that would change where
# remarks point or which passes run.
WITH_VALUE = {"-o", "-MF", "-MT", "-MQ", "-MJ", "--serialize-diagnostics"}
ALONE = re.compile(r"-(c|S|E|M|MM|MD|MMD|MP|MG|g.*|O.*|flto.*|Werror.*)$")
# Makes the paths in remarks absolute: without this option they are relative to the folders in the
# debug info, which remarks do not name.
WHOLE_PATHS = "-fdebug-compilation-dir=/vfriendly"


def compile_flags(arguments: Iterable[str], unit: Unit) -> list[str]:
    words, kept = iter(list(arguments)[1:]), list[str]()
    for word in words:
        if word in WITH_VALUE:
            next(words, None)
        elif not ALONE.match(word) and \
                (word.startswith("-") or os.path.join(unit.directory, word) != unit.file):
            kept.append(word)
    return kept


class Compiler:
    """Compiles units; results are cached as those of clang-tidy are."""

    def __init__(self, tools: Tools, store: cache.Cache, timeout: float) -> None:
        self.tools, self.store, self.timeout = tools, store, timeout
        self._guard = Examiner(tools, store, timeout)  # only for its list of children
        self._children: set[int] = set()

    def stop(self) -> None:
        self._guard._children = self._children
        self._guard.stop()

    def __call__(self, unit: Unit) -> Outcome:
        key = cache.key_of("remarks", self.tools.plugin_identity, unit.directory, unit.file,
                           unit.arguments)
        stored = self.store.load(key)
        if stored:
            try:
                return Outcome("ok", remarks=[Remark.from_json(row) for row in stored["remarks"]])
            except (KeyError, ValueError, TypeError):
                pass  # something else has written it
        began = time.time_ns()
        outcome = self._compile(unit)
        if outcome.status == "ok":
            rows: list[list[Any]] = [[r.kind, r.name, r.path, r.line, r.column, r.text, r.function]
                                     for r in outcome.remarks]
            self.store.store(key, began, outcome.files, {"remarks": rows})
        return outcome

    def _compile(self, unit: Unit) -> Outcome:
        compiler = self.tools.clang
        if "++" in os.path.basename(unit.arguments[0]):
            compiler += "++"
        with temporary.folder() as folder:
            record, read = os.path.join(folder, "record.yaml"), os.path.join(folder, "read.d")
            command = [
                compiler, *compile_flags(unit.arguments, unit), "-w", "-O2", "-g", WHOLE_PATHS,
                f"-fpass-plugin={self.tools.plugin}", "-fsave-optimization-record",
                f"-foptimization-record-file={record}", "-foptimization-record-passes=vf-.*",
                "-MD", "-MF", read, "-emit-llvm", "-c", unit.file, "-o", os.path.join(folder, "x.bc"),
            ]
            status, errors = run_bounded(command, unit.directory, self.timeout, self._children)
            if status != 0:
                what = (errors.splitlines() or ["no end" if status is None else f"status {status}"])[0]
                return Outcome("failed", f"no remarks: {what[:300]}")
            try:
                data = regular.read(record) if os.path.exists(record) else b""
                found = exported.remarks(data, unit.directory)
                files = read_files(os.fsdecode(regular.read(read)), unit.directory)
            except (*documents.WRONG, OSError) as error:
                what = (str(error).splitlines() or [type(error).__name__])[0]
                return Outcome("failed", f"its remarks cannot be read: {what}")
            return Outcome("ok", files=files, remarks=found)


def join(findings: Iterable[Finding], found: Iterable[Remark], sources: Sources) -> None:
    """Gives each finding the remarks at its place. The passes count columns in bytes."""
    by_place: dict[tuple[str, int, int], set[Remark]] = {}
    for r in found:
        by_place.setdefault((r.path, r.line, r.column), set()).add(r)
    for f in findings:
        place = sources[f.path].position(f.offset)
        at = by_place.get((f.path, place.line, place.byte), set())
        # Instances of a template and inlined copies give the same remark several times.
        texts = {(r.kind, r.name, r.text): r for r in at}
        f.remarks = [texts[key] for key in sorted(texts)]
