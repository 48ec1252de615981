# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""run.py VERSION PACKAGES OUT [--sign PROGRAM] [--source DIR]: makes a page of downloads of what ./dev package has made.

OUT has an apt repository with the one file that a user copies, the wheel, the archive, checksums, the list of contents
(SPDX 2.3) and the Action with its version filled in. project.json says where it will be: "downloads". PROGRAM is called
with each file to sign, and writes its signature beside it.
"""

import argparse
import glob
import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time


def fail(text):
    sys.exit(f"dev release: {text}")


def digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check(version, source):
    """A version is written alike everywhere, and has an entry in the changelog."""
    if not re.fullmatch(r"\d+\.\d+(\.\d+)?", version):
        fail(f"'{version}' is no version such as 0.2 or 0.2.1")
    with open(os.path.join(source, "guidelines/guides/changelog.md"), encoding="utf-8") as file:
        if not re.search(rf"^## {re.escape(version)}( |$)", file.read(), re.M):
            fail(f"guidelines/guides/changelog.md has no entry '## {version}'")


def repository(packages, out, url, signed):
    """An apt repository without distributions: one folder. Returns what is to be signed."""
    os.makedirs(f"{out}/apt/pool")
    for deb in sorted(glob.glob(f"{packages}/*.deb")):
        shutil.copy(deb, f"{out}/apt/pool")
    done = subprocess.run(["dpkg-scanpackages", "--multiversion", "pool"], cwd=f"{out}/apt", capture_output=True)
    if done.returncode:
        fail(f"dpkg-scanpackages: {done.stderr.decode().strip()}")
    with open(f"{out}/apt/Packages", "wb") as file:
        file.write(done.stdout)
    with gzip.GzipFile(f"{out}/apt/Packages.gz", "wb", mtime=0) as file:
        file.write(done.stdout)
    when = time.strftime("%a, %d %b %Y %H:%M:%S UTC", time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))))
    with open(f"{out}/apt/Release", "w", encoding="ascii") as file:
        file.write(f"Origin: vfriendly\nDate: {when}\nSHA256:\n")
        for name in ("Packages", "Packages.gz"):
            path = f"{out}/apt/{name}"
            file.write(f" {digest(path)} {os.path.getsize(path)} {name}\n")
    with open(f"{out}/vfriendly.sources", "w", encoding="ascii") as file:
        trust = "Signed-By: /etc/apt/keyrings/vfriendly.asc" if signed else "Trusted: yes"
        file.write(f"Types: deb\nURIs: {url}/apt\nSuites: ./\n{trust}\n")
    return f"{out}/apt/Release"


def contents(version, out):
    """The list of contents: each file with its digest, and what is built in."""
    files = sorted(os.path.relpath(path, out) for path in glob.glob(f"{out}/**", recursive=True) if os.path.isfile(path))
    rows = [{"SPDXID": f"SPDXRef-{n}", "fileName": f"./{name}",
             "checksums": [{"algorithm": "SHA256", "checksumValue": digest(f"{out}/{name}")}]} for n, name in enumerate(files)]
    built_in = {"SPDXID": "SPDXRef-jemalloc", "name": "jemalloc", "downloadLocation": "NOASSERTION",
                "licenseConcluded": "BSD-2-Clause", "comment": "the core of libvfmalloc.so"}
    own = {"SPDXID": "SPDXRef-vfriendly", "name": "vfriendly", "versionInfo": version, "downloadLocation": "NOASSERTION",
           "licenseConcluded": "Apache-2.0 WITH LLVM-exception"}
    with open(f"{out}/vfriendly.spdx.json", "w", encoding="utf-8") as file:
        json.dump({"spdxVersion": "SPDX-2.3", "SPDXID": "SPDXRef-DOCUMENT", "name": f"vfriendly-{version}",
                   "dataLicense": "CC0-1.0", "packages": [own, built_in], "files": rows}, file, indent=1)


def main():
    parser = argparse.ArgumentParser(prog="dev release")
    parser.add_argument("version")
    parser.add_argument("packages")
    parser.add_argument("out")
    parser.add_argument("--sign", metavar="PROGRAM")
    parser.add_argument("--source", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
    args = parser.parse_args()
    check(args.version, args.source)
    if args.sign and not shutil.which(args.sign):
        fail(f"--sign {args.sign}: no such program")
    if not glob.glob(f"{args.packages}/*.deb"):
        fail(f"{args.packages} has no packages: run ./dev package")
    with open(os.path.join(args.source, "project.json"), encoding="utf-8") as file:
        url = json.load(file)["downloads"].rstrip("/") or f"file:{os.path.abspath(args.out)}"
    if not url.startswith("file:") and not args.sign:
        fail("project.json names a place for downloads: a repository that others take from is signed, by --sign PROGRAM")
    shutil.rmtree(args.out, ignore_errors=True)
    os.makedirs(args.out)
    to_sign = [repository(args.packages, args.out, url, bool(args.sign))]
    for name in glob.glob(f"{args.packages}/*.whl") + glob.glob(f"{args.packages}/*.tar.gz"):
        shutil.copy(name, args.out)
    with open(os.path.join(args.source, "checkers/cli/integrations/github/action.yml"), encoding="utf-8") as file:
        action = file.read()
    with open(f"{args.out}/action.yml", "w", encoding="utf-8") as file:
        file.write(f"# vfriendly {args.version}\n{action}")
    contents(args.version, args.out)
    sums = sorted(os.path.relpath(p, args.out) for p in glob.glob(f"{args.out}/**", recursive=True) if os.path.isfile(p))
    with open(f"{args.out}/SHA256SUMS", "w", encoding="ascii") as file:
        file.writelines(f"{digest(f'{args.out}/{name}')}  {name}\n" for name in sums)
    for path in [*to_sign, f"{args.out}/SHA256SUMS"] if args.sign else []:
        if subprocess.run([args.sign, path]).returncode:
            fail(f"{args.sign} {path} failed")
    if url.startswith("file:"):
        print('project.json has no "downloads": the repository is for this machine only', file=sys.stderr)
    for name in [*sums, "SHA256SUMS"]:
        print(f"{os.path.getsize(f'{args.out}/{name}') / 1024:7.0f} KiB  {name}")


if __name__ == "__main__":
    main()
