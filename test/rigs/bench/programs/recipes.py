# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How each program is built and run. Sources are as test/rigs/corpus/README.md lays them out."""

import glob
import os
from dataclasses import dataclass

import bench

SPLASH = ["-std=gnu89", "-DENABLE_THREADS"]
# Volrend's image depends on locals that nobody set; with zeros both compilers' are the same.
VOLREND = ["-ftrivial-auto-var-init=zero", "-DBSDTYPES", "-DUSE_VARARGS=0", "-DUSE_PROTOTYPES=1", "-DHAVE_IEEEFP=1",
           "-DCOLORIMETRY_SUPPORT", "-DJPEG_SUPPORT", "-DYCBCR_SUPPORT", "-DCMYK_SUPPORT", "-DMMAP_SUPPORT",
           "-DPACKBITS_SUPPORT", "-DLZW_SUPPORT"]

# What writes libtiff's tables at build time, and the fax formats that need them.
UNUSED = {"mkg3states.c", "mkspans.c", "tif_fax3.c", "tif_fax4.c", "tif_ccittrle.c"}

# For dedup, which takes any large file: libclang, some 35 MB.
BIG_FILE = "/usr/lib/llvm-22/lib/libclang.so"


@dataclass
class Recipe:
    """One program. Arguments may name {threads}, {input} and {output}; a program runs in a folder of its own."""

    name: str
    folder: str
    sources: list
    flags: list
    libraries: list
    arguments: str
    # Copied to where the program runs, under its own name and as "input"; below --src, or of this machine.
    input: str = ""
    cxx: bool = False
    # What must be the same whoever built it, for arguments `same` (one thread where more give another result each time).
    same: str = ""
    compared: str = ""

    def files(self, root):
        found = [f for pattern in self.sources for f in sorted(glob.glob(os.path.join(root, self.folder, pattern)))]
        return [f for f in found if os.path.basename(f) not in UNUSED]


RECIPES = {r.name: r for r in [
    Recipe("volrend", "parsec/ext/splash2x/apps/volrend/src", ["*.c", "libtiff/*.c"], SPLASH + VOLREND, ["-lm"],
           "{threads} head-scaleddown2 50", input="splash3/codes/apps/volrend/inputs/head-scaleddown2.den",
           same="1 head-scaleddown2 5", compared="head-scaleddown2_1014"),
    Recipe("radiosity", "parsec/ext/splash2x/apps/radiosity/src", ["*.c", "glibdumb/*.c", "glibps/*.c"], SPLASH, ["-lm"],
           "-bf 1.5e-2 -batch -room -p {threads}"),
    Recipe("ocean_cp", "parsec/ext/splash2x/apps/ocean_cp/src", ["*.c"], SPLASH, ["-lm"],
           "-n514 -p{threads} -e1e-07 -r20000 -t28800"),
    Recipe("streamcluster", "parsec/pkgs/kernels/streamcluster/src", ["*.cpp"], ["-std=gnu++98", "-DENABLE_THREADS"], ["-lm"],
           "10 20 32 4096 4096 1000 none {output} {threads}", cxx=True,
           same="10 20 32 1024 1024 1000 none {output} 1", compared="{output}"),
    Recipe("dedup", "parsec/pkgs/kernels/dedup/src",
           [f"{n}.c" for n in "dedup encoder decoder hashtable util mbuffer rabin sha queue binheap tree".split()],
           ["-std=gnu99", "-fgnu89-inline", "-fcommon", "-DENABLE_PTHREADS", "-DENABLE_GZIP_COMPRESSION", "-DOPENSSL_NO_ASM", "-DPEDANTIC"],
           ["-lz", "-lm"], "-c -p -t {threads} -i input -o {output}", input=BIG_FILE,
           same="-c -t 1 -i input -o {output}", compared="{output}"),
]}


def build(tree, recipe, root, folder, variant_flags, link_flags, compiler=None):
    """Compiles the program into folder, by clang if no compiler is named; returns its path."""
    files = recipe.files(root)
    source = os.path.join(root, recipe.folder)
    if not files:
        raise bench.Usage(f"there is no {recipe.name} in {source}: see test/rigs/corpus/README.md for what belongs there")
    os.makedirs(folder, exist_ok=True)
    compiler = compiler or tree.tool("clang++" if recipe.cxx else "clang")
    objects = []
    for file in files:
        objects.append(os.path.join(folder, f"{len(objects)}.o"))
        bench.build([compiler, "-O2", "-w", "-pthread", f"-I{source}", f"-I{source}/libtiff", f"-I{source}/glibdumb", f"-I{source}/glibps",
                     *recipe.flags, *variant_flags, "-c", file, "-o", objects[-1]])
    program = os.path.join(folder, recipe.name)
    bench.build([compiler, "-pthread", *objects, *recipe.libraries, *link_flags, "-o", program])
    return program
