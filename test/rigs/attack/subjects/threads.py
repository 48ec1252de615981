# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Python's threads and processes: threads.py WHAT."""

import concurrent.futures
import ctypes
import multiprocessing
import os
import queue
import subprocess
import sys
import threading


def work(n):
    return sum(range(n))


def hand_over():
    work_queue, lengths = queue.Queue(), []

    def take():
        for n in iter(work_queue.get, None):
            lengths.append(len(bytearray(n * 1000)))

    threads = [threading.Thread(target=take) for _ in range(16)]
    for each in threads:
        each.start()
    for n in [*range(3000), *[None] * len(threads)]:
        work_queue.put(n)
    for each in threads:
        each.join()
    print(sum(lengths))


def start_programs():
    def run(n):
        return len(subprocess.run(["sh", "-c", "echo " + "x" * (n % 50)], capture_output=True, check=True).stdout)

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        print(sum(pool.map(run, range(150))))


def fork_beside_threads():
    lock, stop = threading.Lock(), threading.Event()

    def churn():
        while not stop.is_set():
            with lock:
                bytearray(300000)

    threads = [threading.Thread(target=churn) for _ in range(4)]
    for each in threads:
        each.start()
    ended = 0
    for _ in range(30):
        child = os.fork()
        if not child:
            bytearray(10000000)
            os._exit(7)
        ended += os.WEXITSTATUS(os.waitpid(child, 0)[1])
    stop.set()
    for each in threads:
        each.join()
    print(ended)


def call_libc():
    libc = ctypes.CDLL("libc.so.6")
    libc.malloc.restype = ctypes.c_void_p
    libc.free.argtypes = [ctypes.c_void_p]
    for n in range(2000):
        libc.free(libc.malloc(n * 13))
    libc.malloc_trim(0)
    print("ok")


def pool(how):
    multiprocessing.set_start_method(how)
    with multiprocessing.Pool(3) as processes:
        print(sum(processes.map(work, range(200))))


if __name__ == "__main__":
    what = sys.argv[1]
    functions = {"hand-over": hand_over, "programs": start_programs, "fork-beside-threads": fork_beside_threads,
                 "ctypes": call_libc}
    if what in functions:
        functions[what]()
    else:
        pool(what)
