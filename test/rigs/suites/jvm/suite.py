# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A JVM starting up and at work: HotSpot's own locks are pthread mutexes and conditions."""

import os

import bring
from compare import FAIL, PASS, Job, Suite

SENTENCE = "OpenJDK 17: java -version, javac, jshell, threads under each collector"
JSHELL = """
int answer = java.util.stream.IntStream.range(0, 100000).parallel().map(i -> i % 7).sum()
System.out.println("sum " + answer)
/exit
"""
COLLECTORS = ("Serial", "Parallel", "G1", "Z", "Shenandoah")


def prepare(place, smoke):
    root = place.debian.packages(
        place.path("root"), ["openjdk-17-jdk-headless"],
        ["openjdk-17-jre-headless", "openjdk-17-jdk-headless"])
    home = os.path.join(root, "usr/lib/jvm/java-17-openjdk-amd64")
    java = os.path.join(home, "bin/java")
    source = os.path.join(place.source, "jvm", "Threads.java")
    classes = place.path("classes")
    os.makedirs(classes, exist_ok=True)
    bring.call([os.path.join(home, "bin/javac"), "-d", classes, source], "cannot compile with javac")
    script = place.path("script.jsh")
    with open(script, "w") as file:
        file.write(JSHELL)
    environment = {**place.debian.library_path(root), "JAVA_HOME": home}

    def job(name, said, *command):
        return Job(name, [os.path.join(home, "bin", command[0]), *command[1:]], cwd=place.folder,
                   timeout=300, environment=environment,
                   results=lambda o: {name: PASS if o.status == PASS and said in o.output else
                                      FAIL if o.status == PASS else o.status})

    jobs = [job("java -version", "OpenJDK", "java", "-version")]
    if not smoke:
        jobs += [
            job("java -Xint -version", "OpenJDK", "java", "-Xint", "-version"),
            job("javac", "", "javac", "-d", classes, source),
            job("jshell", "sum 299995", "jshell", "--feedback", "concise", script),
            job("jar", "", "jar", "--create", "--file", place.path("threads.jar"), "-C", classes, "."),
            job("java --list-modules", "java.base", "java", "--list-modules"),
        ]
    for collector in COLLECTORS[:1] if smoke else COLLECTORS:
        jobs.append(job(f"threads, {collector} collector", "all as it should be", "java",
                        f"-XX:+Use{collector}GC", "-Xmx256m", "-cp", classes, "Threads"))
    return Suite(jobs, programs=("java",))
