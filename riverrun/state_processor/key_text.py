"""Keys as people write them: from text to the key, and from the key to text that means it."""

from __future__ import annotations

import ast
import json
from typing import Any

from riverrun.core.short_repr import short_repr
from riverrun.serde.types import BasicType, BasicTypeInfo, TypeInformation


def key_candidates(key_type: TypeInformation | None, written: str) -> list[Any]:
    """What the text may mean, the likeliest first.

    >>> key_candidates(None, "42"), key_candidates(None, "('a', 1)"), key_candidates(None, "x")
    (['42', 42], ["('a', 1)", ('a', 1)], ['x'])
    >>> key_candidates(None, "[true, null]")
    ['[true, null]', [True, None]]
    """
    literal = _literal(written)
    if key_type is None:
        return [written, *literal]
    if is_text(key_type):
        return [written]
    return [key_type.coerce(each) for each in literal] + [written]


def is_text(key_type: TypeInformation | None) -> bool:
    """Whether keys are declared to be text."""
    return isinstance(key_type, BasicTypeInfo) and key_type.basic_type is BasicType.STRING


def written_key(key_type: TypeInformation | None, key: Any) -> str:
    """Text that ``key_candidates`` reads as this key, where there is such text.

    >>> written_key(None, "x"), written_key(None, 42), written_key(None, "42"), written_key(None, ("a", 1))
    ('x', '42', "'42'", "('a', 1)")
    """
    if isinstance(key, str):
        plain = is_text(key_type) or (key.isprintable() and not _literal(key))
        return key if plain else repr(key)
    if isinstance(key, bool | int | float | bytes | tuple):
        try:
            return repr(key)
        except Exception:  # noqa: BLE001  (a user's class may be inside)
            return short_repr(key)
    return short_repr(key)


def _literal(written: str) -> list[Any]:
    try:
        return [ast.literal_eval(written)]
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        pass
    try:
        return [json.loads(written)]
    except (ValueError, RecursionError):
        return []
