# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""python.py PACKAGE MILLISECONDS: repeats a computation of the package for so long."""

import json
import sys
import time

import numpy

RANDOM = numpy.random.default_rng(1)


def numpy_work():
    a = RANDOM.standard_normal((160, 160))
    return lambda: a @ a  # OpenBLAS and its own threads


def sklearn_work():
    from sklearn.cluster import KMeans
    points = RANDOM.standard_normal((4000, 8))
    means = KMeans(n_clusters=16, n_init=1, max_iter=20, tol=0, random_state=1)
    return lambda: means.fit(points)


def lightgbm_work():
    import lightgbm
    points = RANDOM.standard_normal((2000, 20))
    data = lightgbm.Dataset(points, label=points[:, 0] > 0).construct()
    return lambda: lightgbm.train({"objective": "binary", "verbose": -1, "num_leaves": 15}, data, num_boost_round=20)


def faiss_work():
    import faiss
    points = RANDOM.standard_normal((2000, 32)).astype("float32")
    index = faiss.IndexHNSWFlat(32, 16)
    index.add(points)
    return lambda: index.search(points[:64], 10)


work = {"numpy": numpy_work, "sklearn": sklearn_work, "lightgbm": lightgbm_work, "faiss": faiss_work}[sys.argv[1]]()
work()
n, begin, used = 0, time.perf_counter(), time.process_time()
end = begin + float(sys.argv[2]) / 1e3
while time.perf_counter() < end:
    work()
    n += 1
print(json.dumps({"us": (time.perf_counter() - begin) * 1e6 / n, "cpu_us": (time.process_time() - used) * 1e6 / n}))
