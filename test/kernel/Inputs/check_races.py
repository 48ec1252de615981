# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_races.py SOURCE FOLDER: compiles functions of the kernel series, and calls them in orders that a race has."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

STEPS = 7  # moments at which the timer may expire

TICKS = r"""
#include <stdbool.h>
#include <stdlib.h>
#define unlikely(x) (x)
#define KVM_REQ_EVENT 0
#define lockdep_assert_irqs_disabled()
#define hrtimer_start_expires(timer, mode) (void)0
#define container_of(at, type, member) the_vcpu
#define xchg(at, to) ({ __typeof__(*(at)) was = *(at); *(at) = (to); was; })
enum hrtimer_restart { HRTIMER_RESTART };
struct hrtimer { int unused; };
struct kvm_vcpu { struct { struct { unsigned long due, period; bool armed; struct hrtimer timer; } paratick; } arch; };
static struct kvm_vcpu *the_vcpu;
static bool requested;
static unsigned delivered, forward = 1;
static void kvm_make_request(int what, struct kvm_vcpu *vcpu) { requested = true; }
static unsigned long paratick_forward(struct kvm_vcpu *vcpu) { return forward; }
static void __kvm_paratick_inject(struct kvm_vcpu *vcpu) { delivered += xchg(&vcpu->arch.paratick.due, 0); }
static void __kvm_paratick_arm(struct kvm_vcpu *vcpu);
@CODE@
/* As vcpu_enter_guest(): each step may be interrupted by the timer until interrupts are off. */
static int moment, at;
static void step(void) { if (++moment == at) paratick_timer_fn(&the_vcpu->arch.paratick.timer); }
int main(int count, char **words) {
  struct kvm_vcpu vcpu = {.arch.paratick = {.period = 1, .armed = atoi(words[2])}};
  the_vcpu = &vcpu;
  at = atoi(words[1]);
  requested = atoi(words[3]);
  for (int entries = 0; entries < 10; ++entries) {
    step();
    kvm_paratick_inject(&vcpu);
    step();
    requested = false; /* kvm_check_request() */
    step();
    forward = 0; /* interrupts are off */
    kvm_paratick_arm(&vcpu);
    bool again = requested; /* kvm_vcpu_exit_request() */
    forward = 1;
    if (again)
      continue;
    return vcpu.arch.paratick.due != 0; /* the guest runs */
  }
  return 2;
}
"""

FLUSH = r"""
#include <stdbool.h>
#include <unistd.h>
typedef unsigned char u8;
#define KVM_VCPU_PREEMPTED 1
#define KVM_VCPU_FLUSH_TLB 2
#define KVM_VCPU_HALTED 4
struct kvm_steal_time { u8 preempted; };
static bool hostile;
static bool cleared;
#define __cpumask_clear_cpu(cpu, mask) (cleared = true)
static bool try_cmpxchg(u8 *at, u8 *old, u8 to) {
  if (hostile) { *old = *at = *at ^ (KVM_VCPU_PREEMPTED | KVM_VCPU_HALTED); return false; }
  if (*at != *old) { *old = *at; return false; }
  *at = to;
  return true;
}
int main(int count, char **words) {
  struct kvm_steal_time time = {.preempted = KVM_VCPU_HALTED}, *src = &time;
  u8 state = time.preempted;
  hostile = count > 1;
  time.preempted |= hostile ? 0 : KVM_VCPU_FLUSH_TLB; /* another vCPU was faster */
  alarm(5);
@CODE@
  return hostile ? cleared : !(cleared && time.preempted == (KVM_VCPU_HALTED | KVM_VCPU_FLUSH_TLB));
}
"""


def new_lines(patch, file):
    """Returns the lines of a file that the patch adds or shows, without those that it removes."""
    section = next(s for s in re.split(r"(?m)^(?=diff --git )", patch) if s.startswith(f"diff --git a/{file} "))
    section = re.split(r"(?m)^-- $", section)[0]
    return "\n".join(line[1:] for line in section.split("\n") if line[:1] in ("+", " ") and not line.startswith("+++"))


def function(text, name):
    return re.search(rf"(?ms)^[^\n]*\b{name}\([^;{{]*\)\n{{.*?^}}\n", text)[0]


def compiled(folder, name, text, code):
    file = folder / f"{name}.c"
    file.write_text(text.replace("@CODE@", code))
    subprocess.run(["clang", "-std=gnu11", "-w", "-O1", "-o", folder / name, file], check=True)
    return str(folder / name)


def ticks(folder, code):
    """Returns the orders in which the guest runs without a tick that is due."""
    program = compiled(folder, "ticks", TICKS, code)
    return [(at, armed, other) for at in range(STEPS) for armed in "01" for other in "01"
            if subprocess.run([program, str(at), armed, other]).returncode]


def main():
    source, folder = Path(sys.argv[1]), Path(sys.argv[2])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    series = source / "runtime" / "kernel"
    for version in ("6.1", "6.12"):
        patch = next((series / "paratick" / version).glob("0001-*")).read_text()
        own, header = new_lines(patch, "arch/x86/kvm/paratick.c"), new_lines(patch, "arch/x86/kvm/paratick.h")
        code = "\n".join([*(function(header, n) for n in ("kvm_paratick_inject", "kvm_paratick_arm")),
                          *(function(own, n) for n in ("paratick_timer_fn", "__kvm_paratick_arm"))])
        code = code.replace("void __kvm_paratick_arm(struct", "static void __kvm_paratick_arm(struct")
        assert not ticks(folder, code), (version, ticks(folder, code))
        without = code.replace("kvm_make_request(KVM_REQ_EVENT, vcpu)", "(void)0")
        assert without != code and ticks(folder, without)
        # The timer's own request is taken for another's.
        early = without.replace("return HRTIMER_RESTART", "kvm_make_request(KVM_REQ_EVENT, the_vcpu); return HRTIMER_RESTART")
        assert ticks(folder, early)

        patch = next((series / "pv-shootdown" / version).glob("0002-*")).read_text()
        text = new_lines(patch, "arch/x86/kernel/kvm.c")
        loop = re.search(r"(?ms)^\t\t(for|while) \((?:(?!^\t\t}).)*try_cmpxchg.*?^\t\t}\n", text)[0]
        program = compiled(folder, "flush", FLUSH, loop)
        for words in ([], ["hostile"]):
            assert subprocess.run([program, *words]).returncode == 0, (version, words)
        endless = re.sub(r"int tries = 0; tries < \d+", "int tries = 0; true", loop)
        assert endless != loop
        assert subprocess.run([compiled(folder, "endless", FLUSH, endless), "hostile"]).returncode < 0


main()
