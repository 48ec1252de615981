# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Serves metrics, and runs PROGRAM PORT DEAF: at DEAF nobody takes connections, and no more fit."""

import http.server
import socket
import subprocess
import sys
import threading
import time

TEXT = 'requests_total{path="/a b} 9"} 5\n# requests_total 100\nrequests_total{} 7.5\nplain 7\n'


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/slow":
            time.sleep(3)
        self.send_response(200 if self.path == "/metrics" else 404)
        self.end_headers()
        if self.path == "/metrics":
            self.wfile.write(TEXT.encode())

    def log_message(self, *arguments):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
deaf = socket.socket()
deaf.bind(("127.0.0.1", 0))
deaf.listen(0)
waiting = [socket.socket() for _ in range(4)]
for each in waiting:
    each.setblocking(False)
    each.connect_ex(deaf.getsockname())
sys.exit(subprocess.run([sys.argv[1], str(server.server_port), str(deaf.getsockname()[1])]).returncode)
