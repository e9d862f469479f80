"""The `_metadata` file: anybody can read it, and riverrun says what is wrong with one it cannot use."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverrun.checkpoint.metadata_file import FormatTooNew, MetadataFile, decode, encode
from riverrun.checkpoint.references import files_of
from riverrun.storage.blobs import FileRef, InlineBlob
from riverrun.storage.digests import digest_of
from riverrun.storage.storage import FileCorrupt
from tests.unit.checkpoint.stored_checkpoints import checkpoint

PLACE = "/root/job/chk-7/_metadata"
METADATA = checkpoint(
    7,
    [
        FileRef("/root/job/shared/a", 10, "ab"),
        FileRef("/root/job/chk-7/b", 11, "cd"),
        FileRef("/root/other/shared/c", 12, "ef"),
        FileRef("s3://bucket/shared/d", 12, "ef"),
        InlineBlob(bytes(range(256))),
    ],
)
DATA = encode(MetadataFile(METADATA, 3), PLACE)


def test_what_was_written_is_read() -> None:
    assert decode(DATA, PLACE) == MetadataFile(METADATA, 3)


def test_a_folder_that_was_moved_still_works() -> None:
    moved = decode(DATA, "s3://new/place/job/chk-7/_metadata").metadata

    assert [file.path for file in files_of(moved)] == [
        "s3://new/place/job/shared/a",
        "s3://new/place/job/chk-7/b",
        "/root/other/shared/c",
        "s3://bucket/shared/d",
    ]


def test_any_tool_that_knows_json_can_read_it(tmp_path: Path) -> None:
    (tmp_path / "_metadata").write_bytes(DATA)

    shown = subprocess.run(
        [sys.executable, "-m", "json.tool", "--json-lines", "--no-indent", tmp_path / "_metadata"],
        capture_output=True,
        check=True,
    )

    header, body = (json.loads(line) for line in shown.stdout.splitlines())
    assert header["riverrun"] == "checkpoint"
    [subtask] = body["subtasks"]
    parts = subtask["operators"][0]["keyed"]["parts"]
    assert parts[0]["blob"] == {"type": "file", "path": "shared/a", "size": 10, "digest": "ab"}
    assert base64.b64decode(parts[4]["blob"]["data"]) == bytes(range(256))


@given(st.integers(0, len(DATA) - 2))
def test_a_file_that_was_cut_off_is_refused(length: int) -> None:
    with pytest.raises(FileCorrupt, match=f"{PLACE}.* it was cut off: .*; use another checkpoint"):
        decode(DATA[:length], PLACE)


@given(st.integers(0, len(DATA) - 2), st.integers(1, 255))
def test_a_file_in_which_any_byte_was_changed_is_refused(position: int, change: int) -> None:
    damaged = bytearray(DATA)
    damaged[position] ^= change

    with pytest.raises((FileCorrupt, FormatTooNew), match=PLACE):
        decode(bytes(damaged), PLACE)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\x49\x60\x67\x2d\x00\x00\x00\x04", "found one of Apache Flink"),
        (b"PAR1 and so on", "found something else that begins with b'PAR1 and so on'"),
        (b'{"a": 1}\n{}', "found something else"),
        (b'{"riverrun":"savepoint","version":1,"epoch":1,"size":2,"digest":""}\n{}', "'savepoint'"),
        (b'{"riverrun":7}\n{}', "its first line cannot be read"),
        (DATA + b"more", "4 bytes more|5 bytes more"),
    ],
)
def test_something_else_is_refused(data: bytes, words: str) -> None:
    with pytest.raises(FileCorrupt, match=f"{PLACE}.*({words})"):
        decode(data, PLACE)


def test_a_newer_format_is_refused_with_both_versions() -> None:
    newer = b'{"riverrun":"checkpoint","version":999,"something":"else"}\nunknown'

    with pytest.raises(
        FormatTooNew, match=r"version 999 .* knows versions up to 1; use the release"
    ):
        decode(newer, PLACE)


def test_a_body_that_is_no_checkpoint_is_refused() -> None:
    body = b'{"checkpoint":"seven"}'
    digest = digest_of(b"1 1\n" + body)
    header = f'{{"riverrun":"checkpoint","version":1,"epoch":1,"size":22,"digest":"{digest}"}}\n'

    with pytest.raises(
        FileCorrupt, match="its content is not that of a checkpoint: Expected `int`"
    ):
        decode(header.encode() + body, PLACE)
