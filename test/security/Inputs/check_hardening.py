# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_hardening.py FILE...: prints what each lacks of what distributions ask for."""

import re
import subprocess
import sys

bad = False
for file in sys.argv[1:]:
    text = subprocess.run(["readelf", "-hldW", "--dyn-syms", file], capture_output=True, text=True, check=True).stdout
    lacks = [name for name, pattern in (("pie", r"Type: +DYN"), ("relro", "GNU_RELRO"), ("now", r"BIND_NOW|FLAGS_1\).*NOW"),
                                        ("stack", r"GNU_STACK .* RW "), ("canary", "__stack_chk_fail"))
             if not re.search(pattern, text)]
    if lacks:
        print(f"{file} lacks: {', '.join(lacks)}")
        bad = True
print(len(sys.argv) - 1, "files")
sys.exit(bad)
