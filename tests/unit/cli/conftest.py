import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from riverrun.compat.pyflink import uninstall

WriteScript = Callable[..., Path]


@pytest.fixture
def write_script(tmp_path: Path) -> WriteScript:
    """Write a script into the test's folder."""

    def write(text: str, name: str = "script.py") -> Path:
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


@pytest.fixture(autouse=True)
def clean_process() -> Iterator[None]:
    """What a script leaves behind in the process that ran it."""
    yield
    uninstall()
    for name in ("last_type", "last_value", "last_traceback"):
        if hasattr(sys, name):
            delattr(sys, name)
