// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
const {Worker, isMainThread, parentPort} = require("worker_threads");
const {execSync} = require("child_process");
const zlib = require("zlib");

if (isMainThread) {
  let ended = 0, sum = 0, compressed = 0;
  const compress = () => {
    for (let j = 0; j < 20; j++)
      zlib.gzip(Buffer.alloc(200000, j), (error, bytes) => {
        compressed += bytes.length > 0;
        if (compressed === 20)
          console.log(sum, compressed, execSync("echo hi").toString().trim());
      });
  };
  for (let i = 0; i < 6; i++) {
    const worker = new Worker(__filename);
    worker.on("message", (n) => { sum += n; });
    worker.on("exit", () => {
      if (++ended === 6)
        compress();
    });
  }
} else {
  const kept = [];
  for (let i = 0; i < 20000; i++)
    kept.push({i, bytes: Buffer.alloc(100)});
  parentPort.postMessage(kept.length);
}
