"""The process dies before and after every single thing that a file sink does to its store."""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from riverrun.api.serialization import Encoder
from riverrun.connectors.files.compaction_strategy import FileCompactor, FileCompactStrategy
from riverrun.connectors.files.rolling_policies import RollingPolicy
from riverrun.connectors.files.sink_builder import FileSink
from tests.contract.connectors.file_sink.places import Place, Steps, drive

Vary = Callable[[Any], Any]
ROLLS = RollingPolicy.on_checkpoint_rolling_policy()
SMALL = RollingPolicy.default_rolling_policy(part_size=12)
MERGED = FileCompactStrategy.builder().enable_compaction_on_checkpoint(2).build()
CONCAT = FileCompactor.concat_file_compactor()
LOCAL: dict[str, Vary] = {
    "kept open": lambda builder: builder,
    "small": lambda builder: builder.with_rolling_policy(SMALL),
    "compressed": lambda builder: builder.with_compression("gzip"),
    "every checkpoint": lambda builder: builder.with_rolling_policy(ROLLS),
    "merged": lambda builder: builder.with_rolling_policy(ROLLS).enable_compact(MERGED, CONCAT),
}
EPOCHS = [[f"{epoch}-{number}" for number in range(4)] for epoch in range(3)]
TELLING = {"part.finish", "hold", "commit", "discard", "note_end"}
"""The steps after which something outside is different."""


def bucket(record: str) -> str:
    return f"b={int(record[-1]) % 2}"


def sink_to(place: Place, folder: str, vary: Vary) -> FileSink:
    builder = (
        FileSink.for_row_format(folder, Encoder.simple_string_encoder())
        .with_bucket_assigner(bucket)
        .with_storage_options(place.config)
        .with_success_file()
    )
    sink: FileSink = vary(builder).build()
    return sink


def lines(place: Place, folder: str) -> list[str]:
    return [
        line
        for path, data in place.visible(folder).items()
        for line in (gzip.decompress(data) if path.endswith(".gz") else data).decode().splitlines()
    ]


def dies_at_every_step(
    place: Place, vary: Vary, epochs: list[list[str]], *, telling: bool = False
) -> None:
    """Drive the sink once for each step and each side of it, and look at what came out.

    With ``telling`` only the last of each kind of step that changes something is tried.
    """
    with pytest.MonkeyPatch.context() as patch:
        undisturbed = Steps()
        undisturbed.install(patch)
        drive(sink_to(place, place.folder(), vary), epochs)
    expected = Counter(record for epoch in epochs for record in epoch)
    places = {name: at for at, name in enumerate(undisturbed.taken) if name in TELLING}
    for at in places.values() if telling else range(len(undisturbed.taken)):
        for after in (False, True):
            folder = place.folder()
            steps = Steps(at, after=after)
            with pytest.MonkeyPatch.context() as patch:
                steps.install(patch)
                starts = drive(sink_to(place, folder, vary), epochs, steps=steps)
            died = f"{'after' if after else 'before'} step {at}: {steps.taken[at]}"
            assert starts == 2, died
            assert Counter(lines(place, folder)) == expected, died
            assert "_SUCCESS" in place.hidden(folder), died
            assert place.uploads(folder) == [], died


@pytest.mark.parametrize("variant", LOCAL)
def test_local_files_hold_each_record_once(local: Place, variant: str) -> None:
    dies_at_every_step(local, LOCAL[variant], EPOCHS)


@pytest.mark.parametrize("variant", ["every checkpoint", "merged"])
def test_objects_hold_each_record_once(s3: Place, variant: str) -> None:
    dies_at_every_step(s3, LOCAL[variant], [epoch[:1] for epoch in EPOCHS], telling=True)


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["every checkpoint", "merged"])
def test_objects_hold_each_record_once_whatever_the_step(s3: Place, variant: str) -> None:
    dies_at_every_step(s3, LOCAL[variant], [epoch[:2] for epoch in EPOCHS])
