"""Nexmark's queries in plain Python, over events in the order of their times.

What the streams of ``benchmarks.nexmark.queries`` and the loops of ``benchmarks.nexmark.loops`` are to give, for
tests.
"""

import heapq
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from benchmarks.nexmark.events import Auction, Bid, Event, Person

_EURO: Final = 0.908
_CHOSEN: Final = 123
_WINDOW: Final = 10_000
_SLIDE: Final = 2_000
_CATEGORY: Final = 10
_STATES: Final = ("OR", "ID", "CA")
_LAST: Final = 10

Results = Iterator[tuple[Any, ...]]


def q0(events: Iterable[Event]) -> Results:
    """All of them."""
    yield from events


def q1(events: Iterable[Event]) -> Results:
    """Prices in euros."""
    for event in events:
        if isinstance(event, Bid):
            yield event.auction, event.bidder, event.price * _EURO, event.time


def q2(events: Iterable[Event]) -> Results:
    """Bids in some auctions."""
    for event in events:
        if isinstance(event, Bid) and event.auction % _CHOSEN == 0:
            yield event.auction, event.price


def q3(events: Iterable[Event]) -> Results:
    """Local sellers and their auctions; a seller comes before their auctions."""
    sellers: dict[int, tuple[str, str, str]] = {}
    for event in events:
        if isinstance(event, Person):
            if event.state in _STATES:
                sellers[event.id] = event.name, event.city, event.state
        elif isinstance(event, Auction) and event.category == _CATEGORY:
            seller = sellers.get(event.seller)
            if seller is not None:
                yield *seller, event.id


def sales(events: Iterable[Event]) -> Iterator[tuple[Auction, int]]:
    """Auctions with their winning bids, by the time of their end."""
    best: dict[int, int] = {}
    expiring: list[tuple[int, int, Auction]] = []
    unsold: set[int] = set()
    for event in events:
        while expiring and expiring[0][0] < event.time:
            over = heapq.heappop(expiring)[2]
            unsold.discard(over.id)
            if over.id in best:
                yield over, best.pop(over.id)
        if isinstance(event, Auction):
            unsold.add(event.id)
            heapq.heappush(expiring, (event.expires, event.id, event))
        elif isinstance(event, Bid) and event.auction in unsold:
            best[event.auction] = max(event.price, best.get(event.auction, 0))
    for _, _, over in sorted(expiring):
        if over.id in best:
            yield over, best[over.id]


def q4(events: Iterable[Event]) -> Results:
    """Averages by category so far."""
    totals: dict[int, tuple[int, int]] = {}
    for auction, price in sales(events):
        total, count = totals.get(auction.category, (0, 0))
        totals[auction.category] = total + price, count + 1
        yield auction.category, (total + price) / (count + 1)


def q5(events: Iterable[Event]) -> Results:
    """The most frequent auctions of the last five pieces of two seconds, at the end of each piece."""
    pieces: dict[int, Counter[int]] = {}
    counts: Counter[int] = Counter()
    current = None
    for event in events:
        if not isinstance(event, Bid):
            continue
        start = event.time - event.time % _SLIDE
        if start != current:
            if current is not None:
                yield from _hottest(pieces, range(current + _SLIDE, start + _SLIDE, _SLIDE))
            current = start
            counts = pieces[start] = Counter()
        counts[event.auction] += 1
    if current is not None:
        yield from _hottest(pieces, range(current + _SLIDE, current + _WINDOW + _SLIDE, _SLIDE))


def _hottest(pieces: dict[int, Counter[int]], ends: range) -> Results:
    for end in ends:
        pieces.pop(end - _WINDOW - _SLIDE, None)
        window = range(end - _WINDOW, end, _SLIDE)
        counts: Counter[int] = Counter()
        for start in window:
            counts.update(pieces.get(start, {}))
        most = max(counts.values(), default=0)
        yield from ((most, end, auction) for auction, count in counts.items() if count == most)


def q6(events: Iterable[Event]) -> Results:
    """Averages of each seller's last sales."""
    last: defaultdict[int, deque[int]] = defaultdict(lambda: deque(maxlen=_LAST))
    for auction, price in sales(events):
        mine = last[auction.seller]
        mine.append(price)
        yield auction.seller, sum(mine) / len(mine)


def q7(events: Iterable[Event]) -> Results:
    """The highest bids of each window."""
    best: list[tuple[int, int, int, int]] = []
    highest, current = 0, None
    for event in events:
        if not isinstance(event, Bid):
            continue
        window = event.time // _WINDOW
        if window != current:
            yield from best
            best, highest, current = [], 0, window
        if event.price >= highest:
            if event.price > highest:
                best, highest = [], event.price
            best.append((event.price, event.auction, event.bidder, event.time))
    yield from best


def q8(events: Iterable[Event]) -> Results:
    """Auctions of people who came in the same window; people come before their auctions."""
    names: dict[int, str] = {}
    current = None
    for event in events:
        if isinstance(event, Bid):
            continue
        window = event.time // _WINDOW
        if window != current:
            names, current = {}, window
        if isinstance(event, Person):
            names[event.id] = event.name
        elif event.seller in names:
            yield event.seller, names[event.seller], event.reserve


def q11(events: Iterable[Event]) -> Results:
    """Bids of each bidder without a pause of more than ten seconds."""
    sessions: dict[int, tuple[int, int, int]] = {}
    swept = 0
    for event in events:
        if not isinstance(event, Bid):
            continue
        time = event.time
        if time - swept > _WINDOW:
            swept = time
            for bidder in [each for each in sessions if time - sessions[each][2] > _WINDOW]:
                yield _session(bidder, *sessions.pop(bidder))
        bidder = event.bidder
        count, start, last = sessions.get(bidder, (0, time, time))
        if time - last > _WINDOW:
            yield _session(bidder, count, start, last)
            count, start = 0, time
        sessions[bidder] = count + 1, start, time
    for bidder, session in sessions.items():
        yield _session(bidder, *session)


def _session(bidder: int, count: int, start: int, last: int) -> tuple[int, int, int, int]:
    return bidder, count, start, last + _WINDOW


def q12(events: Iterable[Event]) -> Results:
    """Bids of each bidder, all in one: which window of the wall clock they are in nobody can say."""
    counts: dict[int, int] = {}
    for event in events:
        if isinstance(event, Bid):
            counts[event.bidder] = counts.get(event.bidder, 0) + 1
    yield from counts.items()


ORACLES: Final[Mapping[str, Callable[[Iterable[Event]], Results]]] = {
    query.__name__: query for query in (q0, q1, q2, q3, q4, q5, q6, q7, q8, q11, q12)
}
