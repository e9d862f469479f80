"""How much of its arena a producer uses: what its consumers work off within a quarter of a second.

Fast consumers need all of it, so that nobody waits. In front of a slow one everything that lies there is
something that a barrier has to wait for.
"""

from __future__ import annotations

from typing import Final

_TARGET_S: Final = 0.25
_MEASURED_S: Final = 0.05
"""A rate is taken over so long at least: frames come back in lumps."""
_AT_FIRST: Final = 8 << 20


class InFlight:
    """The bytes that may wait at consumers; one frame always may. Told whenever the producer had to wait.

    Between two such moments the consumers were what held it up, so what they gave back is what they can do.

    >>> in_flight = InFlight(most=32 << 20)
    >>> in_flight.waited(given_back=0, now=10.0)
    >>> in_flight.waited(given_back=4 << 20, now=11.0); in_flight.bytes >> 20
    1
    >>> in_flight.waited(given_back=1 << 30, now=12.0); in_flight.bytes >> 20
    32
    """

    __slots__ = ("_given_back", "_most", "_since", "bytes")

    def __init__(self, most: int) -> None:
        self._most = most
        self.bytes = min(most, _AT_FIRST)
        self._since: float | None = None
        self._given_back = 0

    def waited(self, given_back: int, now: float) -> None:
        """The producer has waited; consumers have given back so many bytes since it began."""
        if self._since is not None:
            took = now - self._since
            if took < _MEASURED_S:
                return
            rate = (given_back - self._given_back) / took
            self.bytes = min(self._most, int(rate * _TARGET_S))
        self._since, self._given_back = now, given_back
