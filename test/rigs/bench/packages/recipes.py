# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How each package is built, served and loaded: all scripts of sh.

Scripts may name {threads}, {port} and {requests}, and run in the folder of a build, by $CC and $CXX.
"""

from dataclasses import dataclass


@dataclass
class Recipe:
    name: str
    # Debian's source packages; the scripts find each in a folder of its name.
    sources: list
    # Tools and libraries of Debian that the build or the load needs.
    needs: list
    build: str
    # Work of a fixed size, so that time and CPU can be compared; {requests} is what takes a second or more here.
    load: str
    requests: int
    # Run once before each server starts, to make its data.
    prepare: str = ""
    # The server, in the foreground; "" where the load is the program.
    serve: str = ""


CONFIGURE = "export ACLOCAL=: AUTOCONF=: AUTOHEADER=: AUTOMAKE=:; ./configure"
MARIADB_WITHOUT = ("ROCKSDB CONNECT SPIDER MROONGA OQGRAPH COLUMNSTORE S3 SPHINX FEDERATED FEDERATEDX ARCHIVE BLACKHOLE "
                   "PERFSCHEMA").split()
# Its own tables are not needed: nobody logs in.
MARIADB = "mariadb/out/sql/mariadbd --no-defaults --user=root --skip-grant-tables --datadir=$PWD/data --lc-messages-dir=$PWD/mariadb/out/sql/share"
SYSBENCH = ("sysbench /usr/share/sysbench/oltp_{kind}.lua --db-driver=mysql --mysql-socket=$PWD/socket --mysql-user=root "
            "--mysql-db=test --tables=2 --table-size=20000 --threads={{threads}} --time=0 --rand-type=uniform ")
PG = "PATH=$PWD/pg/bin:$PATH LC_ALL=C"

RECIPES = {r.name: r for r in [
    Recipe("memcached", ["memcached"], ["libevent-dev", "libmemcached-tools"],
           f"cd memcached && {CONFIGURE} --disable-docs && make -j2 memcached",
           "memcslap --servers=127.0.0.1:{port} --concurrency={threads} --execute-number={requests} --test=set", 40_000,
           serve="exec memcached/memcached -u root -l 127.0.0.1 -p {port} -t {threads} -m 256"),
    # Workers take a spin lock in shared memory for each request, that of limit_req.
    Recipe("nginx", ["nginx"], ["apache2-utils"],
           "cd nginx && ./configure --prefix=$PWD/../www --with-cc=$CC --with-cc-opt=-O2 --with-threads "
           "--without-http_rewrite_module --without-http_gzip_module && make -j2",
           "ab -q -n {requests} -c $(({requests} < 32 ? {requests} : 32)) http://127.0.0.1:{port}/", 40_000,
           prepare="mkdir -p www/html www/logs www/conf && echo hello > www/html/index.html && "
                   "echo 'user root; daemon off; worker_processes {threads}; events { worker_connections 256; } http { access_log off; "
                   "limit_req_zone $server_port zone=all:1m rate=1000000r/s; limit_req zone=all burst=1000000 nodelay; "
                   "server { listen 127.0.0.1:{port}; } }' > www/conf/nginx.conf",
           serve="exec nginx/objs/nginx -p www -c conf/nginx.conf"),
    Recipe("postgresql", ["postgresql-15"], ["bison", "flex"],
           f"cd postgresql-15 && {CONFIGURE} --prefix=$PWD/../pg --without-readline --without-zlib && make -j2 -s install",
           PG + " pgbench -h $PWD -p {port} -U postgres -n -N -c {threads} -j 2 -t {requests} postgres", 4000,
           prepare=f"{PG} initdb -D data -U postgres -A trust -N && ({PG} pg_ctl -D data -w -o \"-k $PWD -p {{port}} -h ''\" start && "
                   f"{PG} pgbench -h $PWD -p {{port}} -U postgres -i -s 4 -q postgres; {PG} pg_ctl -D data -w stop)",
           serve=PG + " exec postgres -D data -k $PWD -p {port} -h '' -c fsync=off -c synchronous_commit=off -c autovacuum=off"),
    Recipe("mariadb", ["mariadb"], ["bison", "ninja-build", "sysbench", "libfmt-dev", "libncurses-dev", "libpcre2-dev", "libssl-dev", "zlib1g-dev"],
           "cmake -G Ninja -S mariadb -B mariadb/out -DCMAKE_BUILD_TYPE=None -DCMAKE_C_FLAGS='-O2 -DNDEBUG -DDBUG_OFF' "
           "-DCMAKE_CXX_FLAGS='-O2 -DNDEBUG -DDBUG_OFF' -DWITH_UNIT_TESTS=OFF -DWITH_EMBEDDED_SERVER=OFF -DWITH_WSREP=OFF -DWITH_SSL=system "
           "-DWITH_ZLIB=system -DWITH_PCRE=system -DWITH_LIBFMT=system -DWITH_MARIABACKUP=OFF -DWITH_JEMALLOC=no -DWITHOUT_DYNAMIC_PLUGINS=ON "
           "-DCONC_WITH_UNIT_TESTS=OFF " + " ".join(f"-DPLUGIN_{p}=NO" for p in MARIADB_WITHOUT) +
           " && ninja -j2 -C mariadb/out mariadbd GenError",
           SYSBENCH.format(kind="read_write") + "--events={requests} run", 2000,
           prepare=f"mkdir -p data/test; {MARIADB} --skip-networking --socket=$PWD/socket & server=$!; "
                   "while ! test -S socket; do sleep 0.2; done; "
                   + SYSBENCH.format(kind="read_write") + "prepare; kill $server; wait $server; rm -f socket",
           serve=f"exec {MARIADB} --bind-address=127.0.0.1 --port={{port}} --socket=$PWD/socket --innodb-flush-log-at-trx-commit=0 "
                 "--innodb-buffer-pool-size=256M --thread-handling=one-thread-per-connection"),
    # A tree of an alignment: thousands of short parallel loops.
    Recipe("libomp", ["llvm-toolchain-19", "fasttree"], ["ninja-build"],
           "mv llvm-toolchain-19 llvm && cmake -G Ninja -S llvm/openmp -B out -DOPENMP_STANDALONE_BUILD=ON "
           "-DCMAKE_BUILD_TYPE=None -DCMAKE_C_FLAGS=-O2 -DCMAKE_CXX_FLAGS=-O2 "
           "-DOPENMP_ENABLE_LIBOMPTARGET=OFF -DLIBOMP_OMPD_SUPPORT=OFF -DLIBOMP_INSTALL_ALIASES=OFF && ninja -C out omp && "
           "$CC -O3 -DOPENMP -fopenmp=libomp -Iout/runtime/src -Lout/runtime/src -Wl,-rpath,$PWD/out/runtime/src "
           "fasttree/fasttree.c -lm -o FastTreeMP",
           "OMP_NUM_THREADS={threads} ./FastTreeMP -quiet -nt -nosupport alignment.fa > tree", 300,
           prepare="awk 'BEGIN { srand(1); for (s = 0; s < {requests}; s++) { print \">s\" s; for (i = 0; i < 300; i++) "
                   "printf \"%s\", substr(\"ACGT\", 1 + (rand() < 0.7 ? i % 4 : int(4 * rand())), 1); print \"\" } }' > alignment.fa"),
    Recipe("libuv", ["libuv1"], ["cmake"],
           "cmake -S libuv1 -B out -DCMAKE_BUILD_TYPE=None -DCMAKE_C_FLAGS=-O2 -DLIBUV_BUILD_TESTS=ON -DLIBUV_BUILD_BENCH=ON && "
           "cmake --build out -j2 --target uv_run_benchmarks_a",
           "UV_RUN_AS_ROOT=1 out/uv_run_benchmarks_a async{threads} async{threads}", 0),
]}
