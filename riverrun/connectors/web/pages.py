"""What a fetched page holds: records in one of a few forms, and where to go on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

import msgspec

from riverrun.api.bad_records import BadRecords, DeadLetter
from riverrun.connectors.base.message_decoder import BadMessage

__all__ = ["HttpFormat", "HttpPage", "HttpSplit", "NextCursor"]


class HttpFormat(Enum):
    """How records are written in a body."""

    JSON = "json"
    """An array of records; of anything else the whole is one record."""
    JSON_LINES = "json-lines"
    """A record a line, as JSON."""
    TEXT_LINES = "text-lines"
    """A record a line, as text."""


@dataclass(frozen=True, slots=True)
class HttpPage:
    """An answer, for whoever finds out where to go on."""

    cursor: Any
    """What it was asked for with."""
    records: list[Any]
    body: Any
    """The whole body: as Python objects if it is JSON, else as bytes."""
    headers: Mapping[str, str]


NextCursor: TypeAlias = Callable[[HttpPage], Any]
"""The cursor of the page after this one; None: there is none yet."""


@dataclass(frozen=True, slots=True)
class HttpSplit:
    """How far pages are read."""

    cursor: Any = None
    """Of the page that is being read; None: the first."""
    given: int = 0
    """How many records of that page were read."""
    bad: int = 0
    """How many lines of that page were found to be no records."""
    etag: str | None = None
    """The server's name for the page as it was."""
    is_whole: bool = False
    """Whether it was read to the end: it is only wanted again when it has changed."""


class PageReader:
    """Takes bodies apart."""

    def __init__(
        self,
        form: HttpFormat | Callable[[bytes], list[Any]],
        records_at: str | None,
        bad_records: BadRecords,
    ) -> None:
        self._form = form
        self._path = records_at.split(".") if records_at else []
        self._bad_records = bad_records

    def read(self, content: bytes, origin: str) -> tuple[list[Any], Any, list[DeadLetter]]:
        """The records of a body, the body, and lines that are no records.

        Raises:
            BadMessage: the body is not what it should be, or a line is bad and the policy is to fail.
        """
        letters: list[DeadLetter] = []
        try:
            if callable(self._form):
                return list(self._form(content)), content, letters
            if self._form is HttpFormat.JSON:
                body = msgspec.json.decode(content) if content.strip() else []
                return self._find(body), body, letters
        except Exception as error:
            raise BadMessage(origin, f"{type(error).__name__}: {error}") from error
        is_text = self._form is HttpFormat.TEXT_LINES
        decode: Callable[[bytes], Any] = bytes.decode if is_text else msgspec.json.decode
        records = []
        for number, line in enumerate(content.splitlines(), 1):
            if not line.strip() and not is_text:
                continue
            try:
                records.append(decode(line))
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                place, reason = f"{origin} line {number}", f"{type(error).__name__}: {error}"
                if self._bad_records is BadRecords.FAIL:
                    raise BadMessage(place, reason) from error
                letters.append(DeadLetter(place, reason, line))
        return records, content, letters

    def _find(self, body: Any) -> list[Any]:
        found = body
        for name in self._path:
            if not isinstance(found, dict) or name not in found:
                raise ValueError(f"has no {'.'.join(self._path)!r}")
            found = found[name]
        return found if isinstance(found, list) else [found]
