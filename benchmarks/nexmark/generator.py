"""Nexmark's events as a function of their number, many at a time.

Of 50 events in a row the first is a person, three are auctions and 46 are bids. Event times follow the number
by a rate. Everything else is drawn from a hash of the number: the same number gives the same event, whoever
makes it and together with whichever others.

Half of all bids go to one hot auction and three of four come from one hot bidder, three of four auctions are of one
hot seller; the hot ones change with every hundredth auction or person. The others are spread over the last
100 auctions and the last 1,000 people. Unlike in other generators nobody bids before they exist, so that each
reference can be checked.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmarks.nexmark.events import Auction, Bid, Event, Person

Numbers: TypeAlias = npt.NDArray[np.int64]
Hashes: TypeAlias = npt.NDArray[np.uint64]

PEOPLE: Final = 1
AUCTIONS: Final = 3
BIDS: Final = 46
EPOCH: Final = PEOPLE + AUCTIONS + BIDS
"""After so many events it begins anew: first the people, then the auctions, then the bids."""

FIRST_PERSON: Final = 1_000
FIRST_AUCTION: Final = 1_000
FIRST_CATEGORY: Final = 10
CATEGORIES: Final = 5
ACTIVE_PEOPLE: Final = 1_000
OPEN_AUCTIONS: Final = 100
HOT_EVERY: Final = 100
START_MS: Final = 1_700_000_000_000
RATE: Final = 10_000
"""Events a second of event time."""

PERSON, AUCTION, BID = range(3)
COLUMNS: Final = pa.schema(
    {name: pa.int64() for name in ("kind", "auction", "bidder", "price", "time")}
)
"""Events as columns: the kind, the numbers of a bid (null in the others) and the time."""

_FIRST_NAMES: Final = ("Ada", "Bea", "Carl", "Dora", "Emil", "Finn", "Gina", "Hugo", "Ida", "Jon")
_LAST_NAMES: Final = ("Ames", "Berg", "Cole", "Dale", "Ewing", "Frost", "Grant", "Hill")
_PLACES: Final = (
    ("Phoenix", "AZ"),
    ("Oakland", "CA"),
    ("Fresno", "CA"),
    ("Boise", "ID"),
    ("Salem", "OR"),
    ("Eugene", "OR"),
    ("Spokane", "WA"),
    ("Laramie", "WY"),
)
_CHANNELS: Final = np.array([f"channel-{number}" for number in range(1_000)], object)
_URLS: Final = np.array([f"https://www.auctions.example/{name}" for name in _CHANNELS], object)
_PADDING: Final = "the quick brown fox jumps over the lazy dog and naps in the sun " * 5
_BID_EXTRAS: Final = np.array([_PADDING[start : start + 40] for start in range(64)], object)
_PERSON_EXTRA_LENGTH: Final = 100
_AUCTION_EXTRA_LENGTH: Final = 250

_GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)
_FIRST_FACTOR: Final = np.uint64(0xBF58476D1CE4E5B9)
_SECOND_FACTOR: Final = np.uint64(0x94D049BB133111EB)
_DECADES: Final = 6 * np.log(10.0)

_bid: Final = partial(tuple.__new__, Bid)
"""A Bid of all its fields; ``Bid._make`` does the same and takes half as long again."""


@dataclass(frozen=True, slots=True)
class Generator:
    """The events at ``rate`` events a second of event time."""

    rate: int = RATE

    def event(self, number: int) -> Event:
        """The event ``number``, alone; slow beside :meth:`events`.

        >>> bid = Generator().event(7)
        >>> bid.auction, bid.time
        (1000, 1700000000000)
        """
        return self.events(range(number, number + 1))[0]

    def events(self, numbers: range) -> list[Event]:
        """The events with these numbers, in this order."""
        made = np.arange(numbers.start, numbers.stop, numbers.step, dtype=np.int64)
        # A bid in each place first: more than nine of ten stay.
        result: list[Any] = list(map(_bid, zip(*self._bids(made), strict=True)))
        place = made % EPOCH
        for position, person in self._people(made, np.flatnonzero(place < PEOPLE)):
            result[position] = person
        others = np.flatnonzero((place >= PEOPLE) & (place < PEOPLE + AUCTIONS))
        for position, auction in self._auctions(made, others):
            result[position] = auction
        return result

    def columns(self, numbers: Numbers) -> dict[str, Any]:
        """The same events as columns; see :data:`COLUMNS`."""
        place = numbers % EPOCH
        no_bid = place < PEOPLE + AUCTIONS
        auction, bidder, price = _bid_numbers(numbers)
        return {
            "kind": np.where(no_bid, np.where(place < PEOPLE, PERSON, AUCTION), BID),
            "auction": pa.array(auction, mask=no_bid),
            "bidder": pa.array(bidder, mask=no_bid),
            "price": pa.array(price, mask=no_bid),
            "time": self.times(numbers),
        }

    def times(self, numbers: Numbers) -> Numbers:
        """When these events happen."""
        return START_MS + numbers * 1_000 // self.rate

    def _bids(self, numbers: Numbers) -> Iterator[list[Any]]:
        auction, bidder, price = _bid_numbers(numbers)
        drawn = _hashes(numbers, 3)
        channel = _below(drawn, len(_CHANNELS))
        yield auction.tolist()
        yield bidder.tolist()
        yield price.tolist()
        yield _CHANNELS[channel].tolist()
        yield _URLS[channel].tolist()
        yield self.times(numbers).tolist()
        yield _BID_EXTRAS[drawn >> np.uint64(58)].tolist()

    def _people(self, numbers: Numbers, positions: Numbers) -> Iterator[tuple[int, Person]]:
        mine = numbers[positions]
        identities = (_last_person(mine) + FIRST_PERSON).tolist()
        drawn = _hashes(mine, 1).tolist()
        times = self.times(mine).tolist()
        for position, identity, chance, time in zip(
            positions.tolist(), identities, drawn, times, strict=True
        ):
            first = _FIRST_NAMES[chance % len(_FIRST_NAMES)]
            last = _LAST_NAMES[(chance >> 8) % len(_LAST_NAMES)]
            city, state = _PLACES[(chance >> 16) % len(_PLACES)]
            yield (
                position,
                Person(
                    identity,
                    f"{first} {last}",
                    f"{first}.{last}.{identity}@mail.example",
                    f"{chance % 10**16:016d}",
                    city,
                    state,
                    time,
                    _PADDING[chance >> 59 :][:_PERSON_EXTRA_LENGTH],
                ),
            )

    def _auctions(self, numbers: Numbers, positions: Numbers) -> Iterator[tuple[int, Auction]]:
        mine = numbers[positions]
        drawn = _hashes(mine, 1)
        initial = _prices(_hashes(mine, 2))
        times = self.times(mine)
        ahead_ms = OPEN_AUCTIONS * EPOCH // AUCTIONS * 1_000 // self.rate
        columns = (
            positions,
            _last_auction(mine) + FIRST_AUCTION,
            initial,
            initial + _prices(_hashes(mine, 3)),
            times,
            times + 1 + _below(drawn, max(2 * ahead_ms, 1)),
            _people_drawn(mine, _hashes(mine, 4), 0),
            FIRST_CATEGORY + _below(drawn >> np.uint64(32), CATEGORIES),
        )
        for position, identity, least, reserve, time, expires, seller, category in zip(
            *(column.tolist() for column in columns), strict=True
        ):
            item = f"item {identity}"
            extra = _PADDING[identity % 32 :][:_AUCTION_EXTRA_LENGTH]
            yield (
                position,
                Auction(
                    identity,
                    item,
                    f"a used {item} in good order",
                    least,
                    reserve,
                    time,
                    expires,
                    seller,
                    category,
                    extra,
                ),
            )


def _bid_numbers(numbers: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Auction, bidder and price of bids; for the numbers of other events, of no use but harmless."""
    drawn = _hashes(numbers, 1)
    last = np.maximum(_last_auction(numbers), 0)
    least = np.maximum(last - OPEN_AUCTIONS, 0)
    hot = last // HOT_EVERY * HOT_EVERY
    spread = least + _below(drawn >> np.uint64(1), last - least + 1)
    auction = np.where(drawn & np.uint64(1), hot, spread) + FIRST_AUCTION
    return auction, _people_drawn(numbers, _hashes(numbers, 4), 1), _prices(_hashes(numbers, 2))


def _people_drawn(numbers: Numbers, drawn: Hashes, hot_place: int) -> Numbers:
    """Somebody of those who are there: mostly the hot one."""
    last = _last_person(numbers)
    active = np.minimum(last + 1, ACTIVE_PEOPLE)
    hot = np.minimum(last // HOT_EVERY * HOT_EVERY + hot_place, last)
    spread = last + 1 - active + _below(drawn >> np.uint64(2), active)
    return np.where(drawn & np.uint64(3), hot, spread) + FIRST_PERSON


def _last_person(numbers: Numbers) -> Numbers:
    """How many people came before the last one; events begin with a person."""
    return numbers // EPOCH


def _last_auction(numbers: Numbers) -> Numbers:
    """How many auctions were opened before the last one; -1 where there is none."""
    opened = np.clip(numbers % EPOCH - PEOPLE, -1, AUCTIONS - 1)
    return numbers // EPOCH * AUCTIONS + opened


def _prices(drawn: Hashes) -> Numbers:
    """From one to a million, in cents: small ones are as likely as large ones, by their logarithm."""
    shares = (drawn >> np.uint64(11)).astype(np.float64) / float(1 << 53)
    prices: Numbers = np.rint(100 * np.exp(shares * _DECADES)).astype(np.int64)
    return prices


def _below(drawn: Hashes, bound: int | Numbers) -> Numbers:
    """Whole numbers from 0 on, less than ``bound``; all are as good as equally likely."""
    made: Numbers = (drawn >> np.uint64(1)).astype(np.int64) % bound
    return made


def _hashes(numbers: Numbers, draw: int) -> Hashes:
    """64 bits for each number, others for each draw (the finish of splitmix64)."""
    mixed = (numbers.astype(np.uint64) * np.uint64(8) + np.uint64(draw)) * _GOLDEN
    mixed = (mixed ^ (mixed >> np.uint64(30))) * _FIRST_FACTOR
    mixed = (mixed ^ (mixed >> np.uint64(27))) * _SECOND_FACTOR
    return mixed ^ (mixed >> np.uint64(31))
