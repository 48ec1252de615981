# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command line: one module of vfriendly.commands for each subcommand.

A module of that package is a subcommand if its name does not begin with '_'. It has
  SENTENCE            its description
  options(parser)     adds its options
  run(options) -> int runs it, and returns the exit status
It may have
  TAKES_COMMAND       True if words after -- are a command, options.command
  EPILOG              its exit statuses, if they are others than those below
  EXAMPLE             its place in the summary, words after its name, and what they are for
Add a subcommand by adding a module: nothing else names them.
"""

import argparse
import importlib
import os
import pkgutil
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Sequence
from typing import NoReturn

import vfriendly
import vfriendly.commands
from vfriendly import escaping, settings
from vfriendly.errors import UNUSABLE, Refused

EPILOG = """exit status: 0 no findings, 1 findings at or above the level of --fail-on, 2 wrong usage
or unusable tools, 3 some units were not examined completely (also if there are findings)"""

ENDING = (signal.SIGTERM, signal.SIGHUP)


def names() -> list[str]:
    found = pkgutil.iter_modules(vfriendly.commands.__path__)
    return sorted(m.name for m in found if not m.name.startswith("_"))


def takes_command(name: str) -> bool:
    return getattr(importlib.import_module(f"vfriendly.commands.{name}"), "TAKES_COMMAND", False)


class Parser(argparse.ArgumentParser):
    """Answers a wrong option with one line, as all other errors; --help prints the usage."""

    def error(self, message: str) -> NoReturn:
        self.exit(UNUSABLE, f"vfriendly: {escaping.terminal(message)}; see {self.prog} --help\n")


class _Version(argparse.Action):
    """Prints the versions that a report of an error needs."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from vfriendly import tools
        here = os.path.dirname(os.path.realpath(__file__))
        done = subprocess.run(["git", "-C", here, "rev-parse", "--short=10", "HEAD"], capture_output=True, text=True,
                              check=False) if _in_work_tree(here) else None
        commit = f", commit {done.stdout.strip()}" if done and not done.returncode else ""
        print(f"vfriendly {vfriendly.__version__}{commit}; LLVM {tools.llvm()}; Python {sys.version.split()[0]}")
        parser.exit()


def _in_work_tree(here: str) -> bool:
    """Returns True where the package is run from its sources: an installation may be below others' work trees."""
    return os.path.isfile(os.path.join(here, "..", "..", "..", "guidelines", "catalogue.json"))


def parser_of(commands: Sequence[str]) -> argparse.ArgumentParser:
    parser = Parser(
        prog="vfriendly", description=vfriendly.__doc__, epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print versions and exit")
    inner = parser.add_subparsers(metavar="COMMAND", required=True)
    for name in commands:
        module = importlib.import_module(f"vfriendly.commands.{name}")
        sub = inner.add_parser(
            name, help=module.SENTENCE, description=module.SENTENCE, epilog=getattr(module, "EPILOG", EPILOG),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if takes_command(name):
            sub.usage = f"{sub.prog} [OPTIONS] -- COMMAND"
        module.options(sub)
        sub.set_defaults(run=module.run)
        known = {action.dest for action in sub._actions}
        if len(commands) == 1 and "build" in known:
            # A change under review must not choose what is shown of it.
            sub.set_defaults(**settings.defaults({"build"} if name == "review" else known))
    return parser


def summary(commands: Sequence[str]) -> str:
    """What is printed to somebody who gives no command."""
    modules = {name: importlib.import_module(f"vfriendly.commands.{name}") for name in commands}
    examples = sorted((*module.EXAMPLE, name) for name, module in modules.items() if hasattr(module, "EXAMPLE"))
    lines = [(f"{name} {words}", what) for _, words, what, name in examples]
    wide = max(len(line) for line, _ in lines)
    rows = [f"  vfriendly {line.ljust(wide)}  {what}" for line, what in lines]
    others = ", ".join(name for name, module in modules.items() if not hasattr(module, "EXAMPLE"))
    return "\n".join([f"vfriendly {vfriendly.__version__}: {vfriendly.__doc__}", "", *rows, "",
                      f"Also: {others}. vfriendly --help has all, vfriendly COMMAND --help the options.", ""])


class Ended(BaseException):
    """A signal ends the run: processes that it has started are ended, and folders removed, on the way out."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def _unwind_by_signals() -> None:
    if threading.current_thread() is not threading.main_thread():
        return

    def end(number: int, _: object) -> None:
        for each in ENDING:
            signal.signal(each, signal.SIG_IGN)
        raise Ended(number)

    for number in ENDING:
        # nohup has SIGHUP ignored.
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, end)


def _drop_output() -> None:
    """Nothing may be flushed at exit: standard output takes no more."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        pass


def main(arguments: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if arguments is None else arguments)
    known = names()
    if not words:
        print(summary(known), end="")
        return UNUSABLE
    # Only the wanted command's module is imported: others may have costly imports.
    wanted = [words[0]] if words and words[0] in known else known
    # argparse would take options of the command for the subcommand's own.
    command: list[str] = []
    if "--" in words and len(wanted) == 1 and takes_command(wanted[0]):
        at = words.index("--")
        words, command = words[:at], words[at + 1:]
    try:
        parser = parser_of(wanted)
    except Refused as error:
        escaping.say(str(error))
        return UNUSABLE
    # argparse removes -- from --option=--, and then takes an empty list for the value.
    odd = next((word for word in words if word.startswith("-") and word.endswith("=--")), None)
    if odd:
        parser.error(f"{odd}: -- is no value")
    options, rest = parser.parse_known_args(words, argparse.Namespace(command=command))
    if rest and len(wanted) == 1 and takes_command(wanted[0]) and not rest[0].startswith("-"):
        parser.error(f"'{rest[0]}' is no option; a command follows --, as in vfriendly {wanted[0]} -- {rest[0]}")
    if rest:
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    _unwind_by_signals()
    try:
        status = options.run(options)
        if not sys.stdout.closed:  # as lsp leaves it
            sys.stdout.flush()
        return int(status)
    except Refused as error:
        escaping.say(str(error))
        return UNUSABLE
    except BrokenPipeError:
        # The program that reads standard output has closed the pipe.
        _drop_output()
        return UNUSABLE
    except KeyboardInterrupt:
        escaping.say("interrupted; what was examined is cached, run it again to go on")
        return 130
    except Ended as end:
        return 128 + end.number
    except OSError as error:
        _drop_output()
        escaping.say(f"{error.strerror or error}" + (f": {error.filename}" if error.filename else ""))
        return UNUSABLE
    except Exception as error:
        # An exception here is a bug of this tool. Python would exit with status 1, which means
        # findings.
        if os.environ.get("VFRIENDLY_DEBUG"):
            traceback.print_exc()
        what = "".join(traceback.format_exception_only(type(error), error)).strip()
        escaping.say(f"internal error, please report it: {what}; VFRIENDLY_DEBUG=1 tells where")
        return UNUSABLE
