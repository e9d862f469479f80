"""Files that appear while a source runs, what a checkpoint remembers, and what a builder refuses."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from riverrun.api.source import Boundedness
from riverrun.connectors.files.source_builder import (
    FileEnumeratorProvider,
    FileSource,
    FileSplitAssignerProvider,
)
from riverrun.connectors.files.source_columns import ParquetColumnarRowInputFormat
from riverrun.connectors.files.source_enumerator import FileEnumerator, FilesKnown
from riverrun.connectors.files.source_lines import StreamFormat
from riverrun.core.clock import Clock, SystemClock
from riverrun.core.errors import ConfigError
from riverrun.core.time import Duration
from riverrun.serde.types import Types
from riverrun.testing.conformance.sources import check_source

TEXT = StreamFormat.text_line_format()


class Looks:
    """An enumerator's context whose calls are made when the test says so."""

    def __init__(self, parallelism: int = 2) -> None:
        self.parallelism = parallelism
        self.clock: Clock = SystemClock()
        self.config: Mapping[str, str] = {}
        self.registered_readers: Sequence[int] = range(parallelism)
        self.assigned: list[tuple[int, str]] = []
        self.told: list[int] = []
        self.period_ms: float | None = None
        self._look: Callable[[], None] = lambda: None

    def assign_splits(self, splits: Sequence[Any], subtask: int) -> None:
        self.assigned += [(subtask, Path(split.location).name) for split in splits]

    def signal_no_more_splits(self, subtask: int) -> None:
        self.told.append(subtask)

    def send_event_to_reader(self, subtask: int, event: Any) -> None:
        raise AssertionError(subtask, event)

    def call_async(
        self,
        call: Callable[[], Any],
        then: Callable[[Any, Exception | None], None],
        *,
        initial_delay_ms: float = 0.0,
        period_ms: float | None = None,
    ) -> None:
        del initial_delay_ms
        self.period_ms = period_ms

        def look() -> None:
            try:
                found = call()
            except Exception as error:  # noqa: BLE001  (as the engine does)
                then(None, error)
            else:
                then(found, None)

        self._look = look

    def look(self) -> None:
        self._look()


def source_of(path: Path, *, interval_s: int | None = 10) -> FileSource:
    builder = FileSource.for_record_stream_format(TEXT, path)
    if interval_s is not None:
        builder.monitor_continuously(Duration.of_seconds(interval_s))
    return builder.build()


def begun(source: FileSource, state: FilesKnown | None = None) -> tuple[Looks, FileEnumerator]:
    context = Looks()
    made = (
        source.create_enumerator(context)
        if state is None
        else source.restore_enumerator(context, pickle.loads(pickle.dumps(state)))
    )
    assert isinstance(made, FileEnumerator)
    made.start()
    return context, made


def test_new_files_are_found_and_old_ones_not_read_again(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1\n")
    context, enumerator = begun(source_of(tmp_path))
    enumerator.handle_split_request(1)
    context.look()
    (tmp_path / "a").write_text("1\n2\n")
    (tmp_path / "b").write_text("3\n")
    (tmp_path / ".c").write_text("4\n")
    enumerator.handle_split_request(0)
    context.look()
    enumerator.handle_split_request(0)

    assert context.period_ms == 10_000
    assert context.assigned == [(1, "a"), (0, "b")]
    assert context.told == []


def test_a_checkpoint_remembers_what_was_seen_and_what_waits(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).write_text("1\n")
    context, enumerator = begun(source_of(tmp_path))
    context.look()
    enumerator.handle_split_request(0)
    state = enumerator.snapshot_state(1)

    (tmp_path / "c").write_text("1\n")
    context, restored = begun(source_of(tmp_path), state)
    for _ in range(3):
        restored.handle_split_request(0)
    context.look()

    assert context.assigned == [(0, "b"), (0, "c")]


def test_a_static_set_ends_and_is_not_listed_again(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1\n")
    source = source_of(tmp_path, interval_s=None)
    context, enumerator = begun(source)
    context.look()
    (tmp_path / "b").write_text("1\n")
    restored_context, restored = begun(source, enumerator.snapshot_state(1))
    restored_context.look()
    for _ in range(2):
        restored.handle_split_request(0)

    assert restored_context.assigned == [(0, "a")]
    assert restored_context.told == [0]


def test_a_checkpoint_before_the_first_look_remembers_that(tmp_path: Path) -> None:
    source = source_of(tmp_path, interval_s=None)
    _, enumerator = begun(source)
    state = enumerator.snapshot_state(1)
    (tmp_path / "a").write_text("1\n")
    context, restored = begun(source, state)
    context.look()
    restored.handle_split_request(1)

    assert context.assigned == [(1, "a")]


def test_a_store_that_fails_later_is_asked_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    context, enumerator = begun(source_of(folder))
    context.look()
    folder.rmdir()
    context.look()
    folder.mkdir()
    (folder / "a").write_text("1\n")
    context.look()
    enumerator.handle_split_request(0)

    assert context.assigned == [(0, "a")]
    assert "cannot look for new files, trying again" in caplog.text


def test_continuous_sources_count_every_record_once(tmp_path: Path) -> None:
    expected = []
    for name in range(5):
        lines = [f"{name}-{number}" for number in range(30)]
        (tmp_path / f"{name}.txt").write_text("\n".join(lines))
        expected += lines

    def make() -> FileSource:
        builder = FileSource.for_record_stream_format(TEXT, tmp_path).set_split_size(40)
        return builder.monitor_continuously(Duration.of_millis(5)).build()

    check_source(make, expected, seeds=range(4))


def test_a_source_says_what_it_is(tmp_path: Path) -> None:
    continuous = pickle.loads(pickle.dumps(source_of(tmp_path)))

    assert continuous.get_boundedness() is Boundedness.CONTINUOUS_UNBOUNDED
    assert source_of(tmp_path, interval_s=None).get_boundedness() is Boundedness.BOUNDED
    assert continuous.get_produced_type() == Types.STRING()
    assert repr(continuous) == f"FileSource({tmp_path})"


@pytest.mark.parametrize(
    "build",
    [
        lambda: FileSource.for_record_stream_format(TEXT),
        lambda: FileSource.for_record_stream_format(TEXT, "ftp://x/y"),
        lambda: FileSource.for_record_stream_format(TEXT, "/x").set_split_size(0),
        lambda: FileSource.for_record_stream_format(TEXT, "/x").monitor_continuously(
            Duration.of_millis(0)
        ),
    ],
)
def test_what_cannot_be_is_refused_when_it_is_built(build: Callable[[], Any]) -> None:
    with pytest.raises(ConfigError):
        build()


def test_formats_and_providers_are_checked() -> None:
    bulk = ParquetColumnarRowInputFormat(Types.ROW_NAMED(["a"], [Types.INT()]))
    builder = FileSource.for_bulk_file_format(bulk, "/x")

    with pytest.raises(TypeError, match="expected a StreamFormat"):
        FileSource.for_record_stream_format(bulk, "/x")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="expected a BulkFormat"):
        FileSource.for_bulk_file_format(TEXT, "/x")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="expected a FileEnumeratorProvider"):
        builder.set_file_enumerator(None)  # type: ignore[arg-type]
    provider = FileEnumeratorProvider.default_splittable_file_enumerator()
    assigner = FileSplitAssignerProvider.locality_aware_split_assigner()
    assert builder.set_file_enumerator(provider).set_split_assigner(assigner).build().gives_columns
