"""What happens on the auction site of Nexmark: people come, open auctions, and bid.

Standard library only, so that any system's interpreter can import it. Times are milliseconds since the Unix
epoch, prices are cents.
"""

from typing import NamedTuple, TypeAlias, TypeGuard


class Person(NamedTuple):
    """Somebody who is new on the site."""

    id: int
    name: str
    email: str
    credit_card: str
    city: str
    state: str
    time: int
    extra: str


class Auction(NamedTuple):
    """An item for sale; bids count up to the time ``expires``, inclusive."""

    id: int
    item: str
    description: str
    initial_bid: int
    reserve: int
    time: int
    expires: int
    seller: int
    category: int
    extra: str


class Bid(NamedTuple):
    """What ``bidder`` offers in ``auction``."""

    auction: int
    bidder: int
    price: int
    channel: str
    url: str
    time: int
    extra: str


Event: TypeAlias = Person | Auction | Bid


def is_person(event: Event) -> TypeGuard[Person]:
    """Whether somebody came."""
    return isinstance(event, Person)


def is_auction(event: Event) -> TypeGuard[Auction]:
    """Whether an auction was opened."""
    return isinstance(event, Auction)


def is_bid(event: Event) -> TypeGuard[Bid]:
    """Whether somebody bid; true for 46 events of 50."""
    return isinstance(event, Bid)


def time_of(event: Event, so_far: int = 0) -> int:
    """The event time; ``so_far`` is what a source may know of it."""
    del so_far
    return event.time


def end_of_second(time: int) -> int:
    """The last millisecond of the second that ``time`` is in: timers set there are few.

    >>> end_of_second(1_234), end_of_second(1_999)
    (1999, 1999)
    """
    return time - time % 1_000 + 999
