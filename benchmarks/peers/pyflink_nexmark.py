# ruff: noqa: ARG002  # the arguments are those of PyFlink's interfaces
"""Nexmark's queries on PyFlink, as ``benchmarks.nexmark.queries`` has them on riverrun; see ``pyflink_job``.

``--check EVENTS`` compares their results with ``benchmarks.nexmark.oracle`` instead of measuring.

Where PyFlink's users would do it in another way, so does this: events are cut down in the Python operator that makes
them (a stream with two readers would be pickled for both), event times are given after that and only to queries that
need them, and streams to be joined are parted by a side output. PyFlink's DataStream API has no window join: q8 takes
both sides through one window and joins them in its function, which is what Flink's own does inside.

The check may find q11 wrong in either mode: the two generators are out of step, sessions that are there already merge,
and PyFlink 2.3 then counts too few bids. With ``--run`` as large as the check one of them makes all events in order,
and q11 is right.
"""

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from pyflink.common import Time, Types
from pyflink.datastream import (
    AggregateFunction,
    DataStream,
    OutputTag,
    RuntimeExecutionMode,
    WindowFunction,
)
from pyflink.datastream.functions import AllWindowFunction
from pyflink.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TimeWindow,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)

from benchmarks.nexmark.events import Bid, Event, Person, is_bid
from benchmarks.nexmark.generator import RATE, Generator
from benchmarks.nexmark.oracle import ORACLES
from benchmarks.peers.pyflink_job import (
    PICKLED,
    SETTINGS,
    Job,
    MakeMany,
    Stamped,
    environment_of,
    main,
    timed,
)
from benchmarks.peers.pyflink_nexmark_joins import (
    Average,
    LastSales,
    LocalItems,
    Part,
    WinningBids,
    category_and_price,
    first_of,
    local_parts,
    sale_parts,
    seller_of,
)

OWN = {"run": "50", "rate": str(RATE)}
"""Events that are made for one number of the source, and events a second of event time."""

EURO = 0.908
CHOSEN = 123
OUT_OF_ORDER_MS = 4_000
WINDOW = Time.seconds(10)
SLIDE = Time.seconds(2)
LONG = Types.LONG()
"""Not for accumulators: those are pickled with their function, which a type that has been to Java cannot be."""
CHECKED_RATE = 50
"""So slow that a few thousand events go through several windows and sessions."""
UPDATES = frozenset({"q4", "q6"})
"""Give results that replace earlier ones: the last of each key counts."""


class _Count(AggregateFunction):
    """How many records there are."""

    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class _Highest(AggregateFunction):
    """The records with the highest first field: all of them, if there are several."""

    def create_accumulator(self) -> list[Any]:
        return []

    def add(self, value: tuple[Any, ...], accumulator: list[Any]) -> list[Any]:
        if not accumulator or value[0] > accumulator[0][0]:
            return [value]
        if value[0] == accumulator[0][0]:
            accumulator.append(value)
        return accumulator

    def get_result(self, accumulator: list[Any]) -> list[Any]:
        return accumulator

    def merge(self, acc_a: list[Any], acc_b: list[Any]) -> list[Any]:
        raise NotImplementedError("these windows do not merge")


class _Each(Stamped, WindowFunction):
    """The records of a list one by one."""

    def apply(self, key: int, window: TimeWindow, inputs: Iterable[list[Any]]) -> Iterator[Any]:
        for records in inputs:
            yield from records


class _EachOfAll(Stamped, AllWindowFunction):
    """The same for windows without keys."""

    def apply(self, window: TimeWindow, inputs: Iterable[list[Any]]) -> Iterator[Any]:
        for records in inputs:
            yield from records


class _Counted(Stamped, WindowFunction):
    """A count with the end of its window and its key."""

    def apply(self, key: int, window: TimeWindow, inputs: Iterable[int]) -> Iterator[Any]:
        for count in inputs:
            yield count, window.end, key


class _Session(Stamped, WindowFunction):
    """A count with its key and the bounds of its session."""

    def apply(self, key: int, window: TimeWindow, inputs: Iterable[int]) -> Iterator[Any]:
        for count in inputs:
            yield key, count, window.start, window.end


class _OfBidder(Stamped, WindowFunction):
    """A count with its key."""

    def apply(self, key: int, window: TimeWindow, inputs: Iterable[int]) -> Iterator[Any]:
        for count in inputs:
            yield key, count


class _Reserves(Stamped, WindowFunction):
    """People and their auctions of one window."""

    def apply(self, key: int, window: TimeWindow, inputs: Iterable[Any]) -> Iterator[Any]:
        records = list(inputs)
        names = [text for _, text, _, _ in records if text is not None]
        for _, text, reserve, _ in records:
            if text is None:
                for name in names:
                    yield key, name, reserve


def _last_of(record: tuple[Any, ...], so_far: int) -> int:
    """Cut-down records have their time at the end."""
    del so_far
    return record[-1]


def _end_of(counted: tuple[int, int, int]) -> int:
    return counted[1]


def _events(job: Job) -> DataStream:
    run, records = int(job.arguments.run), job.records
    generator = Generator(int(job.arguments.rate))

    def made(number: int) -> list[Event]:
        return generator.events(range(number * run, min((number + 1) * run, records)))

    return job.numbers(-(-records // run)).flat_map(MakeMany(job.stamps, made), PICKLED)


def _timed(stream: DataStream) -> DataStream:
    return timed(stream, _last_of, OUT_OF_ORDER_MS)


def _q0(job: Job) -> DataStream:
    def as_it_came(event: Event) -> Event:
        return event

    return _events(job).map(as_it_came, PICKLED)


def _q1(job: Job) -> DataStream:
    def in_euros(bid: Bid) -> tuple[int, int, float, int]:
        return bid.auction, bid.bidder, bid.price * EURO, bid.time

    return _events(job).filter(is_bid).map(in_euros, job.type_of(LONG, LONG, Types.DOUBLE(), LONG))


def _q2(job: Job) -> DataStream:
    def is_chosen(bid: Bid) -> bool:
        return bid.auction % CHOSEN == 0

    def auction_and_price(bid: Bid) -> tuple[int, int]:
        return bid.auction, bid.price

    chosen = _events(job).filter(is_bid).filter(is_chosen)
    return chosen.map(auction_and_price, job.type_of(LONG, LONG))


def _q3(job: Job) -> DataStream:
    text = Types.STRING()
    auctions = OutputTag("auctions")
    sellers = _events(job).process(Part(local_parts, auctions), job.type_of(LONG, text, text, text))
    both = sellers.connect(sellers.get_side_output(auctions))
    keyed = both.key_by(first_of, first_of, key_type=LONG)
    return keyed.process(LocalItems(job.stamps), job.type_of(text, text, text, LONG))


def _winning_bids(job: Job) -> DataStream:
    offers = OutputTag("offers")
    bids = _events(job).process(Part(sale_parts, offers), job.type_of(LONG, LONG, LONG))
    both = _timed(bids.get_side_output(offers)).connect(_timed(bids))
    keyed = both.key_by(first_of, first_of, key_type=LONG)
    return keyed.process(WinningBids(job.stamps), job.type_of(LONG, LONG, LONG, LONG, LONG))


def _q4(job: Job) -> DataStream:
    prices = _winning_bids(job).map(category_and_price, job.type_of(LONG, LONG, LONG))

    def average(total: tuple[int, int, int]) -> tuple[int, float]:
        return total[0], total[1] / total[2]

    totals = prices.key_by(first_of, key_type=LONG).reduce(Average(job.stamps))
    return totals.map(average, job.type_of(LONG, Types.DOUBLE()))


def _q5(job: Job) -> DataStream:
    def auction_and_time(bid: Bid) -> tuple[int, int]:
        return bid.auction, bid.time

    bids = _timed(_events(job).filter(is_bid).map(auction_and_time, job.type_of(LONG, LONG)))
    windows = bids.key_by(first_of, key_type=LONG).window(SlidingEventTimeWindows.of(WINDOW, SLIDE))
    counted = job.type_of(LONG, LONG, LONG)
    counts = windows.aggregate(_Count(), _Counted(job.stamps), Types.LONG(), counted)
    hottest = counts.key_by(_end_of, key_type=LONG).window(TumblingEventTimeWindows.of(SLIDE))
    return hottest.aggregate(_Highest(), _Each(job.stamps), Types.PICKLED_BYTE_ARRAY(), counted)


def _q6(job: Job) -> DataStream:
    sellers = _winning_bids(job).key_by(seller_of, key_type=LONG)
    return sellers.process(LastSales(job.stamps), job.type_of(LONG, Types.DOUBLE()))


def _q7(job: Job) -> DataStream:
    def bid_fields(bid: Bid) -> tuple[int, int, int, int]:
        return bid.price, bid.auction, bid.bidder, bid.time

    def auction_of(fields: tuple[int, int, int, int]) -> int:
        return fields[1]

    fields = job.type_of(LONG, LONG, LONG, LONG)
    windows = TumblingEventTimeWindows.of(WINDOW)
    bids = _timed(_events(job).filter(is_bid).map(bid_fields, fields))
    by_auction = bids.key_by(auction_of, key_type=LONG).window(windows)
    highest = by_auction.aggregate(
        _Highest(), _Each(job.stamps), Types.PICKLED_BYTE_ARRAY(), fields
    )
    return highest.window_all(windows).aggregate(
        _Highest(), _EachOfAll(job.stamps), Types.PICKLED_BYTE_ARRAY(), fields
    )


def _q8(job: Job) -> DataStream:
    def is_no_bid(event: Event) -> bool:
        return not is_bid(event)

    def side(event: Event) -> tuple[int, str | None, int, int]:
        if isinstance(event, Person):
            return event.id, event.name, 0, event.time
        return event.seller, None, event.reserve, event.time

    both = _timed(_events(job).filter(is_no_bid).map(side, PICKLED))
    windows = both.key_by(first_of, key_type=LONG).window(TumblingEventTimeWindows.of(WINDOW))
    return windows.apply(_Reserves(job.stamps), job.type_of(LONG, Types.STRING(), LONG))


def _q11(job: Job) -> DataStream:
    def bidder_and_time(bid: Bid) -> tuple[int, int]:
        return bid.bidder, bid.time

    bids = _timed(_events(job).filter(is_bid).map(bidder_and_time, job.type_of(LONG, LONG)))
    sessions = bids.key_by(first_of, key_type=LONG).window(EventTimeSessionWindows.with_gap(WINDOW))
    session = job.type_of(LONG, LONG, LONG, LONG)
    return sessions.aggregate(_Count(), _Session(job.stamps), Types.LONG(), session)


def _q12(job: Job) -> DataStream:
    def bidder_of(bid: Bid) -> int:
        return bid.bidder

    def itself(bidder: int) -> int:
        return bidder

    bidders = _events(job).filter(is_bid).map(bidder_of, LONG).key_by(itself, key_type=LONG)
    windows = bidders.window(TumblingProcessingTimeWindows.of(WINDOW))
    return windows.aggregate(_Count(), _OfBidder(job.stamps), Types.LONG(), job.type_of(LONG, LONG))


BUILDS = {
    "q0": _q0,
    "q1": _q1,
    "q2": _q2,
    "q3": _q3,
    "q4": _q4,
    "q5": _q5,
    "q6": _q6,
    "q7": _q7,
    "q8": _q8,
    "q11": _q11,
    "q12": _q12,
}


def results_of(query: str, events: int, **settings: str) -> list[Any]:
    """What a query gives for so many events at the slow rate of a check."""
    chosen = {**SETTINGS, **OWN, "rate": str(CHECKED_RATE), **settings}
    arguments = argparse.Namespace(workload=query, **chosen)
    environment = environment_of(arguments)
    if query == "q12":
        # Windows of the wall clock that are open at the end of input are dropped, but for BATCH mode.
        environment.set_runtime_mode(RuntimeExecutionMode.BATCH)
    with tempfile.TemporaryDirectory() as stamps:
        stream = BUILDS[query](Job(environment, arguments, events, stamps))
        with stream.execute_and_collect() as results:
            return list(results)


def check(query: str, events: int, **settings: str) -> bool:
    """Whether a query gives what plain Python gives."""
    expected = list(ORACLES[query](Generator(CHECKED_RATE).events(range(events))))
    found = results_of(query, events, **settings)
    if query in UPDATES:
        return len(found) == len(expected) and dict(found) == dict(expected)
    if query == "q12":
        counts: Counter[int] = Counter()
        for bidder, count in found:
            counts[bidder] += count
        return counts == dict(expected)
    return Counter(found) == Counter(expected)


def _check() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", type=int, required=True)
    parser.add_argument("--workload", choices=BUILDS, nargs="*", default=list(BUILDS))
    parser.add_argument("--mode", default=SETTINGS["mode"])
    parser.add_argument("--run", default=OWN["run"])
    arguments = parser.parse_args()
    wrong = 0
    for query in arguments.workload:
        right = check(query, arguments.check, mode=arguments.mode, run=arguments.run)
        wrong += not right
        print(f"{query}: {'right' if right else 'wrong'}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    if "--check" in sys.argv:
        raise SystemExit(_check())
    main(BUILDS, **OWN)
