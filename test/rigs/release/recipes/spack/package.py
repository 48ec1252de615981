# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from spack.package import *


class Vfriendly(Package):
    """The runtime and its headers, the preloads and the plugins for clang 22, from the archive of a release."""

    url = "@URL@"
    license("Apache-2.0 WITH LLVM-exception")
    version("@VERSION@", sha256="@SHA256@")
    requires("platform=linux target=x86_64:")

    def install(self, spec, prefix):
        install_tree(".", prefix)

    def setup_run_environment(self, env):
        env.set("VF", self.prefix)
