# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A language server that shows findings and offers their fixes, on open and on save."""

import threading

from lsprotocol import types
from pygls.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path

from vfriendly import __version__, catalogue, formats, scanning
from vfriendly.database import Unit
from vfriendly.findings import Edit, Finding
from vfriendly.scanning import Result
from vfriendly.sources import Sources, decode, real
from vfriendly.unit import Examiner

SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "note": types.DiagnosticSeverity.Information,
}


def span(sources: Sources, path: str, begin: int, end: int) -> types.Range:
    def at(offset: int) -> types.Position:
        place = sources[path].position(offset)
        return types.Position(place.line - 1, place.utf16 - 1)
    return types.Range(at(begin), at(end))


def uri_of(path: str) -> str:
    return str(from_fs_path(path))


class Editor:
    """The state of the open files. Notifications arrive from several threads."""

    def __init__(self, server: LanguageServer, units: list[Unit], root: str, examiner: Examiner) -> None:
        self.server, self.units, self.root, self.examiner = server, units, root, examiner
        self.results: dict[str, Result] = {}
        self.lock = threading.Lock()

    def units_of(self, path: str) -> list[Unit]:
        """Returns the units of a source; for a header the first unit known to include it."""
        own = [u for u in self.units if real(u.directory, u.file) == path]
        if own:
            return own
        return next(([u] for u in self.units if path in (self.examiner.known_files(u) or ())), [])

    def examine(self, uri: str) -> None:
        path = real("/", to_fs_path(uri) or "")
        units = self.units_of(path)
        if not units:
            return  # no unit reads it, as far as is known
        result = scanning.gather([(u, self.examiner(u)) for u in units], self.root)
        with self.lock:
            self.results[path] = result
        self.server.publish_diagnostics(uri, self.diagnostics(result, path))

    def diagnostics(self, result: Result, path: str) -> list[types.Diagnostic]:
        out = []
        for f in result.findings:
            if f.path != path:
                continue
            end = f.offset + 1
            if f.extent:  # the first line of the construct: more would underline whole bodies
                source = result.sources[path]
                line = source.position(f.offset).line
                end = min(f.extent.end, source.offset(line) + len(source.line(line)))
            rule = catalogue.rule(f.check)
            out.append(types.Diagnostic(
                range=span(result.sources, path, f.offset, max(end, f.offset + 1)), message=f.message,
                severity=SEVERITIES[formats.level(f)], code=f.check, source="vfriendly",
                code_description=types.CodeDescription(rule.url), data=f.fingerprint,
                related_information=[types.DiagnosticRelatedInformation(
                    types.Location(uri_of(n.path), span(result.sources, n.path, n.offset, n.offset)), n.text)
                    for n in f.notes]))
        start = types.Range(types.Position(0, 0), types.Position(0, 0))
        out += [types.Diagnostic(range=start, message=formats.describe_problem(p.status, p.reason),
                                 severity=types.DiagnosticSeverity.Warning, source="vfriendly",
                                 code=formats.NOT_EXAMINED)
                for p in result.problems if p.path == path]
        return out

    def unchanged(self, result: Result, edits: tuple[Edit, ...]) -> bool:
        """Returns True if each file that a fix edits is unchanged in the editor since its examination."""
        for path in {e.path for e in edits}:
            document = self.server.workspace.get_text_document(uri_of(path))
            if document.source.replace("\r\n", "\n") != decode(result.sources[path].data).replace("\r\n", "\n"):
                return False
        return True

    def action(self, finding: Finding, result: Result, given: types.Diagnostic) -> types.CodeAction:
        changes: dict[str, list[types.TextEdit]] = {}
        for e in finding.edits:
            edit = types.TextEdit(span(result.sources, e.path, e.offset, e.offset + e.length), e.text)
            changes.setdefault(uri_of(e.path), []).append(edit)
        return types.CodeAction(f"Apply the fix of {finding.check}", types.CodeActionKind.QuickFix, [given],
                                is_preferred=True, edit=types.WorkspaceEdit(changes))

    def actions(self, params: types.CodeActionParams) -> list[types.CodeAction]:
        with self.lock:
            result = self.results.get(real("/", to_fs_path(params.text_document.uri) or ""))
        if not result:
            return []
        known = {f.fingerprint: f for f in result.findings}
        out = []
        for given in params.context.diagnostics:
            finding = known.get(str(given.data))
            if finding and finding.edits and self.unchanged(result, finding.edits):
                out.append(self.action(finding, result, given))
        return out


def serve(units: list[Unit], root: str, examiner: Examiner) -> None:
    """Serves on standard input and output until the editor ends it."""
    server = LanguageServer("vfriendly", __version__)
    editor = Editor(server, units, root, examiner)

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    @server.thread()
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        editor.examine(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    @server.thread()
    def saved(params: types.DidSaveTextDocumentParams) -> None:
        editor.examine(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION,
                    types.CodeActionOptions([types.CodeActionKind.QuickFix]))
    def actions(params: types.CodeActionParams) -> list[types.CodeAction]:
        return editor.actions(params)

    server.start_io()
    examiner.stop()
