# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bare roots of distributions, made by debootstrap once and then kept as archives."""

import os
import shutil
import subprocess
import sys
import tempfile

# Whom this machine trusts: its way to pip's index may have a certificate of its own.
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"

# Name: suite, the newest LLVM of its archive that vfriendly supports.
DISTRIBUTIONS = {"debian-12": ("bookworm", 22), "debian-13": ("trixie", 22), "ubuntu-24.04": ("noble", 19), "ubuntu-22.04": ("jammy", None)}


def debootstrap(suite, folder):
    """Makes a bare root. Debian has no key of Ubuntu's archive, and Debian 12 does not know all suites of it."""
    scripts = os.path.join(folder, "scripts")
    shutil.copytree("/usr/share/debootstrap", scripts, symlinks=True)
    options = []
    if suite in ("noble", "jammy"):
        options = ["--no-check-gpg", "--components=main,universe"]
        if not os.path.lexists(f"{scripts}/scripts/{suite}"):
            os.symlink("gutsy", f"{scripts}/scripts/{suite}")
    root = os.path.join(folder, "root")
    done = subprocess.run(["debootstrap", "--variant=minbase", *options, suite, root],
                          capture_output=True, text=True, env={**os.environ, "DEBOOTSTRAP_DIR": scripts})
    if done.returncode:
        sys.exit(f"dev: debootstrap failed:\n{done.stdout[-2000:]}{done.stderr}")
    return root


def bootstrap(folder, cache, suite, security=True):
    """A bare root, from an archive of one that was made before if there is one. Without SECURITY a Debian
    names the suite alone, as debootstrap leaves it."""
    if os.path.exists(cache):
        subprocess.run(["tar", "-xf", cache, "-C", folder], check=True)
        return
    with tempfile.TemporaryDirectory(prefix="vf-bare-") as bare:
        root = debootstrap(suite, bare)
        shutil.copy("/etc/resolv.conf", os.path.join(root, "etc"))
        # Sizes are those of what is installed, as in a container's image.
        shutil.rmtree(os.path.join(root, "var/cache/apt/archives"))
        os.makedirs(os.path.join(root, "var/cache/apt/archives/partial"))
        with open(os.path.join(root, "etc/apt/apt.conf.d/keep-no-packages"), "w") as file:
            file.write('APT::Keep-Downloaded-Packages "false";\n')
        # LLVM 22 is in Debian's archive of security updates, LLVM 19 in Ubuntu's of updates.
        with open(os.path.join(root, "etc/apt/sources.list"), "r+") as file:
            [line] = file.read().splitlines()
            _, archive, _, components = line.split(" ", 3)
            ubuntu = "ubuntu" in archive
            if security or ubuntu:
                file.write(f"deb {archive} {suite}-updates {components}\n")
                file.write(f"deb {archive}{'' if ubuntu else '-security'} {suite}-security {components}\n")
        subprocess.run(["tar", "-cf", cache, "-C", root, "."], check=True)
    subprocess.run(["tar", "-xf", cache, "-C", folder], check=True)
