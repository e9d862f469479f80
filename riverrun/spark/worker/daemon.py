"""Spark's Python daemon with everything loaded before it forks workers.

Spark forks a worker process for each task. What the daemon has imported is there in every worker at
once; otherwise each one spends about a second of CPU on imports (a part of them out of a zip file,
compiled anew each time). Set with ``spark.python.daemon.module``; without it jobs only start slower.

Nothing imported here may start a thread: threads do not survive a fork.
"""

from __future__ import annotations

import gc
import importlib
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


if __name__ == "__main__":
    from pyspark.daemon import manager

    preload()
    manager()
