# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What ./dev attack runs: programs of Debian's packages and of subjects/, and the programs of preload/.

A Setup's command runs in a folder of its own, in which `makes` has been run once. What it prints and its exit status
are compared; so it prints nothing that differs from run to run. $PORT is one that it may use.
"""

import glob
import os
import re
from dataclasses import dataclass

HERE = os.path.dirname(os.path.abspath(__file__))
# Of one set-up, including all its children.
TIMEOUT_S = 40


@dataclass(frozen=True)
class Setup:
    name: str
    sentence: str
    command: str          # for bash
    needs: tuple = ()     # programs; without one the set-up is not run
    makes: str = ""       # for bash: builds what the command runs
    refused: str = ""     # what vfriendly run must say of it instead of starting it
    smoke: bool = False   # in --smoke


SUBJECTS = os.path.join(HERE, "subjects")
# Runs a command without the library, where a client or a tool is not what is looked at.
PLAIN = "env -u LD_PRELOAD -u VF_NUMA -u VF_NUMA_PIN"


def _python(what, sentence, **more):
    return Setup(f"python-{what}", sentence, f"python3 {SUBJECTS}/threads.py {what}", ("python3",), **more)


def _map(name, sentence, compiler, flags, command="./map", **more):
    return Setup(name, sentence, command, (compiler.split()[0],),
                 f"{compiler} -O1 -g {flags} {SUBJECTS}/map.cpp -o map -pthread", **more)


_REDIS = f"""
redis-server --port $PORT --save '' --io-threads 3 --io-threads-do-reads yes > /dev/null & server=$!
for i in $(seq 50); do redis-cli -p $PORT ping 2> /dev/null | grep -q PONG && break; sleep 0.1; done
{PLAIN} redis-benchmark -p $PORT -n 2000 -c 20 -t set,get,lpush -q > /dev/null
redis-cli -p $PORT dbsize; redis-cli -p $PORT bgsave
until redis-cli -p $PORT info persistence | grep -q rdb_bgsave_in_progress:0; do sleep 0.1; done
redis-cli -p $PORT info persistence | grep rdb_last_bgsave_status
redis-cli -p $PORT shutdown nosave; wait $server; echo $?; rm -f dump.rdb"""
_NGINX = f"""
mkdir -p logs; echo hello > x
echo "worker_processes 2; pid $PWD/p; error_log $PWD/e; events {{}} thread_pool default threads=4;
http {{ access_log off; server {{ listen 127.0.0.1:$PORT; root $PWD; aio threads; }} }}" > c
nginx -p $PWD -c $PWD/c -e $PWD/e
get() {{ {PLAIN} curl -s --retry 20 --retry-connrefused --retry-delay 1 127.0.0.1:$PORT/x; }}
for i in $(seq 50); do get; done | sort | uniq -c
kill -HUP $(cat p); sleep 0.3; get
kill -QUIT $(cat p); for i in $(seq 100); do [ -e p ] || break; sleep 0.1; done; ls p 2>&1 | wc -l"""
_POSTGRES = f"""
programs=$(ls -d /usr/lib/postgresql/*/bin | tail -1); rm -rf pg; mkdir -m 777 pg; chmod 711 .
as() {{ setpriv --reuid=65534 --regid=65534 --clear-groups "$programs/$@"; }}
cd pg; as initdb -D $PWD/d -A trust > /dev/null 2>&1
as pg_ctl -D $PWD/d -o "-p $PORT -k $PWD -h 127.0.0.1" -w -l $PWD/l start > /dev/null
as pgbench -h 127.0.0.1 -p $PORT -U nobody -i -q postgres > /dev/null 2>&1
as pgbench -h 127.0.0.1 -p $PORT -U nobody -c 6 -j 2 -t 100 postgres 2> /dev/null | grep -o 'actually processed: 600'
as psql -h 127.0.0.1 -p $PORT -U nobody postgres -Atc 'select count(*) from pgbench_accounts'
as pg_ctl -D $PWD/d -m fast -w stop > /dev/null; echo $?"""
_GIT = """
export GIT_CONFIG_GLOBAL=/dev/null; rm -rf r; git init -q r; cd r
for i in $(seq 300); do echo $i > f$i; done; git add -A; git -c user.name=a -c user.email=a@b commit -qm x
git repack -adq --threads=4; git fsck 2>&1; git grep -c --threads 4 1 | wc -l; git log --oneline | wc -l"""
_GDB = """
env -u LD_PRELOAD gdb -q -batch ${LD_PRELOAD:+-ex "set environment LD_PRELOAD $LD_PRELOAD"} -ex run ./map 2>&1 |
  grep -c 'exited normally'"""
_SQL = ("create table t(a, b); with recursive c(x) as (select 1 union all select x + 1 from c where x < 100000) "
        "insert into t select x, hex(randomblob(20)) from c; create index i on t(a); "
        "select count(*), sum(a) from t; pragma integrity_check;")
_PERL = r"""
perl -e 'my %h; $h{$_} = $_ x 3 for 1..50000; my $s = 0; $s += length for values %h; print "$s\n";
my @p; for (1..20) { my $p = fork; if (!$p) { exit 3 } push @p, $p } my $n = 0; for (@p) { waitpid $_, 0; $n += $? >> 8 } print "$n\n"'"""
_BASH = """
for i in $(seq 100); do x=$(echo $i); done; wait; (exec 3<> /dev/null; seq 1000 | sort -n | tail -1)
trap 'echo t' USR1; kill -USR1 $$; mapfile a < /etc/services; echo ${#a[@]}"""
_LATE = """python3 -c '
import ctypes
for name in ("pthread", "omp", "numa"):
    ctypes.CDLL("LIB/libvf" + name + ".so")
print("ok")'"""

PROGRAMS = [
    Setup("bash", "a shell that forks, traps and pipes", _BASH, smoke=True),
    Setup("busybox", "another shell's tools", "busybox sh -c 'seq 1000 | sort -rn | head -1; echo a | sha256sum'",
          ("busybox",)),
    Setup("chroot", "a static program in a root without libraries",
          "mkdir -p root/bin; cp $(command -v busybox) root/bin; chroot root /bin/busybox echo in", ("busybox",)),
    Setup("clang", "a compiler", f"clang++-22 -O1 {SUBJECTS}/map.cpp -S -o - | md5sum", ("clang++-22",)),
    Setup("curl", "a client that starts threads to look names up", "curl -s file:///etc/hostname | wc -l", ("curl",)),
    Setup("gcc", "a compiler and its children", f"gcc -O1 {SUBJECTS}/map.cpp -S -o - | md5sum", ("gcc",)),
    _map("gdb", "a debugger with the library", "g++", "",
         "gdb -q -batch -ex 'break main' -ex run -ex 'info threads' -ex 'call (int)puts(\"x\")' -ex cont ./map 2>&1 |"
         " grep -c 'exited normally'"),
    _map("gdb-inferior", "a debugger whose program has the library", "g++", "", _GDB),
    Setup("git", "a program with threads, children and mapped files", _GIT, ("git",)),
    Setup("go", "goroutines that call C", "./calls", ("go", "gcc"),
          f"cp {SUBJECTS}/calls.go . && HOME=$PWD GOCACHE=$PWD/cache go build -o calls calls.go"),
    Setup("java", "a pool of threads that allocate, and a child", "java -Xmx200m -cp . Pool", ("java", "javac"),
          f"javac -d . {SUBJECTS}/Pool.java"),
    Setup("make", "many children at once",
          "printf 'all: $(foreach i,1 2 3 4 5 6 7 8 9 10 11 12,t$(i))\\nt%%:\\n\\t@echo $@ | cat > /dev/null\\n' > mk;"
          " make -s -j8 -f mk; echo $?", ("make",)),
    Setup("nginx", "a server with processes and a pool of threads", _NGINX, ("nginx", "curl")),
    Setup("node", "worker threads, a pool of threads, and a child", f"node {SUBJECTS}/workers.js", ("node",)),
    Setup("openssl", "processes that compute", "openssl speed -seconds 1 -bytes 64 -multi 2 sha256 2> /dev/null | wc -l;"
          " openssl dgst -sha256 /etc/services | cut -c1-40", ("openssl",)),
    Setup("passwd", "a setuid program", "passwd -S root | cut -d' ' -f1", ("passwd",)),
    Setup("perl", "an interpreter that forks", _PERL, ("perl",), smoke=True),
    _map("plain", "threads that share a map", "g++", "", smoke=True),
    _map("plain-space", "the same in 300 MB of address space", "g++", "", "ulimit -v 300000; ./map"),
    _map("plain-files", "the same with 8 files", "g++", "", "ulimit -n 8; ./map"),
    Setup("postgres", "a server with processes and shared memory", _POSTGRES, ("psql", "setpriv")),
    _python("hand-over", "16 threads and a queue", smoke=True),
    _python("fork", "a pool of forked processes"),
    _python("spawn", "a pool of processes that were started"),
    _python("forkserver", "a pool of processes that a server forks"),
    _python("programs", "150 programs started by 8 threads"),
    _python("fork-beside-threads", "30 forks beside threads that allocate"),
    _python("ctypes", "libc called through its own handle"),
    Setup("python-space", "16 threads in 1.6 GB of address space",
          f"ulimit -v 1600000; python3 {SUBJECTS}/threads.py hand-over", ("python3",)),
    Setup("python-processes", "16 threads with a limit of processes",
          f"ulimit -u 4000; python3 {SUBJECTS}/threads.py hand-over", ("python3",)),
    Setup("loaded-late", "libraries that a running program opens", _LATE, ("python3",)),
    Setup("redis", "a server with I/O threads that forks", _REDIS, ("redis-server", "redis-benchmark")),
    Setup("rust", "mutexes and conditions of Rust", "./waits", ("rustc",), f"rustc -O {SUBJECTS}/waits.rs -o waits"),
    Setup("sort", "a sort by threads",
          "seq 200000 | shuf --random-source=/etc/services | sort --parallel=4 -S 2M | md5sum", smoke=True),
    Setup("sqlite", "a database in memory", f"sqlite3 :memory: '{_SQL}'", ("sqlite3",)),
    _map("strace", "a tracer that stops each system call", "g++", "", "strace -f -o /dev/null ./map"),
    Setup("su", "a program of another user", "su -s /bin/sh -c 'id -u' nobody", ("su",)),
    Setup("sudo", "a setuid program that starts another", "sudo -n -u nobody id -u", ("sudo",)),
    Setup("sudo-environment", "what it keeps of the environment", "sudo -n -E -u nobody env | grep -c '^LD_PRELOAD'",
          ("sudo",)),
    Setup("tar", "a pipe of programs with threads",
          "tar c /usr/include/linux 2> /dev/null | xz -T4 -1 | xz -dc -T4 | tar t | wc -l", ("xz",)),
    Setup("timeout", "a program that a signal ends", "timeout 1 sleep 5; echo $?"),
    Setup("user-namespace", "a program in a user namespace", "unshare -Ur id -u", ("unshare",)),
    _map("valgrind", "an emulated processor", "g++", "", "valgrind -q --error-exitcode=3 ./map 2>&1 | tail -1"),
    _map("helgrind", "a checker of locks", "g++", "", "valgrind -q --tool=helgrind ./map 2>&1 | tail -1"),
    _map("asan", "gcc's AddressSanitizer", "g++", "-fsanitize=address", refused="AddressSanitizer"),
    _map("ubsan", "gcc's UndefinedBehaviorSanitizer", "g++", "-fsanitize=undefined"),
    _map("clang-asan", "clang's AddressSanitizer", "clang++-22", "-fsanitize=address"),
    _map("tsan", "gcc's ThreadSanitizer", "g++", "-fsanitize=thread", refused="ThreadSanitizer"),
    _map("clang-tsan", "clang's ThreadSanitizer", "clang++-22", "-fsanitize=thread", refused="ThreadSanitizer"),
    Setup("musl", "another libc", "./count", ("musl-gcc",), f"musl-gcc -O1 {SUBJECTS}/count.c -o count -pthread",
          refused="another libc"),
    Setup("musl-child", "a program of another libc that env starts", "env X=1 ./count", ("musl-gcc",),
          f"musl-gcc -O1 {SUBJECTS}/count.c -o count -pthread", refused="another libc"),
    Setup("static", "a static program", "./count", ("gcc",), f"gcc -static -O1 {SUBJECTS}/count.c -o count -pthread",
          refused="linked statically"),
]


def _of_file(path):
    """Returns the set-up of a program of preload/."""
    name = os.path.basename(path)[:-len(".c")]
    with open(path, encoding="utf-8") as file:
        comment = re.search(r"// SPDX.*\n//\n// (.*)\n(?:// LIBRARY: (\w+)\n)?", file.read())
    compile_c = f"gcc -std=gnu17 -D_GNU_SOURCE -O1 -g -w -fno-builtin -pthread {path} -o {name} -ldl"
    library = ""
    if comment[2]:
        library = f"gcc -std=gnu17 -D_GNU_SOURCE -O1 -g -shared -fPIC -pthread {path[:-2]}.library.c -o {name}.so && "
    if comment[2] == "linked":
        compile_c += f" ./{name}.so"
    return Setup(name, comment[1], f"./{name}", ("gcc",), library + compile_c,
                 smoke=name in ("atfork-order", "stack-malloc", "malloc-edges", "seccomp", "vfork"))


PRELOAD = [_of_file(path) for path in sorted(glob.glob(os.path.join(HERE, "preload", "*.c")))
           if not path.endswith(".library.c")]
ALL = {each.name: each for each in PROGRAMS + PRELOAD}
assert len(ALL) == len(PROGRAMS) + len(PRELOAD), "two set-ups have one name"
