"""A user's value in a message: short, and never a second error."""

from __future__ import annotations

import reprlib
from typing import Any, Final

_LIMIT: Final = 200
_ITEMS: Final = 12


class _Shortener(reprlib.Repr):
    """Cuts long parts; says so when a user's own ``__repr__`` raises."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = self.maxlong = _LIMIT - 10
        self.maxtuple = self.maxlist = self.maxdict = self.maxset = self.maxfrozenset = _ITEMS

    def repr_instance(self, x: Any, level: int) -> str:
        del level
        try:
            text = repr(x)
        except Exception:  # noqa: BLE001  (it must not hide the error that we report)
            return f"<a value of class {type(x).__qualname__} whose repr fails>"
        return text if len(text) <= self.maxother else f"{text[: self.maxother - 3]}..."

    def repr_bytes(self, x: bytes, level: int) -> str:
        del level
        return repr(x) if len(x) <= _LIMIT else f"{x[:60]!r}... ({len(x)} bytes)"


def short_repr(value: Any) -> str:
    """``repr(value)``, cut to a length that fits a message.

    >>> short_repr("x" * 1000)[:12], len(short_repr("x" * 1000)) <= 200
    ("'xxxxxxxxxxx", True)
    >>> short_repr((b"x" * 10**6, 1))[-25:]
    "x'... (1000000 bytes), 1)"
    """
    text = _Shortener().repr(value)
    return text if len(text) <= _LIMIT else f"{text[: _LIMIT - 3]}..."
