"""How fields stand in a line of CSV, and how a line is taken apart."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from riverrun.connectors.formats.errors import FormatError, shown

# Python's own limit of 128 KiB a field would refuse what any writer may write.
csv.field_size_limit(sys.maxsize)


@dataclass(frozen=True, slots=True)
class CsvDialect:
    """The characters that mean something, and what stands for None."""

    delimiter: str = ","
    quote: str | None = '"'
    escape: str | None = None
    null: str | None = None
    """The text that is None when read, and that None is written as; None: nothing, and the empty text."""
    array_delimiter: str = ";"
    line_end: str = "\n"
    comments: bool = False
    """Whether lines that begin with # are passed over."""

    def __post_init__(self) -> None:
        for what, found in (
            ("field delimiter", self.delimiter),
            ("quote character", self.quote),
            ("escape character", self.escape),
        ):
            if found is not None and (not isinstance(found, str) or len(found) != 1):
                raise ValueError(f"csv: the {what} is {found!r}; expected one character")
        if self.line_end not in _LINE_ENDS:
            raise ValueError(
                f"csv: the line delimiter is {self.line_end!r}; expected one of {list(_LINE_ENDS)}"
            )

    def rows(self, lines: Iterable[str]) -> list[list[str]]:
        """The fields of each line.

        Raises:
            FormatError: a quote is not closed, or a line has more than one line in it.
        """
        try:
            return list(self.reader(lines))
        except csv.Error as error:
            raise FormatError(f"csv: {error}") from error

    def reader(self, lines: Iterable[str]) -> Any:
        """Python's own reader; it takes further lines while a quote is open, and raises ``csv.Error``."""
        return csv.reader(
            lines,
            delimiter=self.delimiter,
            quotechar=self.quote,
            escapechar=self.escape,
            quoting=csv.QUOTE_NONE if self.quote is None else csv.QUOTE_MINIMAL,
            strict=True,
        )

    def fields(self, line: str) -> list[str]:
        """The fields of one line; FormatError if it is not exactly one."""
        found = self.rows([line])
        if len(found) != 1:
            raise FormatError(f"csv: found {shown(line)}; expected one line with its quotes closed")
        return found[0]

    def is_comment(self, line: str) -> bool:
        """Whether the line is to be passed over."""
        return self.comments and line.startswith("#")


_LINE_ENDS = ("\n", "\r", "\r\n", "")


def together(dialect: CsvDialect, lines: Sequence[str]) -> list[list[str]] | None:
    """The fields of many lines in one go; None if they have to be looked at one by one."""
    if dialect.comments and any(map(dialect.is_comment, lines)):
        return None
    try:
        rows = dialect.rows(lines)
    except FormatError:
        return None
    # A quote that is not closed joins a line with the next one.
    return rows if len(rows) == len(lines) else None
