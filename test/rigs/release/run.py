# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""run.py VERSION PACKAGES OUT [--key KEY] [--minisign KEY] [--try [DISTRIBUTION]] [--image] [--push]: makes a page of downloads.

Of what ./dev package has made, OUT has an apt repository with the one file that a user copies, the wheel, the archive,
checksums, the list of contents (SPDX 2.3), and the Action and recipes for OCI images, Conan, vcpkg, spack and Nix with
its address filled in. project.json says where all that will be, "downloads", and where --push copies it to by rsync, "push". gpg signs the repository with KEY, whose public
part is in the file that users copy. minisign signs SHA256SUMS, and that they are VERSION's, with the secret key of its own. --try
lets apt verify the repository and install from it in a bare root, and refuse it after each of two changes. --image lets
buildah build the OCI image by its recipe, on a bare root in place of the image of a registry, and runs it.
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
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "packages"))
import roots


def fail(text):
    sys.exit(f"dev release: {text}")


def digest(path, kind="sha256"):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, kind).hexdigest()


def check(version, source):
    """A version is written alike everywhere, and has an entry in the changelog."""
    if not re.fullmatch(r"\d+\.\d+(\.\d+)?", version):
        fail(f"'{version}' is no version such as 0.2 or 0.2.1")
    with open(os.path.join(source, "guidelines/guides/changelog.md"), encoding="utf-8") as file:
        if not re.search(rf"^## {re.escape(version)}( |$)", file.read(), re.M):
            fail(f"guidelines/guides/changelog.md has no entry '## {version}'")


def check_packages(version, packages):
    """The packages are of that version: their names are signed, and what is installed calls itself so."""
    names = [os.path.basename(path) for end in ("deb", "whl", "tar.gz") for path in glob.glob(f"{packages}/*.{end}")]
    if not any(name.endswith(".deb") for name in names):
        fail(f"{packages} has no packages: run ./dev package")
    for name in names:
        if not re.search(rf"[-_]{re.escape(version)}(\.0)?[-_]", name):
            fail(f"{name} is not of version {version}: see project() in CMakeLists.txt")


def sign(version, out, key):
    """Signs the checksums and, in the comment that minisign signs with them, whose they are: see guidelines/guides/security.md."""
    done = subprocess.run(["minisign", "-S", "-s", key, "-m", f"{out}/SHA256SUMS", "-t", f"vfriendly {version}"], check=False)
    if done.returncode:
        fail(f"minisign did not sign {out}/SHA256SUMS with {key}")


def gpg(key, *words):
    """Returns what gpg writes, with the secret part of KEY."""
    done = subprocess.run(["gpg", "--batch", "--yes", "--local-user", key, *words], capture_output=True, check=False)
    if done.returncode:
        fail(f"gpg: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout.decode()


def trust(out, key):
    """Signs the repository; returns the field of the sources file that says which key apt is to accept."""
    if not key:
        return "Trusted: yes"
    gpg(key, "--clearsign", "--output", f"{out}/apt/InRelease", f"{out}/apt/Release")
    public = gpg(key, "--armor", "--export", key)
    if not public:
        fail(f"gpg has no key {key}")
    with open(f"{out}/vfriendly.asc", "w", encoding="ascii") as file:
        file.write(public)
    # In the file itself, so that it is the only one to copy; an empty line is a full stop there.
    return "Signed-By:\n" + "".join(f" {line or '.'}\n" for line in public.splitlines()).rstrip("\n")


def repository(packages, out, url, key):
    """An apt repository without distributions: one folder."""
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
        file.write(f"Types: deb\nURIs: {url}/apt\nSuites: ./\n{trust(out, key)}\n")


def recipes(version, out, url):
    """Fills in what package managers take, with the archive's address and digests."""
    archives = glob.glob(f"{out}/vfriendly-*.tar.gz")
    if not archives:
        print("no recipes: the packages have no archive", file=sys.stderr)
        return
    words = {"VERSION": version, "URL": f"{url}/{os.path.basename(archives[0])}", "SHA256": digest(archives[0]),
             "SHA512": digest(archives[0], "sha512")}
    for path in glob.glob(f"{HERE}/recipes/*/*"):
        to = os.path.join(out, os.path.relpath(path, HERE))
        os.makedirs(os.path.dirname(to), exist_ok=True)
        with open(path, encoding="utf-8") as file, open(to, "w", encoding="utf-8") as filled:
            filled.write(re.sub(r"@([A-Z0-9]+)@", lambda m: words[m[1]], file.read()))


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


# In a root, with the release in /srv/release: apt takes it, then neither a changed list nor one that is not signed.
TRY = """
sed 's,^URIs: .*,URIs: file:/srv/release/apt,' /srv/release/vfriendly.sources > /etc/apt/sources.list.d/vfriendly.sources
only="-o Dir::Etc::sourcelist=/etc/apt/sources.list.d/vfriendly.sources -o Dir::Etc::sourceparts=/dev/null -o APT::Get::List-Cleanup=0"
apt-get update -qq
apt-cache policy PACKAGE | grep file:/srv/release/apt
apt-get install -y -qq --no-install-recommends PACKAGE >/dev/null
dpkg-query -W PACKAGE
cp -r /srv/release/apt /srv/apt
printf '\\n' >> /srv/release/apt/Packages
rm -r /srv/release/apt/Packages.gz /var/lib/apt/lists   # else apt asks for no list that it has
if apt-get update $only >/tmp/changed 2>&1; then cat /tmp/changed; exit 1; fi
grep -m 1 -i 'hash sum mismatch\\|unexpected size' /tmp/changed
cp /srv/apt/* /srv/release/apt/ 2>/dev/null || true
rm /srv/release/apt/InRelease
if apt-get update $only >/tmp/unsigned 2>&1; then cat /tmp/unsigned; exit 1; fi
grep -m 1 'is not signed' /tmp/unsigned
"""


def try_it(out, distribution, cache):
    """Installs a package of the release in a bare root."""
    suite, _ = roots.DISTRIBUTIONS[distribution]
    deb = sorted(glob.glob(f"{out}/apt/pool/*.deb"), key=lambda path: "libvfpreload" not in path)[0]
    package = os.path.basename(deb).split("_")[0]
    with tempfile.TemporaryDirectory(prefix="vf-root-") as root:
        roots.bootstrap(root, os.path.join(cache, f"{suite}-bare.tar"), suite, security=False)
        shutil.copytree(out, f"{root}/srv/release")
        done = subprocess.run(["chroot", root, "/bin/sh", "-euc", TRY.replace("PACKAGE", package)], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False,
                              env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"})
    print(done.stdout, end="")
    if done.returncode:
        fail(f"{distribution}: apt does not take the repository as it should:\n{done.stderr}")
    print(f"{distribution}: apt has verified the repository, installed {package} from it, and refused it changed and unsigned")


# In the image, with examples/first in /first: what README does there, by the image's own entry point.
IMAGE = """
cp -r /first /tmp/first && cd /tmp/first
$CC --config=$VF/lib/vfriendly/llvm-22/vfriendly.cfg -O2 -pthread -Rpass=vf- prog.c -o prog 2>&1 | grep -m 1 -o 'remark: .*vf-spin-loops.$'
timeout 60 ./prog
cmake -S project -B build -G Ninja -DCMAKE_EXPORT_COMPILE_COMMANDS=ON > cmake.log
ENTRY scan -p build --fail-on never > scan.log
grep -m 1 -o 'vfriendly-spin-loops.*' scan.log
ENTRY --version
"""


class Buildah:
    """buildah with its images in a folder of their own. In containers, overlay file systems and OCI runtimes may not work:
    vfs copies the files of each layer, and chroot needs no runtime."""

    def __init__(self, folder):
        self._words = ["buildah", "--root", f"{folder}/root", "--runroot", f"{folder}/run", "--storage-driver",
                       os.environ.get("STORAGE_DRIVER", "vfs")]
        self._policy = f"{folder}/policy.json"
        with open(self._policy, "w", encoding="ascii") as file:
            json.dump({"default": [{"type": "insecureAcceptAnything"}]}, file)

    def run(self, verb, *words):
        options = {"bud": ["--isolation", "chroot"], "run": ["--isolation", "chroot"]}.get(verb, [])
        if verb in ("bud", "commit"):
            options += ["--signature-policy", self._policy]
        done = subprocess.run([*self._words, verb, *options, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False)
        if done.returncode:
            fail(f"buildah {verb}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
        return done.stdout.strip()


def image(out, source, cache):
    """Builds the image on a bare root, and runs it."""
    if not shutil.which("buildah"):
        fail("--image needs buildah: apt-get install -y --no-install-recommends buildah")
    with tempfile.TemporaryDirectory(prefix="vf-oci-") as folder:
        os.makedirs(f"{folder}/bare")
        roots.bootstrap(f"{folder}/bare", os.path.join(cache, "bookworm-bare.tar"), "bookworm", security=False)
        buildah = Buildah(folder)
        base = buildah.run("from", "scratch")
        buildah.run("add", base, f"{folder}/bare", "/")
        buildah.run("commit", "--rm", base, "vf-bare")
        shutil.rmtree(f"{folder}/bare")
        began = time.monotonic()
        buildah.run("bud", "--build-arg", "BASE=localhost/vf-bare", "-f", f"{out}/recipes/oci/Dockerfile", "-t", "vfriendly", out)
        seconds = time.monotonic() - began
        [entry] = json.loads(buildah.run("inspect", "--type", "image", "vfriendly"))["OCIv1"]["config"]["Entrypoint"]
        one = buildah.run("from", "--pull-never", "vfriendly")
        print(buildah.run("run", "--volume", f"{os.path.abspath(source)}/examples/first:/first:ro", one, "--", "sh", "-euc",
                          IMAGE.replace("ENTRY", entry)))
        buildah.run("rm", one)
    print(f"buildah has built the image in {seconds:.0f} s, and it has rewritten, run and scanned a program")


def main():
    parser = argparse.ArgumentParser(prog="dev release")
    parser.add_argument("version")
    parser.add_argument("packages")
    parser.add_argument("out")
    parser.add_argument("--key", help="key of gpg's for the apt repository")
    parser.add_argument("--minisign", metavar="KEY", default=os.environ.get("VF_SIGN_KEY"), help="file with the secret key of minisign's for SHA256SUMS [VF_SIGN_KEY]")
    parser.add_argument("--try", dest="tried", nargs="?", const="debian-12", choices=roots.DISTRIBUTIONS, metavar="DISTRIBUTION")
    parser.add_argument("--image", action="store_true", help="builds the OCI image by buildah, and runs it")
    parser.add_argument("--push", action="store_true", help='copies all to the "push" of project.json')
    parser.add_argument("--source", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
    args = parser.parse_args()
    check(args.version, args.source)
    check_packages(args.version, args.packages)
    with open(os.path.join(args.source, "project.json"), encoding="utf-8") as file:
        project = json.load(file)
    url = project["downloads"].rstrip("/") or f"file:{os.path.abspath(args.out)}"
    if not url.startswith("file:") and not args.key:
        fail("project.json names a place for downloads: a repository that others take from is signed, by --key KEY")
    if not url.startswith("file:") and not args.minisign:
        fail("project.json names a place for downloads: what others take is signed, by --minisign KEY or VF_SIGN_KEY")
    if args.push and not project.get("push"):
        fail('project.json does not say where to push to: "push"')
    if args.tried and not args.key:
        fail("--try needs --key: apt verifies nothing of a repository that nobody signed")
    if (args.tried or args.image) and os.geteuid():
        fail("--try and --image make a root to change into: run it as root")
    shutil.rmtree(args.out, ignore_errors=True)
    os.makedirs(args.out)
    repository(args.packages, args.out, url, args.key)
    for name in glob.glob(f"{args.packages}/*.whl") + glob.glob(f"{args.packages}/*.tar.gz"):
        shutil.copy(name, args.out)
    with open(os.path.join(args.source, "checkers/cli/integrations/github/action.yml"), encoding="utf-8") as file:
        action = file.read()
    if not url.startswith("file:"):
        for name, value in (("release", url), ("version", args.version)):
            action = re.sub(rf"(?m)(^  {name}:\n    description: .*\n    default: )''$", rf"\g<1>'{value}'", action)
    with open(f"{args.out}/action.yml", "w", encoding="utf-8") as file:
        file.write(f"# vfriendly {args.version}\n{action}")
    recipes(args.version, args.out, url)
    contents(args.version, args.out)
    sums = sorted(os.path.relpath(p, args.out) for p in glob.glob(f"{args.out}/**", recursive=True) if os.path.isfile(p))
    with open(f"{args.out}/SHA256SUMS", "w", encoding="ascii") as file:
        file.writelines(f"{digest(f'{args.out}/{name}')}  {name}\n" for name in sums)
    if args.minisign:
        sign(args.version, args.out, args.minisign)
    else:
        print("SHA256SUMS is not signed: neither --minisign nor VF_SIGN_KEY names a key", file=sys.stderr)
    if url.startswith("file:"):
        print('project.json has no "downloads": the repository is for this machine only', file=sys.stderr)
    for name in [*sums, "SHA256SUMS"]:
        print(f"{os.path.getsize(f'{args.out}/{name}') / 1024:7.0f} KiB  {name}")
    if args.tried:
        try_it(args.out, args.tried, os.path.dirname(os.path.abspath(args.out)))
    if args.image:
        image(args.out, args.source, os.path.dirname(os.path.abspath(args.out)))
    if args.push and subprocess.run(["rsync", "--archive", "--delete-after", f"{args.out}/", project["push"]]).returncode:
        fail(f"rsync to {project['push']} failed")


if __name__ == "__main__":
    main()
