"""The demo without an engine: what it makes of updates, of a kill, and of the totals at the end."""

import io
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from rich.console import Console

from riverrun.checkpoint.statistics import (
    CheckpointingStatistics,
    LatestCheckpoints,
    RestoredCheckpoint,
)
from riverrun.cli.demo import Stamp, transaction
from riverrun.cli.demo_board import Place, Scoreboard, Update
from riverrun.cli.demo_screen import summary
from riverrun.cli.demo_story import Recovery, Story
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


def update(cents: int, place: Place, ready_ns: int = 2_000_000) -> Update:
    return "Aino", cents, 1_000_000, ready_ns, place


def story_of(job: PlayedJob, board: Scoreboard, console: Console, *, kills: bool = True) -> Story:
    return Story(JobClient(cast("RunningJob", job)), board, console, kills=kills)


class TestScoreboard:
    def test_the_newest_total_and_the_number_of_updates_are_kept(self) -> None:
        board = Scoreboard(expected=2)

        board.take(update(100, (0, 1, 7)))
        board.take(update(250, (0, 1, 7)))

        assert board.totals == {"Aino": 250}
        assert board.counts == {"Aino": 2}
        assert board.updates == 2

    def test_latency_is_from_making_to_the_sink(self) -> None:
        board = Scoreboard(expected=1)

        board.take(update(100, (0, 0, 7)))

        assert board.latency(0.5) == 1.0


class TestStory:
    def test_a_worker_is_killed_in_the_middle_and_only_once(
        self, out: Console, worker: "subprocess.Popen[bytes]"
    ) -> None:
        board = Scoreboard(expected=2)
        story = story_of(PlayedJob(), board, out)

        story.look()
        board.take(update(100, (0, 1, worker.pid)))
        story.look()
        story.look()

        assert worker.wait() == -signal.SIGKILL
        assert printed(out).count("kill -9") == 1

    def test_nothing_is_killed_where_workers_are_elsewhere(self, out: Console) -> None:
        board = Scoreboard(expected=1)
        story = story_of(PlayedJob(), board, out, kills=False)

        board.take(update(100, (0, 1, 1)))
        story.look()

        assert printed(out) == ""
        assert story.recovery() is None

    def test_the_way_back_is_told(self, out: Console, worker: "subprocess.Popen[bytes]") -> None:
        board, job = Scoreboard(expected=2), PlayedJob()
        story = story_of(job, board, out)
        board.take(update(100, (0, 1, worker.pid)))
        story.look()

        failure = Failure("WorkerLost", "the Python worker is gone\nmore")
        job.failed.append(FailureRecord(Millis(0), failure, Attempt(0), "spend per customer"))
        job.now = JobStatus.RESTARTING
        story.look()
        job.now = JobStatus.RUNNING
        job.restored = RestoredCheckpoint(8, 0, "/chk-8", is_savepoint=False)
        board.take(update(200, (1, 0, 99), ready_ns=2**62))
        story.look()
        story.look()

        lines = [line.split(" s  ", 1)[1].strip() for line in printed(out).splitlines()]
        assert lines[1:4] == [
            "attempt 1 failed: the Python worker is gone",
            "restarting: all subtasks, from the latest complete checkpoint",
            "restored: totals and source positions of checkpoint 8",
        ]
        assert lines[4].startswith("records flow again")
        assert len(lines) == 5
        recovery = story.recovery()
        assert recovery is not None
        assert (recovery.pid, recovery.checkpoint) == (worker.pid, 8)


class TestSummary:
    def verdict(self, board: Scoreboard, out: Console) -> bool:
        return summary(out, board, Recovery(7, 3, 2.5), 1.0, {"Aino": 100})

    def test_exact_totals_are_confirmed(self, out: Console) -> None:
        board = Scoreboard(expected=1)
        board.take(update(100, (0, 0, 7)))

        assert self.verdict(board, out)
        assert "exactly once" in printed(out)
        assert "back to checkpoint 3, flowing again after 2.5 s" in printed(out)

    def test_a_record_that_came_twice_is_an_error(self, out: Console) -> None:
        board = Scoreboard(expected=1)
        board.take(update(100, (0, 0, 7)))
        board.take(update(100, (0, 0, 7)))

        assert not self.verdict(board, out)

    def test_a_wrong_total_is_an_error_that_names_the_customer(self, out: Console) -> None:
        board = Scoreboard(expected=1)
        board.take(update(90, (0, 0, 7)))

        assert not self.verdict(board, out)
        assert "wrong customers: Aino" in printed(out)


def test_transactions_are_the_same_whenever_they_are_made() -> None:
    def without_time(index: int) -> tuple[Any, ...]:
        return transaction(index)[:2]

    assert [without_time(i) for i in range(100)] == [without_time(i) for i in range(100)]


def test_a_stamp_says_when_and_where() -> None:
    from riverrun.api.runtime_context import DetachedRuntimeContext  # noqa: PLC0415

    stamp = Stamp()
    stamp.open(DetachedRuntimeContext("stamp", subtask_index=1))

    customer, cents, made_ns, ready_ns, place = stamp.map(("Aino", 100, 5))

    assert (customer, cents, made_ns) == ("Aino", 100, 5)
    assert ready_ns > made_ns
    assert place[:2] == (0, 1)
