"""The demo without an engine: what it makes of updates, of a kill, and of the totals at the end."""

import io
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from types import SimpleNamespace
from typing import Any, cast

import pytest
from rich.console import Console

from riverrun.api.runtime_context import DetachedRuntimeContext
from riverrun.api.windows import TimeWindow
from riverrun.checkpoint.statistics import (
    CheckpointingStatistics,
    LatestCheckpoints,
    RestoredCheckpoint,
)
from riverrun.cli.demo_board import Scoreboard
from riverrun.cli.demo_screen import screen, summary
from riverrun.cli.demo_story import Recovery, Story
from riverrun.cli.demo_transactions import (
    OUT_OF_ORDER_MS,
    START_MS,
    WINDOW_MS,
    Late,
    Place,
    Result,
    Sum,
    Transactions,
    WithWindow,
)
from riverrun.core.errors import Failure
from riverrun.core.ids import Attempt, Millis
from riverrun.core.lifecycle import JobStatus
from riverrun.datastream.job_client import JobClient
from riverrun.graph.executor import FailureRecord, RunningJob


@dataclass
class PlayedJob:
    """A job whose facts a test sets."""

    now: JobStatus = JobStatus.RUNNING
    failed: list[FailureRecord] = field(default_factory=list)
    restored: RestoredCheckpoint | None = None

    def status(self) -> JobStatus:
        return self.now

    def failures(self) -> list[FailureRecord]:
        return self.failed

    def checkpoints(self) -> CheckpointingStatistics:
        return CheckpointingStatistics(latest=LatestCheckpoints(restored=self.restored))


@pytest.fixture
def out() -> Console:
    return Console(file=io.StringIO(), width=200)


@pytest.fixture
def worker() -> Iterator["subprocess.Popen[bytes]"]:
    """A process that does nothing until it is ended."""
    command = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


def printed(console: Console) -> str:
    return cast("io.StringIO", console.file).getvalue()


def result(cents: int, place: Place, ready_ns: int = 2_000_000, *, start: int = 0) -> Result:
    return start, "Aino", (1, cents), ready_ns, place


def story_of(job: PlayedJob, board: Scoreboard, console: Console, *, kills: bool = True) -> Story:
    return Story(JobClient(cast("RunningJob", job)), board, console, kills=kills)


class TestScoreboard:
    def test_results_of_a_window_and_late_transactions_add_up(self) -> None:
        board = Scoreboard(expected=3)

        board.take(result(100, (0, 1, 7)))
        board.take(result(250, (1, 1, 8)))
        board.take_late(result(40, (1, 1, 8)))

        assert board.windows[0].sums == {"Aino": (2, 350)}
        assert board.late[0].total() == (1, 40)
        assert board.sums() == {(0, "Aino"): (3, 390)}
        assert board.seen == 3

    def test_the_screen_shows_windows_and_who_was_late(self, out: Console) -> None:
        board = Scoreboard(expected=2)
        board.take(result(1_000, (0, 1, 7), start=START_MS))
        board.take_late(result(40, (0, 1, 7), start=START_MS))

        out.print(screen(board, 2, "3 checkpoints"))

        assert "10:00-10:05" in printed(out)
        assert "Aino 10.00" in printed(out)
        assert "1 late" in printed(out)


class TestStory:
    def test_a_worker_is_killed_in_the_middle_and_only_once(
        self, out: Console, worker: "subprocess.Popen[bytes]"
    ) -> None:
        board = Scoreboard(expected=2)
        story = story_of(PlayedJob(), board, out)

        story.look()
        board.take(result(100, (0, 1, worker.pid)))
        story.look()
        story.look()

        assert worker.wait() == -signal.SIGKILL
        assert printed(out).count("kill -9") == 1

    def test_nothing_is_killed_where_workers_are_elsewhere(self, out: Console) -> None:
        board = Scoreboard(expected=1)
        story = story_of(PlayedJob(), board, out, kills=False)

        board.take(result(100, (0, 1, 1)))
        story.look()

        assert printed(out) == ""
        assert story.recovery() is None

    def test_the_way_back_is_told(self, out: Console, worker: "subprocess.Popen[bytes]") -> None:
        board, job = Scoreboard(expected=2), PlayedJob()
        story = story_of(job, board, out)
        board.take(result(100, (0, 1, worker.pid)))
        story.look()

        failure = Failure("WorkerLost", "the Python worker is gone\nmore")
        job.failed.append(FailureRecord(Millis(0), failure, Attempt(0), "spend per customer"))
        job.now = JobStatus.RESTARTING
        story.look()
        job.now = JobStatus.RUNNING
        job.restored = RestoredCheckpoint(8, 0, "/chk-8", is_savepoint=False)
        board.take(result(200, (1, 0, 99), ready_ns=2**62))
        story.look()
        story.look()

        lines = [line.split(" s  ", 1)[1].strip() for line in printed(out).splitlines()]
        assert lines[1:4] == [
            "attempt 1 failed: the Python worker is gone",
            "restarting: all subtasks, from the latest complete checkpoint",
            "restored: open windows and source positions of checkpoint 8",
        ]
        assert lines[4].startswith("results flow again")
        assert len(lines) == 5
        recovery = story.recovery()
        assert recovery is not None
        assert (recovery.pid, recovery.checkpoint) == (worker.pid, 8)


class TestSummary:
    def verdict(self, board: Scoreboard, out: Console) -> bool:
        return summary(out, board, Recovery(7, 3, 2.5), 1.0, {(START_MS, "Aino"): (1, 100)})

    def test_exact_totals_are_confirmed(self, out: Console) -> None:
        board = Scoreboard(expected=1)
        board.take(result(100, (0, 0, 7), start=START_MS))

        assert self.verdict(board, out)
        assert "exactly once" in printed(out)
        assert "back to checkpoint 3, flowing again after 2.5 s" in printed(out)

    def test_a_record_that_came_twice_is_an_error(self, out: Console) -> None:
        board = Scoreboard(expected=1)
        board.take(result(100, (0, 0, 7), start=START_MS))
        board.take(result(100, (0, 0, 7), start=START_MS))

        assert not self.verdict(board, out)

    def test_a_wrong_total_is_an_error_that_names_the_customer(self, out: Console) -> None:
        board = Scoreboard(expected=1)
        board.take(result(90, (0, 0, 7), start=START_MS))

        assert not self.verdict(board, out)
        assert "Aino at 10:00-10:05" in printed(out)


def test_most_transactions_are_a_little_out_of_order_and_some_are_much_too_late() -> None:
    made = [Transactions(1000.0)(index)[2] for index in range(10_000)]

    behind = [newest - at for newest, at in zip(accumulate(made, max), made, strict=True)]

    assert sum(late > OUT_OF_ORDER_MS for late in behind) in range(5, 21)
    assert made != sorted(made)
    assert [Transactions(1000.0)(index)[2] for index in range(10_000)] == made


def test_expected_sums_are_by_window_and_customer() -> None:
    transactions = Transactions(1000.0)
    expected: dict[tuple[int, str], Sum] = transactions.expected(2_000)

    assert sum(count for count, _ in expected.values()) == 2_000
    assert {start % WINDOW_MS for start, _ in expected} == {0}


def test_results_say_when_and_where() -> None:
    late, window = Late(), WithWindow()
    for function in (late, window):
        function.open(DetachedRuntimeContext("demo", subtask_index=1))
    context: Any = SimpleNamespace(window=lambda: TimeWindow(START_MS, START_MS + WINDOW_MS))

    (found,) = window.process("Aino", context, [(2, 100)])
    start, customer, total, ready_ns, place = late.map(("Bao", 5, START_MS + 1))

    assert found[:3] == (START_MS, "Aino", (2, 100))
    assert (start, customer, total) == (START_MS, "Bao", (1, 5))
    assert ready_ns >= found[3]
    assert place[:2] == found[4][:2] == (0, 1)
