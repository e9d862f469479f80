"""Nexmark's queries in bare loops that call the functions of the queries, once for each event.

No engine, no exchange: a dict for state, a heap for timers, a window that is over when the next one begins, because
events come in order. Process functions have their state in dicts and are called and gone through as the engine
does with them.
"""

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from benchmarks.nexmark.events import Event, is_auction, is_bid, is_person, time_of
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
from benchmarks.nexmark.winning_bids import Offer, Price, Sale, auction_of, offer_of, price_of
from riverrun import TimeWindow

_WINDOW: Final = WINDOW.to_milliseconds()
_SLIDE: Final = SLIDE.to_milliseconds()

Results = Iterator[Any]


def q0(events: Iterable[Event]) -> Results:
    """Every event."""
    for event in events:
        yield as_it_came(event)


def q1(events: Iterable[Event]) -> Results:
    """Prices in euros."""
    for event in events:
        if is_bid(event):
            yield in_euros(event)


def q2(events: Iterable[Event]) -> Results:
    """Bids in some auctions."""
    for event in events:
        if is_bid(event) and is_chosen(event):
            yield auction_and_price(event)


class _LocalItems:
    """Sellers by number; they come before their auctions."""

    def __init__(self) -> None:
        self._sellers: dict[int, tuple[str, str, str]] = {}

    def process_element1(self, value: tuple[int, str, str, str]) -> None:
        self._sellers[first_of(value)] = value[1:]

    def process_element2(self, value: tuple[int, int]) -> Results:
        seller = self._sellers.get(first_of(value))
        if seller is not None:
            yield *seller, value[1]


def q3(events: Iterable[Event]) -> Results:
    """Local sellers and their auctions."""
    function = _LocalItems()
    for event in events:
        if is_person(event):
            if is_local(event):
                function.process_element1(seller_fields(event))
        elif is_auction(event) and is_wanted(event):
            yield from function.process_element2(auction_of_seller(event))


class _WinningBids:
    """Open auctions and their highest bids by number; a heap of timers."""

    def __init__(self) -> None:
        self._offers: dict[int, Offer] = {}
        self._highest: dict[int, int] = {}
        self.timers: list[tuple[int, int]] = []

    def process_element1(self, value: Offer) -> None:
        auction = auction_of(value)
        self._offers[auction] = value
        heapq.heappush(self.timers, (value.expires, auction))

    def process_element2(self, value: Price) -> None:
        auction = auction_of(value)
        offer = self._offers.get(auction)
        if offer is not None and offer.time <= value.time <= offer.expires:
            highest = self._highest.get(auction)
            if highest is None or value.price > highest:
                self._highest[auction] = value.price

    def on_timer(self, auction: int) -> Iterator[Sale]:
        offer = self._offers.pop(auction)
        highest = self._highest.pop(auction, None)
        if highest is not None:
            yield Sale(offer.auction, offer.seller, offer.category, highest, offer.expires)


def _sales(events: Iterable[Event]) -> Iterator[Sale]:
    function = _WinningBids()
    timers = function.timers
    for event in events:
        time = time_of(event)
        while timers and timers[0][0] < time:
            yield from function.on_timer(heapq.heappop(timers)[1])
        if is_auction(event):
            function.process_element1(offer_of(event))
        elif is_bid(event):
            function.process_element2(price_of(event))
    while timers:
        yield from function.on_timer(heapq.heappop(timers)[1])


def q4(events: Iterable[Event]) -> Results:
    """Averages by category so far."""
    totals: dict[int, tuple[int, int, int]] = {}
    for sale in _sales(events):
        more = category_and_price(sale)
        category = first_of(more)
        total = totals.get(category)
        total = totals[category] = more if total is None else add_sales(total, more)
        yield average(total)


def q5(events: Iterable[Event]) -> Results:
    """A count for each auction in each two seconds; five of them are a window."""
    count = Count()
    pieces: dict[int, dict[int, int]] = {}
    counts: dict[int, int] = {}
    current = None
    for event in events:
        if not is_bid(event):
            continue
        time = time_of(event)
        start = time - time % _SLIDE
        if start != current:
            if current is not None:
                yield from _hottest(pieces, range(current + _SLIDE, start + _SLIDE, _SLIDE))
            current = start
            counts = pieces[start] = {}
        key = itself(auction_of_bid(event))
        held = counts.get(key)
        counts[key] = count.add(event, count.create_accumulator() if held is None else held)
    if current is not None:
        yield from _hottest(pieces, range(current + _SLIDE, current + _WINDOW + _SLIDE, _SLIDE))


def _hottest(pieces: dict[int, dict[int, int]], ends: range) -> Results:
    count, highest, of_window = Count(), Highest(), OfWindow()
    for end in ends:
        pieces.pop(end - _WINDOW - _SLIDE, None)
        window = TimeWindow(end - _WINDOW, end)
        counts: dict[int, int] = {}
        for start in range(end - _WINDOW, end, _SLIDE):
            for key, held in pieces.get(start, {}).items():
                before = counts.get(key)
                counts[key] = held if before is None else count.merge(before, held)
        hottest: dict[int, list[Any]] = {}
        for key, held in counts.items():
            for counted in of_window.apply(key, window, (count.get_result(held),)):
                ending = window_end_of(counted)
                best = hottest.get(ending)
                hottest[ending] = highest.add(
                    counted, highest.create_accumulator() if best is None else best
                )
        for best in hottest.values():
            yield from each_of(highest.get_result(best))


class _LastSales:
    """The last sales of each seller."""

    def __init__(self) -> None:
        self._sales: dict[int, list[tuple[int, int, int]]] = {}

    def process_element(self, value: Sale) -> Results:
        seller = seller_of(value)
        sales = sorted([*self._sales.get(seller, ()), (value.time, value.auction, value.price)])
        sales = self._sales[seller] = sales[-LAST_SALES:]
        yield value.seller, sum(price for _, _, price in sales) / len(sales)


def q6(events: Iterable[Event]) -> Results:
    """Averages of each seller's last sales."""
    function = _LastSales()
    for sale in _sales(events):
        yield from function.process_element(sale)


def q7(events: Iterable[Event]) -> Results:
    """The highest bids of each auction and window, and of them those of the window."""
    highest = Highest()
    by_auction: dict[int, list[Any]] = {}
    current = None
    for event in events:
        if not is_bid(event):
            continue
        time = time_of(event)
        window = time - time % _WINDOW
        if window != current:
            yield from _highest(by_auction)
            by_auction, current = {}, window
        fields = bid_fields(event)
        auction = auction_of_fields(fields)
        held = by_auction.get(auction)
        by_auction[auction] = highest.add(
            fields, highest.create_accumulator() if held is None else held
        )
    yield from _highest(by_auction)


def _highest(by_auction: dict[int, list[Any]]) -> Results:
    highest = Highest()
    best = highest.create_accumulator()
    for held in by_auction.values():
        for bid in each_of(highest.get_result(held)):
            best = highest.add(bid, best)
    return iter(each_of(highest.get_result(best)))


def q8(events: Iterable[Event]) -> Results:
    """People and auctions of each window by person, joined when it is over."""
    people: dict[int, list[Any]] = {}
    auctions: dict[int, list[Any]] = {}
    fields: tuple[Any, ...]
    current = None
    for event in events:
        if is_person(event):
            side, fields = people, person_fields(event)
        elif is_auction(event):
            side, fields = auctions, reserve_of_seller(event)
        else:
            continue
        time = time_of(event)
        window = time - time % _WINDOW
        if window != current:
            yield from _joined(people, auctions)
            people.clear()
            auctions.clear()
            current = window
        key = first_of(fields)
        held = side.get(key)
        if held is None:
            side[key] = [fields]
        else:
            held.append(fields)
    yield from _joined(people, auctions)


def _joined(people: dict[int, list[Any]], auctions: dict[int, list[Any]]) -> Results:
    for key, came in people.items():
        for auction in auctions.get(key, ()):
            for person in came:
                yield joined(person, auction)


def q11(events: Iterable[Event]) -> Results:
    """Count, start and last time of each bidder's session; every ten seconds those that are over go."""
    count, made = Count(), Session()
    sessions: dict[int, tuple[int, int, int]] = {}
    swept = 0
    for event in events:
        if not is_bid(event):
            continue
        time = time_of(event)
        if time - swept > _WINDOW:
            swept = time
            for key in [each for each in sessions if time - sessions[each][2] > _WINDOW]:
                yield from _session(count, made, key, sessions.pop(key))
        key = itself(bidder_of(event))
        session = sessions.get(key)
        if session is not None and time - session[2] > _WINDOW:
            yield from _session(count, made, key, session)
            session = None
        held, start, _ = (count.create_accumulator(), time, time) if session is None else session
        sessions[key] = count.add(event, held), start, time
    for key, session in sessions.items():
        yield from _session(count, made, key, session)


def _session(count: Count, made: Session, key: int, session: tuple[int, int, int]) -> Results:
    held, start, last = session
    return iter(made.apply(key, TimeWindow(start, last + _WINDOW), (count.get_result(held),)))


def q12(events: Iterable[Event]) -> Results:
    """A count for each bidder, in one window of the wall clock: a loop of longer is not measured."""
    count, made = Count(), OfBidder()
    counts: defaultdict[int, int] = defaultdict(count.create_accumulator)
    for event in events:
        if is_bid(event):
            key = itself(bidder_of(event))
            counts[key] = count.add(event, counts[key])
    window = TimeWindow(0, _WINDOW)
    for key, held in counts.items():
        yield from made.apply(key, window, (count.get_result(held),))


LOOPS: Final[Mapping[str, Callable[[Iterable[Event]], Results]]] = {
    query.__name__: query for query in (q0, q1, q2, q3, q4, q5, q6, q7, q8, q11, q12)
}
