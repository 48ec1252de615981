# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads the fingerprints from the SARIF file of an earlier run."""

from vfriendly import documents
from vfriendly.errors import Refused
from vfriendly.formats.sarif import FINGERPRINT


def read(path: str) -> set[str]:
    try:
        document = documents.json_of(path)
        results = [r for run in document["runs"] for r in run.get("results", [])]
        found = {r["partialFingerprints"][FINGERPRINT] for r in results}
    except OSError as error:
        raise Refused(f"--baseline {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Refused(f"--baseline {path} is not SARIF of vfriendly: make it with "
                      "vfriendly scan --format sarif -o FILE") from error
    return {name for name in found if isinstance(name, str)}
