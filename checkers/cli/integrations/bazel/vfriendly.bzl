# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Examines each C and C++ source of the targets, with the command that compiles it.

Copy this file into the workspace, beside a BUILD file:

    bazel build //... --aspects //tools:vfriendly.bzl%vfriendly_aspect --output_groups=vfriendly

Bazel hides the PATH from actions: --action_env=PATH, where vfriendly is in none of the system's
folders. The reports are bazel-bin/PACKAGE/TARGET.vfriendly/SOURCE.txt, in the format that
--action_env=VFRIENDLY_FORMAT=sarif names. --action_env=VFRIENDLY_FAIL_ON=warning lets findings
fail the build. Bazel caches the reports; a header's findings are in that of each source that
includes it.
"""

load("@bazel_tools//tools/build_defs/cc:action_names.bzl", "ACTION_NAMES")
load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

_C = ["c"]
_CXX = ["cc", "cpp", "cxx", "c++", "C"]

# Links of the sandbox lead to the sources, and paths are relative to their workspace.
_SCRIPT = """
command -v vfriendly > /dev/null || { echo "vfriendly is not on PATH: add --action_env=PATH" >&2; exit 2; }
file=$(readlink -f "$2"); root=${file%"/$2"}
[ "$root" != "$file" ] || root=$PWD
vfriendly scan -p "$1" --root "$root" -q -j 1 --no-cache --format "${VFRIENDLY_FORMAT:-text}" \
  --fail-on "${VFRIENDLY_FAIL_ON:-never}" -o "$3" 2> "$3.log" && exit
status=$?
cat "$3.log" >&2
[ ! -e "$3" ] || cat "$3" >&2
exit $status
"""

def _sources(ctx):
    files = []
    for source in getattr(ctx.rule.attr, "srcs", []):
        files += [f for f in source.files.to_list() if f.extension in _C + _CXX]
    return files

def _arguments(target, ctx, file):
    """Returns the words that compile the file, as Bazel's own action has them."""
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    context = target[CcInfo].compilation_context
    options = ctx.fragments.cpp

    # Bazel has folders of `includes` searched as a system's, in whose headers nothing is reported.
    ours = [f for f in context.system_includes.to_list() if not f.startswith(("/", "external/")) and "/external/" not in f]
    is_c = file.extension in _C
    variables = cc_common.create_compile_variables(
        feature_configuration = features,
        cc_toolchain = toolchain,
        source_file = file.path,
        user_compile_flags = options.copts + (options.conlyopts if is_c else options.cxxopts) +
                             [ctx.expand_make_variables("copts", word, {}) for word in getattr(ctx.rule.attr, "copts", [])],
        include_directories = depset(ours, transitive = [context.includes]),
        quote_include_directories = context.quote_includes,
        system_include_directories = depset([f for f in context.system_includes.to_list() if f not in ours]),
        framework_include_directories = context.framework_includes,
        preprocessor_defines = depset(context.local_defines.to_list(), transitive = [context.defines]),
    )
    action = ACTION_NAMES.c_compile if is_c else ACTION_NAMES.cpp_compile
    return [cc_common.get_tool_for_action(feature_configuration = features, action_name = action)] + \
           cc_common.get_memory_inefficient_command_line(
               feature_configuration = features,
               action_name = action,
               variables = variables,
           )

def _examine(target, ctx, file):
    folder = "%s.vfriendly/%s" % (ctx.label.name, file.short_path.replace("../", ""))
    database = ctx.actions.declare_file(folder + "/compile_commands.json")
    report = ctx.actions.declare_file(folder + ".txt")
    entry = struct(
        # Commands run in the root of the execution, which is above the database.
        directory = "/".join([".." for _ in database.dirname.split("/")]),
        file = file.path,
        arguments = _arguments(target, ctx, file),
    )
    ctx.actions.write(database, "[%s]\n" % entry.to_json())
    ctx.actions.run_shell(
        command = _SCRIPT,
        arguments = [database.path, file.path, report.path],
        inputs = depset([database, file], transitive = [
            target[CcInfo].compilation_context.headers,
            find_cpp_toolchain(ctx).all_files,
        ]),
        outputs = [report],
        use_default_shell_env = True,
        mnemonic = "VFriendly",
        progress_message = "Examining %s" % file.short_path,
    )
    return report

def _implementation(target, ctx):
    reports = []
    if CcInfo in target:
        reports = [_examine(target, ctx, file) for file in _sources(ctx)]
    return [OutputGroupInfo(vfriendly = depset(reports))]

vfriendly_aspect = aspect(
    implementation = _implementation,
    attrs = {"_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain")},
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
