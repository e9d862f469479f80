"""The time lines of jobs: kept while the jobs are known, and no longer."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from riverrun.cluster.job_report import JobReport
from riverrun.cluster.timelines.jobs import JobsTimeLines, TimeLines
from riverrun.cluster.timelines.measures import JOB_SERIES, VERTEX_SERIES
from riverrun.cluster.timelines.sampler import TimeLineSampler
from tests.unit.rest import reports
from tests.unit.rest.reports import JOB, SINK, START


def at(second: int, job: str = JOB, **facts: Any) -> JobReport:
    return reports.job(id=job, made=START + second * 1000, **facts)


def read(lines: JobsTimeLines, job: str = JOB, vertex: str | None = None) -> TimeLines:
    return lines.of(job).read(vertex, begin=START, end=START + 10**9, points=300)


def always(job: str) -> bool:
    del job
    return True


def test_a_job_and_its_vertices_have_series_with_the_same_times() -> None:
    lines = JobsTimeLines()
    for second in range(3):
        lines.sample([at(second)], always)
    whole, sink = read(lines), read(lines, vertex=SINK)

    assert whole.times == sink.times == (START, START + 1000, START + 2000)
    assert [*whole.series] == [*JOB_SERIES]
    assert [*sink.series] == [*VERTEX_SERIES]
    assert sink.series["busy"] == [0.25] * 3
    assert whole.series["latency-p99"] == [None] * 3
    assert whole.series["restarts"] == [0] * 3


def test_before_its_vertices_are_known_nothing_is_kept_of_them() -> None:
    lines = JobsTimeLines()
    lines.sample([at(0, vertices=())], always)
    assert read(lines, vertex=SINK).series == {name: [] for name in VERTEX_SERIES}

    lines.sample([at(1)], always)
    assert read(lines, vertex=SINK).times == (START + 1000,)


def test_of_an_unknown_job_there_are_series_without_values() -> None:
    found = read(JobsTimeLines(), "0" * 32)

    assert found.times == ()
    assert found.series == {name: [] for name in JOB_SERIES}


def test_what_a_job_did_stays_until_the_job_is_forgotten() -> None:
    lines, known = JobsTimeLines(), {"a", "b"}
    lines.sample([at(0, "a"), at(0, "b")], known.__contains__)
    lines.sample([at(1, "b")], known.__contains__)
    assert read(lines, "a").times == (START,)

    known.remove("a")
    lines.sample([], known.__contains__)
    assert read(lines, "a").times == ()
    assert read(lines, "b").times == (START, START + 1000)


def test_time_lines_of_ended_jobs_are_bounded_and_the_earliest_ends_go_first() -> None:
    one = JobsTimeLines()
    one.sample([at(0)], always)
    lines = JobsTimeLines(ended_bytes=2 * one.of(JOB).nbytes)
    names = ["a", "b", "c", "d"]
    lines.sample([at(0, name) for name in names], always)
    for running in (["a", "c", "d"], ["a", "d"], ["a"]):
        lines.sample([at(1, name) for name in running], always)

    assert [name for name in names if read(lines, name).times] == ["a", "c", "d"]


def test_a_job_that_cannot_be_read_is_logged_once_and_sampled_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    lines = JobsTimeLines()
    answers: list[Any] = [RuntimeError("away"), RuntimeError("away"), [at(2)]]

    def report() -> list[JobReport]:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return list(answer)

    sampler = TimeLineSampler(lines, report, always)
    with caplog.at_level(logging.ERROR):
        for _ in range(3):
            sampler.sample()

    assert len(caplog.records) == 1
    assert read(lines).times == (START + 2000,)


def test_the_sampler_ends_when_it_is_closed() -> None:
    sampler = TimeLineSampler(JobsTimeLines(), list, always)
    sampler.start()
    sampler.close()
    sampler.close()
