"""Records larger than a row may be: they travel in parts, through exchanges and through a relay."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import Any

import pytest

from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.connectors.datagen import DataGeneratorSource
from riverrun.protocol.parts import MOST_BYTES
from tests.spark.conftest import MakeEnv

pytestmark = pytest.mark.spark

RECORDS = 60
SIZES = (10, MOST_BYTES - 10, MOST_BYTES + 10, 3 * MOST_BYTES, 5 * MOST_BYTES + 7)


def blob(index: int) -> tuple[int, bytes]:
    return index, (str(index).encode() * SIZES[index % len(SIZES)])[: SIZES[index % len(SIZES)]]


def digest(way: str, record: tuple[int, bytes]) -> tuple[str, int, str]:
    return way, record[0], hashlib.sha256(record[1]).hexdigest()


def test_they_arrive_whole_and_once_on_every_way(make_env: MakeEnv) -> None:
    env = make_env(parallelism=2)
    blobs = env.from_source(
        DataGeneratorSource(blob, RECORDS), WatermarkStrategy.no_watermarks(), "blobs"
    )
    # What goes to "both" straight from the source passes the layer of "first" by a relay.
    first = blobs.key_by(lambda record: record[0] % 5).map(lambda record: record).name("first")
    long_way = first.rebalance().map(lambda record: ("long", record))
    short_way = blobs.rebalance().map(lambda record: ("short", record))
    both = long_way.union(short_way).rebalance().map(lambda each: digest(*each)).name("both")

    with both.execute_and_collect() as results:
        found: Counter[Any] = Counter(results)

    expected = {digest(way, blob(index)) for way in ("long", "short") for index in range(RECORDS)}
    assert found == Counter(dict.fromkeys(expected, 1))
