"""Lines of files: every line once, whatever the ranges, chunks, checkpoints and restarts."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from riverrun.api.bad_records import BadRecords, DeadLetter
from riverrun.api.source import Source
from riverrun.connectors.base.message_decoder import BadMessage
from riverrun.connectors.files import source_streams
from riverrun.connectors.files.paths import FileStore
from riverrun.connectors.files.source_builder import FileEnumeratorProvider, FileSource
from riverrun.connectors.files.source_line_buffer import LineBuffer
from riverrun.connectors.files.source_lines import StreamFormat
from riverrun.connectors.files.source_splits import FileSplit
from riverrun.core.errors import ProgramError
from riverrun.serde.row import Row
from riverrun.serde.types import Types
from riverrun.storage.storage import StorageError
from riverrun.testing.conformance.source_run import SourceRun
from riverrun.testing.conformance.sources import check_source

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=8)


def lines_of(path: Path, reads: StreamFormat | None = None, **settings: Any) -> FileSource:
    builder = FileSource.for_record_stream_format(
        reads or StreamFormat.text_line_format(), str(path)
    )
    for name, value in settings.items():
        getattr(builder, name)(value)
    return builder.build()


def read_all(source: Source[Any], parallelism: int = 1) -> tuple[list[Any], list[DeadLetter]]:
    run = SourceRun(source, parallelism)
    values: list[Any] = []
    letters: list[DeadLetter] = []
    try:
        while not run.is_over:
            run.pass_messages()
            for subtask in range(parallelism):
                polled = run.poll(subtask, 100)
                values.extend(polled.values)
                letters.extend(polled.dead_letters)
    finally:
        run.close()
    return values, letters


@given(st.data())
def test_every_line_is_read_once(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("lines")
    lines, end = data.draw(st.lists(TEXT, max_size=12)), data.draw(st.sampled_from(["\n", "\r\n"]))
    content = end.join(lines) + (end if data.draw(st.booleans()) and lines else "")
    (folder / "in.txt").write_bytes(content.encode())
    expected = [line.removesuffix("\r") for line in content.split("\n")]
    if not expected[-1]:
        expected.pop()
    split_size = data.draw(st.integers(1, 60))

    with patch.object(source_streams, "_CHUNK", data.draw(st.integers(1, 40))):
        check_source(
            lambda: lines_of(folder, set_split_size=split_size),
            expected,
            seeds=[data.draw(st.integers(0, 1000))],
        )


COMPRESSED: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".deflate": zlib.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}


@pytest.mark.parametrize("extension", COMPRESSED)
def test_compressed_files_are_read_and_resumed(tmp_path: Path, extension: str) -> None:
    compress = COMPRESSED[extension]
    lines = [f"line {number}" for number in range(500)]
    half = "".join(f"{line}\n" for line in lines[:250]).encode()
    rest = "".join(f"{line}\n" for line in lines[250:]).encode()
    # Two frames, one after the other, are a file too.
    (tmp_path / f"in{extension}").write_bytes(compress(half) + compress(rest))

    with patch.object(source_streams, "_CHUNK", 100):
        check_source(lambda: lines_of(tmp_path, set_split_size=50), lines, seeds=range(3))


@pytest.mark.parametrize("extension", COMPRESSED)
def test_a_compressed_file_that_is_cut_off_or_none_is_named(tmp_path: Path, extension: str) -> None:
    whole = COMPRESSED[extension](b"some lines\n" * 1000)
    (tmp_path / f"cut{extension}").write_bytes(whole[: len(whole) // 2])
    (tmp_path / f"no{extension}").write_bytes(b"these are just some lines\n" * 5)

    with pytest.raises(StorageError, match=rf"cut{extension}': the compressed file is cut off"):
        read_all(lines_of(tmp_path / f"cut{extension}"))
    with pytest.raises(StorageError, match=rf"no{extension}': the file is not what its extension"):
        read_all(lines_of(tmp_path / f"no{extension}"))


@pytest.mark.parametrize("charset", ["UTF-16", "UTF-16-LE", "UTF-8-SIG", "ISO-8859-1", "GB18030"])
def test_other_charsets_are_read(tmp_path: Path, charset: str) -> None:
    lines = ["grün", "", "ä" * 40, "z"]
    (tmp_path / "in.txt").write_bytes("\n".join(lines).encode(charset))

    check_source(
        lambda: lines_of(tmp_path, StreamFormat.text_line_format(charset), set_split_size=7),
        lines,
        seeds=range(3),
    )


def test_a_file_that_is_not_in_the_charset_fails_with_the_place(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_bytes(b"good\nb\xffd\n")

    with pytest.raises(BadMessage, match=r"in.txt', line 2, byte 5: cannot be read"):
        read_all(lines_of(tmp_path))
    values, letters = read_all(lines_of(tmp_path, set_bad_records=BadRecords.DEAD_LETTER))

    assert values == ["good"]
    assert [letter.payload for letter in letters] == [b"b\xffd"]


def test_json_lines_are_dicts_or_rows(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"a": 1}\n\n  \r\n{"a": 2}\r\n')
    row_type = Types.ROW_NAMED(["a"], [Types.LONG()])

    assert read_all(lines_of(tmp_path, StreamFormat.json_lines_format()))[0] == [{"a": 1}, {"a": 2}]
    rows = lines_of(tmp_path, StreamFormat.json_lines_format(row_type), set_split_size=3)
    assert read_all(rows, 2)[0] == [Row(a=1), Row(a=2)]
    assert rows.get_produced_type() == row_type


def test_a_bad_line_fails_is_skipped_or_becomes_a_dead_letter(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"a": 1}\n\n{"a": \n{"a": 2}\n')
    reads = StreamFormat.json_lines_format()

    with pytest.raises(
        BadMessage, match=r"in.jsonl', line 3, byte 10: cannot be read: FormatError"
    ):
        read_all(lines_of(tmp_path, reads))
    assert read_all(lines_of(tmp_path, reads, set_bad_records=BadRecords.SKIP)) == (
        [{"a": 1}, {"a": 2}],
        [],
    )
    _, letters = read_all(
        lines_of(tmp_path, reads, set_bad_records=BadRecords.DEAD_LETTER, set_split_size=9), 3
    )
    assert [(letter.payload, letter.origin) for letter in letters] == [
        (b'{"a": ', f"file '{tmp_path}/in.jsonl', byte 10")
    ]


def test_a_file_that_became_shorter_is_named(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("line\n")
    lines = LineBuffer(FileSplit(f"{tmp_path}/in.txt", 0, 50), FileStore())
    assert lines.waiting() == 1
    lines.take(1)

    with pytest.raises(StorageError, match="it ends at byte 5; expected 50 bytes"):
        lines.waiting()
    lines.close()


def test_a_missing_path_is_found_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match=r"file source: .*there is no such file or folder"):
        read_all(lines_of(tmp_path / "none"))


def test_large_files_are_cut_unless_it_is_forbidden(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("0123456789\n" * 10)
    whole = FileEnumeratorProvider.default_non_splittable_file_enumerator()

    def ranges(source: FileSource) -> list[tuple[int, int]]:
        plan = source._plan
        return [(split.start, split.end) for split in plan.splits(plan.files(), 2)]

    assert ranges(lines_of(tmp_path, set_split_size=40)) == [(0, 37), (37, 74), (74, 110)]
    assert ranges(lines_of(tmp_path, set_split_size=40, set_file_enumerator=whole)) == [(0, 110)]
    assert ranges(lines_of(tmp_path)) == [(0, 110)]


def test_lines_of_blanks_are_no_json_whatever_is_around_them(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_bytes(b"1\n \t\n2\n")
    assert read_all(lines_of(tmp_path, StreamFormat.json_lines_format())) == ([1, 2], [])


class _Chunks(source_streams.ByteStream):
    def __init__(self, *chunks: bytes) -> None:
        self.chunks = list(chunks)
        self.closed = False

    def read(self) -> bytes:
        if not self.chunks:
            return b""
        if self.chunks[0] == b"trouble":
            raise StorageError("the store is away")
        return self.chunks.pop(0)

    def close(self) -> None:
        self.closed = True


def test_bytes_that_are_read_ahead_are_the_same() -> None:
    inner = _Chunks(b"a", b"b", b"c")
    ahead = source_streams._Ahead(inner)
    assert [ahead.read() for _ in range(5)] == [b"a", b"b", b"c", b"", b""]
    ahead.close()
    assert inner.closed


def test_no_more_bytes_are_read_ahead_than_are_wanted() -> None:
    inner = _Chunks(b"ab", b"cd", b"ef")
    ahead = source_streams._Ahead(inner, wanted=3)
    assert [ahead.read() for _ in range(2)] == [b"ab", b"cd"]
    assert inner.chunks == [b"ef"]
    assert ahead.read() == b"ef"
    ahead.close()


def test_trouble_with_bytes_ahead_comes_in_its_turn() -> None:
    inner = _Chunks(b"a", b"trouble")
    ahead = source_streams._Ahead(inner)
    assert ahead.read() == b"a"
    with pytest.raises(StorageError, match="the store is away"):
        ahead.read()
    ahead.close()
    assert inner.closed
