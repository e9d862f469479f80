"""Values that nobody should read over a shoulder: which they are, and what is shown in their place.

Whatever shows settings to people or writes them to a log (messages, ``river config``, REST, reprs) asks
this module, so that a key is a secret everywhere or nowhere.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

MASK: Final = "******"

_SECRET_KEY: Final = re.compile(
    r"passw(?:or)?d|passphrase|secret|token(?!s?[-.](?:interval|timeout|period|renewal))|api[-._]?key"
    r"|access[-._]?key|service[-._]?key|private[-._]?key|account[-._]?key|credential|auth-params"
    r"|basic-auth|jaas\.config|http-headers|(?:^|\.)authorization$",
    re.IGNORECASE,
)
_USER_INFO: Final = re.compile(
    r"(?P<scheme>\b[a-z][a-z0-9+.-]*://)(?P<user>[^/\s:@]*):[^/\s@]+@", re.IGNORECASE
)
_SECRET_PART: Final = re.compile(
    r"(?P<name>\b[\w.-]*(?:passw(?:or)?d|secret|token|api-?key)[\w.-]*\s*[=:]\s*)"
    r"""(?P<value>"[^"]*"|'[^']*'|[^\s;&,"']+)""",
    re.IGNORECASE,
)


def is_secret(key: str) -> bool:
    """Whether the value of ``key`` must not be shown.

    >>> is_secret("s3.secret-key"), is_secret("properties.sasl.jaas.config"), is_secret("pipeline.name")
    (True, True, False)
    """
    return _SECRET_KEY.search(key) is not None


def masked(key: str, value: str) -> str:
    """``value`` as it may be shown: not at all if the key is a secret's, else without passwords in it.

    >>> masked("s3.secret-key", "abc"), masked("s3.endpoint", "http://me:abc@host:9000/x")
    ('******', 'http://me:******@host:9000/x')
    >>> masked("my.url", "jdbc:postgresql://host/db?user=me&password=abc")
    'jdbc:postgresql://host/db?user=me&password=******'
    """
    if is_secret(key):
        return MASK
    shown = _USER_INFO.sub(rf"\g<scheme>\g<user>:{MASK}@", value)
    return _SECRET_PART.sub(rf"\g<name>{MASK}", shown)


def masked_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """All of ``settings`` as they may be shown.

    >>> masked_settings({"s3.access-key": "abc", "pipeline.name": "spend"})
    {'s3.access-key': '******', 'pipeline.name': 'spend'}
    """
    return {key: masked(key, value) for key, value in settings.items()}
