"""The lease that a leader holds, and the small protocol of the stores that can keep one.

A store is one register with a version: whoever writes says which version it replaces, and only one of
those who replace the same version succeeds. Time is not the store's business: that a lease has run out
is found out by those who look at it, each with a clock of its own (``election``).
"""

from __future__ import annotations

import logging
from typing import Final, NamedTuple, Protocol

import msgspec

from riverrun.core.errors import ExternalError

log = logging.getLogger(__name__)

UNREADABLE: Final = "unreadable"
"""The holder of a lease that is there and cannot be read."""


class LeaseConflict(ExternalError):  # noqa: N818
    """The lease is not what it was when it was read: somebody else has written it."""


class LeaseUnreachable(ExternalError):  # noqa: N818
    """The store of the lease did not do what it was asked for, or did it and did not answer."""


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """Who leads, and for how long without a further word."""

    epoch: int
    """Higher than that of every leader before; what a leader writes elsewhere carries it."""
    holder: str
    """Names one process, and no other before or after it."""
    address: str = ""
    """Where the leader's REST interface is."""
    beat: int = 0
    """Counts the holder's renewals, so that each is a change."""
    duration_ms: int
    """Nobody else takes the lease before it has been seen unchanged for so long."""
    released: bool = False
    """The holder has given it up: it may be taken at once."""
    written: int = 0
    """Wall-clock time of the writer, in milliseconds. For people: nothing is decided by it."""


class Found(NamedTuple):
    """What a look at the store gave."""

    lease: Lease | None
    version: str | None
    """``None`` when there is no lease yet. Two looks with equal versions saw the same lease."""


class LeaseStore(Protocol):
    """A place that keeps one lease. Used from one thread at a time, and may take its time.

    Methods raise ExternalErrors only: LeaseConflict, LeaseUnreachable, or StorageError.
    """

    def read(self) -> Found:
        """The lease as it is now."""

    def write(self, lease: Lease, replaced: str | None) -> str:
        """Put ``lease`` in the place of version ``replaced`` and give its own version.

        Of several who replace the same version one succeeds at most, and after an error other than
        LeaseConflict the lease may have been written or not.

        Raises:
            LeaseConflict: the lease there has another version.
        """

    def close(self) -> None:
        """Let go of connections."""


def encode_lease(lease: Lease) -> bytes:
    """The lease as JSON, for people who look into the store."""
    return msgspec.json.encode(lease)


def decode_lease(data: bytes, *, where: str, duration_ms: int) -> Lease:
    """The lease in ``data``.

    What cannot be read is a lease of nobody known: it is respected for ``duration_ms`` like any other,
    and then taken.
    """
    try:
        return msgspec.json.decode(data, type=Lease)
    except msgspec.MsgspecError as error:
        log.warning("lease cannot be read where=%s reason=%s", where, error)
        return Lease(epoch=0, holder=UNREADABLE, duration_ms=duration_ms)
