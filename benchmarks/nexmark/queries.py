"""Nexmark's queries as a user would write them: ordinary Python functions on streams of records.

Each takes the stream of all events and gives the stream of its results, which are tuples. Before records go
over the network they are cut down to the fields that the query needs. ``benchmarks.nexmark.oracle`` says the
same in plain Python.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from benchmarks.nexmark.events import Auction, Bid, Event, Person, is_auction, is_bid, is_person
from benchmarks.nexmark.winning_bids import Sale, winning_bids
from riverrun import (
    AggregateFunction,
    DataStream,
    EventTimeSessionWindows,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    ListStateDescriptor,
    RuntimeContext,
    SlidingEventTimeWindows,
    Time,
    TimeWindow,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    Types,
    ValueStateDescriptor,
    WindowFunction,
)

EURO: Final = 0.908
CHOSEN: Final = 123
LOCAL: Final = frozenset({"OR", "ID", "CA"})
LOCAL_CATEGORY: Final = 10
WINDOW: Final = Time.seconds(10)
SLIDE: Final = Time.seconds(2)
LAST_SALES: Final = 10


def first_of(record: tuple[Any, ...]) -> Any:
    """The key of most records here."""
    return record[0]


def itself(number: int) -> int:
    """The key where a record is nothing but its key."""
    return number


class Count(AggregateFunction):
    """How many records there are."""

    def create_accumulator(self) -> int:
        """None yet."""
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        """One more."""
        del value
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        """All of them."""
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        """Those of both."""
        return acc_a + acc_b


class Highest(AggregateFunction):
    """The records with the highest first field: all of them, if there are several."""

    def create_accumulator(self) -> list[Any]:
        """None yet."""
        return []

    def add(self, value: tuple[Any, ...], accumulator: list[Any]) -> list[Any]:
        """Another one."""
        if not accumulator or value[0] > accumulator[0][0]:
            return [value]
        if value[0] == accumulator[0][0]:
            accumulator.append(value)
        return accumulator

    def get_result(self, accumulator: list[Any]) -> list[Any]:
        """The best."""
        return accumulator

    def merge(self, acc_a: list[Any], acc_b: list[Any]) -> list[Any]:
        """The best of both."""
        if not acc_a or not acc_b:
            return acc_a or acc_b
        if acc_a[0][0] == acc_b[0][0]:
            return acc_a + acc_b
        return max(acc_a, acc_b, key=lambda best: best[0][0])


def each_of(records: list[Any]) -> list[Any]:
    """For ``flat_map``: the records of a list one by one."""
    return records


def q0(events: DataStream) -> DataStream:
    """Pass through: every event as it came."""

    def as_it_came(event: Event) -> Event:
        return event

    return events.map(as_it_came)


def q1(events: DataStream) -> DataStream:
    """Currency conversion: (auction, bidder, price in euros, time) of each bid."""

    def in_euros(bid: Bid) -> tuple[int, int, float, int]:
        return bid.auction, bid.bidder, bid.price * EURO, bid.time

    return events.filter(is_bid).map(in_euros)


def q2(events: DataStream) -> DataStream:
    """Selection: (auction, price) of the bids in some auctions."""

    def is_chosen(bid: Bid) -> bool:
        return bid.auction % CHOSEN == 0

    def auction_and_price(bid: Bid) -> tuple[int, int]:
        return bid.auction, bid.price

    return events.filter(is_bid).filter(is_chosen).map(auction_and_price)


class LocalItems(KeyedCoProcessFunction):
    """Joins sellers and their auctions, whichever comes first, for all time."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Ask for the state."""
        self._seller = runtime_context.get_state(ValueStateDescriptor("seller"))
        self._auctions = runtime_context.get_list_state(
            ListStateDescriptor("auctions", Types.LONG())
        )

    def process_element1(
        self, value: tuple[int, str, str, str], ctx: KeyedCoProcessFunction.Context
    ) -> Iterator[tuple[str, str, str, int]]:
        """A seller came; their auctions may have come before."""
        del ctx
        seller = value[1:]
        self._seller.update(seller)
        for auction in self._auctions.get():
            yield *seller, auction
        self._auctions.clear()

    def process_element2(
        self, value: tuple[int, int], ctx: KeyedCoProcessFunction.Context
    ) -> Iterator[tuple[str, str, str, int]]:
        """An auction; it waits for its seller, who may never come: not everybody is local."""
        del ctx
        seller = self._seller.value()
        if seller is None:
            self._auctions.add(value[1])
        else:
            yield *seller, value[1]


def q3(events: DataStream) -> DataStream:
    """Local item suggestion: (name, city, state, auction) of what people of some states sell."""

    def is_local(person: Person) -> bool:
        return person.state in LOCAL

    def seller_fields(person: Person) -> tuple[int, str, str, str]:
        return person.id, person.name, person.city, person.state

    def is_wanted(auction: Auction) -> bool:
        return auction.category == LOCAL_CATEGORY

    def auction_fields(auction: Auction) -> tuple[int, int]:
        return auction.seller, auction.id

    sellers = events.filter(is_person).filter(is_local).map(seller_fields)
    auctions = events.filter(is_auction).filter(is_wanted).map(auction_fields)
    return sellers.connect(auctions).key_by(first_of, first_of).process(LocalItems())


def q4(events: DataStream) -> DataStream:
    """Average price for a category: (category, average of the winning bids so far), at each sale."""

    def category_and_price(sale: Sale) -> tuple[int, int, int]:
        return sale.category, sale.price, 1

    def add(so_far: tuple[int, int, int], more: tuple[int, int, int]) -> tuple[int, int, int]:
        return so_far[0], so_far[1] + more[1], so_far[2] + more[2]

    def average(total: tuple[int, int, int]) -> tuple[int, float]:
        return total[0], total[1] / total[2]

    return winning_bids(events).map(category_and_price).key_by(first_of).reduce(add).map(average)


class OfWindow(WindowFunction[int, tuple[int, int, int], int, TimeWindow]):
    """A count with the end of its window and its key."""

    def apply(
        self, key: int, window: TimeWindow, inputs: Iterable[int]
    ) -> Iterable[tuple[int, int, int]]:
        """One count comes in."""
        for count in inputs:
            yield count, window.end, key


def window_end_of(counted: tuple[int, int, int]) -> int:
    """The second field."""
    return counted[1]


def q5(events: DataStream) -> DataStream:
    """Hot items: (bids, end, auction) of the auctions with most bids in ten seconds, every two."""

    def auction_of(bid: Bid) -> int:
        return bid.auction

    counts = (
        events.filter(is_bid)
        .map(auction_of)
        .key_by(itself)
        .window(SlidingEventTimeWindows.of(WINDOW, SLIDE))
        .aggregate(Count(), OfWindow())
    )
    hottest = counts.key_by(window_end_of).window(TumblingEventTimeWindows.of(SLIDE))
    return hottest.aggregate(Highest()).flat_map(each_of)


class LastSales(KeyedProcessFunction):
    """The average price of a seller's last sales; last by the end of the auction, not by arrival."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Ask for the state."""
        sale = Types.TUPLE([Types.LONG(), Types.LONG(), Types.LONG()])
        self._sales = runtime_context.get_list_state(ListStateDescriptor("sales", sale))

    def process_element(
        self, value: Sale, ctx: KeyedProcessFunction.Context
    ) -> Iterator[tuple[int, float]]:
        """Another sale."""
        del ctx
        sales = sorted([*self._sales.get(), (value.time, value.auction, value.price)])
        sales = sales[-LAST_SALES:]
        self._sales.update(sales)
        yield value.seller, sum(price for _, _, price in sales) / len(sales)


def q6(events: DataStream) -> DataStream:
    """Average selling price: (seller, average price of their last ten sales), at each sale."""

    def seller_of(sale: Sale) -> int:
        return sale.seller

    return winning_bids(events).key_by(seller_of).process(LastSales())


def q7(events: DataStream) -> DataStream:
    """Highest bid: (price, auction, bidder, time) of the highest bids of each ten seconds."""

    def bid_fields(bid: Bid) -> tuple[int, int, int, int]:
        return bid.price, bid.auction, bid.bidder, bid.time

    def auction_of(fields: tuple[int, int, int, int]) -> int:
        return fields[1]

    windows = TumblingEventTimeWindows.of(WINDOW)
    by_auction = events.filter(is_bid).map(bid_fields).key_by(auction_of).window(windows)
    highest = by_auction.aggregate(Highest()).flat_map(each_of).window_all(windows)
    return highest.aggregate(Highest()).flat_map(each_of)


def q8(events: DataStream) -> DataStream:
    """Monitor new users: (person, name, reserve) of auctions by people who came in the same window."""

    def person_fields(person: Person) -> tuple[int, str]:
        return person.id, person.name

    def auction_fields(auction: Auction) -> tuple[int, int]:
        return auction.seller, auction.reserve

    def joined(person: tuple[int, str], auction: tuple[int, int]) -> tuple[int, str, int]:
        return *person, auction[1]

    people = events.filter(is_person).map(person_fields)
    auctions = events.filter(is_auction).map(auction_fields)
    pairs = people.join(auctions).where(first_of).equal_to(first_of)
    return pairs.window(TumblingEventTimeWindows.of(WINDOW)).apply(joined)


class Session(WindowFunction[int, tuple[int, int, int, int], int, TimeWindow]):
    """A count with its key and the bounds of its session."""

    def apply(
        self, key: int, window: TimeWindow, inputs: Iterable[int]
    ) -> Iterable[tuple[int, int, int, int]]:
        """One count comes in."""
        for count in inputs:
            yield key, count, window.start, window.end


def bidder_of(bid: Bid) -> int:
    """Who bids."""
    return bid.bidder


def q11(events: DataStream) -> DataStream:
    """User sessions: (bidder, bids, start, end) of those who bid at least once in ten seconds."""
    bidders = events.filter(is_bid).map(bidder_of).key_by(itself)
    sessions = bidders.window(EventTimeSessionWindows.with_gap(WINDOW))
    return sessions.aggregate(Count(), Session())


class OfBidder(WindowFunction[int, tuple[int, int], int, TimeWindow]):
    """A count with its key."""

    def apply(
        self, key: int, window: TimeWindow, inputs: Iterable[int]
    ) -> Iterable[tuple[int, int]]:
        """One count comes in."""
        del window
        for count in inputs:
            yield key, count


def q12(events: DataStream) -> DataStream:
    """Processing-time windows: (bidder, bids) of each ten seconds of the wall clock."""
    bidders = events.filter(is_bid).map(bidder_of).key_by(itself)
    windows = bidders.window(TumblingProcessingTimeWindows.of(WINDOW))
    return windows.aggregate(Count(), OfBidder())


QUERIES: Final[Mapping[str, Callable[[DataStream], DataStream]]] = {
    query.__name__: query for query in (q0, q1, q2, q3, q4, q5, q6, q7, q8, q11, q12)
}
