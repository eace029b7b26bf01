# SPDX-License-Identifier: BSD-3-Clause
"""Shrinks a failing case to fewer steps, processes and conditions.

A smaller case counts as failing if one of `tries` runs fails, because many failures depend on timing. Any
failure counts, not only one with the same message, because a wrong sum may become a hang. At the end
__main__.py checks that the result passes with plain Open MPI.
"""

import copy
import time

from playing import Case, play
from program import legal


class Shrinker:
    def __init__(self, case, tries=3, seconds=600, say=print, beyond=()):
        self.best = case
        self.tries, self.say, self.beyond = tries, say, beyond
        self.until = time.monotonic() + seconds
        self.played = 0

    def fails(self, case):
        for _ in range(self.tries):
            if time.monotonic() > self.until:
                return False
            self.played += 1
            if play(case).failed():
                return True
        return False

    def attempt(self, steps=None, around=None):
        """Keep the changed case if it fails as well."""
        steps = legal(self.best.steps if steps is None else steps, self.beyond)
        if steps == self.best.steps and around is None or not steps:
            return False
        case = Case(around or self.best.surroundings, steps)
        if not self.fails(case):
            return False
        self.best = case
        return True

    def shrink(self):
        before = None
        while before != self.size() and time.monotonic() < self.until:
            before = self.size()
            self.fewer_steps()
            self.fewer_surroundings()
            self.fewer_processes()
            self.simpler_steps()
            self.say(f"# shrunk to {len(self.best.steps)} steps, {self.best.surroundings.short()}")
        return self.best

    def size(self):
        return sum(len(str(step)) for step in self.best.steps), list(self.best.surroundings.lines())

    def fewer_steps(self):
        """Remove steps: first from the end, then in smaller and smaller chunks."""
        steps = self.best.steps
        part = len(steps) // 2
        while part and time.monotonic() < self.until:
            if not self.attempt(self.best.steps[:-part]):
                part //= 2
            part = min(part, len(self.best.steps) - 1)
        part = len(self.best.steps) // 2
        while part:
            at = 0
            while at < len(self.best.steps) and time.monotonic() < self.until:
                steps = self.best.steps
                if not self.attempt(steps[:at] + steps[at + part:]):
                    at += part
            part //= 2

    def fewer_surroundings(self):
        for name in [n for n in self.best.surroundings.mca if n != "coll"]:
            around = copy.deepcopy(self.best.surroundings)
            del around.mca[name]
            self.attempt(around=around)
        for odd in list(self.best.surroundings.odd):
            around = copy.deepcopy(self.best.surroundings)
            around.odd.remove(odd)
            self.attempt(around=around)
        for word in ("cache", "chosen"):
            if getattr(self.best.surroundings, word) is not None:
                around = copy.deepcopy(self.best.surroundings)
                setattr(around, word, None)
                self.attempt(around=around)
        if self.best.surroundings.network != "soft":
            around = copy.deepcopy(self.best.surroundings)
            around.network = "soft"
            self.attempt(around=around)

    def fewer_processes(self):
        around = copy.deepcopy(self.best.surroundings)
        if around.hosts:
            around.hosts, around.np = 0, around.np
            if self.attempt(around=around):
                return self.fewer_processes()
            now = self.best.surroundings
            smaller = [(h, p) for h in range(2, now.hosts + 1) for p in range(1, now.per_host() + 1)
                       if h * p < now.np]
        else:
            smaller = [(0, p) for p in range(2, around.np)]
        for hosts, processes in sorted(smaller, key=lambda pair: max(1, pair[0]) * pair[1]):
            around = copy.deepcopy(self.best.surroundings)
            around.hosts, around.np = hosts, max(1, hosts) * processes
            if all(rank < around.np for rank, _, _ in around.odd) and self.attempt(around=around):
                return None
        return None

    def simpler_steps(self):
        """Remove words that are not needed, and make numbers small."""
        for at in range(len(self.best.steps)):
            for word in ("slow", "spin", "freed", "walk", "side", "send", "recv", "inplace", "order", "turned", "type",
                         "away", "wild", "modes", "calls"):
                self.change(at, word, None)
            for word in ("times", "n"):
                for value in (1, 2, 4, 8, 16):
                    if (self.best.steps[at].words.get(word) or 0) <= value or self.change(at, word, value):
                        break

    def change(self, at, word, value):
        words = dict(self.best.steps[at].words)
        if word not in words or time.monotonic() > self.until or (word == "type" and "op" in words):
            return False
        del words[word]
        if word == "slow":
            words.pop("us", None)
        if value is not None:
            words[word] = value
        step = copy.copy(self.best.steps[at])
        step.words = words
        steps = list(self.best.steps)
        steps[at] = step
        return self.attempt(steps)
