"""Which subtasks of two vertices an edge connects, seen from either end."""

from __future__ import annotations

from riverrun.core.errors import InternalError
from riverrun.graph.partitioning import Forward, Partitioning, Rescale


def consumers_of(
    partitioning: Partitioning, producer: int, producers: int, consumers: int
) -> tuple[int, ...]:
    """The consumer subtasks that subtask ``producer`` has a channel to, ascending.

    >>> from riverrun.graph.partitioning import Rebalance
    >>> consumers_of(Rebalance(), 0, 2, 3)
    (0, 1, 2)
    >>> [consumers_of(Rescale(), p, 2, 5) for p in range(2)]
    [(0, 1, 2), (3, 4)]
    >>> [consumers_of(Rescale(), p, 5, 2) for p in range(5)]
    [(0,), (0,), (1,), (1,), (1,)]
    """
    match partitioning:
        case Forward():
            _check_forward(producers, consumers)
            return (producer,)
        case Rescale() if producers < consumers:
            return tuple(_share_rounded_up(producer, producers, consumers))
        case Rescale():
            return (_owner_rounded_down(producer, consumers, producers),)
        case _:
            return tuple(range(consumers))


def producers_of(
    partitioning: Partitioning, consumer: int, producers: int, consumers: int
) -> tuple[int, ...]:
    """The producer subtasks that have a channel to subtask ``consumer``, ascending.

    >>> [producers_of(Rescale(), c, 5, 2) for c in range(2)]
    [(0, 1), (2, 3, 4)]
    """
    match partitioning:
        case Forward():
            _check_forward(producers, consumers)
            return (consumer,)
        case Rescale() if producers < consumers:
            return (_owner_rounded_up(consumer, producers, consumers),)
        case Rescale():
            return tuple(_share_rounded_down(consumer, consumers, producers))
        case _:
            return tuple(range(producers))


# The many are cut into contiguous shares, one for each of the few. As in Flink the cuts are rounded
# down when the consumers are the few and up when the producers are.


def _share_rounded_down(few: int, fews: int, many: int) -> range:
    return range(few * many // fews, (few + 1) * many // fews)


def _owner_rounded_down(index: int, fews: int, many: int) -> int:
    return ((index + 1) * fews - 1) // many


def _share_rounded_up(few: int, fews: int, many: int) -> range:
    return range(-(-few * many // fews), -(-(few + 1) * many // fews))


def _owner_rounded_up(index: int, fews: int, many: int) -> int:
    return index * fews // many


def _check_forward(producers: int, consumers: int) -> None:
    if producers != consumers:
        raise InternalError(
            f"forward edge: {producers} producers and {consumers} consumers were found, "
            f"expected equal numbers"
        )
