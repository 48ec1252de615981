// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information. SPDX-License-Identifier:
// Apache-2.0 WITH LLVM-exception
//
// dedup [-t THREADS] [--stats] IN OUT, dedup -d IN OUT

#include "dedup.h"

#include <cstdio>
#include <cstdlib>
#include <sys/resource.h>
#include <thread>

using namespace dedup;

namespace {

[[noreturn]] void usage(const char *Why) {
  fprintf(stderr,
          "dedup: %s\n"
          "usage: dedup [-t THREADS] [--stats] IN OUT   packs IN\n"
          "       dedup -d IN OUT                       unpacks it\n",
          Why);
  exit(2);
}

unsigned threads(const char *Text) {
  char *End;
  long Number = strtol(Text, &End, 10);
  if (*End || Number < 1 || Number > 1024)
    usage("-t takes 1 to 1024 threads");
  return unsigned(Number);
}

/// How often threads of this process gave up their CPU, by themselves or not.
void printStats() {
  rusage Usage;
  getrusage(RUSAGE_SELF, &Usage);
  printf("{\"voluntary\": %ld, \"involuntary\": %ld}\n", Usage.ru_nvcsw,
         Usage.ru_nivcsw);
}

} // namespace

int main(int Argc, char **Argv) {
  bool Unpack = false, Stats = false;
  unsigned Threads = std::thread::hardware_concurrency();
  std::vector<std::string> Paths;
  for (int I = 1; I < Argc; ++I) {
    std::string Word = Argv[I];
    if (Word == "-d")
      Unpack = true;
    else if (Word == "--stats")
      Stats = true;
    else if (Word == "-t" && I + 1 < Argc)
      Threads = threads(Argv[++I]);
    else if (Word.size() > 1 && Word[0] == '-')
      usage(("unknown option " + Word).c_str());
    else
      Paths.push_back(Word);
  }
  if (Paths.size() != 2)
    usage("give one input and one output");
  try {
    Bytes Input = readWhole(Paths[0]);
    OutputFile Out(Paths[1]);
    if (Unpack)
      decode(Input, Out);
    else
      encode(Input, Threads ? Threads : 1, Out);
    Out.commit();
  } catch (const std::bad_alloc &) {
    die("not enough memory for " + Paths[0]);
  } catch (const std::exception &Why) {
    // Other threads may still run: no destructor may wait for them.
    die(Why.what());
  }
  if (Stats)
    printStats();
  return 0;
}
