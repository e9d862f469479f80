"""A point on the time line in nanoseconds, as PyFlink's ``pyflink.common.time.Instant``."""

from dataclasses import dataclass

__all__ = ["Instant"]

_NANOS_PER_SECOND = 1_000_000_000
_NANOS_PER_MILLI = 1_000_000


@dataclass(frozen=True, slots=True, order=True)
class Instant:
    """Seconds since 1970-01-01T00:00:00Z and the nanoseconds (0 to 999,999,999) after them.

    >>> Instant.of_epoch_milli(-1)
    Instant<-1, 999000000>
    >>> Instant(1, 5_000_000).to_epoch_milli()
    1005
    """

    seconds: int
    nanos: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.nanos < _NANOS_PER_SECOND:
            raise ValueError(f"nanos must be from 0 to 999999999, found {self.nanos!r}")

    def to_epoch_milli(self) -> int:
        """Milliseconds since 1970-01-01T00:00:00Z, rounded down."""
        return self.seconds * 1000 + self.nanos // _NANOS_PER_MILLI

    @staticmethod
    def of_epoch_milli(epoch_milli: int) -> "Instant":
        """The instant so many milliseconds after 1970-01-01T00:00:00Z."""
        seconds, millis = divmod(epoch_milli, 1000)
        return Instant(seconds, millis * _NANOS_PER_MILLI)

    def __repr__(self) -> str:
        return f"Instant<{self.seconds}, {self.nanos}>"
