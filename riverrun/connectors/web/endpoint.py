"""Where a web connector speaks to, and what it says of itself: addresses, headers and secrets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias
from urllib.parse import urlsplit

from riverrun.connectors.base.shown_address import shown_address

__all__ = ["Endpoint", "HeaderValue"]

HeaderValue: TypeAlias = str | Callable[[], str]
"""Text, or what gives it in the worker, asked before each connection or request: for secrets that are not
part of the program, such as ``lambda: os.environ["TOKEN"]``."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address with the headers that go with it; what it shows of itself has no secrets.

    >>> str(Endpoint("https://me:secret@example.org/in?key=secret", ("https",), "doctest"))
    'https://example.org/in'
    """

    url: str = field(repr=False)
    schemes: tuple[str, ...]
    who: str
    headers: Mapping[str, HeaderValue] = field(default_factory=dict, repr=False)
    token: HeaderValue | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        parts = urlsplit(self.url) if isinstance(self.url, str) else None
        if parts is None or parts.scheme not in self.schemes or not parts.hostname:
            raise ValueError(
                f"{self.who}: the address is {str(self)!r}; expected one that begins with "
                f"{' or '.join(f'{scheme}://' for scheme in self.schemes)}"
            )
        given = {**self.headers, "token": self.token or ""}
        wrong = [name for name, value in given.items() if not isinstance(value, str | Callable)]
        if wrong:
            raise TypeError(
                f"{self.who}: the header {wrong[0]!r} is a {type(given[wrong[0]]).__name__}; "
                f"expected text, or a callable that gives it"
            )

    def current_headers(self) -> dict[str, str]:
        """The headers as they are now."""
        found = {name: _now(value) for name, value in self.headers.items()}
        if self.token is not None:
            found["Authorization"] = f"Bearer {_now(self.token)}"
        return found

    def __str__(self) -> str:
        return shown_address(self.url)


def _now(value: HeaderValue) -> str:
    return value if isinstance(value, str) else value()
