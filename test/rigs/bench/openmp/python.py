# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""python.py PACKAGE MILLISECONDS: repeats a computation of the package for so long."""

import json
import sys
import time


def numpy_work():
    import numpy
    a = numpy.random.default_rng(1).standard_normal((160, 160))
    return lambda: a @ a  # OpenBLAS and its own threads


def scipy_work():
    import numpy
    import scipy.linalg
    a = numpy.random.default_rng(1).standard_normal((200, 200))
    return lambda: scipy.linalg.lu_factor(a)


def sklearn_work():
    import numpy
    from sklearn.cluster import KMeans
    from sklearn.datasets import make_blobs
    points, _ = make_blobs(n_samples=4000, n_features=8, centers=16, random_state=1)
    means = KMeans(n_clusters=16, n_init=1, max_iter=20, tol=0, random_state=numpy.random.RandomState(1))
    return lambda: means.fit(points)  # OpenMP by Cython


work = {"numpy": numpy_work, "scipy": scipy_work, "sklearn": sklearn_work}[sys.argv[1]]()
work()
n, begin, used = 0, time.perf_counter(), time.process_time()
end = begin + float(sys.argv[2]) / 1e3
while time.perf_counter() < end:
    work()
    n += 1
print(json.dumps({"us": (time.perf_counter() - begin) * 1e6 / n, "cpu_us": (time.process_time() - used) * 1e6 / n}))
