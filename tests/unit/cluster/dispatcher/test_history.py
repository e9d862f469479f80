from __future__ import annotations

import logging
from pathlib import Path

import pytest

from riverrun.cluster.dispatcher.history import JobHistory
from riverrun.cluster.job_report import JobReport
from riverrun.core.ids import JobId
from riverrun.core.lifecycle import JobStatus
from riverrun.storage.local import LocalStorage
from tests.unit.rest import reports
from tests.unit.rest.reports import START


def ended(number: int) -> JobReport:
    return reports.job(JobStatus.FINISHED, id=f"{number:032x}", end=START + number)


def test_what_is_kept_survives_the_process(tmp_path: Path) -> None:
    folder = str(tmp_path)
    first = JobHistory(lambda: START, storage=LocalStorage(folder), folder=folder)
    first.add(ended(1))
    first.add(ended(2))

    second = JobHistory(lambda: START, storage=LocalStorage(folder), folder=folder)
    second.load()

    assert second.all() == (ended(2), ended(1))
    assert second.get(JobId(f"{1:032x}")) == ended(1)


def test_the_oldest_go_when_there_are_too_many_or_their_time_is_over(tmp_path: Path) -> None:
    folder, now = str(tmp_path), [START]
    history = JobHistory(
        lambda: now[0], capacity=2, kept_ms=100, storage=LocalStorage(folder), folder=folder
    )
    for number in range(1, 4):
        history.add(ended(number))
    assert [report.id[-1] for report in history.all()] == ["3", "2"]

    now[0] = START + 150
    history.add(ended(60))

    assert [report.end - START for report in history.all()] == [60]
    assert [path.name for path in tmp_path.iterdir()] == [f"{60:032x}.json"]


def test_a_damaged_report_hides_no_other(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = str(tmp_path)
    JobHistory(lambda: START, storage=LocalStorage(folder), folder=folder).add(ended(1))
    (tmp_path / "broken.json").write_bytes(b'{"id": 7')
    (tmp_path / "notes.txt").write_text("not ours")
    history = JobHistory(lambda: START, storage=LocalStorage(folder), folder=folder)

    with caplog.at_level(logging.WARNING):
        history.load()

    assert history.all() == (ended(1),)
    assert "broken.json" in caplog.text


def test_a_store_that_is_full_loses_no_report_of_this_process(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    folder = str(blocked / "inside")
    history = JobHistory(lambda: START, storage=LocalStorage(folder), folder=folder)

    with caplog.at_level(logging.WARNING):
        history.add(ended(1))

    assert history.all() == (ended(1),)
    assert "not kept" in caplog.text
