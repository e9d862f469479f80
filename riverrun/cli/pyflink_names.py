"""``--pyflink``: imports of pyflink find riverrun, in this process and in those it starts.

Workers need it too: a script's function may import pyflink when it runs, and so may a module beside
the script that a worker imports.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from riverrun.cli.python_path import on_python_path
from riverrun.compat.pyflink import install

_STAND_IN: Final = '''\
"""Hands ``import pyflink`` over to riverrun; a module may replace itself while it is imported."""

import importlib
import sys

from riverrun.compat.pyflink import install

del sys.modules[__name__]
install()
importlib.import_module(__name__)
'''


@contextmanager
def pyflink_names() -> Iterator[None]:
    """Let imports of pyflink find riverrun: here for good, in processes started in this block as well.

    Raises:
        ProgramError: PyFlink itself is imported already.
    """
    install()
    with tempfile.TemporaryDirectory(prefix="riverrun-pyflink-") as folder:
        Path(folder, "pyflink.py").write_text(_STAND_IN)
        with on_python_path(Path(folder)):
            yield
