# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Puts the project's catalogue into the package; all else is in pyproject.toml."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

CATALOGUE = Path(__file__).resolve().parents[2] / "guidelines" / "catalogue.json"


class BuildWithCatalogue(build_py):
    def run(self):
        super().run()
        shutil.copy(CATALOGUE, Path(self.build_lib) / "vfriendly" / "catalogue.json")


setup(cmdclass={"build_py": BuildWithCatalogue})
