# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A guest's kernel and busybox: Debian's packages, unpacked, not installed.

A kernel that were installed would be this machine's next one. QEMU is installed: it
needs fifty libraries.
"""

import glob
import os
import platform
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass

from guest import Broken

# This flavour boots fast, as it has drivers for virtual machines only, and it has KVM and tracefs.
KERNEL = "linux-image-cloud-amd64"
QEMU = "qemu-system-x86_64"
QEMU_PACKAGE = "qemu-system-x86"
# Waits up to 300 s for another apt that holds the lock.
APT = ("apt-get", "-qq", "-o", "DPkg::Lock::Timeout=300")
SOURCES = "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian {} main\n"
# Longer than apt's own time-outs and retries, and than 30 MB over a slow line take.
TIMEOUT_S = 600


def run(command, folder=None, timeout=TIMEOUT_S):
    """Runs a command and returns its output."""
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=timeout)
    except FileNotFoundError:
        raise Broken(f"there is no {command[0]} here: this knows Debian's packages only")
    except subprocess.TimeoutExpired:
        raise Broken(f"{' '.join(command)}: not done after {timeout} s")
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines() or ["no reason given"]
        raise Broken(f"{' '.join(command)}: {last[-1]}")
    return done.stdout


def _with_lists(action):
    """Runs action; if it fails, updates apt's lists and runs it again. A new machine has no lists,
    and those of an old one name packages that were removed."""
    try:
        return action()
    except Broken:
        run([*APT, "update"])
        return action()


def _install(names):
    text = " ".join(names)
    if os.geteuid() != 0:
        raise Broken(f"missing {text}: run as root, or: apt-get install {text}")
    if not shutil.which(APT[0]):
        raise Broken(f"missing {text}: install it (this knows apt only)")
    print(f"installing {text}", flush=True)
    os.environ["DEBIAN_FRONTEND"] = "noninteractive"
    _with_lists(lambda: run([*APT, "install", "-y", "--no-install-recommends", *names]))


def install(names):
    """Installs those of the packages that are missing; raises Broken without permission."""
    def there(name):
        command = ["dpkg-query", "-W", "-f", "${Status}", name]
        done = subprocess.run(command, capture_output=True, text=True)
        return done.stdout.endswith(" installed")

    if not shutil.which("dpkg-query"):
        raise Broken("there is no dpkg-query here: this knows Debian's packages only")
    missing = [name for name in names if not there(name)]
    if missing:
        _install(missing)


def qemu():
    """Returns the emulator's path; installs it if it is missing and the user may do so."""
    path = shutil.which(QEMU)
    if path:
        return path
    _install([QEMU_PACKAGE])
    path = shutil.which(QEMU)
    if not path:
        raise Broken(f"{QEMU_PACKAGE} is installed, but has no {QEMU}")
    return path


def fetch_source(name, folder):
    """Downloads a Debian source package and returns its .dsc. Uses lists of its own, as most
    machines' lists name binary packages only; apt's own files are not changed."""
    codename = platform.freedesktop_os_release().get("VERSION_CODENAME")
    listed, lists = os.path.join(folder, "sources.list"), os.path.join(folder, "lists")
    with open(listed, "w") as file:
        file.write(SOURCES.format(codename))
    os.makedirs(os.path.join(lists, "partial"))
    # apt fetches as a user of its own, who may not write here otherwise.
    os.chmod(folder, 0o777)
    apt = [*APT, "-o", f"Dir::Etc::SourceList={listed}", "-o", "Dir::Etc::SourceParts=/dev/null",
           "-o", f"Dir::State::Lists={lists}"]
    run([*apt, "update"])
    run([*apt, "source", "--download-only", name], folder)
    (found,) = glob.glob(os.path.join(folder, "*.dsc"))
    return found


def _unpack(package, folder, keep):
    """Unpacks those files of a package that match one of keep into folder, if it is not there."""
    if os.path.isdir(folder):
        return
    print(f"fetching {package}", flush=True)
    parent = os.path.dirname(folder)
    os.makedirs(parent, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=parent) as work:
        # apt fetches as a user of its own, who may not write here otherwise.
        os.chmod(work, 0o777)
        _with_lists(lambda: run([*APT, "download", package], work))
        archive = glob.glob(os.path.join(work, "*.deb"))
        run(["dpkg-deb", "-x", archive[0], os.path.join(work, "root")])
        kept = os.path.join(work, "kept")
        os.mkdir(kept)
        for pattern in keep:
            found = glob.glob(os.path.join(work, "root", pattern), recursive=True)
            if not found:
                raise Broken(f"{package} has no {pattern}")
            for path in found:
                shutil.move(path, kept)
        try:
            os.rename(kept, folder)  # atomic: the folder is complete or absent
        except OSError:
            if not os.path.isdir(folder):  # another process may have made it meanwhile
                raise


def busybox(cache):
    folder = os.path.join(cache, "busybox-static")
    _unpack("busybox-static", folder, ["bin/busybox"])
    return os.path.join(folder, "busybox")


@dataclass
class Kernel:
    """A bzImage, and KVM's modules for it, in the order in which they load; empty for a kernel
    that has KVM built in."""

    name: str
    image: str
    modules: list


# KVM's modules for an AMD CPU; each depends on those before it.
MODULES = ("irqbypass", "kvm", "kvm-amd")


def unpacked(folder):
    images = glob.glob(os.path.join(folder, "vmlinuz-*"))
    if not images:
        raise Broken(f"there is no kernel in {folder}: remove that folder")
    return Kernel(os.path.basename(folder), images[0],
                  [os.path.join(folder, f"{m}.ko") for m in MODULES])


def more_modules(cache, kernel, names):
    """Returns the paths of modules of the kernel that no rig needs but the caller's; fetches them."""
    folder = os.path.join(cache, f"modules-{kernel.name}", "-".join(names))
    _unpack(kernel.name, folder, [f"lib/modules/**/{n}.ko" for n in names])
    return [os.path.join(folder, f"{n}.ko") for n in names]


def fetched(cache):
    """Returns the folders of kernels that were unpacked before, the newest last."""
    return sorted(glob.glob(os.path.join(cache, "linux-image-[0-9]*")), key=os.path.getmtime)


def ready(cache):
    """Returns True if a guest can be booted without installing or fetching anything else."""
    return bool(shutil.which(QEMU) and os.path.exists(os.path.join(cache, "busybox-static")))


def complete(cache):
    """Returns True if the stock kernel can be booted without installing or fetching anything."""
    return bool(ready(cache) and fetched(cache))


def kernel(cache):
    """Returns the stock kernel: the newest of those fetched before, so that runs are comparable;
    fetches it if there is none."""
    if platform.machine() != "x86_64":
        raise Broken(f"the guest is x86-64, its programs would be {platform.machine()}")
    there = fetched(cache)
    if there:
        return unpacked(there[-1])

    def newest():
        text = run(["apt-cache", "show", "--no-all-versions", KERNEL])
        found = re.search(r"^Depends:.*?\b(linux-image-[^ ,]+)", text, re.M)
        if not found:
            raise Broken(f"{KERNEL} depends on no kernel")
        return found.group(1)

    package = _with_lists(newest)
    folder = os.path.join(cache, package)
    _unpack(package, folder, ["boot/vmlinuz-*", *(f"lib/modules/**/{m}.ko" for m in MODULES)])
    return unpacked(folder)
