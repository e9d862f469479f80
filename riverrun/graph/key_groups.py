"""Which key groups belong to which subtask."""

from __future__ import annotations


def group_range(subtask: int, parallelism: int, max_parallelism: int) -> tuple[int, int]:
    """The first and the last key group of ``subtask``: those that ``owner_of`` gives to it.

    >>> [group_range(subtask, 3, 8) for subtask in range(3)]
    [(0, 2), (3, 5), (6, 7)]
    """
    first = -(-subtask * max_parallelism // parallelism)
    after = -(-(subtask + 1) * max_parallelism // parallelism)
    return first, after - 1


def owner_of(group: int, parallelism: int, max_parallelism: int) -> int:
    """The subtask that a key group belongs to.

    >>> [owner_of(group, 3, 8) for group in range(8)]
    [0, 0, 0, 1, 1, 1, 2, 2]
    """
    return group * parallelism // max_parallelism
