"""Work on columns on Spark while workers are killed: windows and rolling aggregates are exact."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from riverrun.api.column_aggregates import Agg
from riverrun.api.columns import col
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.api.window_assigners import SlidingEventTimeWindows, TumblingEventTimeWindows
from riverrun.connectors.arrow_batches import BatchGeneratorSource
from riverrun.core.time import Duration
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.serde.types import Types
from tests.spark.allround.chaos import Chaos, await_checkpoint, statistics
from tests.spark.allround.file_sink import FileSink, committed
from tests.spark.allround.run import RECOVERING
from tests.spark.conftest import MakeEnv

pytestmark = pytest.mark.spark

KEYS = 23
COUNT = 80_000
RATE = 8_000.0
SIZE_MS, SLIDE_MS = 1_000, 400
PAYMENT = Types.ROW_NAMED(["customer", "cents", "ts"], [Types.STRING(), Types.LONG(), Types.LONG()])
NAMES = np.array([f"customer {number}" for number in range(KEYS)])


def payments(indices: Any) -> Any:
    """Out of order by up to 70 ms; now and then without an amount."""
    cents = (indices * 7919 % 1000).astype(np.float64)
    cents[indices % 13 == 5] = np.nan
    return {
        "customer": NAMES[indices % KEYS],
        "cents": [None if np.isnan(each) else int(each) for each in cents],
        "ts": 100 + indices - indices * 31 % 70,
    }


def build(env: StreamExecutionEnvironment, folder: Path) -> None:
    bounded = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(2_000))
    source = BatchGeneratorSource(payments, PAYMENT, COUNT, RATE)
    stream = env.from_source(source, bounded.with_timestamp_column("ts"), "payments")
    keyed = stream.filter_batches(col("customer") != "customer 3").key_by(col("customer"))
    totals = (Agg.count(), Agg.sum("cents"), Agg.approx_distinct("cents"))
    for name, windows in (
        ("tumbling", TumblingEventTimeWindows.of(SIZE_MS)),
        ("sliding", SlidingEventTimeWindows.of(SIZE_MS, SLIDE_MS)),
    ):
        aggregated = keyed.window(windows).aggregate_columns(*totals)
        aggregated.map(tuple).sink_to(FileSink(str(folder / name)))
    rolling = keyed.aggregate_columns(Agg.count(), Agg.sum("cents"), per_run=True)
    rolling.map(tuple).sink_to(FileSink(str(folder / "rolling")))


def expected(slide: int) -> Counter[Any]:
    made = payments(np.arange(COUNT))
    windows: dict[tuple[str, int], list[int | None]] = {}
    for customer, cents, time in zip(
        made["customer"].tolist(), made["cents"], made["ts"].tolist(), strict=True
    ):
        if customer != "customer 3":
            for start in range(time - time % slide, time - SIZE_MS, -slide):
                windows.setdefault((customer, start), []).append(cents)
    found: Counter[Any] = Counter()
    for (customer, start), cents in windows.items():
        there = [each for each in cents if each is not None]
        total = sum(there) if there else None
        found[customer, start, start + SIZE_MS, len(cents), total, len(set(there))] += 1
    return found


@pytest.mark.parametrize("backend", [pytest.param("hashmap", marks=pytest.mark.slow), "rocksdb"])
def test_aggregates_of_columns_are_exact_though_workers_are_killed(
    make_env: MakeEnv, tmp_path: Path, backend: str
) -> None:
    env = make_env(
        2,
        {
            **RECOVERING,
            "state.backend.type": backend,
            "execution.checkpointing.unaligned.enabled": str(backend == "hashmap").lower(),
            "execution.checkpointing.incremental": "true",
            "pipeline.auto-watermark-interval": "50 ms",
        },
    )
    build(env, tmp_path)
    client = env.execute_async("columns")
    chaos = Chaos(client, seed=len(backend))
    chaos.kill_after_checkpoint()
    chaos.kill_within(2.0)
    await_checkpoint(client)
    client.get_job_execution_result().result(120.0)

    assert chaos.kills == 2
    assert statistics(client).counts.restored >= 1
    assert Counter(map(tuple, committed(tmp_path / "tumbling"))) == expected(SIZE_MS)
    assert Counter(map(tuple, committed(tmp_path / "sliding"))) == expected(SLIDE_MS)
    last: dict[str, tuple[int, int]] = {}
    for customer, count, cents in committed(tmp_path / "rolling"):
        last[customer] = max(last.get(customer, (0, 0)), (count, cents or 0))
    made = payments(np.arange(COUNT))
    totals: Counter[str] = Counter()
    for customer, cents in zip(made["customer"].tolist(), made["cents"], strict=True):
        totals[customer] += cents or 0
    assert {customer: count for customer, (count, _) in last.items()} == {
        f"customer {key}": len(range(key, COUNT, KEYS)) for key in range(KEYS) if key != 3
    }
    assert {customer: cents for customer, (_, cents) in last.items()} == {
        customer: cents for customer, cents in totals.items() if customer != "customer 3"
    }
