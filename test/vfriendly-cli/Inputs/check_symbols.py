# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_symbols.py FOLDER: lines of programs whose debug information is in another file, beside them or on a server."""

import http.server
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

from project import HERE, TOOL  # noqa: F401 (finds the package)

from vfriendly.measuring.symbols import Symbols

FOLDER = Path(sys.argv[1]).resolve()
SOURCE = HERE / "truth" / "odd.c"
LINE = next(i for i, text in enumerate(SOURCE.read_text().splitlines(), 1) if text.startswith("static void *compute"))


def run(*words):
    return subprocess.run(words, cwd=FOLDER, capture_output=True, text=True, check=True).stdout


def place(program, address):
    symbols = Symbols()
    symbols.load([(str(FOLDER / program), address)])
    (frame,) = symbols.frames(str(FOLDER / program), address)
    return frame.function, Path(frame.file).name, frame.line


class Server(http.server.BaseHTTPRequestHandler):
    """Has one file, as a server of debuginfod has it."""

    build_id = ""

    def do_GET(self):  # noqa: N802 (the base class's name)
        found = self.path == f"/buildid/{self.build_id}/debuginfo"
        body = (FOLDER / "served.debug").read_bytes() if found else b""
        self.send_response(200 if found else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


FOLDER.mkdir(parents=True, exist_ok=True)
run("cc", "-g", "-O1", "-pthread", "-Wl,--build-id", str(SOURCE), "-o", "whole")
address = int(re.search(r"^(\w+) t compute$", run("nm", "whole"), re.M)[1], 16)
whole = ("compute", "odd.c", LINE)
assert place("whole", address) == whole, place("whole", address)
# The debug information of Debian's packages: a stripped program names the file that has it.
run("objcopy", "--only-keep-debug", "whole", "linked.debug")
run("objcopy", "--strip-all", "--add-gnu-debuglink=linked.debug", "whole", "linked")
assert place("linked", address) == whole, place("linked", address)
# It is on a server only, under the program's build id.
(FOLDER / "linked.debug").rename(FOLDER / "served.debug")
run("objcopy", "--strip-all", "whole", "served")
os.environ.pop("DEBUGINFOD_URLS", None)
assert place("served", address) == ("", "", 0) == place("linked", address), place("served", address)
Server.build_id = re.search(r"Build ID: (\w+)", run("readelf", "-n", "whole"))[1]
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
os.environ.update(DEBUGINFOD_URLS=f"http://127.0.0.1:{server.server_address[1]}", DEBUGINFOD_CACHE_PATH=str(FOLDER / "cache"))
can = "libcurl" in run("ldd", os.path.realpath(Symbols().tool))
assert place("served", address) == (whole if can else ("", "", 0)), place("served", address)
