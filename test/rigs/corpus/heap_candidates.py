#!/usr/bin/env python3
# Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""List the places in loops where memory is taken or given back, for a person to judge, as a TSV without any code.

The counterpart of candidates.py for heap churn, likewise without a compiler or a detector: by words alone it finds each call in
the body or the repeated part of the head of a loop that says it takes or releases memory, and each container that a loop
declares. Of the programs in WHOLE every place is listed; of the others, chosen by a hash of seed, file and line,
  --random N      N of all places,
  --both N        N of those whose innermost loop both takes and gives back, or declares a container: where churn is likelier,
and every mmap, munmap, madvise, mprotect and sbrk, which are few.
"""
import argparse
import collections
import multiprocessing
import os
import re
import sys

from candidates import VENDORED, order
from cloops import loops, streams

C, CXX = r"\.[ch]$", r"\.(c|cc|cpp|cxx|h|hh|hpp|ic|inl)$"
PARSEC = "parsec/pkgs/"
# corpus: (root below --src, folders, what to leave out, file names, words of its own beside TAKES)
WHOLE = {
    "dedup": (PARSEC + "kernels/dedup/src", ["."], "^$", C, r"mbuffer_create"),
    "ferret": (PARSEC + "apps/ferret/src", ["."], r"/test", C, r"^(ARRAY|TOPK|LIST)_(INIT|APPEND|CLEANUP|CLEAR)"),
    "cjson": ("cjson-1.7.15", ["."], r"(^|/)(test|fuzz)", C, r"_(Create|Delete|Print|New)"),
    "jansson": ("jansson-2.14", ["src"], "^$", C, r"^json_(object|array|string|integer|real|decref|dumps|deep_copy|copy)$|^strbuffer_(init|close)"),
    "expat": ("expat-2.5.0/expat", ["lib", "xmlwf"], "win32", C, r"ParserCreate|^poolCopy"),
    "lua": ("lua5.4-5.4.4/src", ["."], "^$", C, r"^lua[HSF]_new|^luaM_(?!limitN|error)|^luaH_resize"),
    "zlib": ("zlib-1.2.13.dfsg", [".", "contrib/minizip"], r"(^|/)(test|amiga|contrib/(?!minizip)|doc|old|examples|iowin)", C, r"^(in|de)flate(Init|End)|^gz(d?open|close)"),
}
DRAWN = {
    "vips": (PARSEC + "apps/vips/src", ["."], r"/(po|doc)/", CXX, r"^im_(open|close|region_create)|^g_(new|str\w*v|concat|build)|^IM_(NEW|ARRAY)|^TIFF(Open|Close)"),
    "parsec": (PARSEC, ["apps/blackscholes", "apps/bodytrack", "apps/facesim", "apps/fluidanimate", "apps/freqmine", "apps/raytrace",
                        "apps/swaptions", "apps/x264", "kernels/canneal", "kernels/streamcluster"], VENDORED, CXX, "^$"),
    "nginx": ("nginx-1.22.1", ["src"], r"os/win32", C, r"^ngx_(create|destroy)_(pool|temp_buf|chain)|^ngx_array_(create|init)"),
    "postgresql": ("postgresql-15.18", ["src/backend", "src/port", "src/common", "src/interfaces/libpq", "src/bin/pg_dump"],
                   r"win32|/dirmod\.c|mb/Unicode/|snowball/libstemmer|nls\.mk", C,
                   r"^(init|make)StringInfo$|^MemoryContext(Reset|Delete)|ContextCreate|^ResetExprContext|PQExpBuffer$|^PQclear"),
    "sqlite": ("sqlite3-3.40.1", ["src", "ext/fts3", "ext/fts5", "ext/rtree", "ext/session", "ext/rbu"],
               r"(^|/)(test|tclsqlite|fts5_tcl|fts5_test|fts3_test)|_win|/test|/tool", C, r"^sqlite3\w*(Delete|Destroy|New)(?!dByte)|_str_(new|finish)"),
    "redis": ("redis-7.0.15", ["src"], r"(^|/)(tests?|modules)/", C,
              r"^sds(new|empty|split|join|trim)|^create\w*Object|^(list|dict|lp|rax|quicklist|intset|zsl|ziplist)(Create|New|Release|Empty)|Release$|^decrRefCount$"),
    "haproxy": ("haproxy-2.6.12", ["src"], r"ev_(evports|kqueue)", C, r"_destroy$|^task(let)?_new"),
    "rocksdb": ("rocksdb-7.8.3", ["cache", "db", "env", "file", "logging", "memory", "memtable", "monitoring", "options", "port", "table",
                                  "trace_replay", "util", "utilities", "tools"],
                r"port/win/|_win\.|_test\.|_test_|test_util|_test2?\.cc|_bench|bench_|/mock_|_stress|gtest|testharness|testutil", CXX,
                r"^New[A-Z]\w*(Iterator|File|Block)"),
    "mariadb": ("mariadb-10.11.18", ["storage/innobase", "storage/maria", "mysys", "sql", "client"], r"libmarias3/|my_win|_win\.|" + VENDORED, CXX,
                r"^(mem_heap|ut)_(create|free|new|delete)|^(my_)?init_dynamic|^delete_dynamic$|^String(Buffer)?$"),
    "libxml2": ("libxml2-2.9.14+dfsg", ["."], r"(^|/)(test|run|doc|python|os400|win32|example|fuzz|macos|VxWorks)", C,
                r"^xml(New|Buf\w*Create|\w+Copy|Copy)|^xmlStrn?cat|Create$"),
}
ALL = {**WHOLE, **DRAWN}
SKIP = r"lex\.yy|sql_yacc|/yy_|(^|/)(debian|\.pc)/"  # generated; the packagers' patches and what they replaced
A_LOOP = 2  # drawn places of one loop at most: a loop over the words of a configuration file may have forty
# Redis keeps each module's tests at the end of its file.
CUT = re.compile(r"(?m)^#if(?:def\s+REDIS_TEST| defined\(REDIS_TEST\).*)\n(?![\s\S]*^#if(?:def\s+REDIS_TEST| defined\(REDIS_TEST\)))")

TAKES = re.compile(r"""(?x) alloc | Alloc | ALLOC | (?i:free) | (?i:(str|mem|wcs)n?dup) | Dup$ | _dup$ | dup[a-z]*0?_root | (v?as|m|MP|ps)printf$ |
    ^(std_)?make_(unique|shared)$ | ^v?strconcat | ^delete_?(array|object)$ | ^(resize|reserve|shrink_to_fit)$""")
NOT_TAKES = re.compile(r"""(?x) (?i:allocat(ed|ors?|ions?)$ | alloc(ated)?_?(size|len(gth)?|count|info|stat)\w*$ | freeze|frozen | free_?memory$ |
    free_?bits | free_?(space|bytes|size|count|slots|pages|blocks)$ | get\w*free\w*(space|size) | BenignMalloc | malloc_?(usable|used)\w* | usable_size |
    freopen | memprintf | ^(is|can|needs?|lock|num|on|no)_?\w*free(d|able)?$)""")
GIVES = re.compile(r"(?i)free|^delete|release|destroy|decrRef|_clear|_close|close$|unref|reset")
PAGES = re.compile(r"^(mmap(64)?|munmap|madvise|posix_madvise|mprotect|mremap|s?brk|process_madvise)$")
HOLDERS = {"vector", "string", "wstring", "basic_string", "map", "multimap", "set", "multiset", "unordered_map", "unordered_set", "deque", "list",
           "ostringstream", "stringstream", "istringstream", "queue", "priority_queue", "autovector", "Dynamic_array", "String", "ARRAY",
           "LIST_ARRAY", "VECTOR_ND", "MATRIX_MXN", "MATRIX_NXN", "unique_ptr", "shared_ptr", "function"}
PLAIN_HOLDERS = {"string", "wstring", "ostringstream", "stringstream", "istringstream", "String"}  # no template


def holder(tok, i, n):
    """The index behind `vector<T> name`, if a container by value is declared at i; a pointer guard only counts with what it takes."""
    t = tok[i][0]
    if t not in HOLDERS or tok[i - 1][0] in (".", "->", "<", ",", "class", "struct", "typename", "using", "static"):
        return 0
    j = i - 1
    while j > 0 and tok[j][0] in ("::", "std", "const"):
        j -= 1
    if tok[j][0] not in (";", "{", "}", ":") and tok[j][0][0] != "#":
        return 0
    j = i + 1
    if t not in PLAIN_HOLDERS or tok[j][0] == "<":
        depth = 0
        while j < min(n, i + 40):
            depth += {"<": 1, ">": -1, ">>": -2}.get(tok[j][0], 0)
            j += 1
            if depth <= 0:
                break
        if t not in PLAIN_HOLDERS and tok[i + 1][0] != "<":
            return 0
    return j if j + 1 < n and tok[j][0].isidentifier() and tok[j + 1][0] in (";", "=", "(", "{", ",") else 0


def repeated(form, tok, first, cond, body, last):
    """The token ranges of a loop that run in each iteration: not the first part of a for, nor the range of a range-for."""
    ranges = [body]
    if cond:
        start = next((k for k in range(first, body[1] + 1 if form != "do" else (last or body[1]) + 1) if tok[k] is cond[0]), None)
        if start is not None:
            end = start + len(cond)
            if form == "for":
                semi = [k for k in range(start, end) if tok[k][0] == ";"]
                start = semi[0] + 1 if semi else end
            ranges.append((start, end - 1))
    return ranges


def scan(job):
    """[(line, names, loop line)] of one file."""
    path, own, cxx = job
    with open(path, errors="replace") as f:
        text = f.read()
    cut = CUT.search(text) if "REDIS_TEST" in text else None
    if cut:
        text = text[:cut.start()]
    own, rows = re.compile(own), {}
    for _, tok in streams(text):
        n, inner = len(tok), {}
        # A backward goto is nearly always the way from an error to the common exit, seldom a loop.
        found = [(l[4] if l[4] is not None else l[3][1], l) for l in loops(tok) if l[0] != "goto"]
        for _, (form, first, cond, body, last) in sorted(found, key=lambda x: x[1][1] - x[0]):  # wide loops first
            for b, e in repeated(form, tok, first, cond, body, last):
                for i in range(b, min(e + 1, n)):
                    inner[i] = first
        for i, first in sorted(inner.items()):
            t, line = tok[i]
            after = tok[i + 1][0] if i + 1 < n else ""
            name = None
            if after == "(" and (PAGES.match(t) or (TAKES.search(t) or own.search(t)) and not NOT_TAKES.search(t)):
                # resize and reserve are words of containers, as members only.
                name = t if t not in ("resize", "reserve", "shrink_to_fit") or tok[i - 1][0] in (".", "->") else None
            elif cxx and t == "new" and (after.isidentifier() or after in ("(", "::")) and tok[i - 1][0] not in (".", "->", "operator"):
                name = "new"
            elif cxx and t == "delete" and (after.isidentifier() or after in ("[", "(", "*")) and tok[i - 1][0] not in ("=", "operator"):
                name = "delete"
            elif cxx and holder(tok, i, n) and not (t.endswith("_ptr") or t == "function"):
                name = t
            elif cxx and after == "<" and t in ("make_unique", "make_shared", "allocate_shared"):
                name = t
            if name:
                rows.setdefault(line, (set(), tok[first][1]))[0].add(name)
    return path, [(line, ",".join(sorted(names)), loop) for line, (names, loop) in rows.items()]


def read(src, corpus, pool):
    """Returns all (file, line, names, loop line) of a corpus."""
    where, folders, out, ends, own = ALL[corpus]
    root, paths = os.path.join(src, where), set()
    for folder in folders:
        for at, _, files in os.walk(os.path.join(root, folder)):
            for name in files:
                rel = os.path.relpath(os.path.join(at, name), root)
                if re.search(ends, name) and not re.search(out, rel) and not re.search(SKIP, rel):
                    paths.add(os.path.join(root, rel))
    done = pool.map(scan, [(p, own, ends == CXX and not p.endswith(".c")) for p in sorted(paths)], 16)
    return [(os.path.relpath(p, root),) + r for p, rows in done for r in rows]


def draw(rows, number):
    """Returns the first places in the order of their hashes, at most A_LOOP of each loop."""
    out, of_loop = [], collections.Counter()
    for r in rows:
        of_loop[r[0], r[3]] += 1
        if of_loop[r[0], r[3]] <= A_LOOP and len(out) < number:
            out.append(r)
    return out


def both(rows):
    """Returns the places in loops that take memory and give it back, or that declare a container."""
    takes, gives = set(), set()
    for file, _, names, loop in rows:
        for w in names.split(","):
            holds = w in HOLDERS
            (gives if GIVES.search(w) else takes).add((file, loop))
            if holds or "realloc" in w.lower():
                gives.add((file, loop))
    return {r for r in rows if (r[0], r[3]) in takes & gives}


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("--src", required=True, help="folder with the unpacked corpora")
    ap.add_argument("--corpus", action="append", choices=ALL, help="only these")
    ap.add_argument("--random", type=int, default=20, metavar="N", help="so many places of each program that is not taken whole")
    ap.add_argument("--both", type=int, default=20, metavar="N", help="and so many more where a loop takes and gives back")
    ap.add_argument("--seed", type=int, default=1)
    a = ap.parse_args()
    out = []
    with multiprocessing.Pool(2) as pool:
        for corpus in a.corpus or ALL:
            rows = read(a.src, corpus, pool)
            if not rows:
                sys.exit(f"heap_candidates: nothing in {corpus} below {a.src}: unpacked? (README.md)")
            pages = [r for r in rows if any(PAGES.match(w) for w in r[2].split(","))]
            if corpus in WHOLE:
                chosen = {r: "whole" for r in rows}
            else:
                rest = sorted((r for r in rows if r not in pages), key=lambda r: order(a.seed, corpus, *r[:2]))
                chosen = {r: "random" for r in draw(rest, a.random)}
                likely = both(rows)
                chosen.update((r, "both") for r in draw([r for r in rest if r in likely and r not in chosen], a.both))
                chosen.update((r, "pages") for r in pages)
                print(f"{corpus}: {len(likely)} both", file=sys.stderr)
            print(f"{corpus}: {len(rows)} places, {len(pages)} of them pages", file=sys.stderr)
            out += [(corpus, *r, how) for r, how in chosen.items()]
    print("corpus\tfile\tline\tcalls\tloop\tselection")
    for r in sorted(set(out)):
        print(*r, sep="\t")


if __name__ == "__main__":
    main()
