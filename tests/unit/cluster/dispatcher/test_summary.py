"""A job in few figures: what is told, and that nothing is made up where nothing was told."""

from __future__ import annotations

import msgspec

from riverrun.checkpoint.statistics import (
    CheckpointingStatistics,
    CheckpointStatistics,
    CheckpointStatus,
    LatestCheckpoints,
    Totals,
)
from riverrun.cluster.dispatcher.summary import first_line, summary_of
from riverrun.cluster.job_report import JobReport
from riverrun.core.lifecycle import JobStatus
from tests.unit.rest import reports
from tests.unit.rest.reports import START


def told(report: JobReport, given: float, waited: float) -> JobReport:
    """The report with these figures of every subtask of the source."""
    source, sink = report.vertices
    subtasks = tuple(
        msgspec.structs.replace(
            each,
            metrics={"backPressuredTimeMsPerSecond": waited * each.index},
            operator_metrics={source.name: {"numRecordsOutPerSecond": given}},
        )
        for each in source.subtasks
    )
    return reports.changed(
        report, vertices=(msgspec.structs.replace(source, subtasks=subtasks), sink)
    )


def test_sources_are_added_up_and_the_subtask_that_waits_longest_is_told() -> None:
    summary = summary_of(told(reports.job(), given=20.0, waited=600.0))

    assert (summary.records_per_second, summary.back_pressure) == (40.0, 0.6)


def test_what_nobody_told_is_missing_not_zero() -> None:
    summary = summary_of(reports.job())

    assert summary.records_per_second is None
    assert summary.back_pressure is None
    assert (summary.last_checkpoint, summary.last_failed_checkpoint) == (None, None)
    assert (summary.restarts, summary.failure) == (0, None)


def test_a_job_that_ended_has_no_rate_any_more() -> None:
    ended = told(reports.job(JobStatus.FINISHED, end=START + 9), given=20.0, waited=600.0)

    assert summary_of(ended).records_per_second is None
    assert summary_of(ended).back_pressure is None


def test_the_last_checkpoints_are_told() -> None:
    completed = CheckpointStatistics(
        3,
        CheckpointStatus.COMPLETED,
        START,
        {},
        Totals(latest_ack_timestamp=START + 12, end_to_end_duration=12),
    )
    failed = CheckpointStatistics(
        4,
        CheckpointStatus.FAILED,
        START + 100,
        {},
        Totals(),
        failure_timestamp=START + 150,
        failure_message="expired\nafter a while",
    )
    latest = LatestCheckpoints(completed, None, failed)
    summary = summary_of(reports.job(checkpoints=CheckpointingStatistics(latest=latest)))

    assert summary.last_checkpoint is not None
    assert (summary.last_checkpoint.at, summary.last_checkpoint.duration) == (START + 12, 12)
    assert summary.last_failed_checkpoint is not None
    assert summary.last_failed_checkpoint.duration == 50
    assert summary.last_failed_checkpoint.failure == "expired"


def test_what_went_wrong_is_one_line_with_its_operator() -> None:
    past = reports.failure("late\n  and more", operator="Map")
    survived = summary_of(reports.job(failures=(reports.failure("early"), past)))
    failed = summary_of(
        reports.job(JobStatus.FAILED, failures=(past,), failure=reports.failure("the end"))
    )

    assert survived.failure == "Map: ValueError: late"
    assert failed.failure == "ValueError: the end"


def test_long_reasons_are_cut() -> None:
    assert len(first_line("x" * 5000)) == 300
    assert first_line("\n \n") == ""
