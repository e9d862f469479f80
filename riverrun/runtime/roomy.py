"""Room for the frames of a deep chain of calls.

The interpreter keeps the frames of running functions in chunks of 16 KB. A call that does not fit into the
chunk asks the system for another one and gives it back when it returns; where a user's function happens to
stand at the end of a chunk, each record pays for that: five microseconds, and in a chain of a hundred operators
there are several such places. A function with a large frame gets a chunk of its own, and those that it
calls use the rest of it.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Final, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

_SLOTS: Final = 66_000
"""Of the large frame: a little more than half of a chunk of a megabyte. What nobody touches takes no memory."""


def roomy(function: Callable[P, R]) -> Callable[P, R]:
    """The same function, with a frame that leaves room for those of some hundred operators.

    >>> roomy(lambda n: n + 1)(1)
    2
    """
    if isinstance(function, FunctionType):
        function.__code__ = function.__code__.replace(co_stacksize=_SLOTS)
    return function
