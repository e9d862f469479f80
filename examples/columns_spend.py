"""Spend per customer and ten seconds, declared on columns: no Python call for a single payment.

Run it: python examples/columns_spend.py
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import riverrun as rr
from riverrun import Agg, col

PAYMENT = pa.schema({"customer": pa.string(), "cents": pa.int64(), "ts": pa.int64()})
CUSTOMERS = np.array([f"customer {number}" for number in range(4)])


def payments(indices: Any) -> dict[str, Any]:
    """The payments with these numbers, column by column: always the same for the same number."""
    return {
        "customer": CUSTOMERS[indices % 4],
        "cents": indices * 7919 % 10_000,
        "ts": indices // 10,
    }


def with_fee(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The same payments with a fee of one cent in a hundred, rounded down."""
    cents, place = batch.column("cents"), batch.schema.get_field_index("cents")
    return batch.set_column(place, "cents", pc.add(cents, pc.divide(cents, 100)))


def main() -> None:
    with rr.StreamExecutionEnvironment.get_execution_environment() as env:
        env.set_parallelism(2)
        by_time = rr.WatermarkStrategy.for_monotonous_timestamps().with_timestamp_column("ts")
        source = rr.BatchGeneratorSource(payments, PAYMENT, count=200_000)
        spend = (
            env.from_source(source, by_time, "payments")
            .filter_batches(col("cents") > 0)
            .map_batches(with_fee)
            .key_by(col("customer"))
            .window(rr.TumblingEventTimeWindows.of(rr.Time.seconds(10)))
            .aggregate_columns(Agg.count(), Agg.sum("cents"), Agg.max("cents"))
        )
        with spend.execute_and_collect("spend") as rows:
            found = sorted(map(tuple, rows), key=lambda row: (row[1], row[0]))
    for customer, start, _, count, total, most in found:
        print(f"{start // 1000:>2} s  {customer}: {count} payments, {total} cents, at most {most}")


if __name__ == "__main__":
    main()
