"""What a file sink leaves behind, what it finds, and what it says when something is in the way."""

from __future__ import annotations

import errno
import os
import pickle
import resource
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from riverrun.api.serialization import Encoder
from riverrun.api.sink import SinkWriterContext
from riverrun.connectors.files import output_local
from riverrun.connectors.files.bucket_assigners import BucketAssigner
from riverrun.connectors.files.compaction_strategy import FileCompactor, FileCompactStrategy
from riverrun.connectors.files.output_columns import ParquetBulkWriters
from riverrun.connectors.files.output_local import LocalOutput
from riverrun.connectors.files.output_parts import STAGING, Lineage, OutputLost
from riverrun.connectors.files.output_records import CsvBulkWriters
from riverrun.connectors.files.rolling_policies import RollingPolicy
from riverrun.connectors.files.sink_builder import FileSink
from riverrun.connectors.files.sink_state import EndedWriter, OpenPart, PendingFile
from riverrun.connectors.formats.csv_schema import CsvSchema
from riverrun.core.errors import ConfigError
from riverrun.serde.types import Types
from riverrun.storage.storage import StorageError
from riverrun.testing.conformance.sink_run import SavedSink, SinkRun

BASE = BucketAssigner.base_path_bucket_assigner()
ROLLS = RollingPolicy.on_checkpoint_rolling_policy()


def lines_sink(folder: Path, **changes: Any) -> FileSink:
    builder = FileSink.for_row_format(folder, Encoder.simple_string_encoder())
    builder.with_bucket_assigner(BASE)
    for name, value in changes.items():
        getattr(builder, name)(*value if isinstance(value, tuple) else (value,))
    return builder.build()


def checkpoint(run: SinkRun, number: int, *, complete: bool = True, end: bool = False) -> SavedSink:
    run.flush(end_of_input=end)
    run.prepare(number)
    saved: SavedSink = pickle.loads(pickle.dumps(run.save(number)))
    if complete:
        run.complete(number)
    return saved


def visible(folder: Path) -> list[str]:
    return sorted(
        line
        for path in folder.rglob("part-*")
        for line in path.read_text().splitlines()
        if STAGING not in path.parts
    ) + sorted(
        line for path in folder.rglob("compacted-*") for line in path.read_text().splitlines()
    )


def staged(folder: Path) -> list[Path]:
    return sorted(path for path in (folder / STAGING).rglob("*") if path.is_file())


def test_nothing_is_visible_before_its_checkpoint_is_complete(tmp_path: Path) -> None:
    run = SinkRun(lines_sink(tmp_path, with_rolling_policy=ROLLS), 2)
    run.write(0, ["a"])
    run.write(1, ["b"])
    assert visible(tmp_path) == []
    checkpoint(run, 1, complete=False)
    assert visible(tmp_path) == []
    run.complete(1)
    assert visible(tmp_path) == ["a", "b"]
    run.close()


def test_a_finished_sink_leaves_nothing_but_its_files(tmp_path: Path) -> None:
    run = SinkRun(lines_sink(tmp_path, with_rolling_policy=ROLLS), 2)
    for number in range(3):
        run.write(number % 2, [str(number)])
        checkpoint(run, number, end=number == 2)
    run.close()
    assert visible(tmp_path) == ["0", "1", "2"]
    assert not (tmp_path / STAGING).exists()


def test_a_sink_that_is_closed_removes_what_no_checkpoint_knows(tmp_path: Path) -> None:
    policy = RollingPolicy.default_rolling_policy(part_size=30)
    run = SinkRun(lines_sink(tmp_path, with_rolling_policy=policy), 1)
    run.write(0, ["in the checkpoint, open"])
    saved = checkpoint(run, 1)
    run.write(0, ["closes the open one", "closed" * 6, "open"])
    assert len(staged(tmp_path)) == 3
    run.close()
    assert [path.name for path in staged(tmp_path)] == [
        Path(item.staged).name for item in saved.writers[0] if isinstance(item, OpenPart)
    ]


def test_leftovers_of_failed_attempts_go_with_the_next_checkpoint(tmp_path: Path) -> None:
    sink = lines_sink(tmp_path)
    first = SinkRun(sink, 3)
    for subtask in range(3):
        first.write(subtask, [f"kept {subtask}"])
    saved = checkpoint(first, 1)
    zombies = [SinkRun(sink, parallelism, saved) for parallelism in (2, 3, 2)]
    for zombie in zombies:  # they die before their first checkpoint
        zombie.write(0, ["lost"])
    assert len(staged(tmp_path)) > 3
    last = SinkRun(sink, 2, saved)
    last.write(1, ["new"])
    checkpoint(last, 2, complete=False)
    before = staged(tmp_path)
    last.complete(2)
    assert len(staged(tmp_path)) < len(before)
    checkpoint(last, 3, end=True)
    assert visible(tmp_path) == ["kept 0", "kept 1", "kept 2", "new"]
    assert staged(tmp_path) == []
    for each in (first, *zombies, last):
        each.close()


def test_a_zombie_that_goes_on_writing_does_no_harm(tmp_path: Path) -> None:
    sink = lines_sink(tmp_path)
    zombie = SinkRun(sink, 1)
    zombie.write(0, ["a"])
    saved = checkpoint(zombie, 1)
    heir = SinkRun(sink, 1, saved)
    zombie.write(0, ["of the zombie"])
    zombie.flush()
    zombie.prepare(2)
    heir.write(0, ["b"])
    checkpoint(heir, 2, end=True)
    zombie.close()
    assert visible(tmp_path) == ["a", "b"]


def test_a_commit_that_happened_already_is_fine_also_if_readers_moved_the_file_on(
    tmp_path: Path,
) -> None:
    sink = lines_sink(tmp_path, with_rolling_policy=ROLLS)
    run = SinkRun(sink, 1)
    run.write(0, ["a"])
    saved = checkpoint(run, 1)
    (part,) = tmp_path.glob("part-*")
    SinkRun(sink, 1, saved).close()
    part.unlink()
    again = SinkRun(sink, 1, saved)
    again.write(0, ["b"])
    checkpoint(again, 2, end=True)
    again.close()
    assert visible(tmp_path) == ["b"]


def test_a_pending_file_that_is_gone_is_an_error_that_says_what_was_lost(tmp_path: Path) -> None:
    sink = lines_sink(tmp_path, with_rolling_policy=ROLLS)
    run = SinkRun(sink, 1)
    run.write(0, ["a"])
    saved = checkpoint(run, 1, complete=False)
    for path in staged(tmp_path):
        path.unlink()
    with pytest.raises(OutputLost, match=r"committing '.*part-.*the records of this part"):
        SinkRun(sink, 1, saved)


def test_an_open_part_that_is_gone_is_an_error_unless_it_is_visible(tmp_path: Path) -> None:
    sink = lines_sink(tmp_path)
    run = SinkRun(sink, 1)
    run.write(0, ["a"])
    old = checkpoint(run, 1)
    checkpoint(run, 2, end=True)
    SinkRun(sink, 1, old).close()  # went back in time: "a" is visible already
    assert visible(tmp_path) == ["a"]
    for path in tmp_path.glob("part-*"):
        path.unlink()
    with pytest.raises(OutputLost, match="Start from the latest checkpoint"):
        SinkRun(sink, 1, old)


def test_parts_of_a_savepoint_serve_two_jobs(tmp_path: Path) -> None:
    sink = lines_sink(tmp_path)
    run = SinkRun(sink, 1)
    run.write(0, ["a"])
    saved = checkpoint(run, 1)
    heirs = []
    for job in ("b", "c"):
        context = SinkWriterContext(0, 1, "t", None, restored=saved.writers[0], operator_id=job)  # type: ignore[arg-type]
        writer = sink.create_writer(context)
        writer.open()
        writer.write_run([job], None)
        writer.flush(end_of_input=True)
        heirs.append((context, writer))
    for context, writer in heirs:
        committer = sink.create_committer(context)
        pending = [each for each in writer.prepare_commit() if isinstance(each, PendingFile)]
        committer._own.commit(pending)  # type: ignore[attr-defined]
    run.close()
    assert visible(tmp_path) == ["a", "a", "b", "c"]
    assert Path(next(item.staged for item in saved.writers[0])).exists()


def test_held_parts_wait_hidden_and_become_one(tmp_path: Path) -> None:
    strategy = FileCompactStrategy.builder().enable_compaction_on_checkpoint(3).build()
    compact = (strategy, FileCompactor.concat_file_compactor())
    run = SinkRun(lines_sink(tmp_path, with_rolling_policy=ROLLS, enable_compact=compact), 1)
    for number in range(3):
        run.write(0, [str(number)])
        checkpoint(run, number)
        assert visible(tmp_path) == []
    checkpoint(run, 3, end=True)
    run.close()
    assert visible(tmp_path) == ["0", "1", "2"]
    assert len(list(tmp_path.glob("compacted-*"))) == 1
    assert staged(tmp_path) == []


def test_the_size_of_held_parts_starts_a_merge(tmp_path: Path) -> None:
    strategy = FileCompactStrategy.builder().set_size_threshold(6).build()
    compact = (strategy, FileCompactor.concat_file_compactor())
    run = SinkRun(lines_sink(tmp_path, with_rolling_policy=ROLLS, enable_compact=compact), 1)
    for number in range(5):
        run.write(0, [str(number)])
        checkpoint(run, number)
    for writer in run._writers:
        writer._compaction._pool.shutdown()  # type: ignore[attr-defined]
    checkpoint(run, 5)
    assert visible(tmp_path) == ["0", "1", "2"]
    run.close()


def test_held_parts_go_out_when_compaction_is_switched_off(tmp_path: Path) -> None:
    strategy = FileCompactStrategy.builder().enable_compaction_on_checkpoint(9).build()
    compact = (strategy, FileCompactor.concat_file_compactor())
    merging = SinkRun(lines_sink(tmp_path, with_rolling_policy=ROLLS, enable_compact=compact), 1)
    merging.write(0, ["a"])
    saved = checkpoint(merging, 1)
    plain = SinkRun(lines_sink(tmp_path, with_rolling_policy=ROLLS), 1, saved)
    plain.write(0, ["b"])
    checkpoint(plain, 2)
    assert sorted(visible(tmp_path)) == ["a", "b"]
    plain.close()


def test_the_marker_comes_after_the_last_writer_has_ended(tmp_path: Path) -> None:
    builder = FileSink.for_row_format(tmp_path, Encoder.simple_string_encoder())
    sink = (
        builder.with_bucket_assigner(lambda v: f"b={v}").with_success_file(in_buckets=True).build()
    )
    run = SinkRun(sink, 2)
    run.write(0, [1, 2])
    saved = checkpoint(run, 1)
    run.close()
    run = SinkRun(sink, 2, saved)
    run.write(1, [3])
    run._writers[0].flush(end_of_input=True)
    run.prepare(2)
    run.complete(2)
    assert list(tmp_path.rglob("_SUCCESS")) == []
    run._writers[1].flush(end_of_input=True)
    run.prepare(3)
    run.complete(3)
    run.close()
    marked = [str(path.parent.relative_to(tmp_path)) for path in tmp_path.rglob("_SUCCESS")]
    assert sorted(marked) == [".", "b=1", "b=2", "b=3"]
    assert not (tmp_path / STAGING).exists()


def test_every_subtask_clears_away_for_those_that_are_no_more() -> None:
    for parallelism in (1, 2, 3):
        heirs = [Lineage("x", subtask, parallelism) for subtask in range(parallelism)]
        for old in range(7):
            assert sum(heir.inherits(old) for heir in heirs) == 1
    assert all(Lineage("x", n, 4).inherits(n) for n in range(4))


def test_a_file_in_the_place_of_the_folder_is_found_when_the_job_starts(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")
    with pytest.raises(StorageError, match="a file in the place of the folder"):
        SinkRun(lines_sink(tmp_path / "out"), 1)


def test_a_folder_that_cannot_be_made_is_found_when_the_job_starts(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="writing"):
        SinkRun(lines_sink(tmp_path / "file" / "out"), 1)


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
def test_a_folder_without_permission_is_found_when_the_job_starts(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    os.seteuid(65534)
    try:
        with pytest.raises(StorageError, match="change the permissions"):
            SinkRun(lines_sink(tmp_path / "out"), 1)
    finally:
        os.seteuid(0)


@pytest.fixture
def small_files() -> Iterator[None]:
    """No file of this process may be larger than 64 KiB, as if the disk was full then."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    signal.signal(signal.SIGXFSZ, handler)


def full_disk(run: SinkRun) -> SavedSink:
    """A checkpoint, and then more than there is room for."""
    run.write(0, ["a" * 9])
    saved = checkpoint(run, 1)
    with pytest.raises(StorageError, match=r"writing '.*inprogress'"):
        run.write(0, ["b" * (1 << 20)])
    run.close()
    return saved


@pytest.mark.usefixtures("small_files")
def test_a_disk_that_is_full_fails_the_writer_and_loses_nothing(tmp_path: Path) -> None:
    sink = lines_sink(tmp_path)
    saved = full_disk(SinkRun(sink, 1))
    again = SinkRun(sink, 1, saved)
    again.write(0, ["b"])
    checkpoint(again, 2, end=True)
    again.close()
    assert visible(tmp_path) == ["a" * 9, "b"]


def test_a_full_disk_is_called_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    run = SinkRun(lines_sink(tmp_path), 1)
    run.write(0, ["a"])
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match="the disk is full: free some space"):
        checkpoint(run, 1)
    run.close()


@pytest.mark.parametrize("base", ["gs://bucket/out", "hdfs://name:9000/out", "ftp://server/x", ""])
def test_stores_that_cannot_commit_are_refused_when_the_program_is_built(base: str) -> None:
    with pytest.raises(ConfigError):
        FileSink.for_row_format(base, Encoder.simple_string_encoder())


def test_what_makes_no_sense_is_refused_when_the_program_is_built(tmp_path: Path) -> None:
    rows = FileSink.for_row_format(tmp_path, Encoder.simple_string_encoder())
    with pytest.raises(TypeError, match="encoder"):
        FileSink.for_row_format(tmp_path, str)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="BulkWriterFactory"):
        FileSink.for_bulk_format(tmp_path, "parquet")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="rolling policy"):
        rows.with_rolling_policy("daily")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="bucket assigner"):
        rows.with_bucket_assigner(7)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="nothing says when"):
        FileCompactStrategy.builder().build()
    with pytest.raises(ValueError, match="'DONE'"):
        rows.with_success_file("DONE")
    schema = CsvSchema.builder().add_string_column("a").set_use_header().build()
    strategy = FileCompactStrategy.builder().set_size_threshold(9).build()
    with pytest.raises(ConfigError, match="names of their columns"):
        FileSink.for_bulk_format(tmp_path, CsvBulkWriters.for_schema(schema)).enable_compact(
            strategy, FileCompactor.concat_file_compactor()
        ).build()


def test_a_sink_is_pickled_and_keeps_secrets(tmp_path: Path) -> None:
    factory = ParquetBulkWriters.for_row_type(Types.ROW_NAMED(["a"], [Types.LONG()]))
    sink = FileSink.for_bulk_format(tmp_path, factory).with_storage_options(
        {"s3.secret-key": "hush"}
    )
    shown = repr(sink.build()) + repr(sink.build()._plan)
    assert "hush" not in shown
    assert pickle.loads(pickle.dumps(sink.build()))._plan.storage_options == {
        "s3.secret-key": "hush"
    }


def test_writers_that_end_at_the_same_moment_mark_the_end_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (LocalOutput(str(tmp_path), Lineage("sink", each, 2)) for each in range(2))
    assert len(list(first.note_end(EndedWriter(0, 2, ())))) == 1
    entries = output_local._entries

    def another_is_faster(folder: Path) -> Any:
        found = entries(folder)
        first.mark_complete((), "_SUCCESS")
        return found

    monkeypatch.setattr(output_local, "_entries", another_is_faster)
    assert list(second.note_end(EndedWriter(1, 2, ()))) == []
    assert (tmp_path / "_SUCCESS").exists()


def test_an_open_part_that_is_cut_off_is_an_error_and_leaves_no_copy(tmp_path: Path) -> None:
    sink = lines_sink(tmp_path)
    run = SinkRun(sink, 1)
    run.write(0, ["abc"])
    saved = checkpoint(run, 1)
    run.close()
    (part,) = staged(tmp_path)
    part.write_text("a")
    with pytest.raises(OutputLost, match="it has 1 bytes of 4"):
        SinkRun(sink, 1, saved)
    assert staged(tmp_path) == [part]
