# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lua, of a clone of its repository: Debian's source has no tests."""

import os
import re
import shutil

import bring

SENTENCE = "Lua: testes/all.lua, portable; VF_TEST_LUA=FOLDER, a clone of github.com/lua/lua"


def prepare(_):
    source = os.environ.get("VF_TEST_LUA", "")
    if not os.path.exists(os.path.join(source, "testes/all.lua")):
        raise bring.NotRun("VF_TEST_LUA does not name a clone of Lua's repository")
    return os.path.abspath(source)


def build(source, folder, cc, _):
    shutil.copytree(source, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".git"))
    # Its makefile is for its authors: their warnings are GCC's.
    return bring.call(["sh", "-c", f"make CC='{cc}' CWARNS= TESTS= MYLIBS=-ldl lua 2>&1"], "Lua's make", cwd=folder)


def test(_, folder):
    said = bring.output(["../lua", "-e", "_U=true", "all.lua"], cwd=os.path.join(folder, "testes"), timeout=900)
    files = re.findall(r"^\*{5} FILE '(.*?)'", said, re.M)
    # It stops at the first error: what it then did not come to has not passed.
    ended = "final OK" in said
    return {**{name: ended or name != files[-1] for name in files}, "(all of it)": ended}
