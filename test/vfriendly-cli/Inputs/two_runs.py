# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `vfriendly measure compare` says of two runs."""

from stacks import frame, profile_of, stack


def stat(pid, user, system, guest):
    """A line of /proc/PID/stat, by proc_pid_stat(5): utime is field 14, stime 15, guest_time 43."""
    fields = ["0"] * 50
    fields[0], fields[14 - 3], fields[15 - 3], fields[43 - 3] = "S", str(user), str(system), str(guest)
    return f"{pid} (CPU 0) KVM) {' '.join(fields)}"


KVM_STAT = """
Analyze events for all VMs, all VCPUs:

             VM-EXIT    Samples  Samples%     Time%    Min Time    Max Time         Avg time

                 HLT       1000    50.00%    90.00%      1.00us  90000.00us   9000.00us ( +-   1.00% )
           MSR_WRITE        900    45.00%     9.00%      1.00us     90.00us     10.00us ( +-   1.00% )
  EXTERNAL_INTERRUPT        100     5.00%     1.00%      1.00us     90.00us     10.00us ( +-   1.00% )

Total Samples:2000, Total events handled time:2000000.00us.
"""


def hosted(project, write, base, new):
    """What the host says of the virtual runs: 7 s of CPU time where the guest saw 6, so 7 / 4 - 1 = 75 %."""
    def said(scenario, *texts, status=0):
        files = [write(f"host{n}", text) for n, text in enumerate(texts)]
        out = project.run("measure", "compare", base, new, "--overhead", scenario, "--host", ",".join(files), status=status)
        return out if status == 0 else project.errors

    before, after = stat(7, 100, 50, 80), stat(7, 750, 100, 680)
    out = said("UC", *[f"{before}\n{after}\n"] * 3)
    # The time t is 1.2 times the native one: (1 + 0.20) / (1 + 0.75) = 0.69. Of 6.5 s of user time, 6 s were the guest's.
    assert "guest and host (δη_r)" in out and "75.0%" in out and "0.69" in out and "not in δη_r" not in out, out
    assert "of it in the host" in out and "1.000 s" in out, out
    # Two equal virtual machines: half of the time of both is one's.
    other = f"{stat(8, 0, 0, 0)}\n{stat(8, 500, 200, 400)}\n"
    assert "75.0%" in said("OC2", *[f"{before}\n{after}\n{other}"] * 3)
    assert "75.0%" in said("UC", *["1000000000\n8000000000\n"] * 3)
    assert "75.0%" in said("UC", *["usage_usec 1000000\nuser_usec 5\nusage_usec 8000000\n"] * 3)
    # Time in exits other than halts: 10 % of 2 s. The guest takes it for its own, so nothing is added.
    out = said("UC", *[KVM_STAT] * 3)
    assert "in exits, without halts" in out and "0.200 s" in out and "as the guest sees it (δη_r)" in out and "50.0%" in out, out
    for texts, told in ((["nothing"] * 3, "has neither"), ([before] * 3, "process 7 is there once"),
                        ([f"{after}\n{before}"] * 3, "smaller after the run"), ([f"{before}\n{after}"] * 2, "2 files for 3")):
        errors = said("UC", *texts, status=2)
        assert told in errors and errors.count("\n") == 1, errors
    project.run("measure", "compare", base, new, "--host", "host0", status=2)
    assert "--host needs --overhead" in project.errors, project.errors


def compares(project):
    """Overheads by the definitions of Schildermans et al. (2021), sections 3.1, 3.2 and 5.2.

    C and t of the virtual runs are 1.5 and 1.2 times those of the native ones, in UC: δη_r 50 %, δη_t 20 % and
    ω = 1.2 / 1.5 = 0.80. In OC a virtual machine has half of the CPUs: δη_t = 1.2 / 2 - 1 = -40 %, ω = 0.6 / 1.5 = 0.40.
    """
    def write(name, text):
        (project.root / name).write_text(text)
        return name

    def recorded(name, cpu, wall):
        written = []
        for number in range(3):
            one = profile_of(project.root, stack("spin", "spinning", 5, cpu / 4, frame("wait", "w.c", number + 1)))
            one.user_s, one.system_s, one.wall_s = cpu - 1.0, 1.0, wall * (1 + number / 100)
            written.append(write(f"{name}{number}.json", one.to_json()))
        return written

    names = {name: recorded(name, cpu, wall) for name, cpu, wall in (("native", 4.0, 2.0), ("virtual", 6.0, 2.4))}
    base, new = (",".join(names[n]) for n in ("native", "virtual"))

    def overheads(scenario, virtual=new):
        out = project.run("measure", "compare", base, virtual, "--overhead", scenario, status=0)
        return out, [line.split(")")[1].split()[0] for line in out.splitlines() if "(δ" in line or "(ω)" in line]

    out, values = overheads("UC")
    assert values == ["50.0%", "20.0%", "0.80"], values
    assert "1.20 [1.20, 1.20]" in out and "1.50 [1.50, 1.50]" in out and "[0.80, 0.80]" in out, out
    assert "as the guest sees it" in out and "not in δη_r" in out, out
    # By function, as its line has moved.
    assert any(line.split() == ["1.000", "s", "1.500", "s", "spinning", "wait", "(w.c:1)"] for line in out.splitlines()), out
    assert overheads("OC")[1] == ["50.0%", "-40.0%", "0.40"] and overheads("OC2")[1] == values
    # As of Bodytrack in UC, whose ω is 1.1 in Schildermans et al. (section 5.2): overhead is on the critical path, and time grows more than
    # resources: 1.21 / 1.10.
    assert overheads("UC", ",".join(recorded("body", 4.4, 2.42)))[1] == ["10.0%", "21.0%", "1.10"]
    # As of Ocean CP in OC, whose ω is 0.6: 1.8 / 2 / 1.5.
    assert overheads("OC", ",".join(recorded("ocean", 6.0, 3.6)))[1] == ["50.0%", "-10.0%", "0.60"]
    # Of 25 % and 10 %: 1.10 / 1.25.
    assert overheads("UC", ",".join(recorded("third", 5.0, 2.2)))[1] == ["25.0%", "10.0%", "0.88"]
    hosted(project, write, base, new)
    out = project.run("measure", "compare", names["native"][0], names["virtual"][0], status=0)
    assert "1.20 [?]" in out and "has no interval" in out, out
    for words, told in ((("compare", base), "or compare BASE NEW"), (("compare", base, "none.json"), "No such file"),
                        ((), "give one of"), (("-p", "4194303"), "does not exist"), (("-p", "999999999"), "no number of a process"),
                        (("pprof", "p.json"), "or pprof PROFILE FILE"), (("-p", "1", "--sites"), "needs a command"), (("pprof", "p.json", "none/x"), "none"),
                        (("pprof", "p.json", "/dev/full"), "No space left")):
        project.run("measure", *words, status=2)
        assert told in project.errors and project.errors.count("\n") == 1, project.errors
