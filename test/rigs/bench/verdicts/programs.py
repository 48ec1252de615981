# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The programs of `./dev bench verdicts`: Debian's, as they are configured for more CPUs than their container has.

{folder} is an empty folder of each program, {outside} the beginning of a command that shall run outside of the
container, such as a load.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Program:
    packages: tuple[str, ...]
    command: str = ""  # that ends by itself, or
    server: str = ""  # on
    port: int = 0  # with
    load: str = ""
    metric: str = ""  # of the load, higher is better; without one the time counts
    prepare: str = ""  # a shell's line, once
    user: str = "root"
    runs: int = 1  # for each one of the others, where runs differ much


PROGRAMS = {
    "redis, 4 I/O threads": Program(
        ("redis-server", "redis-tools"),
        port=17810, server="redis-server --port {port} --save '' --io-threads 4 --io-threads-do-reads yes",
        load="{outside} redis-benchmark -p {port} -c 16 -t get -q -n {requests}", metric=r"GET: ([\d.]+) requests"),
    "memcached, 4 threads": Program(
        ("memcached",), port=17811, server="memcached -u root -l 127.0.0.1 -p {port} -t 4",
        load="{outside} {load} {port} 16 {ms} {warm_ms}", metric=r'"rps": ([\d.]+)', runs=2),
    "numpy": Program(
        ("python3-numpy", "libopenblas0-pthread"),
        "/usr/bin/python3 -c 'import numpy; a = numpy.ones((600, 600)); [a @ a for _ in range(36)]; "
        "[numpy.linalg.eigh(a[:160, :160]) for _ in range(16)]'"),
    "scikit-learn": Program(
        ("python3-sklearn",), "/usr/bin/python3 -c 'from sklearn.cluster import KMeans; import numpy; "
        "KMeans(16, n_init=1, max_iter=30, tol=0).fit(numpy.random.default_rng(1).random((50000, 24)))'"),
    "OpenMP solver": Program(
        ("gcc", "libc6-dev"), "{folder}/solver 300 {steps}",
        prepare="gcc -O2 -fopenmp {here}/solver.c -o {folder}/solver -lm"),
    "Go: restic": Program(
        ("restic",), "restic -q --no-cache backup {folder}/files --force",
        prepare="mkdir {folder}/files && head -c 48000000 /dev/urandom > {folder}/files/a && "
                "cp /usr/bin/*-linux-gnu-* {folder}/files && restic init"),
    "JVM: javac": Program(
        ("openjdk-17-jdk-headless",), "javac -d {folder}/out @{folder}/list",
        prepare="mkdir {folder}/out; for i in $(seq 200); do echo \"class C$i {{ java.util.Map<String, Integer> m = new "
                "java.util.HashMap<>(); int f(int x) {{ return m.computeIfAbsent(\\\"$i\\\" + x, k -> k.length()); }} }}\" "
                "> {folder}/C$i.java; done; ls {folder}/*.java > {folder}/list"),
    "PostgreSQL, 8 clients": Program(
        ("postgresql-15",),
        port=17812, user="postgres", server="{pg}/postgres -D {folder}/data -k {folder} -p {port} "
               "-h 127.0.0.1 -c fsync=off -c synchronous_commit=off -c autovacuum=off",
        load="{outside} {pg}/pgbench -h 127.0.0.1 -p {port} -U postgres -n -N -c 8 -j 1 -T {seconds} postgres",
        metric=r"tps = ([\d.]+)",
        prepare="chown postgres {folder} && p='setpriv --reuid=postgres --regid=postgres --clear-groups {pg}' && "
                "$p/initdb -D {folder}/data -U postgres -A trust -N && "
                "$p/pg_ctl -D {folder}/data -o '-k {folder} -p {port}' -l {folder}/log -w start && "
                "$p/pgbench -h {folder} -p {port} -U postgres -i -s 4 -q postgres; $p/pg_ctl -D {folder}/data -w stop"),
    "ffmpeg, x264": Program(
        ("ffmpeg",), "ffmpeg -v error -f lavfi -i testsrc2=duration=3:size=640x360:rate=25 -c:v libx264 -f null -"),
    "nginx, a worker for each CPU": Program(
        ("nginx-light", "wrk"), port=17813, server="nginx -c {folder}/nginx.conf",
        load="{outside} wrk -t 1 -c 16 -d {seconds} http://127.0.0.1:{port}/", metric=r"Requests/sec: +([\d.]+)",
        prepare="echo 'daemon off; worker_processes auto; pid {folder}/pid; error_log {folder}/log; user root; events {{}} "
                "http {{ access_log off; server {{ listen {port}; location / {{ return 200 ok; }} }} }}' "
                "> {folder}/nginx.conf"),
}
