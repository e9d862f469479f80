from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from riverrun.core.clock import ManualClock
from riverrun.core.errors import ConfigError, ExternalError
from riverrun.core.log_output import LogSettings
from riverrun.jobmanager.log_files import JobManagerLogs
from riverrun.jobmanager.monitoring import Monitoring
from riverrun.metrics.reporters.configured import ConfiguredReporter
from riverrun.metrics.reporters.loop import ReporterLoop
from riverrun.metrics.reporters.reporter import ReporterSettings
from riverrun.metrics.scope import MetricScope, ScopeKind

_SCOPES = [MetricScope(ScopeKind.JOB_MANAGER, {"host": "h"}, {"numRunningJobs": 1.0})]
_JOB = "ab" * 16


class Noted:
    def __init__(self) -> None:
        self.reports: list[int] = []
        self.broken: Exception | None = None
        self.closed = False

    def report(self, scopes: Any, at: int) -> None:
        if self.broken is not None:
            raise self.broken
        self.reports.append(at)

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def levels() -> Iterator[None]:
    loggers = [logging.getLogger(), logging.getLogger("riverrun")]
    before = [(logger, logger.level, list(logger.handlers)) for logger in loggers]
    yield
    assert before == [(logger, logger.level, list(logger.handlers)) for logger in loggers]


def test_each_reporter_has_its_own_interval() -> None:
    clock, often, seldom = ManualClock(), Noted(), Noted()
    loop = ReporterLoop(
        [
            ConfiguredReporter(ReporterSettings(name="a", entries={"interval": "1 s"}), often),
            ConfiguredReporter(ReporterSettings(name="b", entries={"interval": "3 s"}), seldom),
        ],
        lambda: _SCOPES,
        clock,
    )

    for _ in range(7):
        clock.advance(500)
        loop.report_due()
    assert (len(often.reports), len(seldom.reports)) == (3, 1)
    loop.close()
    loop.close()
    assert (len(often.reports), len(seldom.reports)) == (4, 2)
    assert often.closed


def test_a_reporter_that_fails_is_named_once(caplog: pytest.LogCaptureFixture) -> None:
    clock, broken, fine = ManualClock(), Noted(), Noted()
    broken.broken = ExternalError("no collector")
    loop = ReporterLoop(
        [
            ConfiguredReporter(ReporterSettings(name=name), each)
            for name, each in (("broken", broken), ("fine", fine))
        ],
        lambda: _SCOPES,
        clock,
    )

    for _ in range(3):
        clock.advance(10_000)
        loop.report_due()

    assert [r.getMessage() for r in caplog.records] == [
        "metrics are not reported reporter=broken reason=no collector"
    ]
    assert len(fine.reports) == 3
    loop.close()


@pytest.mark.usefixtures("levels")
def test_a_session_writes_logs_and_metrics_and_cleans_up() -> None:
    monitoring = Monitoring({"metrics.reporters": "json"}, lambda: _SCOPES, session=True)
    folder = monitoring.log_folder
    assert folder is not None
    logging.getLogger("riverrun.test").info("job is RUNNING job=%s token=abc", _JOB)
    logging.getLogger("other").info("hello")

    monitoring.end_reports()
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    log = (folder / "jobmanager.log").read_text()
    of_job = (folder / f"job-{_JOB}.log").read_text()
    monitoring.close()

    assert json.loads(lines[0])["metrics"] == {"numRunningJobs": 1.0}
    assert "hello" in log
    assert "token=abc" not in log
    assert "job is RUNNING" in of_job
    assert "hello" not in of_job
    assert not folder.exists()


@pytest.mark.usefixtures("levels")
def test_a_program_of_its_own_writes_logs_only_where_it_is_told_to(tmp_path: Path) -> None:
    silent = Monitoring({}, list, session=False)
    assert silent.log_folder is None
    silent.close()

    told = Monitoring({"env.log.dir": str(tmp_path / "logs")}, list, session=False)
    logging.getLogger("riverrun.test").info("here")
    logging.getLogger("other").warning("not ours")
    told.close()

    text = (tmp_path / "logs" / "jobmanager.log").read_text()
    assert "here" in text
    assert "not ours" not in text


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(ConfigError, match=r"env\.log\.dir"):
        Monitoring({"env.log.dir": str(tmp_path / "file" / "x")}, list, session=True)


@pytest.mark.usefixtures("levels")
def test_what_the_threads_of_a_job_say_is_in_its_file(tmp_path: Path) -> None:
    logs = JobManagerLogs(LogSettings.at(tmp_path, {}), whole_process=False)
    logs.open()
    record = logging.makeLogRecord({"name": "riverrun", "msg": "quiet", "levelno": logging.INFO})
    record.threadName = f"riverrun-job-master-{_JOB}"
    logging.getLogger("riverrun").handle(record)
    logs.close()

    assert "quiet" in (tmp_path / f"job-{_JOB}.log").read_text()
