# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""run.py BUILD --bare [DISTRIBUTION...] [--page PAGE]... [--seconds N]: runs the commands of the pages in bare roots.

A root that debootstrap made gets a clone and, in its build/packages, what ./dev package has made. README.md runs
there, then each other page in the root that README.md leaves, with the variables that it exports; the page about
installation begins with a bare root. Where LLVM 22 is not in the archive, 19 stands for 22, as README.md says.
Blocks of a page run in examples/first, each in the order of the page, in one shell: test/rigs/docs/blocks.py has
the marks. A page that takes more than N seconds (600) has failed. It must be root, and uses the network for apt and pip.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.normpath(os.path.join(HERE, "..", "..", ".."))
sys.path += [HERE, os.path.join(HERE, "..", "packages")]
from blocks import blocks, pages
from roots import CERTIFICATES, DISTRIBUTIONS, bootstrap

CLONE = "/root/vfriendly"
FRONT, INSTALL = "README.md", "guidelines/guides/install.md"
SERVER_SECONDS = 10
# Changes of a page go to a layer of their own; its processes end with their namespace.
ENTER = ('mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/up,workdir=$2/work" "$2/root" && mount -t sysfs sysfs "$2/root/sys" && '
         'mount -t proc proc "$2/root/proc" && exec timeout -k 5 "$3" chroot "$2/root" /bin/bash -c "$4"')


def in_foreground(text):
    """TEXT with its last command ended after a time, and failing unless it still ran then."""
    commands = re.split(r"(?<!\\)\n", text.rstrip("\n"))
    commands[-1] = f"timeout -s INT {SERVER_SECONDS} {commands[-1]} && false || [ $? = 124 ]"
    return "\n".join(commands) + "\n"


def script_of(found, llvm):
    """The blocks of a page as one script, which says where it is."""
    script = "set -euo pipefail\n[ ! -f /root/exported ] || . /root/exported\n"
    for block in found:
        text = in_foreground(block.text) if block.foreground else block.text
        text = text if llvm == 22 else re.sub(r"(?<=-)22(?!\d)", str(llvm), text)
        script += f"echo 'docs: {block.where} '$(date +%s.%N)\ncd {CLONE}/{block.folder or 'examples/first'}\n{text}"
    return script + "declare -px | grep -v ' [A-Z]*PWD=' > /root/exported\necho 'docs: end '$(date +%s.%N)\n"


class Bare:
    def __init__(self, folder, build, distribution, seconds):
        self.folder, self.distribution, self.seconds = folder, distribution, seconds
        self.suite, self.llvm = DISTRIBUTIONS[distribution]
        self.lower = [os.path.join(folder, "bare")]
        os.makedirs(self.lower[0])
        bootstrap(self.lower[0], os.path.join(build, f"{self.suite}-bare.tar"), self.suite, security=False)
        clone = self.lower[0] + CLONE
        subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", SOURCE, clone], check=True)
        shutil.copytree(os.path.join(build, "packages"), f"{clone}/build/packages")
        shutil.copy(CERTIFICATES, os.path.join(self.lower[0], "srv/certificates.crt"))

    def run(self, page):
        """Runs the blocks of PAGE; returns the place of the block that failed, if one did, and the layer with its changes."""
        found, out = [], []
        for block in blocks(SOURCE, page):
            why = block.left_out("bare", self.distribution, self.llvm)
            out.append(f"             {block.where}: not run: {why}") if why else found.append(block)
        if not found:
            return None, None
        layer = os.path.join(self.folder, page.replace("/", "_"))
        for name in ("up", "work", "root"):
            os.makedirs(os.path.join(layer, name))
        with tempfile.TemporaryFile("w+", errors="replace") as log:
            start = time.time()
            done = subprocess.run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "/bin/bash", "-euc", ENTER, "enter",
                                   ":".join(self.lower), layer, str(self.seconds), script_of(found, self.llvm)],
                                  stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                                  env={"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "TERM": "dumb",
                                       "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8", "PIP_CERT": "/srv/certificates.crt"})
            took = time.time() - start
            log.seek(0)
            said = log.read()
        begun = re.findall(r"(?m)^docs: (\S+) ([\d.]+)$", said)
        print(f"{took:7.1f} s  {page}: {len(found)} blocks" if not done.returncode else f"{took:7.1f} s  {page}: failed", flush=True)
        for (where, one), (_, two) in zip(begun, begun[1:]):
            print(f"   {float(two) - float(one):7.1f} s  {where}")
        print(*out, sep="\n", end="\n" if out else "", flush=True)
        if not done.returncode:
            return None, f"{layer}/up"
        where = begun[-1][0] if begun else page
        how = f"takes more than {self.seconds} s" if done.returncode == 124 else f"fails with {done.returncode}"
        print("\n".join(said.splitlines()[-40:]))
        print(f"dev docs: {self.distribution}: a command of {where} {how}", flush=True)
        return where, f"{layer}/up"


def run_all(build, distribution, chosen, seconds):
    """Returns the places that failed."""
    failed = []
    with tempfile.TemporaryDirectory(prefix="vf-docs-") as folder:
        bare = Bare(folder, build, distribution, seconds)
        print(f"bare {distribution}, LLVM {bare.llvm}", flush=True)
        if not chosen or INSTALL in chosen:
            failed.append(bare.run(INSTALL)[0])
        if not chosen or set(chosen) - {INSTALL}:
            front, layer = bare.run(FRONT)
            failed.append(front)
            bare.lower.insert(0, layer)
            # Pages that follow begin where README.md ends.
            for page in pages(SOURCE):
                if page not in (FRONT, INSTALL) and (not chosen or page in chosen) and not front:
                    failed.append(bare.run(page)[0])
    return [f"{distribution}: {where}" for where in failed if where]


def main():
    parser = argparse.ArgumentParser(prog="dev docs")
    parser.add_argument("build", help=argparse.SUPPRESS)
    parser.add_argument("--bare", nargs="*", choices=[name for name, (_, llvm) in DISTRIBUTIONS.items() if llvm], metavar="DISTRIBUTION",
                        help="debian-12, debian-13 or ubuntu-24.04; all three if none is named")
    parser.add_argument("--page", action="append", default=[], choices=pages(SOURCE), metavar="PAGE", help="only this page, after README.md")
    parser.add_argument("--seconds", type=int, default=600, help="the limit of a page")
    args = parser.parse_args()
    if args.bare is None:
        parser.error("docs --bare [DISTRIBUTION...]")
    if os.geteuid():
        sys.exit("dev docs: it makes roots to change into: run it as root")
    if not os.path.isdir(os.path.join(args.build, "packages")):
        sys.exit(f"dev docs: {args.build}/packages is missing: run ./dev package --llvm 19")
    failed = []
    for distribution in args.bare or ["debian-12", "debian-13", "ubuntu-24.04"]:
        failed += run_all(os.path.abspath(args.build), distribution, args.page, args.seconds)
    print(f"{len(failed)} failed" + "".join(f"\n  {where}" for where in failed))
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
