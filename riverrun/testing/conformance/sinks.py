"""``check_sink``: a crash at any step of a checkpoint neither loses nor repeats a record."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from riverrun.api.sink import Sink
from riverrun.testing.conformance.failure import difference, not_conforming
from riverrun.testing.conformance.sink_run import SavedSink, SinkRun

_EPOCHS: Final = 4
_CRASHES_IN: Final = 2
"""The epoch in which the crash comes: something was committed before it, something comes after."""


@dataclass(frozen=True, slots=True)
class SinkTarget:
    """A sink, and what can be seen behind it."""

    sink: Sink[Any]
    read_back: Callable[[], Iterable[Any]]
    """Every record that a careful reader of the system sees now."""


class Crash(Enum):
    """Where in the life of an epoch everything dies."""

    WRITING = "in the middle of the epoch's records"
    FLUSHED = "after flush"
    PREPARED = "after prepare_commit, before the checkpoint is complete"
    SAVED = "after the checkpoint is complete, before commit"
    GIVEN_UP = "after a checkpoint that was given up and the next one, before commit"
    HALF_COMMITTED = "after the first committable is committed"
    COMMITTED = "after commit"
    NEVER = "never"

    @property
    def is_saved(self) -> bool:
        """Whether the epoch's checkpoint can be relied on."""
        return self in (Crash.SAVED, Crash.GIVEN_UP, Crash.HALF_COMMITTED, Crash.COMMITTED)


def check_sink(
    make_target: Callable[[], AbstractContextManager[SinkTarget]],
    records: Sequence[Any],
    *,
    crashes: Iterable[Crash] = tuple(Crash),
    parallelisms: Sequence[tuple[int, int]] = ((1, 1), (2, 3), (3, 1)),
    at_least_once: bool = False,
    zombies: bool = True,
) -> None:
    """Write ``records`` in four checkpoints with a crash at each step in turn, then go on and finish.

    Args:
        make_target: opens a fresh, empty target; called for each combination.
        records: at least 12, all different.
        crashes: where to crash.
        parallelisms: before the crash, and after it.
        at_least_once: the sink claims no more than that: records may come twice.
        zombies: whether the dead attempt's committers commit once more, late, when others have gone on.

    Raises:
        NotConforming: records are lost, repeated, or seen before their checkpoint; with the steps.
    """
    if len(records) < 3 * _EPOCHS:
        raise ValueError(f"check_sink: got {len(records)} records, expected {3 * _EPOCHS} or more")
    for crash, (before, after) in itertools.product(crashes, parallelisms):
        with make_target() as target:
            writing = _Writing(target, records, crash, at_least_once=at_least_once)
            writing.run(before, after, zombies=zombies and crash is not Crash.NEVER)


class _Writing:
    def __init__(
        self, target: SinkTarget, records: Sequence[Any], crash: Crash, *, at_least_once: bool
    ) -> None:
        self._target = target
        self._crash = crash
        self._lax = at_least_once
        self._steps: list[str] = []
        size = -(-len(records) // _EPOCHS)
        self._epochs = [list(records[at : at + size]) for at in range(0, len(records), size)]
        self._saved: SavedSink | None = None

    def run(self, before: int, after: int, *, zombies: bool) -> None:
        run = self._start(before)
        dead: list[tuple[SinkRun, SavedSink | None]] = []
        epoch = 0
        while epoch < len(self._epochs):
            number = epoch + 1 + 100 * len(dead)
            crash = self._crash if epoch == _CRASHES_IN and not dead else Crash.NEVER
            survived = self._epoch(run, epoch, number, crash)
            if not survived:
                self._steps.append(f"crash {crash.value}")
                dead.append((run, self._saved if crash.is_saved else None))
                if not zombies:
                    run.close()
                run = self._start(after)
                if crash.is_saved:
                    epoch += 1
                self._compare(epoch, f"after the restart from a crash {crash.value}")
                continue
            epoch += 1
            self._compare(epoch, f"after the commit of epoch {epoch}")
        for zombie, saved in dead if zombies else ():
            self._wake(zombie, saved)
        self._compare(len(self._epochs), "at the end")
        run.close()

    def _start(self, parallelism: int) -> SinkRun:
        origin = "the start" if self._saved is None else f"checkpoint {self._saved.number}"
        self._steps.append(f"starts at parallelism {parallelism} from {origin}")
        return SinkRun(self._target.sink, parallelism, self._saved)

    def _epoch(self, run: SinkRun, epoch: int, number: int, crash: Crash) -> bool:
        """Write, prepare, save, commit; whether no crash came."""
        records = self._epochs[epoch]
        self._write(run, records[: len(records) // 2])
        if crash is Crash.WRITING:
            return False
        if crash is Crash.GIVEN_UP:
            # What it prepared stays prepared: the next one covers it.
            run.flush()
            run.prepare(number)
            self._steps.append(f"checkpoint {number} is given up")
            number += 50
        self._write(run, records[len(records) // 2 :])
        run.flush(end_of_input=epoch == len(self._epochs) - 1)
        if crash is Crash.FLUSHED:
            return False
        run.prepare(number)
        saved = run.save(number)
        self._steps.append(f"checkpoint {number} with {len(saved.committables)} committables")
        if crash is Crash.PREPARED:
            return False
        self._saved = saved
        if crash in (Crash.SAVED, Crash.GIVEN_UP):
            return False
        run.complete(number, only=1 if crash is Crash.HALF_COMMITTED else None)
        return crash is Crash.NEVER

    def _write(self, run: SinkRun, records: list[Any]) -> None:
        for subtask in range(run.parallelism):
            mine = records[subtask :: run.parallelism]
            if mine:
                run.write(subtask, mine, list(range(len(mine))))

    def _wake(self, zombie: SinkRun, saved: SavedSink | None) -> None:
        """The dead attempt does not know that it is dead; it may fail, but must not do harm."""
        self._steps.append("the dead attempt wakes up and commits what it had saved")
        try:
            if saved is not None:
                zombie.commit(saved.committables)
            zombie.close()
        except Exception as error:  # noqa: BLE001  (being fenced off is fine)
            self._steps.append(f"and is refused: {error}")

    def _compare(self, epochs: int, when: str) -> None:
        expected = list(itertools.chain(*self._epochs[:epochs]))
        found = list(self._target.read_back())
        if self._lax:
            found = [each for number, each in enumerate(found) if each not in found[:number]]
            found = [each for each in found if each in expected]
        problem = difference(expected, found)
        if problem is not None:
            who = type(self._target.sink).__name__
            raise not_conforming(f"sink {who}: {when}: {problem}", self._steps)
