# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The runtime and its headers, the preloads and the plugins for clang 22, from the archive of a release."""

import os

from conan import ConanFile
from conan.tools.files import copy, get


class VFriendly(ConanFile):
    name, version = "vfriendly", "@VERSION@"
    license = "Apache-2.0 WITH LLVM-exception"
    settings = "os", "arch"
    package_type = "unknown"  # shared and static, side by side

    def build(self):
        get(self, "@URL@", sha256="@SHA256@", strip_root=True)

    def package(self):
        copy(self, "*", self.build_folder, self.package_folder)

    def package_info(self):
        self.cpp_info.libs = ["vfrt"]
        self.cpp_info.system_libs = ["pthread"]
        self.buildenv_info.define_path("VF", self.package_folder)
        self.runenv_info.prepend_path("PATH", os.path.join(self.package_folder, "bin"))
