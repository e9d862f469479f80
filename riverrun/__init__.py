"""riverrun: stateful stream processing in Python, Flink's model executed by Apache Spark.

The public names. Each is loaded when it is first used, so that importing the package stays cheap; type checkers
find them in ``__init__.pyi``, which a test compares with ``core.public_homes``.
"""

from __future__ import annotations

import importlib
from typing import Any

from riverrun.core.public_homes import HOMES

__version__ = "0.1.0"

__all__ = list(HOMES)


def __getattr__(name: str) -> Any:
    module = HOMES.get(name)
    if module is None:
        raise AttributeError(f"module 'riverrun' has no attribute {name!r}")
    value = getattr(importlib.import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
