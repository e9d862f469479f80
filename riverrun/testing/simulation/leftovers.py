"""Attempts and JobMasters that should be gone and are not: they go on for a while beside the job."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final

from riverrun.local.attempt import LocalAttempt
from riverrun.local.job import LocalJob
from riverrun.local.pipeline import Step
from riverrun.testing.simulation.trace import Trace

_BESIDE: Final = 0.3
"""How likely each of them does something in a step of the job."""


@dataclass(slots=True)
class _Leftover:
    body: LocalAttempt | LocalJob
    until: int


class Leftovers:
    """What is left over of the job's past; ``step`` lets it act now and then, until its time is over."""

    def __init__(self, rng: random.Random, haste: float, trace: Trace | None) -> None:
        self._rng = rng
        self._haste = haste
        self._trace = trace
        self._left: list[_Leftover] = []

    def __bool__(self) -> bool:
        return bool(self._left)

    def add(self, body: LocalAttempt | LocalJob, until: int) -> None:
        """Let ``body`` go on until the step ``until``."""
        self._left.append(_Leftover(body, until))

    def step(self, number: int) -> None:
        """The job is at its step ``number``."""
        for each in list(self._left):
            if each.until <= number or not self._acts(each.body, number):
                self._left.remove(each)
                _close(each.body)

    def close(self) -> None:
        """End all of them."""
        for each in self._left:
            _close(each.body)
        self._left.clear()

    def _acts(self, body: LocalAttempt | LocalJob, number: int) -> bool:
        """Let it do something, perhaps; whether it can go on."""
        if self._rng.random() >= _BESIDE:
            return True
        try:
            return self._act(body, number)
        except Exception as error:  # noqa: BLE001  (whatever breaks it, it should be gone anyway)
            if self._trace is not None:
                self._trace.note(number, f"zombie: ends with {type(error).__name__}: {error}")
            return False

    def _act(self, body: LocalAttempt | LocalJob, number: int) -> bool:
        if isinstance(body, LocalJob):
            body.look()
            if body.is_over:
                return False
        ready = [way for way in body.ways if way.waiting]
        if ready and self._rng.random() < self._haste:
            way = self._rng.choice(ready)
            if self._trace is not None:
                self._trace.moved(number, way, way.waiting[0], "  (zombie)")
            if isinstance(body, LocalJob):
                body.move(way)
            else:
                way.move()
            return True
        if self._trace is not None:
            self._trace.note(number, "zombie: a turn")
        return body.turn() is not Step.FINISHED or bool(ready)


def _close(body: LocalAttempt | LocalJob) -> None:
    attempt = body.attempt if isinstance(body, LocalJob) else body
    if attempt is not None:
        attempt.close()
