# Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run a detector over one translation unit of a compilation database, and find the lines that are compiled.

Each function takes a Unit and returns plain data; a unit that does not compile raises BrokenUnit with the compiler's words.
"""
import functools
import hashlib
import json
import os
import re
import shlex
import subprocess
import tempfile

LLVM = os.environ.get("VF_LLVM_DIR", "/usr/lib/llvm-22")
TIMEOUT = 600  # seconds; the slowest unit of the corpora takes 60 s alone, and the machine may be shared

REMARK = re.compile(r"(?ms)^--- !(\w+)\n(.*?)^\.\.\.")
ARGUMENT = re.compile(r"(?m)^  - \w+:(.*)$")
DEBUG_LOC = re.compile(r"(?s)DebugLoc:\s*\{\s*File:\s+(?:'((?:[^']|'')*)'|\"((?:[^\"\\]|\\.)*)\"|([^,]*)),\s+Line:\s+(\d+)")
WARNING = re.compile(r"^(.*?):(\d+):\d+: (?:warning|error): (.*) \[([\w.,-]*vfriendly-[\w.,-]*)\]$")
LINE_MARK = re.compile(r'#\s*line\s+(\d+)(?:\s+"(.*)")?')
ROW = re.compile(r"^0x[0-9a-f]{16}\s+(\d+)\s+\d+\s+(\d+)\s")
# Clang cuts what a file's path shares with the compilation directory off, and remarks do not say where: share nothing.
WHOLE_PATHS = "-fdebug-compilation-dir=/vf-corpus"
# A spin hint, as clang writes it before any pass has run.
HINT_CALL = re.compile(r'(?m)^ *(?:tail )?call void (?:@llvm\.x86\.sse2\.pause\(\)|@llvm\.aarch64\.hint\(i32 1\)|'
                       r'asm sideeffect "[^"]*?\b(?:pause|rep *; *nop|rep\\0A\\09nop|yield)\b[^"]*", "[^=+*"]*"\(\)).*\n')
YIELD_CALL = re.compile(r"(?m)^ *(%[\w.]+) = (?:tail )?call i32 @(?:sched_yield|pthread_yield)\(\).*\n")


class BrokenUnit(Exception):
    pass


class Unit:
    """One entry of a compilation database: corpus, directory, file, and the arguments that matter."""

    def __init__(self, corpus, entry):
        self.corpus, self.directory = corpus, entry["directory"]
        self.file = resolve(self.directory, entry["file"])
        self.compiler, self.args = clean(entry.get("arguments") or shlex.split(entry["command"]), self)

    def key(self):
        return hashlib.sha256(json.dumps([self.compiler, self.args, self.directory, self.file]).encode()).hexdigest()[:24]


def resolve(directory, path):
    return os.path.realpath(os.path.join(directory, path))


def clean(words, unit):
    """(compiler, arguments) without the input, the outputs, optimization, debug info and warnings."""
    args, i = [], 1
    while i < len(words):
        w = words[i]
        i += 1
        if w in ("-o", "-MF", "-MT", "-MQ", "-MJ", "--serialize-diagnostics"):
            i += 1
        elif w in ("-I", "-isystem", "-include", "-iquote", "-D", "-U", "-x", "-target", "-Xclang", "-imacros", "-idirafter"):
            args += [w, words[i]]
            i += 1
        elif (w in ("-c", "-MD", "-MMD", "-MP", "-MG", "-M", "-MM", "-pipe", "-S", "-pedantic-errors") or re.match(r"-(O|g|Werror|flto)", w)
              or not w.startswith("-") and resolve(unit.directory, w) == unit.file):
            pass
        else:
            args.append(w)
    cxx = "++" in os.path.basename(words[0])
    # Whatever compiler the database names, the detector is loaded into this one.
    return os.path.join(LLVM, "bin", "clang++" if cxx else "clang"), args + ["-w"]


def run(unit, command, **more):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("VF_SPIN", "VF_HEAP"))}
    try:
        r = subprocess.run(command, cwd=unit.directory, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIMEOUT, **more)
    except subprocess.TimeoutExpired:
        raise BrokenUnit(f"{unit.file}: no end after {TIMEOUT} s")
    out, err = r.stdout.decode(errors="replace"), r.stderr.decode(errors="replace")
    if r.returncode:
        told = [l for l in (err + out).splitlines() if "error" in l] or (err + out).splitlines()[-3:]
        raise BrokenUnit(f"{unit.file}: status {r.returncode}: " + " | ".join(told[:3]))
    return out


def includes(unit):
    """Returns the files that make up the unit."""
    out = run(unit, [unit.compiler, *unit.args, "-M", "-MT", "x", unit.file])
    words = re.findall(r"(?:\\ |\S)+", out.replace("\\\n", " "))[1:]
    return sorted({resolve(unit.directory, w.replace("\\ ", " ")) for w in words})


def code_lines(unit, wanted):
    """{file: lines} of the unoptimized line table, for the wanted files."""
    with tempfile.TemporaryDirectory(prefix="vf-corpus-") as tmp:
        obj = os.path.join(tmp, "x.o")
        run(unit, [unit.compiler, *unit.args, "-O0", "-gline-tables-only", "-gdwarf-4", "-c", unit.file, "-o", obj])
        table = run(unit, [os.path.join(LLVM, "bin", "llvm-dwarfdump"), "--debug-line", obj])
    lines, folders, names, index = {}, {0: unit.directory}, {}, None
    for text in table.splitlines():
        row = ROW.match(text)
        if row:
            path = names.get(int(row.group(2)))
            if path in wanted:
                lines.setdefault(path, set()).add(int(row.group(1)))
        elif text.startswith("debug_line["):
            folders, names = {0: unit.directory}, {}
        elif text.startswith("include_directories["):
            n, _, value = text[len("include_directories["):].partition("]")
            folders[int(n)] = value.split('"', 1)[1].rstrip('"')
        elif text.startswith("file_names["):
            index = int(text[len("file_names["):].partition("]")[0])
        elif text.lstrip().startswith("name:") and index is not None:
            name = text.split('"', 1)[1].rstrip('"')
        elif text.lstrip().startswith("dir_index:") and index is not None:
            folder = os.path.join(unit.directory, folders.get(int(text.split(":")[1]), ""))
            names[index] = resolve(folder, name)
            index = None
    return {f: sorted(l) for f, l in lines.items()}


def remarks(text, unit, feature):
    """[(file, line, kind)] of the feature's part of an optimization record."""
    out = []
    for m in REMARK.finditer(text):
        body = m.group(2)
        name, kind = re.search(r"(?m)^Name:\s*(\w+)", body), re.search(r"(?m)^\s*- Kind:\s*(.*)$", body)
        where = DEBUG_LOC.search(body)
        if name and feature.remarks(m.group(1), name.group(1)):
            if not where:
                raise BrokenUnit(f"{unit.file}: a remark without a place: {body[:200]!r}")
            path = next(g for g in where.groups()[:3] if g is not None).replace("''", "'")
            out.append((resolve(unit.directory, path), int(where.group(4)), kind.group(1).strip("'\" ") if kind else name.group(1)))
    return out


def record_of(unit, plugin, feature):
    """The optimization record of the feature's pass, which is loaded into the compiler at -O2."""
    with tempfile.TemporaryDirectory(prefix="vf-corpus-") as tmp:
        record = os.path.join(tmp, "r.yaml")
        run(unit, [unit.compiler, *unit.args, "-O2", "-gline-tables-only", WHOLE_PATHS, f"-fpass-plugin={plugin}", "-fsave-optimization-record",
                   f"-foptimization-record-file={record}", f"-foptimization-record-passes={feature.passes}",
                   # No code is needed: the pass has run before it would be made.
                   "-emit-llvm", "-c", unit.file, "-o", "/dev/null"])
        with open(record, errors="replace") as f:
            return f.read()


def by_pass(unit, plugin, feature):
    """What the pass finds."""
    return remarks(record_of(unit, plugin, feature), unit, feature)


def all_remarks(unit, plugin, feature):
    """[(file, line, type, name, text)] of every remark of the feature's pass."""
    out = []
    for m in REMARK.finditer(record_of(unit, plugin, feature)):
        body = m.group(2)
        where, name = DEBUG_LOC.search(body), re.search(r"(?m)^Name:\s*(\S+)", body)
        path = next(g for g in where.groups()[:3] if g is not None).replace("''", "'") if where else unit.file
        words = [w.strip() for w in ARGUMENT.findall(body)]
        text = "".join(w[1:-1].replace(2 * w[0], w[0]) if w[:1] in ("'", '"') else w for w in words)
        out.append((resolve(unit.directory, path), int(where.group(4)) if where else 0, m.group(1), name.group(1) if name else "-", text))
    return out


def by_pass_without_hints(unit, plugin, feature):
    """The same after every spin hint and sched_yield has been cut out of the unoptimized code."""
    with tempfile.TemporaryDirectory(prefix="vf-corpus-") as tmp:
        code, record = os.path.join(tmp, "x.ll"), os.path.join(tmp, "r.yaml")
        run(unit, [unit.compiler, *unit.args, "-O2", "-gline-tables-only", WHOLE_PATHS, "-Xclang", "-disable-llvm-passes",
                   "-S", "-emit-llvm", unit.file, "-o", code])
        with open(code, errors="surrogateescape") as f:
            text = HINT_CALL.sub("", f.read())
        # A yield whose result someone reads stays, or the code would be broken.
        text = YIELD_CALL.sub(lambda m: m.group() if reads(text, m) else "", text)
        with open(code, "w", errors="surrogateescape") as f:
            f.write(text)
        run(unit, [os.path.join(LLVM, "bin", "opt"), f"-load-pass-plugin={plugin}", "-passes=default<O2>", f"-pass-remarks-output={record}",
                   f"-pass-remarks-filter={feature.passes}", "-disable-output", code])
        with open(record, errors="replace") as f:
            return remarks(f.read(), unit, feature)


def reads(text, call):
    end = text.find("\n}\n", call.end())
    return re.search(re.escape(call.group(1)) + r"\b", text[call.end():end]) is not None


@functools.lru_cache(maxsize=None)
def line_marks(path):
    """[(line of the mark, number that it gives to the next line, file or None)] of the #line directives of a file."""
    with open(path, errors="replace") as f:
        found = [(n, LINE_MARK.match(text)) for n, text in enumerate(f, 1) if text.startswith("#")]
    return [(n, int(m.group(1)), m.group(2)) for n, m in found if m]


def presumed(unit, path, line):
    """(file, line) by #line, which remarks and line tables follow, but clang-tidy does not."""
    path, name = resolve(unit.directory, path), None
    at = line
    for n, number, file in line_marks(path):
        if n >= line:
            break
        at, name = number + line - n - 1, file or name
    return resolve(unit.directory, name or path), at


def by_check(unit, module, feature):
    """What the feature's clang-tidy checks find, with their own words as kind. A project's own settings may make errors of warnings."""
    out = run(unit, [os.path.join(LLVM, "bin", "clang-tidy"), f"--load={module}", f"--checks=-*,{feature.check}", "--header-filter=.*",
                     "--warnings-as-errors=-*", "--quiet", unit.file, "--", *(["--driver-mode=g++"] if unit.compiler.endswith("++") else []), *unit.args])
    found = [WARNING.match(l) for l in out.splitlines()]
    return [(*presumed(unit, m.group(1), int(m.group(2))), m.group(3)) for m in found if m]
