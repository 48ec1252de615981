# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_properties.py CASES: whatever is in databases, caches, options and names of files, the tool ends with one of its
statuses and without a traceback. clang-tidy is left out: a case takes milliseconds. 10,000 cases take some minutes."""

import contextlib
import io
import json
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from unittest import mock

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

sys.path.insert(0, os.path.join(os.environ["VF_SOURCE"], "checkers", "cli"))
from vfriendly import cache, cli, tools, unit  # noqa: E402

CASES = int(sys.argv[1])
FOUND = tools.Tools("/bin/true", "/bin/true", "-*,vfriendly-*", ("vfriendly-spin-loops",), "identity")
HOME = tempfile.mkdtemp(prefix="vf-properties-")
STATUSES = {0, 1, 2, 3}
ODD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")

text = st.text(st.characters(), max_size=20) | st.sampled_from(
    ["", ".", "..", "/", "a.c", "./a.c", "/dev/null", "a\0b", "\ud800.c", "\udce9.c", "\033[2K.c", "\n::error::x", "-", "--", "@", "@/dev/zero",
     "@a.c", "~", "*", "x" * 5000, "'", '"', "clang", "-I", "-Xclang", "-x", "-D", "-o", "-fplugin=x", "##[error]", "fifo.c", "loop.c"])
# Words that the system can pass on a command line.
word = text.filter(lambda t: "\0" not in t and all(not "\ud800" <= c <= "\udc7f" and not "\udd00" <= c <= "\udfff" for c in t))
json_value = st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | text,
                          lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4), max_leaves=8)
row = st.fixed_dictionaries({}, optional={
    "directory": text | st.just("DIR") | json_value, "file": text | st.just("a.c") | json_value,
    "arguments": st.lists(text, max_size=6) | json_value, "command": text | json_value})
database = st.lists(row | json_value, max_size=4) | json_value
diagnostic = st.lists(json_value, min_size=6, max_size=9) | st.tuples(
    text, text, text, st.integers(), text, st.none() | st.lists(st.integers(), max_size=5),
    st.lists(st.tuples(text, st.integers(), st.integers(), text) | json_value, max_size=2),
    st.lists(st.tuples(text, st.integers(), text) | json_value, max_size=2)).map(list)
entry = json_value | st.fixed_dictionaries(
    {"files": st.just([]) | json_value, "digest": st.just("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855") | json_value,
     "result": st.fixed_dictionaries({}, optional={"status": st.just("ok") | json_value, "reason": text | json_value, "dropped": json_value,
                                                   "diagnostics": st.lists(diagnostic, max_size=3)}) | json_value})
yaml_text = st.just("") | text | json_value.map(lambda v: json.dumps({"Diagnostics": [v]})) | st.fixed_dictionaries(
    {"DiagnosticName": text, "BuildDirectory": text, "Level": text, "DiagnosticMessage": st.fixed_dictionaries(
        {"Message": text, "FilePath": text | st.just("a.c"), "FileOffset": st.integers(), "Replacements": st.just([]) | json_value},
        optional={"Ranges": json_value})}).map(lambda d: json.dumps({"Diagnostics": [d]}))
command = st.sampled_from(["scan", "report"])
options = st.lists(st.sampled_from(["-q", "--no-cache", "--fix", "--baseline=base.json", "--format=sarif", "--format=github", "--format=github-review",
                                    "--format=gitlab", "--format=rdjson", "--format=gerrit", "--jobs=1", "--timeout=nan", "--timeout=1e400"]) |
                   st.tuples(st.sampled_from(["--root", "--title", "--fail-on", "--jobs", "--timeout", "-o", "--checks", "--profile"]), word)
                   .map(lambda pair: f"{pair[0]}={pair[1]}") | word, max_size=4)


@settings(max_examples=CASES, deadline=None, database=None, suppress_health_check=list(HealthCheck), derandomize=os.environ.get("VF_TEST_SEED") == "0")
@given(command, options, database, entry, json_value, yaml_text, json_value, st.integers(-2, 255))
def never_a_traceback(verb, words, rows, kept, index, exported, base, status):
    folder = Path(HOME, "tree")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    os.chdir(folder)
    (folder / "a.c").write_bytes(b"int a;\r\r\n\xff\n")
    os.mkfifo(folder / "fifo.c")
    os.symlink("loop.c", folder / "loop.c")
    (folder / "compile_commands.json").write_text(json.dumps(rows).replace('"DIR"', json.dumps(str(folder))))
    (folder / "base.json").write_text(json.dumps(base))
    store = folder / "store"
    store.mkdir(mode=0o700)
    (store / "files.json").write_text(json.dumps(index))

    def ran(child, cwd, timeout, children=None, variables=None):
        assert all(isinstance(w, str) and b"\0" not in os.fsencode(w) for w in child)
        for w in child:
            if w.startswith("--export-fixes="):
                Path(w.split("=", 1)[1]).write_text(exported, errors="surrogatepass")
        return (None if status == -2 else status if status < 3 or status > 127 else 0), exported

    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8", "strict"), io.StringIO()
    replaced = [mock.patch.object(tools, "find", lambda *_: FOUND), mock.patch.object(unit, "run_bounded", ran),
                mock.patch.object(cache.Cache, "entry", lambda self, key: kept if isinstance(kept, dict) and cache.are_words(kept.get("files")) else None),
                mock.patch.dict(os.environ, XDG_CACHE_HOME=str(store)), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err)]
    with contextlib.ExitStack() as stack:
        for each in replaced:
            stack.enter_context(each)
        try:
            ended = cli.main([verb, *words])
        except SystemExit as end:
            ended = end.code or 0
    told = err.getvalue()
    assert ended in STATUSES and "Traceback" not in told and "internal error" not in told, (verb, words, ended, told)
    assert not ODD.search(told), ascii(told)


try:
    never_a_traceback()
    print(f"{CASES} cases")
finally:
    os.chdir("/")
    shutil.rmtree(HOME, ignore_errors=True)
