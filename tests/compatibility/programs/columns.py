"""Aggregations on columns that are under way at the snapshot: by window, in slices, and rolling."""

from __future__ import annotations

from typing import Any, Final

from riverrun.api.column_aggregates import Agg
from riverrun.api.columns import col
from riverrun.api.session_windows import EventTimeSessionWindows
from riverrun.api.watermark_strategy import WatermarkStrategy
from riverrun.api.window_assigners import SlidingEventTimeWindows, TumblingEventTimeWindows
from riverrun.core.time import Time
from riverrun.datastream.data_stream import DataStream
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.serde.row import Row
from riverrun.serde.types import Types
from tests.compatibility.held_source import HeldSource

KEYS: Final = 4
PER_KEY: Final = 30
SPLITS: Final = KEYS
_PAYMENT: Final = Types.ROW_NAMED(
    ["customer", "cents", "price"], [Types.STRING(), Types.LONG(), Types.DOUBLE()]
)


def _payment(record: tuple[int, int]) -> Row:
    return Row(customer=f"c{record[0]}", cents=record[1], price=record[1] / 8)


def _labelled(name: str, stream: DataStream) -> DataStream:
    """Of rolling results the last of each key alone."""
    last = stream.uid(name).filter(lambda row: name != "rolling" or row["count"] == PER_KEY)
    return last.map(lambda row: [name, *row])


def _aggregates() -> list[Any]:
    return [
        Agg.count(),
        Agg.sum("cents"),
        Agg.mean("price"),
        Agg.min("cents"),
        Agg.max("price"),
        Agg.first("cents"),
        Agg.last("cents"),
        Agg.collect("cents"),
        Agg.approx_distinct("cents"),
    ]


def rows(env: StreamExecutionEnvironment) -> DataStream:
    """Define the program; gives the stream of its rows."""
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    source = HeldSource("records", KEYS, PER_KEY, patient=False)
    records = env.from_source(source, strategy, "records").uid("records")
    keyed = records.map(_payment, output_type=_PAYMENT).uid("payments").key_by(col("customer"))
    tumbling = TumblingEventTimeWindows.of(Time.seconds(8))
    sliding = SlidingEventTimeWindows.of(Time.seconds(12), Time.seconds(4))
    sessions = EventTimeSessionWindows.with_gap(Time.seconds(3))
    shapes = {
        "tumbling": keyed.window(tumbling).aggregate_columns(*_aggregates()),
        "sliding": keyed.window(sliding).aggregate_columns(*_aggregates()),
        "session": keyed.window(sessions).aggregate_columns(Agg.count(), Agg.sum("cents")),
        "rolling": keyed.aggregate_columns(*_aggregates()),
    }
    labelled = [_labelled(name, stream) for name, stream in shapes.items()]
    return labelled[0].union(*labelled[1:])
