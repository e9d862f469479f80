"""What a keyed state costs beside a plain dict: value() and update() per record.

Run it with ``python benchmarks/state_access.py``. Ratios of one run, the best of several rounds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import mkdtemp
from typing import cast

from riverrun.api.state import ValueState, ValueStateDescriptor
from riverrun.core.clock import SystemClock
from riverrun.state.backend import BackendSettings, KeyedStateBackend
from riverrun.state.backends import create_backend

KEYS = 10_000
RECORDS = 300_000
ROUNDS = 5


def a_backend(name: str, *, incremental: bool) -> KeyedStateBackend:
    """A backend of all key groups."""
    return create_backend(
        name,
        BackendSettings(
            operator="benchmark",
            operator_id="benchmark",
            subtask=0,
            first_group=0,
            last_group=127,
            max_parallelism=128,
            clock=SystemClock(),
            folder=Path(mkdtemp()) / "state",
            incremental=incremental,
        ),
    )


def dict_loop(keys: list[int]) -> Callable[[], None]:
    """The bare loop."""
    table: dict[int, int] = {}

    def loop() -> None:
        get = table.get
        for key in keys:
            count = get(key)
            table[key] = 1 if count is None else count + 1

    return loop


def state_loop(backend: KeyedStateBackend, keys: list[int]) -> Callable[[], None]:
    """The same loop with a keyed state."""
    state = cast("ValueState[int]", backend.state(ValueStateDescriptor("count")))

    def loop() -> None:
        for key in keys:
            backend.key = key
            count = state.value()
            state.update(1 if count is None else count + 1)

    return loop


def nanoseconds(loop: Callable[[], None]) -> float:
    """Time a record, the best of some rounds."""
    loop()
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        loop()
        best = min(best, time.perf_counter() - start)
    return best / RECORDS * 1e9


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("backends", nargs="*", default=["hashmap"])
    names = parser.parse_args().backends
    keys = [record * 7919 % KEYS for record in range(RECORDS)]
    plain = nanoseconds(dict_loop(keys))
    print(f"{'plain dict':24} {plain:7.0f} ns a record")
    for name in names:
        for incremental in (False, True):
            backend = a_backend(name, incremental=incremental)
            found = nanoseconds(state_loop(backend, keys))
            label = f"{name}{', incremental' if incremental else ''}"
            print(f"{label:24} {found:7.0f} ns a record, {found / plain:.1f} times the dict")
            backend.close()


if __name__ == "__main__":
    main()
