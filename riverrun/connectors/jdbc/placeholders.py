"""The question marks of a statement: found outside of texts, names and comments, counted, translated."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["count", "translated"]

_PARTS: Final = re.compile(
    r"""
      '(?:[^']|'')*'            # a text
    | "(?:[^"]|"")*"            # a name
    | --[^\n]*                  # a comment up to the end of the line
    | /\*.*?\*/                 # a comment
    | \$(?P<tag>\w*)\$.*?\$(?P=tag)\$   # a text of PostgreSQL
    | \?\?                      # JDBC's way to write an operator with a question mark
    | \?
    | %
    """,
    re.VERBOSE | re.DOTALL,
)


def count(sql: str) -> int:
    """How many values the statement takes.

    >>> count("INSERT INTO t VALUES (?, '?', ?) -- what?")
    2
    """
    return sum(found.group() == "?" for found in _PARTS.finditer(sql))


def translated(sql: str, placeholder: str) -> str:
    """The statement with ``placeholder`` for each question mark.

    For ``%s`` other percent signs are doubled, as its drivers want it.

    >>> translated("SELECT '50%?', ? WHERE a ?? 'b'", "%s")
    "SELECT '50%%?', %s WHERE a ? 'b'"
    """

    def replacement(found: re.Match[str]) -> str:
        text = found.group()
        if text == "?":
            return placeholder
        if text == "??":
            return "?"
        return text.replace("%", "%%") if placeholder == "%s" else text

    return _PARTS.sub(replacement, sql)
