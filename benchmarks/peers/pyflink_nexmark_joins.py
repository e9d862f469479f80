# ruff: noqa: ARG002  # the arguments are those of PyFlink's interfaces
"""The functions of Nexmark's joins on PyFlink: q3, q4 and q6.

Records are plain tuples, so that they may go as PyFlink's tuple types:

* a seller: person, name, city, state; what they sell: seller, auction.
* an offer: auction, seller, category, end, time; a bid: auction, price, time.
* a sale: auction, seller, category, price, time.
"""

from collections.abc import Callable, Iterator
from typing import Any

from pyflink.common import Types
from pyflink.datastream import (
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    OutputTag,
    ProcessFunction,
    ReduceFunction,
)
from pyflink.datastream.functions import RuntimeContext
from pyflink.datastream.state import ListStateDescriptor, ValueStateDescriptor

from benchmarks.nexmark.events import Auction, Bid, Event, Person, end_of_second
from benchmarks.peers.pyflink_job import Stamped

LOCAL = frozenset({"OR", "ID", "CA"})
LOCAL_CATEGORY = 10
LAST_SALES = 10

Bidding = tuple[int, int, int]
Offer = tuple[int, int, int, int, int]
Sale = tuple[int, int, int, int, int]
Parts = tuple[Any, Any]
"""What an event is to the main output and to the side output; None: nothing."""


def first_of(record: tuple[Any, ...]) -> Any:
    """The key of most records here."""
    return record[0]


def seller_of(sale: Sale) -> int:
    """The second field."""
    return sale[1]


def category_and_price(sale: Sale) -> tuple[int, int, int]:
    """What an average needs: the last field is a count."""
    return sale[2], sale[3], 1


class Part(ProcessFunction):
    """Cuts events down and parts them: what is to be joined later goes two ways."""

    def __init__(self, parts: Callable[[Event], Parts], aside: OutputTag) -> None:
        self._parts = parts
        self._aside = aside

    def process_element(self, value: Event, ctx: ProcessFunction.Context) -> Iterator[Any]:
        """At most one of both."""
        main, aside = self._parts(value)
        if main is not None:
            yield main
        if aside is not None:
            yield self._aside, aside


def local_parts(event: Event) -> Parts:
    """Sellers of some states, and the auctions of one category."""
    if isinstance(event, Person):
        if event.state in LOCAL:
            return (event.id, event.name, event.city, event.state), None
    elif isinstance(event, Auction) and event.category == LOCAL_CATEGORY:
        return None, (event.seller, event.id)
    return None, None


def sale_parts(event: Event) -> Parts:
    """Bids, and the offers that they are for."""
    if isinstance(event, Bid):
        return (event.auction, event.price, event.time), None
    if isinstance(event, Auction):
        return None, (event.id, event.seller, event.category, event.expires, event.time)
    return None, None


class LocalItems(Stamped, KeyedCoProcessFunction):
    """Joins sellers and their auctions, whichever comes first, for all time."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Ask for the state."""
        pickled = Types.PICKLED_BYTE_ARRAY()
        self._seller = runtime_context.get_state(ValueStateDescriptor("seller", pickled))
        self._auctions = runtime_context.get_list_state(
            ListStateDescriptor("auctions", Types.LONG())
        )

    def process_element1(
        self, value: tuple[int, str, str, str], ctx: KeyedCoProcessFunction.Context
    ) -> Iterator[tuple[str, str, str, int]]:
        """A seller came; their auctions may have come before."""
        seller = tuple(value[1:])
        self._seller.update(seller)
        for auction in self._auctions.get():
            yield *seller, auction
        self._auctions.clear()

    def process_element2(
        self, value: tuple[int, int], ctx: KeyedCoProcessFunction.Context
    ) -> Iterator[tuple[str, str, str, int]]:
        """An auction; it waits for its seller, who may never come: not everybody is local."""
        seller = self._seller.value()
        if seller is None:
            self._auctions.add(value[1])
        else:
            yield *seller, value[1]


class WinningBids(Stamped, KeyedCoProcessFunction):
    """The highest bid from an auction's time to its end, given when it is over; none, if there is none.

    A bid may come before its auction: it waits until event time says that the auction is not going to
    come, because it is over.
    """

    def open(self, runtime_context: RuntimeContext) -> None:
        """Ask for the state."""
        pickled = Types.PICKLED_BYTE_ARRAY()
        self._offer = runtime_context.get_state(ValueStateDescriptor("offer", pickled))
        self._highest = runtime_context.get_state(ValueStateDescriptor("highest", Types.LONG()))
        self._early = runtime_context.get_list_state(ListStateDescriptor("early", pickled))

    def process_element1(self, value: Offer, ctx: KeyedCoProcessFunction.Context) -> None:
        """An auction is opened."""
        self._offer.update(value)
        for bid in self._early.get():
            self._take(bid, value)
        self._early.clear()
        ctx.timer_service().register_event_time_timer(value[3])

    def process_element2(self, value: Bidding, ctx: KeyedCoProcessFunction.Context) -> None:
        """Somebody bids."""
        offer = self._offer.value()
        if offer is None:
            self._early.add(value)
            ctx.timer_service().register_event_time_timer(end_of_second(value[2]))
        else:
            self._take(value, offer)

    def _take(self, bid: Bidding, offer: Offer) -> None:
        _, price, time = bid
        if offer[4] <= time <= offer[3]:
            highest = self._highest.value()
            if highest is None or price > highest:
                self._highest.update(price)

    def on_timer(
        self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext
    ) -> Iterator[Sale]:
        """The auction is over, or was it already when a bid came."""
        offer, highest = self._offer.value(), self._highest.value()
        if offer is None:
            self._early.update([bid for bid in self._early.get() if bid[2] > timestamp])
        elif timestamp >= offer[3]:
            if highest is not None:
                auction, seller, category, expires, _ = offer
                yield auction, seller, category, highest, expires
            self._offer.clear()
            self._highest.clear()


class Average(Stamped, ReduceFunction):
    """Sum and count of what an average is taken of."""

    def reduce(
        self, value1: tuple[int, int, int], value2: tuple[int, int, int]
    ) -> tuple[int, int, int]:
        """One more sale of the category."""
        return value1[0], value1[1] + value2[1], value1[2] + value2[2]


class LastSales(Stamped, KeyedProcessFunction):
    """The average price of a seller's last sales; last by the end of the auction, not by arrival."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Ask for the state."""
        sale = Types.TUPLE([Types.LONG(), Types.LONG(), Types.LONG()])
        self._sales = runtime_context.get_list_state(ListStateDescriptor("sales", sale))

    def process_element(
        self, value: Sale, ctx: KeyedProcessFunction.Context
    ) -> Iterator[tuple[int, float]]:
        """Another sale."""
        auction, seller, _, price, time = value
        sales = sorted([*self._sales.get(), (time, auction, price)])[-LAST_SALES:]
        self._sales.update(sales)
        yield seller, sum(price for _, _, price in sales) / len(sales)
