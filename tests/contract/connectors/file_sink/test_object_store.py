"""Uploads of the file sink: in parts, repeated, refused, cleared away."""

from __future__ import annotations

from typing import Any

import pytest

from riverrun.api.serialization import Encoder
from riverrun.connectors.files.bucket_assigners import BucketAssigner
from riverrun.connectors.files.output_parts import Lineage, OutputLost
from riverrun.connectors.files.output_s3 import S3Output
from riverrun.connectors.files.output_s3_requests import S3Refused
from riverrun.connectors.files.sink_builder import FileSink
from riverrun.connectors.files.sink_state import PendingUpload
from riverrun.storage.storage import StorageError
from riverrun.testing.conformance.sink_run import SinkRun
from tests.contract.connectors.file_sink.places import Place

LINEAGE = Lineage("0123456789ab", 0, 1)


def test_large_files_are_uploaded_in_parts_while_they_are_written(s3: Place) -> None:
    folder = s3.folder()
    outputs = S3Output(folder, LINEAGE, s3.config, part_bytes=5 << 20)
    part = outputs.open("b", "part-x")
    piece = bytes(range(256)) * 4096
    for _ in range(11):
        part.write(piece)
    pending = part.finish()
    assert isinstance(pending, PendingUpload)
    assert (len(pending.etags), pending.size) == (3, 11 << 20)
    assert s3.visible(folder) == {}
    for _ in range(2):
        outputs.commit([pending])
    assert s3.visible(folder) == {"b/part-x": piece * 11}
    outputs.close()


def test_an_upload_that_is_gone_is_an_error_that_says_what_was_lost(
    s3: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = s3.folder()
    outputs = S3Output(folder, LINEAGE, s3.config)
    part = outputs.open("", "part-x")
    part.write(b"records")
    pending = part.finish()
    part.discard()

    def refuse(*_: Any, **__: Any) -> None:
        raise S3Refused("committing: there is no such upload", "NoSuchUpload")

    monkeypatch.setattr(outputs._requests, "send", refuse)
    with pytest.raises(OutputLost, match=r"committing '.*part-x'.*upload"):
        outputs.commit([pending])
    outputs.close()


def sink_to(base: str, config: Any) -> FileSink:
    return (
        FileSink.for_row_format(base, Encoder.simple_string_encoder())
        .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        .with_storage_options(config)
        .build()
    )


def test_a_bucket_that_is_missing_is_found_when_the_job_starts(s3: Place) -> None:
    with pytest.raises(StorageError, match="no such bucket: create it"):
        SinkRun(sink_to("s3://no-such-bucket/out", s3.config), 1)


def test_a_server_that_is_away_is_found_when_the_job_starts(s3: Place) -> None:
    config = {**s3.config, "s3.endpoint": "http://127.0.0.1:1", "riverrun.s3.attempts": "1"}
    with pytest.raises(StorageError, match=r"s3\.endpoint"):
        SinkRun(sink_to("s3://bucket/out", config), 1)


def test_uploads_of_attempts_that_died_are_aborted_with_the_next_checkpoint(s3: Place) -> None:
    folder = s3.folder()
    sink = sink_to(folder, s3.config)
    for parallelism in (3, 2):
        dead = SinkRun(sink, parallelism)
        dead.write(parallelism - 1, ["lost"])
    assert len(s3.uploads(folder)) == 2
    run = SinkRun(sink, 2)
    run.write(0, ["kept"])
    run.flush(end_of_input=True)
    run.prepare(1)
    assert len(s3.uploads(folder)) == 3
    run.complete(1)
    run.close()
    assert s3.uploads(folder) == []
    assert s3.lines(folder) == ["kept"]
