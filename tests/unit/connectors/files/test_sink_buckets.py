"""Which bucket a record goes to, and when the parts of a bucket end."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverrun.api.serialization import Encoder
from riverrun.connectors.files.bucket_assigners import (
    BucketAssigner,
    BucketContext,
    checked_bucket,
    grouped,
)
from riverrun.connectors.files.bucket_times import time_pattern, time_zone
from riverrun.connectors.files.output_config import OutputFileConfig, PartNames
from riverrun.connectors.files.output_formats import RowFormat
from riverrun.connectors.files.output_local import LocalOutput
from riverrun.connectors.files.output_parts import Lineage
from riverrun.connectors.files.rolling_policies import PartFileInfo, RollingPolicy
from riverrun.connectors.files.sink_buckets import Bucket
from riverrun.connectors.files.sink_state import PendingFile
from riverrun.serde.columns import ColumnRun, layout_of
from riverrun.serde.row import Row
from riverrun.serde.types import Types

LINEAGE = Lineage("0123456789ab", 1, 2)
TIME = datetime(2026, 3, 5, 7, 8, 9, 123456, UTC)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("yyyy-MM-dd--HH", "2026-03-05--07"),
        ("yy/M/d", "26/3/5"),
        ("'dt='yyyyMMdd'/h='HH", "dt=20260305/h=07"),
        ("MMM MMMM EEE EEEE", "Mar March Thu Thursday"),
        ("h a K k", "7 AM 7 7"),
        ("mm:ss.SSS", "08:09.123"),
        ("DDD", "064"),
        ("HH 'o''clock'", "07 o'clock"),
        ("''yyyy''", "'2026'"),
        ("XXX Z xx", "Z +0000 +0000"),
    ],
)
def test_times_are_written_as_java_does(pattern: str, text: str) -> None:
    assert time_pattern(pattern)(TIME) == text


@given(st.datetimes(timezones=st.just(UTC)).filter(lambda time: time.year >= 1000))
def test_patterns_of_numbers_can_be_read_back(time: datetime) -> None:
    text = time_pattern("yyyy-MM-dd HH:mm:ss.SSSSSS Z")(time)
    assert datetime.strptime(text, "%Y-%m-%d %H:%M:%S.%f %z") == time


def test_offsets_of_zones_are_written() -> None:
    there = TIME.astimezone(time_zone("+05:30"))
    assert time_pattern("X XX XXX xxx Z")(there) == "+0530 +0530 +05:30 +05:30 +0530"


@pytest.mark.parametrize("pattern", ["yyyy-MM-dd b", "'open"])
def test_patterns_that_nobody_understands_are_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="time pattern"):
        BucketAssigner.date_time_bucket_assigner(pattern)


def test_zones_that_nobody_knows_are_refused() -> None:
    with pytest.raises(ValueError, match="'Mars/Base'"):
        BucketAssigner.date_time_bucket_assigner("yyyy", "Mars/Base")


def test_the_time_of_writing_is_one_bucket_for_a_run() -> None:
    assigner = BucketAssigner.date_time_bucket_assigner(timezone_id="Asia/Tokyo")
    now = int(TIME.timestamp() * 1000)
    assert assigner.bucket_ids([1, 2], None, now) == "2026-03-05--16"
    assert assigner.get_bucket_id(1, BucketContext(now)) == "2026-03-05--16"


def test_event_time_puts_a_record_into_the_same_bucket_whenever_it_is_written() -> None:
    assigner = BucketAssigner.event_time_bucket_assigner("yyyy-MM-dd")
    times = [int((TIME + timedelta(days=day)).timestamp() * 1000) for day in (0, 1, 0)]
    assert assigner.bucket_ids([1, 2, 3], times, 0) == ["2026-03-05", "2026-03-06", "2026-03-05"]
    assert assigner.bucket_ids([1], times[:1], 99) == ["2026-03-05"]


def test_records_without_a_time_have_no_bucket_by_event_time() -> None:
    with pytest.raises(ValueError, match="has no timestamp"):
        BucketAssigner.event_time_bucket_assigner().bucket_ids(["x"], None, 0)


@dataclass
class Visit:
    dt: str
    country: str | None


def test_fields_name_partitions_of_rows_dicts_objects_and_columns() -> None:
    assigner = BucketAssigner.field_bucket_assigner("dt", "country")
    expected = ["dt=2026-03-05/country=a%2Fb", "dt=2026-03-05/country=__HIVE_DEFAULT_PARTITION__"]
    rows = [Row(dt="2026-03-05", country="a/b"), Row(dt="2026-03-05", country=None)]
    assert assigner.bucket_ids(rows, None, 0) == expected
    assert assigner.bucket_ids([row.as_dict() for row in rows], None, 0) == expected
    assert assigner.bucket_ids([Visit(*row) for row in rows], None, 0) == expected
    layout = layout_of(Types.ROW_NAMED(["dt", "country"], [Types.STRING(), Types.STRING()]))
    assert layout is not None
    assert assigner.bucket_ids(layout.run_of(rows), None, 0) == expected


@pytest.mark.parametrize("value", [{"dt": 1}, Row(dt=1), 7])
def test_records_without_the_field_are_named(value: Any) -> None:
    with pytest.raises(ValueError, match="no field 'country'"):
        BucketAssigner.field_bucket_assigner("country").bucket_ids([value], None, 0)


@pytest.mark.parametrize("bucket", ["/a", "a//b", "..", "a/../b", ".hidden", "_x/y", "a/", 7, None])
def test_buckets_outside_of_the_base_path_or_hidden_are_refused(bucket: Any) -> None:
    with pytest.raises(ValueError, match="folder below the base path"):
        checked_bucket(bucket)


@given(st.lists(st.tuples(st.integers(0, 99), st.sampled_from("abc"))))
def test_records_are_grouped_by_bucket_in_their_order(pairs: list[tuple[int, str]]) -> None:
    values, buckets = [value for value, _ in pairs], [bucket for _, bucket in pairs]
    layout = layout_of(Types.LONG())
    assert layout is not None
    for run in (
        values,
        ColumnRun(layout, pa.record_batch({"value": pa.array(values, pa.int64())})),
    ):
        found = {bucket: list(part) for bucket, part in grouped(run, buckets)}
        assert found == {
            bucket: [value for value, each in pairs if each == bucket] for bucket in set(buckets)
        }


def bucket_in(folder: Path, policy: RollingPolicy) -> Bucket:
    outputs = LocalOutput(str(folder), LINEAGE)
    names = PartNames.of(OutputFileConfig(), "", LINEAGE)
    return Bucket(
        "b",
        RowFormat(Encoder.simple_string_encoder(), None),
        policy,
        lambda: outputs.open("b", names.next()),
    )


def contents(pending: list[Any]) -> list[str]:
    assert all(isinstance(each, PendingFile) for each in pending)
    return [Path(each.staged).read_text() for each in pending]


def test_a_part_ends_after_the_record_that_makes_it_too_large(tmp_path: Path) -> None:
    bucket = bucket_in(tmp_path, RollingPolicy.default_rolling_policy(part_size=4))
    bucket.write(["a", "b", "c", "d", "e", "f", "g"], 0)
    bucket.write(["h"], 0)
    closed = bucket.prepare(0, keeps_open=False)
    assert contents(closed) == ["a\nb\nc\n", "d\ne\nf\n", "g\nh\n"]


@given(st.lists(st.lists(st.text("ab", max_size=5), max_size=8), max_size=6), st.integers(1, 20))
def test_runs_are_cut_into_the_same_parts_as_single_records(
    tmp_path_factory: pytest.TempPathFactory, runs: list[list[str]], size: int
) -> None:
    policy = RollingPolicy.default_rolling_policy(part_size=size)
    by_run, by_record = (bucket_in(tmp_path_factory.mktemp("parts"), policy) for _ in range(2))
    for run in runs:
        if run:
            by_run.write(run, 0)
        for record in run:
            by_record.write([record], 0)
    assert contents(by_run.prepare(0, keeps_open=False)) == contents(
        by_record.prepare(0, keeps_open=False)
    )


def test_a_part_ends_when_it_was_open_for_too_long_or_had_no_records(tmp_path: Path) -> None:
    policy = RollingPolicy.default_rolling_policy(
        rollover_interval=100, inactivity_interval=timedelta(milliseconds=30)
    )
    bucket = bucket_in(tmp_path, policy)
    for now in (0, 20, 40, 60, 80, 99, 100, 129, 160):
        bucket.write([str(now)], now)
    closed = bucket.prepare(170, keeps_open=True)
    assert contents(closed) == ["0\n20\n40\n60\n80\n99\n", "100\n129\n"]
    assert contents(bucket.prepare(190, keeps_open=True)) == ["160\n"]
    assert bucket.is_idle


def test_a_part_that_stays_open_is_on_disk_up_to_the_checkpoint(tmp_path: Path) -> None:
    bucket = bucket_in(tmp_path, RollingPolicy.default_rolling_policy())
    bucket.write(["a", "b"], 5)
    assert bucket.prepare(6, keeps_open=True) == []
    saved = bucket.saved()
    assert saved is not None
    assert (saved.length, saved.created_ms) == (4, 5)
    assert Path(saved.staged).read_text() == "a\nb\n"
    bucket.release()
    assert Path(saved.staged).exists(), "a checkpoint knows it"


class EveryOdd(RollingPolicy):
    """A user's own: an odd number begins a new part."""

    def should_roll_on_checkpoint(self, part_file_state: PartFileInfo) -> bool:
        return part_file_state.get_size() > 100

    def should_roll_on_event(self, part_file_state: PartFileInfo, element: Any) -> bool:
        assert part_file_state.get_bucket_id() == "b"
        return bool(element % 2)

    def should_roll_on_processing_time(
        self, part_file_state: PartFileInfo, current_time: int
    ) -> bool:
        return False


def test_a_policy_of_ones_own_is_asked_about_every_record(tmp_path: Path) -> None:
    bucket = bucket_in(tmp_path, EveryOdd())
    bucket.write([1, 2, 4, 3, 5, 6], 0)
    assert contents(bucket.prepare(0, keeps_open=False)) == ["1\n2\n4\n", "3\n", "5\n6\n"]


@pytest.mark.parametrize("name", ["part_size", "rollover_interval", "inactivity_interval"])
def test_a_policy_needs_positive_numbers(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        RollingPolicy.default_rolling_policy(**{name: 0})


def test_names_of_parts_tell_the_writer_and_never_meet() -> None:
    config = OutputFileConfig.builder().with_part_prefix("data").with_part_suffix(".txt").build()
    names = [PartNames.of(config, ".gz", LINEAGE) for _ in range(2)]
    found = [each.next() for each in names for _ in range(2)]
    assert len(set(found)) == 4
    assert all(name.startswith("data-0123456789ab-0001-") for name in found)
    assert [name[-9:] for name in found] == ["-0.txt.gz", "-1.txt.gz"] * 2
    twice = PartNames.of(OutputFileConfig("part", ".gz"), ".gz", LINEAGE)
    assert twice.next().endswith("-0.gz")


@pytest.mark.parametrize("prefix", ["", ".x", "_x", "a/b"])
def test_prefixes_that_hide_parts_are_refused(prefix: str) -> None:
    with pytest.raises(ValueError, match="prefix"):
        OutputFileConfig(prefix, "")
