#!/usr/bin/env python3
# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds vfriendly-blocking-sync-* against sync-labels.tsv: sync.py --src DIR [--module FILE].

Runs the checks on the units below, whose flags their configure has chosen, and prints what
was found of the labelled places and how many reports are false, with Wilson 95 % intervals.
A unit that does not compile is an error. A report that nobody has judged is printed.
"""

import argparse
import csv
import glob
import os
import re
import subprocess
import sys

from detect import share

HERE = os.path.dirname(os.path.abspath(__file__))
LARGE = "-D_LARGEFILE64_SOURCE -D_FILE_OFFSET_BITS=64 -D_LARGEFILE_SOURCE -DUSE_STACKSIZE_CUSTOMIZATION"
# corpus -> root below --src, flags, units. What configure writes has to be there.
UNITS = {
    "pbzip2": ("pbzip2-1.1.13", f"{LARGE} -std=gnu++98", "pbzip2.cpp BZ2StreamScanner.cpp"),
    "memcached": ("memcached-1.6.18", "-I. -DHAVE_CONFIG_H -DNDEBUG",
                  "thread.c memcached.c crawler.c logger.c extstore.c assoc.c storage.c items.c slabs.c"),
    "parsec-dedup": ("parsec/pkgs/kernels/dedup/src", "-DENABLE_PTHREADS -DENABLE_GZIP_COMPRESSION -I.", "queue.c encoder.c mbuffer.c hashtable.c"),
    "ferret": ("parsec/pkgs/apps/ferret/src", "-Wno-incompatible-pointer-types -DHUGE=HUGE_VAL -Iinclude -Isrc -Iimage", "src/queue.c src/tpool.c benchmark/ferret-pthreads.c"),
    "bodytrack": ("parsec/pkgs/apps/bodytrack/src", "-std=c++11 -DHAVE_CONFIG_H -DUSE_THREADS -ITrackingBenchmark -ITrackingBenchmark/threads -IFlexImageLib",
                  " ".join("TrackingBenchmark/" + n for n in ("threads/WorkerGroup.cpp", "threads/Barrier.cpp", "threads/Condition.cpp",
                                                              "AsyncIO.cpp", "TrackingModelPthread.cpp"))),
    "lbzip2": ("lbzip2-2.5", "-DHAVE_CONFIG_H -Ilib -I. -Isrc", "src/process.c src/compress.c src/expand.c"),
    "zstd": ("libzstd-1.5.4+dfsg2", "-DZSTD_MULTITHREAD -Iprograms -Ilib -Ilib/common -Icontrib/pzstd",
             "lib/common/pool.c lib/dictBuilder/cover.c lib/dictBuilder/fastcover.c lib/compress/zstdmt_compress.c contrib/pzstd/Pzstd.cpp"),
    "squashfs": ("squashfs-tools-4.5.1", '-DVERSION="1" -DDATE="1" -DYEAR="1" -DCOMP_DEFAULT="gzip" -DGZIP_SUPPORT -DXATTR_SUPPORT -D_GNU_SOURCE',
                 " ".join(f"squashfs-tools/{n}.c" for n in ("unsquashfs", "mksquashfs", "caches-queues-lists", "progressbar"))),
    "fio": ("fio-3.33", '-std=gnu99 -I. -include config-host.h -D_GNU_SOURCE -DFIO_VERSION="3" -DFIO_INTERNAL -DBITS_PER_LONG=64',
            "filelock.c client.c verify.c flow.c filesetup.c backend.c workqueue.c iolog.c zbd.c idletime.c t/dedupe.c"),
    "librdkafka": ("librdkafka-2.0.2", "-D_GNU_SOURCE -Isrc -I.",
                   " ".join(f"src/{n}.c" for n in (
                       "rdkafka rdkafka_admin rdkafka_assignment rdkafka_background rdkafka_broker rdkafka_cgrp "
                       "rdkafka_metadata rdkafka_metadata_cache rdkafka_mock rdkafka_msg rdkafka_msgset_reader "
                       "rdkafka_offset rdkafka_op rdkafka_partition rdkafka_queue rdkafka_request rdkafka_sasl "
                       "rdkafka_sasl_oauthbearer rdkafka_timer rdkafka_transport rdkafka_txnmgr tinycthread "
                       "tinycthread_extra").split())),
    "libuv": ("libuv1-1.44.2", "-D_GNU_SOURCE -Iinclude -Isrc", "src/threadpool.c src/unix/async.c src/unix/core.c src/unix/stream.c src/unix/thread.c"),
    "x265": ("x265-3.5", "-std=gnu++11 -DX265_DEPTH=8 -DX265_NS=x265 -DHIGH_BIT_DEPTH=0 -DEXPORT_C_API=1 -DX86_64 -DHAVE_INT_TYPES_H=1 -Isource "
             "-Isource/common -Isource/encoder", "source/common/frame.cpp source/common/thread*.cpp source/encoder/*.cpp"),
    "tgt": ("tgt-1.0.85", '-D_GNU_SOURCE -Iusr -DBSDIR="/" -DTGT_VERSION="1"', "usr/bs.c usr/bs_rdwr.c usr/bs_sheepdog.c usr/log.c usr/tgtadm.c"),
    "rocksdb": ("rocksdb-7.8.3", "-std=c++17 -DROCKSDB_PLATFORM_POSIX -DROCKSDB_LIB_IO_POSIX -DOS_LINUX -I. -Iinclude",
                "cache/lru_cache.cc db/compaction/compaction_job.cc db/db_filesnapshot.cc db/db_impl/db_impl.cc "
                "db/db_impl/db_impl_compaction_flush.cc db/db_impl/db_impl_debug.cc db/db_impl/db_impl_files.cc "
                "db/db_impl/db_impl_open.cc db/db_impl/db_impl_write.cc db/error_handler.cc "
                "db/periodic_task_scheduler.cc db/version_builder.cc db/version_set.cc db/write_thread.cc "
                "env/env_posix.cc env/mock_env.cc file/delete_scheduler.cc file/sst_file_manager_impl.cc "
                "memtable/write_buffer_manager.cc monitoring/instrumented_mutex.cc "
                "monitoring/thread_status_util_debug.cc port/port_posix.cc "
                "table/block_based/block_based_table_builder.cc util/dynamic_bloom.cc util/rate_limiter.cc "
                "util/threadpool_imp.cc utilities/backup/backup_engine.cc utilities/blob_db/blob_db_impl.cc "
                "utilities/fault_injection_fs.cc utilities/object_registry.cc "
                "utilities/persistent_cache/block_cache_tier.cc utilities/persistent_cache/block_cache_tier_file.cc "
                "utilities/persistent_cache/block_cache_tier_metadata.cc "
                "utilities/transactions/lock/point/point_lock_manager.cc "
                "utilities/transactions/lock/range/range_tree/lib/locktree/lock_request.cc "
                "utilities/transactions/lock/range/range_tree/lib/locktree/locktree.cc "
                "utilities/transactions/lock/range/range_tree/lib/locktree/manager.cc "
                "utilities/transactions/transaction_db_mutex_impl.cc"),
    "x264": ("x264-*", "-I. -DHIGH_BIT_DEPTH=0 -DBIT_DEPTH=8 -O3 -ffast-math", "common/frame.c common/threadpool.c encoder/lookahead.c encoder/encoder.c"),
    "pixz": ("pixz-1.0.7", '-std=gnu99 -D_GNU_SOURCE -DPACKAGE_VERSION="1" -I.', "src/*.c"),
    "lrzip": ("lrzip-0.651", "-D_GNU_SOURCE -DHAVE_CONFIG_H -DCOMPRESS_MF_MT -I. -Ilzma/C -Ilibzpaq",
              "stream.c rzip.c runzip.c lrzip.c util.c main.c lzma/C/LzFindMt.c lzma/C/Threads.c lzma/C/LzmaEnc.c"),
    "tinyproxy": ("tinyproxy-1.11.1", '-DHAVE_CONFIG_H -DSYSCONFDIR="/etc" -I. -Isrc', "src/*.c"),
    "icecast": ("icecast2-2.4.4", "-D_GNU_SOURCE -DHAVE_CONFIG_H -I. -Isrc -I/usr/include/libxml2",
                "src/*.c src/avl/avl.c src/httpp/httpp.c src/log/log.c src/net/resolver.c src/net/sock.c src/thread/thread.c src/timing/timing.c"),
}
# A macro's use stands for its line: what is reported is where it is used first.
MACROS = {("parsec-dedup", "mbuffer.c", 140): 30}


def reports(corpus, source, module):
    """(file, line, what) of each report in a corpus."""
    where, flags, units = UNITS[corpus]
    roots = glob.glob(os.path.join(source, where))
    if len(roots) != 1:
        sys.exit(f"sync.py: --src must have {where}: see README.md")
    root = os.path.realpath(roots[0])
    found = set()
    for unit in sorted(u for pattern in units.split() for u in glob.glob(pattern, root_dir=root)):
        run = subprocess.run(["clang-tidy-22", f"--load={module}", "--header-filter=.*", "--checks=-*,vfriendly-blocking-sync-*", unit,
                              "--", "-w", *flags.split()], cwd=root, capture_output=True, text=True)
        if "error:" in run.stdout + run.stderr:
            sys.exit(f"sync.py: {corpus}/{unit} does not compile:\n{(run.stdout + run.stderr)[:500]}")
        for path, line, what in re.findall(r"(?m)^(/[^:]+):(\d+):\d+: warning: .*\[vfriendly-blocking-sync-([a-z-]+)\]", run.stdout):
            name = os.path.relpath(os.path.realpath(path), root)
            found.add((name, MACROS.get((corpus, name, int(line)), int(line)), what))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--src", required=True, metavar="DIR", help="where README.md says to put the sources")
    parser.add_argument("--module", default=os.path.join(HERE, "..", "..", "..", "build", "lib", "libvfriendly-tidy.so"))
    parser.add_argument("--corpora", metavar="A,B", help="of " + ", ".join(UNITS) + " [all]")
    options = parser.parse_args()
    with open(os.path.join(HERE, "sync-labels.tsv")) as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    chosen = options.corpora.split(",") if options.corpora else list(UNITS)
    unknown = [c for c in chosen if c not in UNITS]
    if unknown:
        parser.error(f"no corpus {unknown[0]}: there are {', '.join(UNITS)}")
    rows = [r for r in rows if r["corpus"] in chosen]
    found = {corpus: reports(corpus, os.path.abspath(options.src), os.path.abspath(options.module)) for corpus in chosen}
    print("set\tcheck\tfound\tfalse reports")
    for part in ("held-out", "second", "fourth", "developed"):
        judged = {(r["corpus"], r["file"], int(r["line"]), r["what"]): r["verdict"] for r in rows if r["set"] in (part, part + ", after a report")}
        # What was judged after a report counts for the false rate only.
        wanted = {key for key, r in zip([(r["corpus"], r["file"], int(r["line"]), r["what"]) for r in rows], rows)
                  if r["set"] == part and r["verdict"] == "yes"}
        mine = {(c, *each) for c, each_of in found.items() if any(r["corpus"] == c and r["set"] == part for r in rows) for each in each_of}
        for what in (None, *sorted({key[3] for key in wanted | mine})):
            def of(keys):
                return [k for k in keys if what in (None, k[3])]

            wrong = [k for k in of(mine) if judged.get(k) == "no"]
            right = [k for k in of(mine) if judged.get(k) == "yes"]
            print(f"{part}\t{what or 'all'}\t{share(len(set(of(wanted)) & mine), len(of(wanted)))}\t{share(len(wrong), len(wrong) + len(right))}")
        for key in sorted(mine - set(judged)):
            print("unjudged\t" + "\t".join(map(str, key)))


if __name__ == "__main__":
    main()
