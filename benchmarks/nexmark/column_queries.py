"""Those of Nexmark's queries that fit columns: no Python call for a single bid.

They read the stream of ``column_stream`` and give rows; as in ``benchmarks.nexmark.queries`` otherwise. Joins with
state of their own (q3, q4, q6, q8) are functions of records.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.nexmark.functions import (
    CHOSEN,
    EURO,
    SLIDE,
    WINDOW,
    Highest,
    each_of,
    window_end_of,
)
from benchmarks.nexmark.generator import BID
from riverrun import (
    Agg,
    DataStream,
    EventTimeSessionWindows,
    Row,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    Types,
    col,
)

_PRICED: Final = Types.ROW_NAMED(
    ["auction", "bidder", "price", "time"],
    [Types.LONG(), Types.LONG(), Types.DOUBLE(), Types.LONG()],
)
_SELECTED: Final = Types.ROW_NAMED(["auction", "price"], [Types.LONG(), Types.LONG()])


def _bids(events: DataStream) -> DataStream:
    return events.filter_batches(col("kind") == BID)


def q0_columns(events: DataStream) -> DataStream:
    """Pass through: every event as it came."""

    def as_it_came(batch: pa.RecordBatch) -> pa.RecordBatch:
        return batch

    return events.map_batches(as_it_came)


def q1_columns(events: DataStream) -> DataStream:
    """Currency conversion: auction, bidder, price in euros, time of each bid."""

    def in_euros(batch: pa.RecordBatch) -> dict[str, Any]:
        euros = pc.multiply(batch.column("price").cast(pa.float64()), EURO)
        kept = {name: batch.column(name) for name in ("auction", "bidder", "time")}
        return {**kept, "price": euros}

    return _bids(events).map_batches(in_euros, _PRICED)


def q2_columns(events: DataStream) -> DataStream:
    """Selection: auction and price of the bids in some auctions."""

    def is_chosen(batch: dict[str, npt.NDArray[np.int64]]) -> npt.NDArray[np.bool_]:
        return np.equal(batch["auction"] % CHOSEN, 0)

    def selected(batch: pa.RecordBatch) -> pa.RecordBatch:
        return batch.select(["auction", "price"])

    chosen = _bids(events).filter_batches(is_chosen, format="numpy")
    return chosen.map_batches(selected, _SELECTED)


def q5_columns(events: DataStream) -> DataStream:
    """Hot items: (bids, end, auction); few counts are left for Python to choose from."""

    def counted(row: Row) -> tuple[int, int, int]:
        return row["count"], row["window_end"], row["auction"]

    windows = _bids(events).key_by(col("auction")).window(SlidingEventTimeWindows.of(WINDOW, SLIDE))
    counts = windows.aggregate_columns(Agg.count()).map(counted)
    hottest = counts.key_by(window_end_of).window(TumblingEventTimeWindows.of(SLIDE))
    return hottest.aggregate(Highest()).flat_map(each_of)


def q7_columns(events: DataStream) -> DataStream:
    """Highest bid: window and price; not whose it was."""
    windows = TumblingEventTimeWindows.of(WINDOW)
    by_auction = _bids(events).key_by(col("auction")).window(windows)
    highest = by_auction.aggregate_columns(Agg.max("price").alias("price")).window_all(windows)
    return highest.aggregate_columns(Agg.max("price").alias("price"))


def q11_columns(events: DataStream) -> DataStream:
    """User sessions: bidder, window, bids."""
    bidders = _bids(events).key_by(col("bidder"))
    return bidders.window(EventTimeSessionWindows.with_gap(WINDOW)).aggregate_columns(Agg.count())


def q12_columns(events: DataStream) -> DataStream:
    """Processing-time windows: bidder, window, bids."""
    bidders = _bids(events).key_by(col("bidder"))
    windows = bidders.window(TumblingProcessingTimeWindows.of(WINDOW))
    return windows.aggregate_columns(Agg.count())


COLUMN_QUERIES: Final[Mapping[str, Callable[[DataStream], DataStream]]] = {
    "q0": q0_columns,
    "q1": q1_columns,
    "q2": q2_columns,
    "q5": q5_columns,
    "q7": q7_columns,
    "q11": q11_columns,
    "q12": q12_columns,
}
