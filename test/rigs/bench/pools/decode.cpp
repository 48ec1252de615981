// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// decode MODEL THREADS POLL prompt|generate|gaps MILLISECONDS: llama.cpp's
// decoder by its public interface. prompt evaluates 64 tokens at a time,
// generate one at a time, gaps one every 10 ms, as a server with few requests
// does. The first MILLISECONDS, at least one evaluation, do not count. Prints
// {"us": microseconds a token, "cpu_us": ...}.

#include "ggml-cpu.h"
#include "llama.h"
#include "timing.h"
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

int main(int argc, char **argv) {
  if (argc != 6)
    return 2;
  int threads = std::atoi(argv[2]);
  bool prompt = !std::strcmp(argv[4], "prompt"),
       gaps = !std::strcmp(argv[4], "gaps");
  double seconds = std::atof(argv[5]) / 1000;
  llama_log_set([](ggml_log_level, const char *, void *) {}, nullptr);
  llama_backend_init();
  llama_model *model =
      llama_model_load_from_file(argv[1], llama_model_default_params());
  if (!model)
    return 1;
  llama_context_params params = llama_context_default_params();
  params.n_ctx = 512;
  params.n_threads = params.n_threads_batch = threads;
  llama_context *context = llama_init_from_model(model, params);
  ggml_threadpool_params pool_params = ggml_threadpool_params_default(threads);
  pool_params.poll = std::atoi(argv[3]);
  ggml_threadpool *pool = ggml_threadpool_new(&pool_params);
  if (!context || !pool)
    return 1;
  llama_attach_threadpool(context, pool, nullptr);

  std::vector<llama_token> tokens(prompt ? 64 : 1, 1);
  double begin = wall(), used = 0,
         idle = 0; // idle: what this program itself leaves between tokens
  long done = 0;
  for (bool warm = false; !warm || !done || wall() - begin < seconds;) {
    llama_memory_clear(llama_get_memory(context), false);
    if (llama_decode(context,
                     llama_batch_get_one(tokens.data(), int(tokens.size()))))
      return 1;
    if (!warm) {
      // As long as the measurement: libvfomp.so decides within that time, and
      // threads beside hogs fall out of step.
      warm = wall() - begin >= seconds;
      if (warm) {
        begin = wall();
        used = cpu();
      }
      continue;
    }
    done += long(tokens.size());
    if (gaps) {
      double before = wall();
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      idle += wall() - before;
    }
  }
  report(wall() - begin - idle, cpu() - used, done);
  llama_free(context);
  ggml_threadpool_free(pool);
  llama_model_free(model);
}
