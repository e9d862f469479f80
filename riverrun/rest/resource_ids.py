"""Names of executors as Flink's clients expect those of task managers: 32 hexadecimal characters."""

from __future__ import annotations

import hashlib
from typing import Final

_CHARS: Final = 32


def resource_id(executor: str) -> str:
    """The id of a task manager, from that of the Spark executor.

    >>> len(resource_id("driver")), resource_id("0") == resource_id("1")
    (32, False)
    """
    return hashlib.sha256(f"executor {executor}".encode()).hexdigest()[:_CHARS]
