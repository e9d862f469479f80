"""Nexmark: the generator keeps its promises, and each query gives what plain Python gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.nexmark.column_queries import COLUMN_QUERIES
from benchmarks.nexmark.events import Auction, Bid, Event, Person
from benchmarks.nexmark.generator import (
    AUCTIONS,
    BIDS,
    CATEGORIES,
    EPOCH,
    FIRST_AUCTION,
    FIRST_CATEGORY,
    FIRST_PERSON,
    PEOPLE,
    START_MS,
    Generator,
)
from benchmarks.nexmark.loops import LOOPS
from benchmarks.nexmark.oracle import ORACLES
from benchmarks.nexmark.queries import QUERIES
from benchmarks.nexmark.source import column_stream, event_stream
from benchmarks.nexmark.winning_bids import WinningBids, auction_of, offer_of, price_of
from riverrun.core.configuration import Configuration
from riverrun.core.options import RuntimeExecutionMode
from riverrun.datastream.data_stream import DataStream
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.testing.harness import OperatorHarness

COUNT = 3_000
RATE = 50
"""So slow that a few thousand events go through several windows and sessions."""

UPDATES = frozenset({"q4", "q6"})
"""Give results that replace earlier ones: the last of each key counts."""

EVENTS = Generator(RATE).events(range(COUNT))


def of_kind(kind: type[Any], events: Iterable[Event] = EVENTS) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def test_of_fifty_events_one_is_a_person_three_are_auctions_and_the_rest_bids() -> None:
    for start in range(0, COUNT, EPOCH):
        kinds = Counter(type(event) for event in EVENTS[start : start + EPOCH])
        assert kinds == {Person: PEOPLE, Auction: AUCTIONS, Bid: BIDS}


def test_people_and_auctions_are_numbered_one_by_one() -> None:
    people, auctions = of_kind(Person), of_kind(Auction)
    assert [each.id for each in people] == [FIRST_PERSON + n for n in range(len(people))]
    assert [each.id for each in auctions] == [FIRST_AUCTION + n for n in range(len(auctions))]


@pytest.mark.parametrize("first", [0, 1_000_000 * EPOCH])
def test_bids_and_auctions_refer_to_what_is_there(first: int) -> None:
    people_before, auctions_before = first // EPOCH * PEOPLE, first // EPOCH * AUCTIONS
    last_person = FIRST_PERSON + people_before - 1
    last_auction = FIRST_AUCTION + auctions_before - 1
    for event in Generator().events(range(first, first + COUNT)):
        if isinstance(event, Person):
            last_person = event.id
        elif isinstance(event, Auction):
            last_auction = event.id
            assert FIRST_PERSON <= event.seller <= last_person
            assert event.expires > event.time
            assert event.reserve > event.initial_bid >= 100
            assert event.category in range(FIRST_CATEGORY, FIRST_CATEGORY + CATEGORIES)
        else:
            assert FIRST_AUCTION <= event.auction <= last_auction
            assert FIRST_PERSON <= event.bidder <= last_person
            assert 100 <= event.price <= 100_000_000


def test_a_few_auctions_bidders_and_sellers_are_hot() -> None:
    events = Generator().events(range(2_000 * EPOCH, 2_020 * EPOCH))
    bids, auctions = of_kind(Bid, events), of_kind(Auction, events)
    [(_, to_hot)] = Counter(bid.auction for bid in bids).most_common(1)
    [(_, by_hot)] = Counter(bid.bidder for bid in bids).most_common(1)
    [(_, of_hot)] = Counter(auction.seller for auction in auctions).most_common(1)
    assert to_hot / len(bids) == pytest.approx(0.5, abs=0.05)
    assert by_hot / len(bids) == pytest.approx(0.75, abs=0.05)
    assert of_hot / len(auctions) == pytest.approx(0.75, abs=0.2)


def test_times_follow_the_rate() -> None:
    times = [event.time for event in EVENTS]
    assert times == [START_MS + number * 1_000 // RATE for number in range(COUNT)]


@given(start=st.integers(0, 10**9), step=st.integers(1, 7), count=st.integers(0, 120), at=st.data())
def test_an_event_depends_on_its_number_alone(
    start: int, step: int, count: int, at: st.DataObject
) -> None:
    numbers = range(start, start + step * count, step)
    events = Generator(RATE).events(numbers)
    assert len(events) == count
    if count:
        place = at.draw(st.integers(0, count - 1))
        assert Generator(RATE).event(numbers[place]) == events[place]


def test_columns_hold_the_same_bids() -> None:
    columns = Generator(RATE).columns(np.arange(COUNT))
    names = ("auction", "bidder", "price", "time")
    rows = zip(*(columns[name].tolist() for name in names), strict=True)
    found = [row for row in rows if row[0] is not None]
    assert found == [(bid.auction, bid.bidder, bid.price, bid.time) for bid in of_kind(Bid)]
    kinds = {Person: 0, Auction: 1, Bid: 2}
    assert columns["kind"].tolist() == [kinds[type(event)] for event in EVENTS]


@pytest.fixture(params=[1, 2], ids=["one subtask", "two subtasks"])
def env(request: pytest.FixtureRequest) -> Iterator[StreamExecutionEnvironment]:
    configuration = Configuration({"riverrun.master": "in-process"})
    with StreamExecutionEnvironment.get_execution_environment(configuration) as environment:
        environment.set_parallelism(request.param)
        yield environment


def in_order(results: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, results))


def last_of_keys(results: Sequence[tuple[Any, ...]]) -> dict[Any, Any]:
    return {result[0]: result[1:] for result in results}


@pytest.mark.parametrize("name", [name for name in QUERIES if name not in {"q0", "q12"}])
def test_a_query_gives_what_plain_python_gives(name: str, env: StreamExecutionEnvironment) -> None:
    with QUERIES[name](event_stream(env, COUNT, RATE)).execute_and_collect() as results:
        found = list(results)
    expected = list(ORACLES[name](EVENTS))
    assert expected
    assert len(found) == len(expected)
    if name in UPDATES:
        assert last_of_keys(found) == last_of_keys(expected)
    else:
        assert in_order(found) == in_order(expected)


@pytest.mark.parametrize("name", QUERIES)
def test_the_bare_loop_of_a_query_gives_what_plain_python_gives(name: str) -> None:
    assert Counter(LOOPS[name](EVENTS)) == Counter(ORACLES[name](EVENTS))


def test_q0_passes_every_event_as_it_came(env: StreamExecutionEnvironment) -> None:
    with QUERIES["q0"](event_stream(env, COUNT, RATE)).execute_and_collect() as results:
        found = list(results)
    assert Counter(found) == Counter(EVENTS)
    assert Counter(map(type, found)) == Counter(map(type, EVENTS))


POT = Auction(7, "pot", "a pot", 100, 200, 1_000, 2_000, 3, 10, "")


def bid_on_pot(price: int, time: int) -> Bid:
    return Bid(POT.id, 5, price, "", "", time, "")


def pot_sold(harness: OperatorHarness, *script: Event | int) -> list[tuple[int, int | None]]:
    """Prices and times of sales when these events and watermarks come in this order."""
    for step in script:
        if isinstance(step, Auction):
            harness.push(offer_of(step), step.time)
        elif isinstance(step, Bid):
            harness.push_second(price_of(step), step.time)
        elif isinstance(step, int):
            harness.watermark(step)
    return [(sale.price, time) for sale, time in harness.records()]


@pytest.fixture
def pots() -> Iterator[OperatorHarness]:
    def build(auctions: DataStream, bids: DataStream) -> DataStream:
        return auctions.connect(bids).key_by(auction_of, auction_of).process(WinningBids())

    with OperatorHarness(build, inputs=2) as harness:
        yield harness


@pytest.mark.parametrize("early", [True, False], ids=["bids first", "auction first"])
def test_the_highest_bid_up_to_the_end_wins(pots: OperatorHarness, early: bool) -> None:
    bids = [bid_on_pot(300, 1_000), bid_on_pot(500, 2_000), bid_on_pot(900, 2_001)]
    script: list[Event] = [*bids, POT] if early else [POT, *bids]
    assert pot_sold(pots, *script, 1_999) == []
    assert pot_sold(pots, 2_001) == [(500, 2_000)]


def test_nothing_is_kept_of_an_auction_that_is_over(pots: OperatorHarness) -> None:
    script = (POT, 2_000, bid_on_pot(300, 2_100), bid_on_pot(300, 2_200), 2_150)
    assert pot_sold(pots, *script) == []
    assert list(pots.keys("early")) == [POT.id]
    assert pot_sold(pots, 2_999) == []
    assert [list(pots.keys(name)) for name in ("early", "offer", "highest")] == [[], [], []]


def counts_of(pairs: Iterable[tuple[int, int]]) -> Counter[int]:
    counts: Counter[int] = Counter()
    for bidder, count in pairs:
        counts[bidder] += count
    return counts


def test_q12_counts_every_bid_once(env: StreamExecutionEnvironment) -> None:
    # Windows of the wall clock that are open at the end of input are dropped, but for BATCH mode.
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    with QUERIES["q12"](event_stream(env, COUNT, RATE)).execute_and_collect() as results:
        found = counts_of(results)
    assert found == dict(ORACLES["q12"](EVENTS))


def column_results(name: str, env: StreamExecutionEnvironment) -> list[Any]:
    stream = COLUMN_QUERIES[name](column_stream(env, COUNT, RATE))
    with stream.execute_and_collect() as results:
        return list(results)


@pytest.mark.parametrize("name", ["q1", "q2", "q5"])
def test_a_query_on_columns_gives_the_same(name: str, env: StreamExecutionEnvironment) -> None:
    assert in_order(column_results(name, env)) == in_order(ORACLES[name](EVENTS))


def test_q0_on_columns_passes_every_event(env: StreamExecutionEnvironment) -> None:
    found = column_results("q0", env)
    assert Counter(row["time"] for row in found) == Counter(event.time for event in EVENTS)


def test_q7_on_columns_gives_the_highest_price_of_each_window(
    env: StreamExecutionEnvironment,
) -> None:
    found = [(row["window_start"], row["price"]) for row in column_results("q7", env)]
    assert len(found) == len(set(found))
    assert set(found) == {
        (time - time % 10_000, price) for price, _, _, time in ORACLES["q7"](EVENTS)
    }


def test_q11_on_columns_gives_the_same_sessions(env: StreamExecutionEnvironment) -> None:
    found = [
        (row["bidder"], row["count"], row["window_start"], row["window_end"])
        for row in column_results("q11", env)
    ]
    assert in_order(found) == in_order(ORACLES["q11"](EVENTS))


def test_q12_on_columns_counts_every_bid_once(env: StreamExecutionEnvironment) -> None:
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    rows = column_results("q12", env)
    assert counts_of((row["bidder"], row["count"]) for row in rows) == dict(ORACLES["q12"](EVENTS))
