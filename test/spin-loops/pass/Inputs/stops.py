# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stops a program once at each line of its source with a comment `// STOP: EXPRESSION`.

  gdb --batch -nx -ex "python source = 'FILE'" -x stops.py PROGRAM

Prints "EXPRESSION is VALUE at SOURCE:LINE" for each stop, with the line at which gdb has stopped,
then what the program prints.
"""

import os
import re

import gdb

name = os.path.basename(source)


class Stop(gdb.Breakpoint):
    def __init__(self, number, expression):
        super().__init__(f"{name}:{number}")
        self.tested = expression

    def stop(self):
        at = gdb.selected_frame().find_sal()
        try:
            value = gdb.parse_and_eval(self.tested)
            value = "<optimized out>" if value.is_optimized_out else str(value)
        except gdb.error as error:
            # gdb 13 says it of an operand so.
            value = "<optimized out>" if "optimized out" in str(error) else f"<{error}>"
        print(f"{self.tested} is {value} at {os.path.basename(at.symtab.filename)}:{at.line}", flush=True)
        self.enabled = False
        return False


for command in ("pagination off", "debuginfod enabled off", "print thread-events off"):
    gdb.execute(f"set {command}")
with open(source) as file:
    for number, line in enumerate(file, 1):
        if match := re.search(r"// STOP: (.+)$", line):
            Stop(number, match[1])
gdb.execute("run")
