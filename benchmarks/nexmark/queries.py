"""Nexmark's queries as a user would write them: ordinary Python functions on streams of records.

Each takes the stream of all events and gives the stream of its results, which are tuples. Before records go
over the network they are cut down to the fields that the query needs. The functions are in
``benchmarks.nexmark.functions``; ``benchmarks.nexmark.oracle`` says the same in plain Python.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from benchmarks.nexmark.events import is_auction, is_bid, is_person
from benchmarks.nexmark.functions import (
    LAST_SALES,
    SLIDE,
    WINDOW,
    Count,
    Highest,
    OfBidder,
    OfWindow,
    Session,
    add_sales,
    as_it_came,
    auction_and_price,
    auction_of_bid,
    auction_of_fields,
    auction_of_seller,
    average,
    bid_fields,
    bidder_of,
    category_and_price,
    each_of,
    first_of,
    in_euros,
    is_chosen,
    is_local,
    is_wanted,
    itself,
    joined,
    person_fields,
    reserve_of_seller,
    seller_fields,
    seller_of,
    window_end_of,
)
from benchmarks.nexmark.winning_bids import Sale, winning_bids
from riverrun import (
    DataStream,
    EventTimeSessionWindows,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    ListStateDescriptor,
    RuntimeContext,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    Types,
    ValueStateDescriptor,
)


def q0(events: DataStream) -> DataStream:
    """Pass through: every event as it came."""
    return events.map(as_it_came)


def q1(events: DataStream) -> DataStream:
    """Currency conversion: (auction, bidder, price in euros, time) of each bid."""
    return events.filter(is_bid).map(in_euros)


def q2(events: DataStream) -> DataStream:
    """Selection: (auction, price) of the bids in some auctions."""
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
    sellers = events.filter(is_person).filter(is_local).map(seller_fields)
    auctions = events.filter(is_auction).filter(is_wanted).map(auction_of_seller)
    return sellers.connect(auctions).key_by(first_of, first_of).process(LocalItems())


def q4(events: DataStream) -> DataStream:
    """Average price for a category: (category, average of the winning bids so far), at each sale."""
    return (
        winning_bids(events).map(category_and_price).key_by(first_of).reduce(add_sales).map(average)
    )


def q5(events: DataStream) -> DataStream:
    """Hot items: (bids, end, auction) of the auctions with most bids in ten seconds, every two."""
    counts = (
        events.filter(is_bid)
        .map(auction_of_bid)
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
    return winning_bids(events).key_by(seller_of).process(LastSales())


def q7(events: DataStream) -> DataStream:
    """Highest bid: (price, auction, bidder, time) of the highest bids of each ten seconds."""
    windows = TumblingEventTimeWindows.of(WINDOW)
    by_auction = events.filter(is_bid).map(bid_fields).key_by(auction_of_fields).window(windows)
    highest = by_auction.aggregate(Highest()).flat_map(each_of).window_all(windows)
    return highest.aggregate(Highest()).flat_map(each_of)


def q8(events: DataStream) -> DataStream:
    """Monitor new users: (person, name, reserve) of auctions by people who came in the same window."""
    people = events.filter(is_person).map(person_fields)
    auctions = events.filter(is_auction).map(reserve_of_seller)
    pairs = people.join(auctions).where(first_of).equal_to(first_of)
    return pairs.window(TumblingEventTimeWindows.of(WINDOW)).apply(joined)


def q11(events: DataStream) -> DataStream:
    """User sessions: (bidder, bids, start, end) of those who bid at least once in ten seconds."""
    bidders = events.filter(is_bid).map(bidder_of).key_by(itself)
    sessions = bidders.window(EventTimeSessionWindows.with_gap(WINDOW))
    return sessions.aggregate(Count(), Session())


def q12(events: DataStream) -> DataStream:
    """Processing-time windows: (bidder, bids) of each ten seconds of the wall clock."""
    bidders = events.filter(is_bid).map(bidder_of).key_by(itself)
    windows = bidders.window(TumblingProcessingTimeWindows.of(WINDOW))
    return windows.aggregate(Count(), OfBidder())


QUERIES: Final[Mapping[str, Callable[[DataStream], DataStream]]] = {
    query.__name__: query for query in (q0, q1, q2, q3, q4, q5, q6, q7, q8, q11, q12)
}
