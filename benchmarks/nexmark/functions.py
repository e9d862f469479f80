"""The functions of Nexmark's queries: what a user writes, whoever calls it.

``benchmarks.nexmark.queries`` puts them into streams, ``benchmarks.nexmark.limit`` into bare loops.
"""

from collections.abc import Iterable
from typing import Any, Final

from benchmarks.nexmark.events import Auction, Bid, Event, Person
from benchmarks.nexmark.winning_bids import Sale
from riverrun import AggregateFunction, Time, TimeWindow, WindowFunction

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


def each_of(records: list[Any]) -> list[Any]:
    """For ``flat_map``: the records of a list one by one."""
    return records


def as_it_came(event: Event) -> Event:
    """q0: the event itself."""
    return event


def in_euros(bid: Bid) -> tuple[int, int, float, int]:
    """q1: auction, bidder, price in euros, time."""
    return bid.auction, bid.bidder, bid.price * EURO, bid.time


def is_chosen(bid: Bid) -> bool:
    """q2: whether the bid is in one of some auctions."""
    return bid.auction % CHOSEN == 0


def auction_and_price(bid: Bid) -> tuple[int, int]:
    """q2: what is wanted of a bid."""
    return bid.auction, bid.price


def is_local(person: Person) -> bool:
    """q3: whether somebody lives in one of three states."""
    return person.state in LOCAL


def seller_fields(person: Person) -> tuple[int, str, str, str]:
    """q3: what is needed of a seller."""
    return person.id, person.name, person.city, person.state


def is_wanted(auction: Auction) -> bool:
    """q3: whether the auction is of the category."""
    return auction.category == LOCAL_CATEGORY


def auction_of_seller(auction: Auction) -> tuple[int, int]:
    """q3: the seller and the auction."""
    return auction.seller, auction.id


def category_and_price(sale: Sale) -> tuple[int, int, int]:
    """q4: a sale as the sum and count of one."""
    return sale.category, sale.price, 1


def add_sales(so_far: tuple[int, int, int], more: tuple[int, int, int]) -> tuple[int, int, int]:
    """q4: two sums and counts of a category as one."""
    return so_far[0], so_far[1] + more[1], so_far[2] + more[2]


def average(total: tuple[int, int, int]) -> tuple[int, float]:
    """q4: the average of a sum and count."""
    return total[0], total[1] / total[2]


def auction_of_bid(bid: Bid) -> int:
    """q5: all that is counted."""
    return bid.auction


def seller_of(sale: Sale) -> int:
    """q6: whose average it is."""
    return sale.seller


def bid_fields(bid: Bid) -> tuple[int, int, int, int]:
    """q7: the bid with its price first."""
    return bid.price, bid.auction, bid.bidder, bid.time


def auction_of_fields(fields: tuple[int, int, int, int]) -> int:
    """q7: the key of a bid with its price first."""
    return fields[1]


def person_fields(person: Person) -> tuple[int, str]:
    """q8: who came."""
    return person.id, person.name


def reserve_of_seller(auction: Auction) -> tuple[int, int]:
    """q8: the seller and the reserve."""
    return auction.seller, auction.reserve


def joined(person: tuple[int, str], auction: tuple[int, int]) -> tuple[int, str, int]:
    """q8: somebody with one of their auctions."""
    return *person, auction[1]


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


class OfBidder(WindowFunction[int, tuple[int, int], int, TimeWindow]):
    """A count with its key."""

    def apply(
        self, key: int, window: TimeWindow, inputs: Iterable[int]
    ) -> Iterable[tuple[int, int]]:
        """One count comes in."""
        del window
        for count in inputs:
            yield key, count
