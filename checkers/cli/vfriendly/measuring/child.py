# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A command that is measured from its first instruction."""

import json
import os
import resource
import signal
import time
from collections.abc import Mapping, Sequence


class Child:
    """A command that waits, before its exec, until it is told to go on."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        reading, self._writing = os.pipe()
        self.status: int | None = None
        self._usage: resource.struct_rusage | None = None
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.close(self._writing)
                told = b""
                while part := os.read(reading, 1 << 16):
                    told += part
                os.execvpe(command[0], list(command), json.loads(told) if told else dict(environment))
            except BaseException as error:
                os.write(2, f"vfriendly: {command[0]}: {error}\n".encode())
            os._exit(127)
        os.close(reading)

    def go(self, environment: Mapping[str, str] | None) -> None:
        """Lets it execute its program, in another environment if one is given."""
        with open(self._writing, "w", encoding="ascii") as file:
            file.write(json.dumps(environment) if environment else "")

    def ended(self) -> bool:
        if self.status is None:
            pid, status, usage = os.wait4(self.pid, os.WNOHANG)
            if pid:
                self.status, self._usage = os.waitstatus_to_exitcode(status), usage
        return self.status is not None

    def cpu(self) -> tuple[float, float]:
        return (self._usage.ru_utime, self._usage.ru_stime) if self._usage else (0.0, 0.0)

    def counts(self) -> dict[str, int]:
        """Returns what the kernel has counted for it and its children, once it has ended."""
        if not self._usage:
            return {}
        return {"block": self._usage.ru_nvcsw, "preempted": self._usage.ru_nivcsw,
                "fault": self._usage.ru_minflt + self._usage.ru_majflt}

    def stop(self) -> None:
        """Ends it as a terminal would, as nothing of it would be measured any more."""
        for number, patience in ((signal.SIGINT, 2.0), (signal.SIGTERM, 2.0), (signal.SIGKILL, 5.0)):
            try:
                os.kill(self.pid, number)
            except ProcessLookupError:
                return
            end = time.monotonic() + patience
            while time.monotonic() < end:
                if self.ended():
                    return
                time.sleep(0.02)
