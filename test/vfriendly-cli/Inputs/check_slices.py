# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What looking at switches costs programs of known rates, and by what their counts are multiplied."""

from project import TOOL  # noqa: F401 (finds the package)

from vfriendly.measuring.collecting import _complete
from vfriendly.measuring.slices import IDLE_SHARE, LOOK_S, MOST_SHARE, UNSEEN, WHOLE_S, Cost, Slices

POLL_S = 0.05
# A switch and its wake-up take 2 us of a program that does nothing else, and looking at them takes 0.8.
BUSY_HZ, EVENT_S = 500_000, 0.8e-6


class Program:
    """Uses a share of one CPU and has `rate(now)` switches a second while it has a CPU, which is in `has(now, looks)` of
    the time; the collector is called as bpf.py does."""

    def __init__(self, rate, share=1.0, has=lambda _now, _looks: 1.0):
        self._rate, self._share, self._has, self._slices = rate, share, has, Slices()
        self._looked, self.events, self.counted, self._now = 0, 0, 0, 0.0
        self._cpu_s = self._stands_for_s = 0.0

    def _cost(self):
        return Cost(self._looked * EVENT_S, 1, self._cpu_s, self._stands_for_s)

    def _pass(self, seconds, weight):
        has_s = seconds * self._has(self._now, weight > 0)
        rate = self._rate(self._now)
        # Beside what looking takes, there is less time for the program itself.
        events = int(rate / (1 + rate * UNSEEN * EVENT_S / self._share if weight else 1) * has_s)
        self._now += seconds
        self._cpu_s += self._share * has_s
        self._stands_for_s += self._share * has_s * weight
        self.events += events
        self._looked += events * bool(weight)
        self.counted += events * weight

    def run(self, seconds):
        while self._now < seconds:
            if self._slices.whole:
                # The kernel ends it at once; here it is seen each millisecond.
                self._pass(0.001, 1)
                if self._looked * EVENT_S >= self._slices.most_s(self._cost(), self._now):
                    self._slices.end_whole(self._cost(), self._now)
                continue
            weight = self._slices.look(self._cost(), self._now)
            self._pass(LOOK_S if weight else POLL_S, weight)
            if weight:
                self._slices.looked(self._cost(), LOOK_S)
        self.counted *= self._slices.missing(self._cost())
        return self

    @property
    def cost_s(self):
        return self._looked * EVENT_S

    @property
    def whole(self):
        return self._slices.whole

    @property
    def seen_s(self):
        return self._slices.seen_s


def near(value, wanted, share):
    assert abs(value - wanted) <= share * wanted, (value, wanted)


# The kernel's count of blocks is taken, also where slices came when the program had most of the CPU; not where children that
# nobody has waited for had most of the blocks.
for kernel_has, wanted in ((300, 300), (100, 250)):
    rows = {"block futex": {"count": 1000.0, "seconds": 2.0}, "fault": {"count": 7.0, "seconds": 0.0}}
    _complete(rows, kernel_has, 0.25)
    near(rows["block futex"]["count"], wanted, 1e-9)
    near(rows["block futex"]["seconds"], 2.0 * wanted / 1000, 1e-9)
    assert rows["fault"]["count"] == 7.0, rows
# Few events are all counted, also those of a server that mostly sleeps.
few = Program(lambda _: 2000).run(5)
assert few.whole and few.counted == few.events and few.cost_s < 5 * MOST_SHARE
server = Program(lambda _: 1000, share=0.01).run(300)
assert server.whole and server.counted == server.events and server.cost_s < 300 * IDLE_SHARE
# At most the whole phase, or the share of the CPU time. With what the programs do not see of themselves, some half as
# much again, 1.7 s are slowed by less than 3 %.
step = 0.001 * BUSY_HZ * EVENT_S
for seconds in (0.3, 0.7, 1.7, 5, 60):
    busy = Program(lambda _: BUSY_HZ).run(seconds)
    assert not busy.whole
    assert busy.cost_s <= max(WHOLE_S, MOST_SHARE * seconds) + step, (seconds, busy.cost_s)
    assert seconds < 1 or busy.cost_s >= 0.6 * MOST_SHARE * seconds, (seconds, busy.cost_s)
    assert seconds < 1 or 1.5 * busy.cost_s <= 0.03 * seconds, (seconds, busy.cost_s)
    near(busy.counted, busy.events, 0.01)
# Rates that change: the cost stays bounded but for one look, which was expected to cost little.
bursts = Program(lambda now: BUSY_HZ if int(now) % 2 else 1000).run(20)
assert bursts.cost_s <= MOST_SHARE * 20 + LOOK_S * BUSY_HZ * EVENT_S, bursts.cost_s
near(bursts.counted, bursts.events, 0.3)
# A program that was busy at first is looked at in all of its time once the budget holds one look.
calmed = Program(lambda now: BUSY_HZ if now < 0.2 else 500).run(10)
assert calmed.cost_s <= MOST_SHARE * 10 and calmed.seen_s > 8, calmed.seen_s
# A program that is frozen, or stops, has no events in this time, and no slice stands for it.
frozen = Program(lambda _: BUSY_HZ, has=lambda now, _: 0.0 if 1 < now < 60 else 1.0).run(63)
near(frozen.counted, frozen.events, 0.1)
# Beside eight programs that compute it has a ninth of a CPU, but more in slices, which begin when this tool and it have
# one: 300,000 blocks were once taken for 7,000,000.
beside = Program(lambda _: BUSY_HZ, has=lambda _, looks: 0.9 if looks else 1 / 9).run(20)
near(beside.counted, beside.events, 0.1)
# Both at once, for a program that mostly sleeps.
both = Program(lambda _: BUSY_HZ, 0.3, lambda now, looks: 0.0 if 3 < now < 9 else 0.9 if looks else 1 / 9).run(20)
near(both.counted, both.events, 0.1)
