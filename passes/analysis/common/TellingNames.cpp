//===- TellingNames.cpp - Functions whose names suggest waiting -----------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/common/TellingNames.h"

#include "passes/analysis/common/NameWords.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace vfriendly {

SmallVector<std::string, 4> wordsOf(StringRef Name) {
  SmallVector<std::string, 4> Words;
  char Before = '_';
  for (char C : Name) {
    bool Starts = !isAlpha(Before) || (isUpper(C) && !isUpper(Before));
    if (isAlpha(C)) {
      if (Starts)
        Words.emplace_back();
      Words.back() += toLower(C);
    }
    Before = C;
  }
  return Words;
}

bool hasWord(StringRef Name, const StringSet<> &Words) {
  return any_of(wordsOf(Name),
                [&](StringRef Word) { return Words.contains(Word); });
}

/// Returns true if Words name an attempt. That it is repeated, as in `retry`,
/// is none.
static bool nameTry(ArrayRef<std::string> Words) {
  auto Has = [&](StringRef Word) { return is_contained(Words, Word); };
  return any_of(Words,
                [](StringRef W) {
                  return W.starts_with("try") ||
                         is_contained(
                             {"cas", "cmpxchg", "xchg", "tas", "offer"}, W);
                }) ||
         (Has("compare") && (Has("swap") || Has("exchange"))) ||
         (Has("test") && Has("set")) ||
         (Has("atomic") && (Has("swap") || Has("exchange")));
}

/// Returns true if the last of Words takes or releases a lock.
static bool nameLock(ArrayRef<std::string> Words) {
  return !Words.empty() &&
         is_contained(
             {"lock", "unlock", "rdlock", "wrlock", "rdunlock", "wrunlock"},
             StringRef(Words.back())) &&
         none_of(Words, [](StringRef W) {
           return is_contained({"is", "has", "can", "no", "init", "destroy"},
                               W);
         });
}

/// Returns true if Words name a message for people.
static bool nameMessage(ArrayRef<std::string> Words) {
  return any_of(Words,
                [](StringRef W) {
                  return is_contained({"log", "logf", "logger", "syslog",
                                       "printf", "fprintf", "vprintf",
                                       "vfprintf", "printk", "puts", "fputs",
                                       "putchar", "fputc", "perror", "fflush",
                                       "println", "dbg"},
                                      W);
                }) ||
         (!Words.empty() && is_contained({"print", "warn", "warning", "debug"},
                                         StringRef(Words.back())));
}

NameTells whatNameTells(StringRef Name) {
  // Words that may follow the verb in a name, such as `for` and the unit `us`
  // in `sleep_for_us`.
  static constexpr StringLiteral Objects[] = {
      "us",           "ms",           "ns",     "usec",  "msec",  "nsec",
      "usecs",        "msecs",        "sec",    "for",   "until", "cycles",
      "ticks",        "np",           "once",   "cpu",   "hint",  "thread",
      "processor",    "loop",         "block",  "micro", "milli", "nano",
      "microseconds", "milliseconds", "current"};
  SmallVector<std::string, 4> Words = wordsOf(Name);
  if (any_of(Words, [](StringRef W) {
        return is_contained({"throw", "abort", "panic", "fatal", "terminate"},
                            W);
      }))
    return NameTells::Fails;
  bool NamesTime = !Words.empty() &&
                   is_contained({"cycles", "ticks", "now", "clock", "rdtsc",
                                 "tsc", "time", "timestamp", "usec", "msec",
                                 "nsec", "gettime", "millis", "micros"},
                                StringRef(Words.back()));
  // A single letter, as in `yield_k`, is a parameter or a type.
  while (!Words.empty() && (Words.back().size() == 1 ||
                            is_contained(Objects, StringRef(Words.back()))))
    Words.pop_back();
  if (Words.empty())
    return NamesTime ? NameTells::ReadsClock : NameTells::Nothing;
  // Takes the last word for the verb: delay_queue names a queue, not a function
  // that delays.
  StringRef Verb = Words.back();
  if (is_contained({"pause", "relax", "yield", "backoff", "stall", "idle"},
                   Verb))
    return NameTells::Pauses;
  if (is_contained(
          {"delay", "sleep", "usleep", "msleep", "nsleep", "nanosleep"}, Verb))
    return NameTells::Delays;
  if (Verb == "off")
    return Words.size() > 1 && Words[Words.size() - 2] == "back"
               ? NameTells::Pauses
               : NameTells::Nothing;
  if (NamesTime)
    return NameTells::ReadsClock;
  auto Has = [&](ArrayRef<StringRef> Any) {
    return any_of(Words, [=](StringRef W) { return is_contained(Any, W); });
  };
  if (Has({"atomic"}) && Has({"read", "load", "get"}) &&
      !Has({"add", "inc", "dec", "sub", "increment", "decrement", "set", "swap",
            "exchange", "xchg", "cas", "and", "or", "xor", "test", "fetch"}))
    return NameTells::ReadsWord;
  if (namesWork(Name))
    return NameTells::Nothing;
  return nameTry(Words)       ? NameTells::Tries
         : nameLock(Words)    ? NameTells::Locks
         : nameMessage(Words) ? NameTells::Prints
                              : NameTells::Nothing;
}

bool namesOffer(StringRef Name) {
  SmallVector<std::string, 4> Words = wordsOf(Name);
  return any_of(Words,
                [](StringRef W) {
                  return W.starts_with("try") || W == "offer";
                }) &&
         none_of(Words, [](StringRef W) { return W.contains("lock"); });
}

bool namesWork(StringRef Name) {
  static constexpr StringLiteral Work[] = {
      "run",   "process",   "execute", "dispatch", "handle",   "drain",
      "flush", "step",      "work",    "steal",    "progress", "dequeue",
      "pop",   "take",      "recv",    "receive",  "accept",   "connect",
      "retry", "reconnect", "reopen",  "reinit"};
  // What the last word makes is tried again when the system is short of it; a
  // word within a name, as in is_init_done, tells nothing, and is_init asks.
  static constexpr StringLiteral Makes[] = {"init", "create", "alloc", "malloc",
                                            "fork"};
  // Compares whole words: run_tasks contains the word "run", but is_running
  // does not.
  SmallVector<std::string, 4> Words = wordsOf(Name);
  auto Asks = [](StringRef W) {
    return is_contained({"is", "has", "did", "was"}, W);
  };
  return any_of(Words, [](StringRef W) { return is_contained(Work, W); }) ||
         (!Words.empty() && is_contained(Makes, StringRef(Words.back())) &&
          none_of(Words, Asks));
}

bool namesEnd(StringRef Name) {
  static constexpr StringLiteral Ends[] = {
      "stop",      "close",  "shutdown", "exit", "quit",    "terminate", "kill",
      "interrupt", "freeze", "destroy",  "fini", "cleanup", "teardown"};
  return any_of(wordsOf(Name),
                [](StringRef W) { return is_contained(Ends, W); });
}

bool namesDevice(StringRef Name) {
  static constexpr StringLiteral Devices[] = {
      "bus", "reg",  "register", "device", "dev",      "hw",     "hardware",
      "pci", "usb",  "mmio",     "i2c",    "spi",      "uart",   "gpio",
      "phy", "nic",  "dma",      "fw",     "firmware", "sensor", "rte",
      "csr", "mbox", "chip",     "eeprom", "delay"};
  return any_of(wordsOf(Name),
                [](StringRef W) { return is_contained(Devices, W); });
}

bool namesRegisters(StringRef Name) {
  return is_contained(wordsOf(Name), "mmio");
}

bool namesBlocking(StringRef Name) {
  return any_of(wordsOf(Name),
                [](StringRef W) { return W == "wait" || W == "park"; });
}

} // namespace vfriendly
