# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""with_list.py FILE VARIABLE LIBRARY COMMAND...: runs it with the variable as the file has
it, and the library preloaded."""

import os
import sys

file, variable, library, *command = sys.argv[1:]
os.environ[variable] = open(file).read().strip()
os.environ["LD_PRELOAD"] = library
os.execv(command[0], command)
