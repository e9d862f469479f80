"""Positions in PostgreSQL's log."""

from __future__ import annotations

__all__ = ["lsn_of", "shown_lsn"]


def lsn_of(text: str) -> int:
    """A position as a number.

    >>> lsn_of("1/A0")
    4294967456
    """
    high, _, low = text.partition("/")
    return (int(high, 16) << 32) | int(low, 16)


def shown_lsn(lsn: int) -> str:
    """A position as PostgreSQL writes it.

    >>> shown_lsn(4294967456)
    '1/A0'
    """
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"
