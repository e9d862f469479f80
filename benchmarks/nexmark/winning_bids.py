"""The winning bid of each auction: a join of auctions and bids by event time (for q4 and q6)."""

from collections.abc import Iterator
from typing import NamedTuple

from benchmarks.nexmark.events import Auction, Bid, end_of_second, is_auction, is_bid
from riverrun import (
    DataStream,
    KeyedCoProcessFunction,
    ListStateDescriptor,
    RuntimeContext,
    ValueStateDescriptor,
)


class Sale(NamedTuple):
    """How an auction ended."""

    auction: int
    seller: int
    category: int
    price: int
    time: int


class Offer(NamedTuple):
    """What is needed of an auction."""

    auction: int
    seller: int
    category: int
    time: int
    expires: int


class Price(NamedTuple):
    """What is needed of a bid."""

    auction: int
    price: int
    time: int


def offer_of(auction: Auction) -> Offer:
    """The auction without its texts."""
    return Offer(auction.id, auction.seller, auction.category, auction.time, auction.expires)


def price_of(bid: Bid) -> Price:
    """The bid without its bidder and texts."""
    return Price(bid.auction, bid.price, bid.time)


def auction_of(record: Offer | Price) -> int:
    """The key of both."""
    return record.auction


class WinningBids(KeyedCoProcessFunction):
    """The highest bid from an auction's time to its end, given when it is over; none, if there is none.

    There is no order between the two streams, so a bid may come before its auction: it waits until event
    time says that the auction is not going to come, because it is over. Bids that wait have one timer a second,
    because a timer of its own for each would cost more than the bid.
    """

    def open(self, runtime_context: RuntimeContext) -> None:
        """Ask for the state."""
        self._offer = runtime_context.get_state(ValueStateDescriptor("offer"))
        self._highest = runtime_context.get_state(ValueStateDescriptor("highest"))
        self._early = runtime_context.get_list_state(ListStateDescriptor("early"))

    def process_element1(self, value: Offer, ctx: KeyedCoProcessFunction.Context) -> None:
        """An auction is opened."""
        self._offer.update(value)
        for bid in self._early.get():
            self._take(bid, value)
        self._early.clear()
        ctx.timer_service().register_event_time_timer(value.expires)

    def process_element2(self, value: Price, ctx: KeyedCoProcessFunction.Context) -> None:
        """Somebody bids."""
        offer = self._offer.value()
        if offer is None:
            self._early.add(value)
            ctx.timer_service().register_event_time_timer(end_of_second(value.time))
        else:
            self._take(value, offer)

    def _take(self, bid: Price, offer: Offer) -> None:
        if offer.time <= bid.time <= offer.expires:
            highest = self._highest.value()
            if highest is None or bid.price > highest:
                self._highest.update(bid.price)

    def on_timer(
        self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext
    ) -> Iterator[Sale]:
        """The auction is over, or was it already when a bid came."""
        del ctx
        offer, highest = self._offer.value(), self._highest.value()
        if offer is None:
            self._early.update([bid for bid in self._early.get() if bid.time > timestamp])
        elif timestamp >= offer.expires:
            if highest is not None:
                yield Sale(offer.auction, offer.seller, offer.category, highest, offer.expires)
            self._offer.clear()
            self._highest.clear()


def winning_bids(events: DataStream) -> DataStream:
    """A ``Sale`` for each auction that has a bid."""
    auctions = events.filter(is_auction).map(offer_of)
    bids = events.filter(is_bid).map(price_of)
    return auctions.connect(bids).key_by(auction_of, auction_of).process(WinningBids())
