# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The compile options that reach clang: those that say how to read the code.

A compilation database may come with a tree that nobody has looked at. Its options may name files to
write, libraries to load, files with further options, and offload targets, for which the driver runs programs.
An option is passed on only if it is in the tables below; options that only name outputs or tune code
are left out in silence, others are named in the summary.
"""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from vfriendly import regular

# Options whose value is the next word or follows at once: places and definitions.
VALUES = (
    "-I", "-isystem", "-iquote", "-idirafter", "-isysroot", "-include", "-imacros", "-D", "-U", "-F",
    "-iframework", "-iprefix", "-iwithprefix", "-iwithprefixbefore", "-isystem-after", "-cxx-isystem",
    "-stdlib++-isystem",
)
# Those whose value follows "=".
LONG_VALUES = ("--sysroot", "--gcc-toolchain", "--gcc-install-dir", "--target", "--std")
# Of these, those whose value may be the next word. clang does not know the others alone: that word would be an option.
_NEXT_VALUES = ("--sysroot", "--std")
_LANGUAGES = (
    "c", "c++", "c-header", "c++-header", "cpp-output", "c++-cpp-output", "objective-c", "objective-c++",
    "objective-c-header", "objective-c++-header", "c++-module", "none",
)
# Processors whose toolchains start no program. Those of accelerators ask one which accelerator there is.
_PROCESSORS = re.compile(
    r"(x86_64|amd64|i[3-6]86|aarch64(_be|_32)?|arm64(e|_32|ec)?|arm|armeb|armv[4-9][\w.]*|thumb\w*|riscv(32|64)\w*"
    r"|ppc(64)?(le)?|powerpc(64)?(le)?|s390x|mips\w*|loongarch(32|64)|sparc\w*|wasm(32|64)|hexagon|m68k|csky|avr|ve"
    r"|xtensa|msp430)(-[\w.+]+)*")
_TOGGLES = """
access-control aligned-allocation aligned-new apple-kext asm asm-blocks associative-math asynchronous-unwind-tables
blocks borland-extensions bracket-depth builtin c\\+\\+-static-destructors caret-diagnostics cf-protection char8_t
color-diagnostics common complete-member-pointers concepts constant-cfstrings constexpr-depth constexpr-steps
coroutines coroutines-ts coroutines-unevaluated cx-fortran-rules cx-limited-range data-sections declspec
delayed-template-parsing delete-null-pointer-checks diagnostics-color digraphs direct-access-external-data
dollars-in-identifiers dwarf-exceptions elide-constructors elide-type emulated-tls exceptions exec-charset
experimental-library experimental-new-constant-interpreter fast-math file-prefix-map finite-loops finite-math-only
fixed-point for-scope force-emit-vtables force-enable-int128 fp-contract fp-model freestanding function-sections
gnu-inline-asm gnu-keywords gnu-runtime gnu89-inline gnuc-version honor-infinities honor-nans hosted inline
inline-functions input-charset instrument-functions int128 ivar-visibility jump-tables keep-static-consts
lax-vector-conversions macro-prefix-map math-errno max-type-align merge-all-constants message-length modules-ts
ms-compatibility ms-compatibility-version ms-extensions ms-volatile msc-version nonansi-builtins objc-arc
objc-arc-exceptions objc-exceptions objc-legacy-dispatch objc-runtime objc-weak omit-frame-pointer openmp openmp-simd
openmp-version operator-names optimize-sibling-calls pack-struct pascal-strings permissive pic PIC pie PIE plt
protect-parens reciprocal-math reg-struct-return register-global-dtors-with-atexit relaxed-template-template-args
rounding-math rtti rtti-data sanitize sanitize-recover sanitize-trap semantic-interposition short-enums short-wchar
signed-bitfields signed-char signed-zeros sized-deallocation sjlj-exceptions split-stack stack-check
stack-clash-protection stack-protector stack-protector-all stack-protector-strong strict-aliasing strict-enums
strict-flex-arrays strict-float-cast-overflow strict-overflow strict-return strict-vtable-pointers struct-path-tbaa
syntax-only tabstop template-backtrace-limit template-depth threadsafe-statics tls-model trapping-math trapv trigraphs
trivial-auto-var-init unroll-loops unsafe-math-optimizations unsigned-bitfields unsigned-char unwind-tables
use-cxa-atexit vectorize visibility visibility-global-new-delete visibility-inlines-hidden
visibility-inlines-hidden-static-local-var visibility-ms-compat wasm-exceptions wchar-type wrapv wrapv-pointer
writable-strings zero-initialized-in-bss zvector""".split()  # noqa: SIM905 (a list of these would be long)
# Options that begin with -m and say nothing about a processor: some name files, or take the next word.
_NO_MACHINE = ("llvm", "mlir", "link", "execute-only-file", "odule", "eabi$", "thread-model$")
_PLAIN = re.compile("|".join((
    # Not without a name: that would be read in place of the headers that it was made from.
    r"-fmodule-file=[\w.:]+=.+", rf"-f(no-)?({'|'.join(_TOGGLES)})(=[^/]*)?", r"-fno-builtin-\w+",
    r"-f(macro|file|debug)-prefix-map=.*", rf"-m(?!{'|'.join(_NO_MACHINE)})[a-z0-9][\w.+-]*(=[\w.,:+!-]*)?",
    r"-W[\w+#.-]*(=[\w.-]+)?", r"-Wp(,-[DU][^,]+)+", r"-O([0-9sgz]|fast)?", r"-std=[\w+:.-]+", r"-stdlib=[\w+]+",
    r"--stdlib=[\w+]+", r"-ansi", r"--?pedantic", r"-w", r"-pthreads?", r"-nostdinc(\+\+)?", r"-nostdlibinc",
    r"-nobuiltininc", r"-traditional(-cpp)?", r"-trigraphs", r"-undef", r"-EL", r"-EB", r"--no-standard-includes",
    r"-rtlib=[\w-]+", r"-unwindlib=[\w-]+", r"-E[LB]", r"-pipe", r"-static(-\w+)?", r"-shared(-\w+)?", r"-pie",
    r"-no-?pie",
)))
# What names of options that tune code begin with.
_TUNING = """
addrsig align canonical-system-headers crossjumping debug debug-types delete-dead devirtualize dwarf
eliminate gcse guess ident inline-small ipa ira lifetime merge partial-inlining pch peel prefetch record rename reorder
sched schedule show split split-dwarf stack-limit stack-usage toplevel-reorder tracer tree unit-at-a-time
use-linker-plugin var-tracking verbose-asm web""".split()  # noqa: SIM905
# Options that name outputs, choose among the compiler's actions, or tune code and messages that nobody
# reads here; and a precompiled header, of which the text is read in its place.
_SILENT = re.compile("|".join((
    r"-[cSEvMP#]+", r"-M[MDPG]*D?", r"-M[FTQJ].+", r"-o.+", r"-Wp,-M.*", r"-g.*", r"-nostdlib", r"-nodefaultlibs",
    r"-nostartfiles", r"-save-temps(=.*)?", r"-flto.*", r"-fno-lto", r"-ffat-lto-objects", r"-f(no-)?integrated-as",
    r"-fdiagnostics-.*",
    rf"-f(no-)?({'|'.join(_TUNING)})[a-z0-9-]*(=[\w,.-]*)?",
    r"-Wl,.*", r"-Wa,.*", r"-l.*", r"-L.+", r"-B.+", r"-fuse-ld=.*", r"-rdynamic", r"-s", r"-t", r"--coverage",
    r"-fprofile-.*", r"-fcoverage-.*", r"-ftest-coverage", r"-p", r"-pg", r"-Q.*",
)))
_SILENT_VALUES = (
    "-o", "-MF", "-MT", "-MQ", "-MJ", "-L", "-l", "-B", "-T", "-u", "-z", "-Xlinker", "-Xassembler",
    "-Xpreprocessor", "--serialize-diagnostics", "-serialize-diagnostics", "--param", "-aux-info", "-dumpbase",
    "-dumpdir",
)
# Other options whose value is the next word: it would be taken for a source.
_NAMED_VALUES = (
    "-Xanalyzer", "-Xclang", "-Xopenmp-target", "-mllvm", "-mmlir", "-load", "--config", "-fplugin",
    "-ivfsoverlay", "-resource-dir", "-working-directory", "--output", "-include-pch", "-dependency-file",
    "-dependency-dot", "-header-include-file", "-diagnostic-log-file", "-Xarch_host", "-Xarch_device", "-specs",
    "-wrapper", "-gcc-toolchain", "-iframeworkwithsysroot", "-iwithsysroot", "-meabi", "-mthread-model",
    "-module-dependency-dir",
)
# A glob of checks that a tree may choose.
OWN_CHECK = re.compile(r"-?vfriendly-[\w*-]*")
LAUNCHERS = ("ccache", "sccache", "distcc", "icecc", "buildcache")
# Options that begin like one of VALUES and take the next word.
_TAKE_NEXT = ("-iframeworkwithsysroot", "-iwithsysroot")
_NO_CONFIG = "--no-default-config"
# Limits of files with options.
MOST_BYTES, DEEPEST, MOST_WORDS = 16 << 20, 8, 200_000


@dataclass(frozen=True)
class Command:
    words: tuple[str, ...]
    left_out: tuple[str, ...]  # options that are named in the summary


class TooLong(ValueError):
    """Files with options name each other without end, or are too large."""


_WORD = re.compile(r"""(?:[^\s"'\\]|\\.|"(?:[^"\\]|\\.)*"|'[^']*')+""", re.DOTALL)
_PART = re.compile(r"""\\(.)|"((?:[^"\\]|\\.)*)"|'([^']*)'""", re.DOTALL)


def _unquote(word: str) -> str:
    def plain(match: "re.Match[str]") -> str:
        if match[1] is not None:
            return match[1]
        return re.sub(r"\\(.)", r"\1", match[2], flags=re.DOTALL) if match[2] is not None else match[3]

    return _PART.sub(plain, word)


def _expanded(words: Sequence[str], directory: str, depth: int = 0) -> Iterator[str]:
    """Yields the words, those in files (@FILE) in place of their names, as gcc and clang do."""
    for word in words:
        if not word.startswith("@") or len(word) == 1:
            yield word
            continue
        if depth == DEEPEST:
            raise TooLong(f"files with options name each other: {word}")
        try:
            text = regular.read(os.path.join(directory, word[1:]), MOST_BYTES).decode("utf-8", "surrogateescape")
        except OSError:
            yield word  # named as left out
            continue
        yield from _expanded([_unquote(w) for w in _WORD.findall(text)], directory, depth + 1)


def _program(word: str) -> str:
    """Returns the compiler's name, by which clang knows language and target, if it names no other target."""
    name = os.path.basename(word)
    prefix = re.match(r"(.*)-(clang|gcc|g\+\+|cc|c\+\+)", name)
    if prefix and not _PROCESSORS.fullmatch(prefix[1]):
        return "clang++" if "++" in name else "clang"
    return word if re.fullmatch(r"[\w.+-]+", name) else "clang"


def _value_is_good(option: str, value: str) -> bool:
    if option in ("--target", "-target", "-arch"):
        return _PROCESSORS.fullmatch(value) is not None
    if option == "-x":
        return value in _LANGUAGES
    # clang expands the name of a file with options wherever it stands; files that can be read are expanded by now.
    return "\0" not in value and not value.startswith("@")


def _joined(word: str) -> tuple[str, str] | None:
    """Splits an option that has its value in the same word."""
    if word in _TAKE_NEXT:
        return None
    for option in LONG_VALUES:
        if word.startswith(option + "="):
            return option, word[len(option) + 1:]
    if word.startswith("-x") and len(word) > 2:
        return "-x", word[2:]
    known = [o for o in VALUES if word.startswith(o) and len(word) > len(o)]
    # -include-pch is not -include with the value -pch; nor is -isystem-after -isystem.
    return None if not known or word.startswith("-include-") else (max(known, key=len), word)


def _included(file: str) -> list[str]:
    """Names a file that is included first, past the driver: that would read FILE.gch or FILE.pch in its place."""
    return ["-Xclang", "-include", "-Xclang", file]


def stands_alone(word: str) -> bool:
    """Returns True if the command without the word lacks only what the word asks for.

    Messages, in which a tree may have put anything, name options that clang does not know. Without -D its value
    would be an option.
    """
    return word not in (*VALUES, *LONG_VALUES, "-x", "-target", "-arch", "-Xclang", _NO_CONFIG)


def choose(words: Sequence[str], directory: str, file: str) -> Command:
    """Returns the command with options that say how to read the file. Raises TooLong."""
    # What runs the compiler is no part of the command.
    while len(words) > 1 and os.path.basename(words[0]) in LAUNCHERS and not words[1].startswith("-"):
        words = words[1:]
    every = list[str]()
    for word in _expanded(words[1:], directory):
        every.append(word)
        if len(every) > MOST_WORDS:
            raise TooLong(f"it has more than {MOST_WORDS} words")
    kept, left = [_program(words[0])], list[str]()
    rest = iter(every)
    for word in rest:
        if word in VALUES or word in _NEXT_VALUES or word in ("-x", "-target", "-arch"):
            value = next(rest, None)
            if value is None:
                continue
            if _value_is_good(word, value):
                kept += _included(value) if word == "-include" else [word, value]
            else:
                left.append(f"{word} {value}")
        elif word == "-Xclang":
            inner = next(rest, "")
            if inner in ("-include", "-include-pch"):
                # As CMake writes: -Xclang -include -Xclang FILE.
                again, value = next(rest, ""), next(rest, "")
                if again == "-Xclang" and inner == "-include" and _value_is_good(inner, value):
                    kept += _included(value)
            elif inner:
                left.append(f"{word} {inner}")
        elif word in _SILENT_VALUES:
            next(rest, None)
        elif word in _NAMED_VALUES or word in LONG_VALUES:
            value = next(rest, "")
            left.append(f"{word} {value}".strip())
        elif not word.startswith(("-", "@")):
            continue  # the source, which is added below, or what is linked
        elif word.startswith("-include") and len(word) > 8 and word[8] != "-":
            kept += _included(word[8:]) if _value_is_good("-include", word[8:]) else []
        elif parts := _joined(word):
            (kept if _value_is_good(*parts) else left).append(word)
        elif _PLAIN.fullmatch(word):
            kept.append(word)
        elif not _SILENT.fullmatch(word) and word not in ("-", "--"):
            left.append(word)
    # clang must not read a file with options beside the compiler, nor in the home folder of the user. This stands
    # first, so that no other option can take it for its value.
    return Command((kept[0], _NO_CONFIG, *kept[1:], file), tuple(dict.fromkeys(left)))


def extra(words: Sequence[str]) -> list[str]:
    """Returns those of the options that may be added to a command."""
    return list(choose(["clang", *words], "/", "").words[2:-1])
