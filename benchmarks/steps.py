"""The logic of the ``chain`` workload: plain functions, standard library only.

Numbers through a hundred functions that add to them, one operator each, then discarded.
"""

from collections.abc import Callable
from typing import Final

STEPS: Final = 100


def number(index: int) -> int:
    """The record number ``index``."""
    return index & 0xFFFF


def add_one(value: int) -> int:
    """What every operator of the chain does."""
    return value + 1


FUNCTIONS: Final[tuple[Callable[[int], int], ...]] = (add_one,) * STEPS
