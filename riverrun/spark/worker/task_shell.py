"""Drives a Task inside a Spark worker: mailbox in, Arrow batches out, deadlines in between."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any, Final, Protocol

from riverrun.core.clock import Clock
from riverrun.protocol.control import Order, PeerReport
from riverrun.runtime.chain import ClientRun
from riverrun.runtime.snapshot import TaskSnapshot
from riverrun.runtime.task import Task, Turn
from riverrun.spark.worker.ledger import Spending, TimeLedger
from riverrun.spark.worker.mailbox import Closed, InputBroken, Letter, Mailbox
from riverrun.spark.worker.nearby import Nearby
from riverrun.spark.worker.rows import batches_of

_FRAMES_AHEAD: Final = 4
"""How many frames a task decodes ahead of its work; what is beyond waits in the mailbox."""


class Outside(Protocol):
    """What a task shell tells the rest of the world; called from the task thread."""

    def client_run(self, run: ClientRun) -> None:
        """Send a run to the client; blocks while the client is behind."""

    def snapshot(self, snapshot: TaskSnapshot) -> None:
        """Write a snapshot in the background and acknowledge it."""

    def follow(self, order: Order) -> None:
        """Do what ``order`` means for written snapshots; the task obeys it next."""

    def report(self, report: PeerReport) -> None:
        """Tell the JobMaster what the task has to say to other subtasks."""

    def check(self) -> None:
        """Raise what makes it useless for the task to go on, if there is anything."""

    def input_over(self) -> None:
        """The task has processed all its input and waits for a checkpoint."""

    def finished(self) -> None:
        """The task's work is done; what is left of its input means nothing."""


class TaskShell:
    """The task thread's loop. ``run`` is a generator: each ``yield`` hands a batch to Spark."""

    def __init__(
        self,
        task: Task,
        mailbox: Mailbox,
        clock: Clock,
        ledger: TimeLedger,
        outside: Outside,
        nearby: Nearby | None = None,
    ) -> None:
        self._task = task
        self._mailbox = mailbox
        self._clock = clock
        self._ledger = ledger
        self._outside = outside
        self._nearby = nearby
        self._input_closed = False
        self._said_input_over = False

    def run(self, started: threading.Event) -> Iterator[Any]:
        """Work until the task finished and its input is read to the end."""
        self._await_start(started)
        turn = Turn.WORKED
        while turn is not Turn.FINISHED:
            self._receive(turn)
            for order in self._mailbox.take_orders():
                self._outside.follow(order)
                self._task.obey(order)
            turn = self._task.turn()
            self._report()
            yield from self._hand_over()
        self._outside.finished()
        yield from self._drain()

    def _report(self) -> None:
        self._outside.check()
        for snapshot in self._task.take_snapshots():
            self._outside.snapshot(snapshot)
        for report in self._task.take_reports():
            self._outside.report(report)
        if self._task.input_over and not self._said_input_over:
            self._said_input_over = True
            self._outside.input_over()

    def _await_start(self, started: threading.Event) -> None:
        self._ledger.enter(Spending.IDLE)
        started.wait()
        self._ledger.enter(Spending.BUSY)

    def _receive(self, turn: Turn) -> None:
        """Move frames from the mailbox into the task; wait for one only when there is no work."""
        if self._task.waiting:
            if turn is not Turn.WORKED and not self._task.accepting:
                # Its operators are full: frames stay where they are, and the producers notice. This
                # is the place that holds the job up, so the time counts as busy. If its consumers
                # are behind, they are that place.
                if self._task.held_back:
                    self._ledger.enter(Spending.BACK_PRESSURED)
                self._mailbox.wait(self._idle_seconds())
                self._ledger.enter(Spending.BUSY)
            return
        timeout_s = 0.0 if turn is Turn.WORKED else self._idle_seconds()
        if timeout_s == 0.0:
            letter = self._mailbox.take(0.0)
        else:
            held_back = self._task.held_back
            self._ledger.enter(Spending.BACK_PRESSURED if held_back else Spending.IDLE)
            letter = self._mailbox.take(timeout_s)
            self._ledger.enter(Spending.BUSY)
        frames = 0
        while letter is not None:
            self._open(letter)
            frames += 1
            if frames >= _FRAMES_AHEAD:
                return
            letter = self._mailbox.take(0.0)

    def _open(self, letter: Letter) -> None:
        if isinstance(letter, memoryview):
            self._task.receive(letter)
        elif isinstance(letter, Closed):
            self._input_closed = True
        else:
            raise letter

    def _idle_seconds(self) -> float | None:
        wake_at = self._task.wake_at()
        if self._input_closed and self._task.starved:
            raise InputBroken(
                "the input ended before the end of input came on every channel; a producer left early"
            )
        if wake_at is None:
            return None
        # A timer may be set for the end of time.
        return min(max(0.0, wake_at - self._clock.monotonic()) / 1000.0, threading.TIMEOUT_MAX)

    def _hand_over(self) -> Iterator[Any]:
        runs = self._task.client_runs.take()
        rows = self._task.outbox.take_wide()
        if not runs and not rows:
            return
        began = self._clock.monotonic()
        if runs:
            self._ledger.enter(Spending.BACK_PRESSURED)
            for run in runs:
                self._outside.client_run(run)
            self._ledger.enter(Spending.BUSY)
        for batch in batches_of(rows, self._nearby):
            self._ledger.enter(Spending.BACK_PRESSURED)
            yield batch
            self._ledger.enter(Spending.BUSY)
        self._task.stood_still(self._clock.monotonic() - began)

    def _drain(self) -> Iterator[Any]:
        """Spark wants its input read to the end; fillers and the end itself are what is left."""
        yield from self._hand_over()
        self._ledger.enter(Spending.IDLE)
        while not self._input_closed:
            letter = self._mailbox.take(None)
            if letter is not None:
                self._open(letter)
