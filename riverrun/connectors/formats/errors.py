"""What a format says about bytes or values that are not of the type they should be."""

from __future__ import annotations

from typing import Final

from riverrun.core.errors import RiverrunError

_SHOWN: Final = 80


class FormatError(RiverrunError, ValueError):
    """Bytes that are no record of the declared type, or a record that has no bytes."""

    def __init__(self, message: str) -> None:
        super().__init__(message)


def shown(data: object) -> str:
    """The beginning of what was found, for a message.

    >>> shown(b"abc"), shown("x" * 100)[-19:]
    ("b'abc'", "xx'... (100 in all)")
    """
    size = len(data) if isinstance(data, bytes | bytearray | str) else None
    if size is None or size <= _SHOWN:
        return repr(data)
    beginning = data[:_SHOWN]  # type: ignore[index]  # it has a length, so it is bytes or text
    return f"{beginning!r}... ({size} in all)"
