# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""python.py LIBRARY MILLISECONDS THREADS...: repeats a computation of the library for so long with
each number of threads, after as long a time that does not count."""

import contextlib
import json
import sys
import time


# Each function returns what sets the number of threads, and the computation.


def numpy_work():
    import numpy
    import threadpoolctl
    a = numpy.random.default_rng(1).standard_normal((160, 160))
    return threadpoolctl.threadpool_limits, lambda: a @ a  # OpenBLAS and its own threads


def sklearn_work():
    import numpy
    import threadpoolctl
    from sklearn.cluster import KMeans
    points = numpy.random.default_rng(1).standard_normal((4000, 8))
    means = KMeans(n_clusters=16, n_init=1, max_iter=20, tol=0, random_state=1)
    return threadpoolctl.threadpool_limits, lambda: means.fit(points)


def lightgbm_work():
    import lightgbm
    import numpy
    points = numpy.random.default_rng(1).standard_normal((2000, 20))
    data = lightgbm.Dataset(points, label=points[:, 0] > 0).construct()
    options = {"objective": "binary", "verbose": -1, "num_leaves": 15}
    return (lambda threads: options.update(num_threads=threads),
            lambda: lightgbm.train(options, data, num_boost_round=20))


def faiss_work():
    import faiss
    import numpy
    points = numpy.random.default_rng(1).standard_normal((2000, 32)).astype("float32")
    index = faiss.IndexHNSWFlat(32, 16)
    index.add(points)
    return faiss.omp_set_num_threads, lambda: index.search(points[:64], 10)


def torch_work():
    import torch
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Tanh(), torch.nn.Linear(64, 64), torch.nn.Tanh())
    batch = torch.randn(512, 64)

    def infer():
        with torch.no_grad():
            model(batch)

    return torch.set_num_threads, infer


def repeat(work, seconds):
    n, begin = 0, time.perf_counter()
    while time.perf_counter() < begin + seconds:
        work()
        n += 1
    return n


WORK = {"numpy": numpy_work, "openblas": numpy_work, "sklearn": sklearn_work, "lightgbm": lightgbm_work, "faiss": faiss_work,
        "torch": torch_work}


def main(name, milliseconds, *all_threads):
    set_threads, work = WORK[name]()
    length, parts = float(milliseconds) / 1e3, {}
    for threads in all_threads:
        with contextlib.ExitStack() as stack:
            what = set_threads(int(threads))
            if hasattr(what, "__exit__"):
                stack.enter_context(what)
            repeat(work, length)
            begin, used = time.perf_counter(), time.process_time()
            n = repeat(work, length)
            parts[f"{threads} threads"] = {"us": (time.perf_counter() - begin) * 1e6 / n,
                                           "cpu_us": (time.process_time() - used) * 1e6 / n}
    print(json.dumps({"parts": parts}))


main(*sys.argv[1:])
