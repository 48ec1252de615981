# lit configuration: `lit build/test`, or `./dev test [PATH...]`.

import glob
import os
import platform
import shutil
import subprocess
import sys

config.name = "vfriendly"
config.suffixes = [".c", ".cpp", ".ll", ".mlir", ".test"]
config.excludes = ["Inputs", "lit.cfg.py", "rigs"]
config.test_source_root = os.path.join(config.vf_source_dir, "test")
config.test_exec_root = os.path.join(config.vf_build_dir, "test")

llvm_bin = os.path.join(config.vf_llvm_dir, "bin")
src = config.vf_source_dir
sys.path.append(os.path.join(config.test_source_root, "Inputs"))
import cpu_seconds
config.test_format = cpu_seconds.CountedShTest(lit_config.params.get("costs"), execute_external=False)
# A run for another processor has a build tree of its own, with links to the plugins of this
# one (test/target.py).
target = lit_config.params.get("target", platform.machine())
lib, path = os.path.join(config.vf_build_dir, "lib"), [os.path.join(config.vf_build_dir, "bin"), llvm_bin, os.environ["PATH"]]
if target != platform.machine():
    tree = os.path.join(config.vf_build_dir, target)
    lib = os.path.join(tree, "lib")
    path.insert(0, os.path.join(tree, "tools"))
    config.test_exec_root = os.path.join(tree, "test")
    config.vf_platform_dir = ";".join(os.path.join(src, "runtime", "platform", name) for name in (target, "generic"))
    config.environment["VF_TEST_TARGET"] = target
    config.environment["QEMU_LD_PREFIX"] = f"/usr/{target}-linux-gnu"
config.environment["PATH"] = os.pathsep.join(path)
# Every clang that a test starts verifies the module that its passes leave, as opt and lld do
# by themselves: a released clang does it on request only. Also those of scripts and of
# vfriendly.cfg, hence no substitution.
config.environment["CCC_OVERRIDE_OPTIONS"] = "# ^-fverify-intermediate-code"
# Which cases long tests take: Inputs/short_run.py.
config.environment["VF_TEST_SLICE"] = lit_config.params.get("slice", "all")
if config.environment["VF_TEST_SLICE"] == "all":
    config.available_features.add("full")
# A wait that never ends is a failure, not a stuck run. Tests of models took more than 300 s
# on a machine that had other work.
lit_config.maxIndividualTestTime = 600

plugin = os.path.join(lib, "libvfriendly.so")
tidy = os.path.join(lib, "libvfriendly-tidy.so")
# clang 19 reads -mllvm before it loads pass plugins.
as_plugin = f"-fplugin={plugin} " if config.vf_llvm_major == "19" else ""
config.substitutions += [
    ("%python", sys.executable),
    ("%vf_src", src),
    ("%vf_build", config.vf_build_dir),
    ("%vf_lib", lib),
    ("%vf_plugin", plugin),
    ("%vf_tidy_module", tidy),
    ("-I %vf_platform", "-I " + config.vf_platform_dir.replace(";", " -I ")),
    ("%vf_platform", config.vf_platform_dir.split(";")[0]),
    ("%vf_pthread_sources", " ".join(os.path.join(src, "runtime", name) for name in config.vf_pthread_sources.split(";"))),
    # Run with libvfpthread: `%vf_preload %t`, `env VF_X=1 %vf_preload %t`.
    ("%vf_preload", f"env LD_PRELOAD={os.path.join(lib, 'libvfpthread.so')}"),
    # Run with libvfmalloc, likewise.
    ("%vf_malloc", f"env LD_PRELOAD={os.path.join(lib, 'libvfmalloc.so')}"),
    # Run with libvfnuma, likewise.
    ("%vf_numa", f"env LD_PRELOAD={os.path.join(lib, 'libvfnuma.so')}"),
    ("%vf_include", os.path.join(src, "runtime", "include")),
    # First: %vf_clang is a prefix of it.
    ("%vf_clang_tidy", f"clang-tidy --load={tidy}"),
    # Compile with the plugin.
    ("%vf_clangxx", f"clang++ {as_plugin}-fpass-plugin={plugin}"),
    ("%vf_clang", f"clang {as_plugin}-fpass-plugin={plugin}"),
    ("%vf_opt", f"opt -load-pass-plugin={plugin}"),
    # Link with the runtime; with it absent, objects fall back by themselves.
    ("%vf_link", f"-L{lib} -Wl,-rpath,{lib} -Wl,--no-as-needed -lvfrt -lpthread"),
]
# The LLVM whose tools run, and others that are installed beside it; a folder may hold a library only.
config.available_features.update(path.split("/")[3] for path in glob.glob("/usr/lib/llvm-*/bin/opt"))
config.substitutions.append(("%llvm_major", config.vf_llvm_major))
config.available_features.add(f"target-llvm-{config.vf_llvm_major}")
# Where MLIR's packages are not, its library is not built.
mlir_plugin = os.path.join(lib, "libvfriendly-mlir.so")
if os.path.exists(mlir_plugin):
    config.available_features.add("mlir")
config.substitutions += [
    ("%vf_mlir_opt", f"mlir-opt --load-dialect-plugin={mlir_plugin}"),
    # From what the passes leave to what mlir-runner takes.
    ("%vf_to_llvm", "lower-affine,convert-linalg-to-loops,convert-scf-to-cf,convert-vf-to-llvm,"
                    "expand-strided-metadata,lower-affine,convert-to-llvm,reconcile-unrealized-casts"),
    ("%vf_mlir_run", "mlir-runner -O2 -e main -entry-point-result=i32 "
                     f"-shared-libs={llvm_bin}/../lib/libmlir_c_runner_utils.so,{lib}/libvfrt.so"),
]
if os.path.exists(os.path.join(llvm_bin, "flang-22")) or shutil.which("flang-22"):
    config.available_features.add("flang")
# Tests of setuid programs, and of files that other users own.
if not os.geteuid() and shutil.which("setpriv"):
    config.available_features.add("root")
# Only root may load programs into the kernel.
if os.path.exists(os.path.join(lib, "vfriendly-collect.bpf.o")) and os.path.exists("/sys/kernel/btf/vmlinux") and not os.geteuid():
    config.available_features.add("bpf")
# A rustc whose bitcode this LLVM's linker reads.
if shutil.which("cargo") and "LLVM version: 22." in subprocess.run(["rustc", "-vV"], capture_output=True, text=True).stdout:
    config.available_features.add("rust-llvm-22")
if config.vf_sanitize:
    config.available_features.add("sanitizer")
if os.path.exists(os.path.join(lib, "libvfpthread.so")):
    config.available_features.add("preload")
# The archive that runtime/spin-unmodified is linked with, and its tests.
if glob.glob("/usr/lib/*/libcapstone.a") or glob.glob("/usr/lib/libcapstone.a"):
    config.available_features.add("capstone")
if os.path.exists(os.path.join(lib, "libvfspin.so")):
    config.available_features.add("spin-unmodified")
try:
    with open("/proc/sys/kernel/perf_event_paranoid") as paranoid, open("/proc/self/status") as status:
        if "Seccomp:\t0" in status.read() and (int(paranoid.read()) <= 2 or os.geteuid() == 0):
            config.available_features.add("perf-events")
except OSError:
    pass
if os.path.exists(os.path.join(lib, "libvfmalloc.so")):
    config.available_features.add("heap-churn-malloc")
    # With our build of jemalloc, not the system's.
    if config.vf_jemalloc_is_patched:
        config.available_features.add("heap-churn-malloc-patched")
sys.path.append(os.path.join(config.test_source_root, "heap-churn", "malloc", "Inputs"))
import in_group
if in_group.where():
    config.available_features.add("memory-groups")
import cpu_group
if cpu_group.are_allowed():
    config.available_features.add("cpu-groups")
if target == platform.machine() and os.path.exists(os.path.join(config.vf_llvm_dir, "lib", "libomp.so")):
    config.available_features.add("openmp")
if os.path.exists(os.path.join(config.vf_llvm_dir, "bin", "clang-format")):
    config.available_features.add("clang-format")
for tool in ("promtool", "systemd-analyze", "gdb", "rustc", "go", "javac"):
    if shutil.which(tool):
        config.available_features.add(tool)
if shutil.which("dpkg-shlibdeps"):
    config.available_features.add("dpkg-dev")
if os.path.exists(os.path.join(config.vf_build_dir, "share/man/man1/vfriendly.1")):
    config.available_features.add("manual")
config.available_features.add("host-" + target)
if target == platform.machine():
    # qemu-user has neither MADV_WIPEONFORK, by which the runtime recognizes a fork, nor seccomp
    # nor RLIMIT_AS nor all of clone, and of page faults and threads some are its own; and
    # Debian's archive has sanitizers and libjemalloc.so only for the machine that compiles.
    config.available_features.update(("native", "sanitizers"))
    sys.path.append(config.test_source_root)
    import target as other_target
    config.available_features.update(f"runs-{name}" for name in other_target.TARGETS if not other_target.missing(name))
if len(os.sched_getaffinity(0)) > 1:
    config.available_features.add("two-cpus")
# Only `./dev bench blocking-sync-guest` installs an emulator and fetches a kernel;
# until then tests that boot one are skipped.
rigs = os.path.join(config.test_source_root, "rigs")
sys.path.append(rigs)
from guest import packages
if packages.complete(os.path.join(config.vf_build_dir, "guest")):
    config.available_features.add("guest")
# Of Python's tools, which ./dev test installs where pip can: test/requirements.txt.
venv = os.path.join(config.vf_build_dir, "test-venv")
venv_python = os.path.join(venv, "bin", "python")
config.environment["PATH"] += os.pathsep + os.path.join(venv, "bin")
config.substitutions.insert(0, ("%python_with_venv", venv_python if os.path.exists(venv_python) else sys.executable))
if all(shutil.which(tool, path=config.environment["PATH"]) for tool in ("mypy", "ruff")):
    config.available_features.add("python-linters")
import importlib.util
for module in ("pygls", "distributed", "ensurepip", "hypothesis"):
    if importlib.util.find_spec(module) or glob.glob(f"{venv}/lib/python3*/site-packages/{module}/"):
        config.available_features.add("python-" + module)
# Only `./dev herd7` builds it.
sys.path.append(os.path.join(config.test_source_root, "weak-memory", "Inputs"))
import herd7
if herd7.find():
    config.available_features.add("herd7")
# Hosts of vfriendly-cli, where they are installed. Other Bazels than Debian's fetch their rules.
if shutil.which("bazel") and os.path.exists("/usr/share/bazel/rules/java"):
    config.available_features.add("bazel")
if shutil.which("CodeChecker") and shutil.which("report-converter"):
    config.available_features.add("codechecker")
# Only `./dev site` installs what builds the site; until then that part is skipped.
if os.path.exists(os.path.join(config.vf_build_dir, "site-venv", "requirements.txt")):
    config.available_features.add("site")
# Only `./dev kernel-test` fetches and builds Linux; until then, and for what boots it when
# the series has changed since, tests that need it are skipped.
from guest import emulator
from kernel import build as linux, source as linux_source
if emulator.vmm_built(config.vf_build_dir, linux_source.series("qemu", os.path.join(src, "runtime", "kernel", "qemu", "7.2"))):
    config.available_features.add("qemu-series")
for version in linux_source.VERSIONS:
    series = os.path.join(src, "runtime", "kernel", "paratick", version)
    options = os.path.join(rigs, "kernel", "paratick", "kernel.config")
    if not os.path.isdir(series) or not linux_source.unpacked(config.vf_build_dir, version):
        continue
    config.available_features.add("linux-" + version)
    if linux.ready(config.vf_build_dir, linux.Kind(version),
                   linux_source.series("paratick", series), [options]):
        config.available_features.add(f"linux-{version}-guest")
