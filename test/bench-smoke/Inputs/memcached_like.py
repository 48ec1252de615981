# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""memcached_like.py LOAD right|wrong: runs the load generator against a server that knows sets and gets."""

import socketserver
import subprocess
import sys
import threading

load, kind = sys.argv[1:]
values = {}


class Client(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            command, key, *more = line.split()
            if kind == "wrong":
                self.wfile.write(b"ERROR\r\n")
            elif command == b"set":
                values[key] = self.rfile.read(int(more[-1]) + 2)
                self.wfile.write(b"STORED\r\n")
            elif key in values:  # in two parts, as an answer may come
                self.wfile.write(b"VALUE %s 0 %d\r\n" % (key, len(values[key]) - 2))
                self.wfile.write(values[key] + b"END\r\n")
            else:
                self.wfile.write(b"END\r\n")


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass  # The generator closes its connections in the middle of a request.


with Server(("127.0.0.1", 0), Client) as server:
    threading.Thread(target=server.serve_forever, daemon=True).start()
    status = subprocess.run([load, str(server.server_address[1]), "4", "200"], check=False).returncode
    server.shutdown()
sys.exit(status)
