# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Puts the catalogue, the guidelines' pages and the project's addresses into the package; the rest: pyproject.toml."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

GUIDELINES = Path(__file__).resolve().parents[2] / "guidelines"


class BuildWithGuidelines(build_py):
    def run(self):
        super().run()
        to = Path(self.build_lib) / "vfriendly" / "guidelines"
        to.mkdir(parents=True, exist_ok=True)
        for page in [GUIDELINES / "catalogue.json", *GUIDELINES.glob("*.md")]:
            shutil.copy(page, to)
        shutil.copy(GUIDELINES.parent / "project.json", to.parent)


setup(cmdclass={"build_py": BuildWithGuidelines})
