"""Addresses as messages and logs show them."""

from __future__ import annotations

import re
from typing import Final

_SERVERS: Final = re.compile(r"((\[[^\]]*\]|[^:@,\[\]]*)(:\d*)?(,|$))*")
"""Names or numbers of servers with their ports, with commas between them."""


def shown_address(url: object) -> str:
    """An address without credentials, parameters and fragment; of one that cannot be read the beginning alone.

    A password with a slash or a question mark in it that was not written as ``%2F`` or ``%3F`` looks like
    other parts of the address.

    >>> shown_address("https://me:secret@example.org:8443/in?key=secret#top")
    'https://example.org:8443/in'
    >>> shown_address("redis://:sec/ret@example.org/0"), shown_address("ws://me:sec?ret@example.org")
    ('redis://...', 'ws://...')
    """
    if not isinstance(url, str):
        return f"a {type(url).__name__}"
    shown, *hidden = re.split("[?#]", url, maxsplit=1)
    scheme, slashes, rest = shown.partition("://")
    if not slashes:
        return scheme
    authority, slash, path = rest.partition("/")
    servers = authority.rpartition("@")[2]
    if "@" in path or any("@" in each for each in hidden) or _SERVERS.fullmatch(servers) is None:
        return f"{scheme}://..."
    return f"{scheme}://{servers}{slash}{path}"
