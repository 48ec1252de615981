# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Examines units on the workers of a `distributed` scheduler, which reach the same paths.

Each result is returned at once, so only the units in progress of a worker that dies are
examined again. A unit whose files differ on its worker is examined locally.
"""

import os
import time
from collections.abc import Iterator, Sequence
from typing import Any

from distributed import Client, as_completed

import vfriendly
from vfriendly import cache, escaping, tools
from vfriendly.database import Unit
from vfriendly.errors import Refused
from vfriendly.scanning import Runner
from vfriendly.tools import Tools
from vfriendly.unit import Examiner, Outcome, key

CONNECT_SECONDS = 10


def describe(module: str) -> list[str]:
    """Runs on a worker: returns the properties that must equal the local ones."""
    try:
        digest = tools.digest_of(module)
    except OSError as error:
        digest = f"{module}: {error.strerror}"
    return [vfriendly.__version__, digest]


def examine(unit: Unit, found: Tools, timeout: float, extra: Sequence[str]) -> tuple[Outcome, str | None]:
    """Runs on a worker: returns the outcome, and the digest of the files it depends on."""
    store = cache.Cache(None)
    outcome = Examiner(found, store, timeout, extra)(unit)
    return outcome, store.files.digest_all(sorted(set(outcome.files)))


def connect(address: str, found: Tools) -> Client:
    try:
        client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise Refused(f"--scheduler {address}: {error or 'no answer'}; is dask scheduler running there?") from error
    try:
        answers: dict[str, Any] = client.run(describe, found.module, on_error="return")
    except Exception as error:  # what a worker without the package answers with is its own
        client.close()
        raise Refused(f"--scheduler {address}: its scheduler and workers must have this vfriendly installed "
                      f"({error})") from error
    here = describe(found.module)
    other = next(((w, a) for w, a in answers.items() if a != here), None)
    if not answers or other:
        client.close()
        what = f"worker {other[0]} has {other[1]}, here is {here}" if other else "it has no workers"
        raise Refused(f"--scheduler {address}: {what}; the package and the module must be the same everywhere")
    return client


def on_cluster(address: str, local: Examiner) -> Runner:
    client = connect(address, local.tools)

    def run(units: Sequence[Unit]) -> Iterator[tuple[Unit, Outcome]]:
        with client:
            left = []
            for unit in units:
                done = local.cached(unit)
                if done:
                    yield unit, done
                else:
                    left.append(unit)
            began = time.time_ns()
            futures = {client.submit(examine, unit, local.tools, local.timeout, local.extra, pure=False): unit
                       for unit in left}
            for future in as_completed(futures, loop=client.loop):
                unit = futures.pop(future)
                yield unit, _accept(unit, future, local, began)
                future.release()
    return run


def _accept(unit: Unit, future: Any, local: Examiner, began: int) -> Outcome:
    try:
        outcome, digest = future.result()
    except Exception as error:  # of the worker, or of its deaths
        escaping.say(f"{os.path.basename(unit.file)} is examined here: {error}")
        return local(unit)
    # Examines the unit again on this machine if the worker read other versions of the unit's files,
    # or if the list of files is empty, as after an error.
    files = sorted(set(outcome.files))
    if not files or local.store.files.digest_all(files, again=True) != digest:
        return local(unit)
    if outcome.status == "ok":
        local.store.store(key(unit, local.tools, local.extra), began, files, outcome.to_json())
    done: Outcome = outcome
    return done
