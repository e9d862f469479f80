"""The file sink against the kit that every sink has to pass."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from riverrun.api.serialization import Encoder
from riverrun.connectors.files.rolling_policies import RollingPolicy
from riverrun.connectors.files.sink_builder import FileSink
from riverrun.testing.conformance.sinks import Crash, SinkTarget, check_sink
from tests.contract.connectors.file_sink.places import Place

ROLLS = RollingPolicy.on_checkpoint_rolling_policy()

PREPARED = (Crash.PREPARED, Crash.SAVED, Crash.HALF_COMMITTED, Crash.COMMITTED)

Builder = Any
VARIANTS: dict[str, Callable[[Builder], Builder]] = {
    "every checkpoint": lambda builder: builder.with_rolling_policy(ROLLS),
    "compressed": lambda builder: builder.with_rolling_policy(ROLLS).with_compression("gzip"),
    "marked": lambda builder: builder.with_rolling_policy(ROLLS).with_success_file(in_buckets=True),
}


def target_of(place: Place, vary: Callable[[Builder], Builder], buckets: int = 2) -> Any:
    @contextmanager
    def make() -> Iterator[SinkTarget]:
        folder = place.folder()
        builder = (
            FileSink.for_row_format(folder, Encoder.simple_string_encoder())
            .with_bucket_assigner(lambda record: f"b={int(record[-1]) % buckets}")
            .with_storage_options(place.config)
        )

        def read_back() -> list[str]:
            lines = []
            for path, data in place.visible(folder).items():
                text = gzip.decompress(data) if path.endswith(".gz") else data
                lines += text.decode().splitlines()
            return lines

        yield SinkTarget(vary(builder).build(), read_back)

    return make


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_sink_of_local_files_conforms(local: Place, variant: str) -> None:
    check_sink(target_of(local, VARIANTS[variant]), [f"record-{n}" for n in range(24)])


def test_the_sink_of_an_object_store_conforms(s3: Place) -> None:
    records = [f"record-{n}" for n in range(12)]
    target = target_of(s3, VARIANTS["every checkpoint"], buckets=1)
    check_sink(target, records, crashes=PREPARED, parallelisms=((2, 1),))
