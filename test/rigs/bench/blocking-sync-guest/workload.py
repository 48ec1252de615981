# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a guest is to run, as a shell script, and what its output says.

Each lock once in each cell: a guest does one repetition. The locks of a cell run one
after the other, as a guest's speed drifts with what else its host does, and only runs
that are close can be compared.
"""

import itertools
import json
from dataclasses import dataclass

# In the guest; a run that does not end is a lock that hangs. Locks that spin in a
# queue take seconds to let all threads go where vCPUs outnumber CPUs.
RUN_TIMEOUT_S = 60

MEASURE = "$(/{} | sed 's/[^0-9.]*\\([0-9.]*\\).*/\\1/')"
SCRIPT = """
steps={steps}
echo "{{\\"steps_per_ns\\": $steps}}"
ns() {{ awk "BEGIN {{ printf \\"%d\\", $1 * $steps + 0.5 }}"; }}
{lengths}
while read threads section think hogs; do
  eval "section=\\$ns$section think=\\$ns$think"
  for lock in {locks}; do
    timeout -s KILL {timeout} /$lock $threads $section $think $hogs {ms} || {{
      echo "$lock $threads $section $think $hogs {ms}: status $?"
      exit 1
    }}
  done
done <<CELLS
{cells}
CELLS
"""


@dataclass
class Result:
    """What one run printed; the interface of measure.Run that reports need."""

    values: dict

    def record(self):
        return self.values


@dataclass
class Workload:
    locks: list
    threads: list
    sections: list
    think: list
    hogs: list
    ms: int

    def cells(self):
        return list(itertools.product(self.threads, self.sections, self.think, self.hogs))

    def runs(self):
        return len(self.cells()) * len(self.locks)

    def script(self, steps):
        """steps of work a nanosecond, as an earlier guest measured, or None."""
        # Steps for each time, once: awk takes longer to start than some runs take.
        lengths = sorted({*self.sections, *self.think})
        return SCRIPT.format(
            steps=steps or MEASURE.format(self.locks[0]), locks=" ".join(self.locks), ms=self.ms,
            timeout=RUN_TIMEOUT_S, lengths="\n".join(f"ns{n}=$(ns {n})" for n in lengths),
            cells="\n".join(" ".join(map(str, c)) for c in self.cells()),
        )

    def sort(self, values):
        """Results in the order of the script, as ((cell, lock), Result)."""
        return zip(itertools.product(self.cells(), self.locks), map(Result, values))


def is_result(values):
    return "ops_per_s" in values


def parsed(line):
    """The JSON object on a line, or nothing."""
    try:
        values = json.loads(line) if line.startswith('{"') else {}
    except ValueError:
        values = {}
    return values


def named(cell):
    return dict(zip(("threads", "section_ns", "think_ns", "hogs"), cell))


def title(cpus, cell):
    threads, section, think, hogs = cell
    return (f"{cpus} vCPUs, {threads} threads, {section} ns in, {think} out"
            + (", hog" if hogs else ""))
