"""Spark's Python daemon with everything loaded before it forks workers.

Spark forks a worker process for each task. What the daemon has imported is there in every worker at
once; otherwise each one spends about a second of CPU on imports (a part of them out of a zip file,
compiled anew each time). Set with ``spark.python.daemon.module``; without it jobs only start slower.

Nothing imported here may start a thread: threads do not survive a fork.
"""

from __future__ import annotations

import gc
import importlib
import os
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Final

_PRELOADED: Final = (
    "pandas",
    "pyarrow",
    "pyspark.sql.pandas.serializers",
    "pyspark.sql.pandas.types",
    "pyspark.worker",
    "riverrun.connectors.callback",
    "riverrun.connectors.collect",
    "riverrun.connectors.datagen",
    "riverrun.connectors.discard",
    "riverrun.connectors.function_sink",
    "riverrun.connectors.iterator",
    "riverrun.connectors.number_sequence",
    "riverrun.connectors.print",
    "riverrun.spark.worker.main",
)


def preload() -> None:
    """Import what workers need, as far as it is installed, and keep it out of their collections."""
    for module in _PRELOADED:
        with suppress(ImportError):
            importlib.import_module(module)
    # Frozen objects are never visited by a worker's collector, so forked pages stay shared.
    gc.collect()
    gc.freeze()


def quietly(host: Callable[[socket.socket, bool], int]) -> Callable[[socket.socket, bool], int]:
    """Let a worker that Spark does not need any more go without a word.

    Spark closes the socket of a worker that was idle for a minute. The worker then fails to flush it, and
    would print that on the user's console.
    """

    def hosted(sock: socket.socket, authenticated: bool) -> int:  # noqa: FBT001  (as Spark calls it)
        try:
            return host(sock, authenticated)
        except BrokenPipeError:
            os._exit(0)

    return hosted


if __name__ == "__main__":
    from pyspark import daemon

    preload()
    daemon.worker = quietly(daemon.worker)
    daemon.manager()
