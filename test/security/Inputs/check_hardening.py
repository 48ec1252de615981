# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_hardening.py [--plugins] FILE...: prints what each lacks of what distributions ask for; plugins are not bound at load time."""

import platform
import re
import subprocess
import sys
from pathlib import Path

ENDBR64 = b"\xf3\x0f\x1e\xfa"
LEAST_ENDBR64 = 10  # the C library's files have fewer
bad = False
files = [word for word in sys.argv[1:] if word != "--plugins"]
left_out = {"now"} if "--plugins" in sys.argv else set()
if platform.machine() != "x86_64":
    left_out.add("cet")
for file in files:
    text = subprocess.run(["readelf", "-hldW", "--dyn-syms", file], capture_output=True, text=True, check=True).stdout
    lacks = [name for name, pattern in (("pie", r"Type: +DYN"), ("relro", "GNU_RELRO"), ("now", r"BIND_NOW|FLAGS_1\).*NOW"),
                                        ("stack", r"GNU_STACK .* RW "), ("canary", "__stack_chk_fail"))
             if name not in left_out and not re.search(pattern, text)]
    # The property of the whole file is lost by the C library's crti.o, which Debian builds without; functions begin with endbr64.
    if "cet" not in left_out and Path(file).read_bytes().count(ENDBR64) < LEAST_ENDBR64:
        lacks.append("cet")
    if lacks:
        print(f"{file} lacks: {', '.join(lacks)}")
        bad = True
print(len(files), "files")
sys.exit(bad)
