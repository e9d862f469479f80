"""The measured pipeline of ``benchmarks.latency``, and what becomes of its samples."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.latencies.contest import ENTRIES, RIVERRUN, Entry, RunFailed, by_buffer_timeout
from benchmarks.latencies.feeder import record_of, serve
from benchmarks.latencies.timed import Pace, Samples, Schedule, latencies_ms
from benchmarks.latency import document_of, measure, table_of
from benchmarks.workloads import transaction


class Clock:
    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now


def test_a_source_that_is_held_up_does_not_move_the_moment_of_its_records() -> None:
    clock = Clock()
    schedule = Schedule(1_000, clock)
    schedule.timed(0)

    clock.now = 50_000_000
    late = [schedule.timed(index)[2] for index in range(1, 50)]

    assert late == [index * 1_000_000 for index in range(1, 50)]


def test_records_made_in_a_rush_at_the_start_were_due_before_it() -> None:
    clock = Clock()
    clock.now = 100_000_000
    schedule = Schedule(1_000, clock)

    dues = [schedule.timed(index)[2] for index in range(100)]
    clock.now = 101_000_000

    assert dues[-1] == 100_000_000
    assert schedule.timed(100)[2] == 101_000_000


def test_two_sources_make_every_record_once_and_none_before_it_is_due() -> None:
    clock = Clock()
    paces = [Pace(1_000, first=first, step=2, count=20, clock=clock) for first in range(2)]
    made = []
    while not all(pace.over for pace in paces):
        for pace in paces:
            due = pace.due()
            assert all(record[2] <= clock.now for record in due)
            made += due
        clock.now += 1_700_000

    assert sorted(record[2] for record in made) == [index * 1_000_000 for index in range(20)]
    assert sorted(record[:2] for record in made) == sorted(transaction(i) for i in range(20))


def test_the_feeder_writes_every_record_and_ends() -> None:
    with socket.create_connection(("127.0.0.1", serve(100_000, 500))) as connection:
        lines = connection.makefile().read().splitlines()

    assert [record_of(line)[:2] for line in lines] == [transaction(index) for index in range(500)]


def test_warm_up_and_what_comes_after_the_counted_seconds_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    second = 1_000_000_000
    samples = Samples(str(tmp_path))
    for due_s, took_ms in ((0, 900), (4, 800), (5, 7), (6, 3), (7, 700)):
        arrival = due_s * second + took_ms * 1_000_000
        monkeypatch.setattr("time.monotonic_ns", lambda arrival=arrival: arrival)
        samples.take(due_s * second)
    samples.save()

    assert latencies_ms(tmp_path, 2, warm_up=5) == [3.0, 7.0]


def test_of_many_records_every_so_manieth_is_kept(tmp_path: Path) -> None:
    samples = Samples(str(tmp_path), every=10)
    for due in range(100):
        samples.take(due)
    samples.save()

    assert len(latencies_ms(tmp_path, 1, warm_up=0)) == 10


def test_a_system_that_fails_is_told_of_and_the_others_are_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    good, bad = RIVERRUN, Entry("bad", "none")

    def run(entry: Entry, seconds: int) -> list[float]:
        if entry is bad:
            raise RunFailed("bad: ended with 1")
        return [1.0 * seconds, 9.0]

    monkeypatch.setattr(Entry, "run", run)
    console = Console(record=True, width=200)

    runs = measure([good, bad], 2, 3, console)
    console.print(table_of("latency", [good, bad], runs))

    assert runs == {"riverrun": [[2.0, 9.0]] * 3}
    assert "bad: ended with 1" in console.export_text()
    saved = json.loads(json.dumps(document_of([good, bad], [], runs)))
    assert list(saved["systems"]) == ["riverrun"]
    points = saved["systems"]["riverrun"]["quantiles"]
    assert (points[0], points[-1]) == ([0.0, 2.0], [0.9999, 9.0])


def test_the_headline_changes_no_setting_and_modules_are_there() -> None:
    assert RIVERRUN.settings == {}
    for entry in (*ENTRIES, *by_buffer_timeout()):
        module = Path(__file__).parents[3].joinpath(*entry.module.split("."))
        assert module.with_suffix(".py").is_file()
