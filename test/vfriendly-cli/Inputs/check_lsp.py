# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_lsp.py FOLDER [PYTHON]: a session: open, take a fix, save, as recorded."""

import json
import subprocess
import sys

from project import HERE, TOOL, Project


class Client:
    def __init__(self, project, python):
        self.child = subprocess.Popen([python, TOOL, "lsp", "-p", "."], cwd=project.root, env=project.environment,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.number, self.log, self.root = 0, [], str(project.root)

    def send(self, method, params, request=False):
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        if request:
            self.number += 1
            message["id"] = self.number
        data = json.dumps(message).encode()
        self.child.stdin.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        self.child.stdin.flush()

    def receive(self, wanted):
        """The next message that is an answer (wanted is None) or a notification of that method."""
        while True:
            length = 0
            while (line := self.child.stdout.readline().strip()):
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            assert length, "the server has ended"
            message = json.loads(self.child.stdout.read(length))
            if wanted is None and "id" in message or message.get("method") == wanted:
                value = message.get("result", message.get("params"))
                if wanted or self.number > 1:
                    self.log.append({"message": wanted or "answer", "value": value})
                return value

    def ask(self, method, params):
        self.send(method, params, request=True)
        return self.receive(None)


def apply(text, edits):
    lines = text.split("\n")

    def offset(at):
        row = lines[at["line"]].encode("utf-16-le")[:2 * at["character"]].decode("utf-16-le")
        return sum(len(line) + 1 for line in lines[:at["line"]]) + len(row)
    for edit in sorted(edits, key=lambda e: -offset(e["range"]["start"])):
        begin, end = offset(edit["range"]["start"]), offset(edit["range"]["end"])
        text = text[:begin] + edit["newText"] + text[end:]
    return text


def main():
    project = Project(sys.argv[1])
    client = Client(project, next((a for a in sys.argv[2:] if a != "--record"), sys.executable))
    path = project.root / "src/utf8.cpp"
    uri, text = path.as_uri(), path.read_text()
    answer = client.ask("initialize", {"processId": None, "rootUri": project.root.as_uri(), "capabilities": {}})
    assert answer["capabilities"]["codeActionProvider"], answer
    client.send("initialized", {})
    document = {"uri": uri, "languageId": "cpp", "version": 1, "text": text}
    client.send("textDocument/didOpen", {"textDocument": document})
    found = client.receive("textDocument/publishDiagnostics")["diagnostics"]
    assert len(found) == 1 and found[0]["range"]["start"] == {"line": 6, "character": 15}, found
    asked = {"textDocument": {"uri": uri}, "range": found[0]["range"], "context": {"diagnostics": found}}
    actions = client.ask("textDocument/codeAction", asked)
    assert len(actions) == 1, actions

    # After typing, the fix's places are no longer right: it is not offered.
    client.send("textDocument/didChange", {"textDocument": {"uri": uri, "version": 2},
                                           "contentChanges": [{"text": "\n" + text}]})
    assert client.ask("textDocument/codeAction", asked) == []

    # Applied and saved: nothing is left.
    fixed = apply(text, actions[0]["edit"]["changes"][uri])
    path.write_text(fixed)
    client.send("textDocument/didChange", {"textDocument": {"uri": uri, "version": 3},
                                           "contentChanges": [{"text": fixed}]})
    client.send("textDocument/didSave", {"textDocument": {"uri": uri}})
    assert client.receive("textDocument/publishDiagnostics")["diagnostics"] == []
    client.ask("shutdown", None)
    client.send("exit", None)
    assert client.child.wait(30) == 0

    got = json.dumps(client.log, indent=1).replace(client.root, "ROOT") + "\n"
    recorded = HERE / "expected" / "session.json"
    if "--record" in sys.argv:
        recorded.write_text(got)
    assert got == recorded.read_text(), got


main()
