"""A value of a state on a page: as text of a bounded size, and as JSON where that is not too long."""

from __future__ import annotations

import json
import reprlib
from dataclasses import dataclass
from typing import Any, Final

from riverrun.state_processor.plain_values import as_json

_LONGEST: Final = 20_000
_ITEMS: Final = 1000
_LEFT_OUT: Final = "\ue000"
"""Stands where something was left out: no text has it by chance."""


@dataclass(frozen=True, slots=True)
class ShownValue:
    """A value in words."""

    type: str
    """The class of the value."""
    text: str
    json: str | None
    """The same as JSON with line breaks; None where it would be too long, or says no more than the text."""
    cut: bool
    """Whether there is more than the text shows."""


class _LongRepr(reprlib.Repr):
    def __init__(self) -> None:
        super().__init__()
        self.fillvalue = _LEFT_OUT
        self.maxlevel = 12
        self.maxtuple = self.maxlist = self.maxdict = self.maxset = _ITEMS
        self.maxfrozenset = self.maxdeque = self.maxarray = _ITEMS
        self.maxstring = self.maxother = self.maxlong = _LONGEST

    def repr_instance(self, x: Any, level: int) -> str:
        del level
        try:
            return repr(x)
        except Exception:  # noqa: BLE001  (it is the user's)
            return f"<a value of class {type(x).__qualname__} whose repr fails>"


def shown_value(value: Any) -> ShownValue:
    r"""The value for a page.

    >>> shown = shown_value({"total": 3})
    >>> shown.type, shown.text, shown.json
    ('dict', "{'total': 3}", '{\n  "total": 3\n}')
    >>> shown_value([7] * 10_000).cut, shown_value("x" * 100_000).cut
    (True, True)
    """
    name = type(value).__qualname__
    if isinstance(value, bytes | bytearray | memoryview):
        head = bytes(value[: _LONGEST // 4])
        return ShownValue(name, repr(head), None, cut=len(head) < len(value))
    if isinstance(value, str):
        return ShownValue(name, value[:_LONGEST], None, cut=len(value) > _LONGEST)
    text = _LongRepr().repr(value)
    cut = len(text) > _LONGEST or _LEFT_OUT in text
    shown = text[:_LONGEST].replace(_LEFT_OUT, "…")
    return ShownValue(name, shown, None if cut else _json(value), cut=cut)


def _json(value: Any) -> str | None:
    try:
        plain = as_json(value)
        found = json.dumps(plain, indent=2, ensure_ascii=False)
    except Exception:  # noqa: BLE001  (attributes of the user's classes may do anything)
        return None
    return found if len(found) <= 2 * _LONGEST and isinstance(plain, dict | list) else None
