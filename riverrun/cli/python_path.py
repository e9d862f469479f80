"""Folders in which processes started from here look for modules."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

VARIABLE: Final = "PYTHONPATH"


@contextmanager
def on_python_path(folder: Path) -> Iterator[None]:
    """Let processes that are started in this block find the modules in ``folder`` first."""
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = os.pathsep.join(filter(None, (str(folder), before)))
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(VARIABLE, None)
        else:
            os.environ[VARIABLE] = before
