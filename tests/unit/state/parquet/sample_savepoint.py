"""A savepoint of two subtasks with a state of every kind, and the rows that it has."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any, NamedTuple

from riverrun.api.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from riverrun.api.state_ttl import StateTtlConfig
from riverrun.core.clock import ManualClock
from riverrun.core.time import Time
from riverrun.graph.key_groups import group_range
from riverrun.protocol.snapshots import KeyedSnapshot
from riverrun.serde.key_hash import key_group
from riverrun.serde.types import NamedTupleTypeInfo, Types
from riverrun.state.backend import BackendSettings
from riverrun.state.hashmap.backend import HashMapBackend
from riverrun.state.parquet.snapshot import write_keyed
from riverrun.storage.local import LocalStorage
from riverrun.storage.savepoint_files import SavepointFiles

OPERATOR = "ab" * 16
GROUPS = 8
NOW = 1_700_000_000_123
KEYS = [f"customer-{number}" for number in range(20)]


class Account(NamedTuple):
    """What is known about a customer."""

    balance: int
    city: str | None


ACCOUNTS = ValueStateDescriptor(
    "accounts", NamedTupleTypeInfo(Account, [Types.LONG(), Types.STRING()])
)
AMOUNTS = ListStateDescriptor("amounts", Types.DOUBLE())
CARTS = MapStateDescriptor("carts", Types.STRING(), Types.INT())
SUMS = ValueStateDescriptor("sums", Types.LONG())
SEEN = ValueStateDescriptor("seen", Types.STRING())
SEEN.enable_time_to_live(StateTtlConfig.new_builder(Time.hours(1)).build())
ANYTHING = ValueStateDescriptor("anything")


def account(key: str) -> Account:
    number = int(key.rpartition("-")[2])
    return Account(number * 100, None if number % 5 == 0 else f"city {number}")


def write_savepoint(folder: Path) -> list[KeyedSnapshot]:
    """The savepoint, with every file at its place."""
    return [_subtask(folder, subtask) for subtask in (0, 1)]


def rows(state: str) -> list[dict[str, Any]]:
    """The rows of a state, as Python shows them, in the order of ``sorted_rows``."""
    return sorted_rows([row for key in KEYS for row in _rows_of(state, key)])


def sorted_rows(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(found, key=lambda row: (row["key"], str(row.get("map_key"))))


def _rows_of(state: str, key: str) -> list[dict[str, Any]]:
    number = int(key.rpartition("-")[2])
    window = {"start": 1000, "end": 2000}
    found: dict[str, list[dict[str, Any]]] = {
        "accounts": [{"value": account(key)._asdict()}],
        "amounts": [{"elements": [number / 2, -0.5]}],
        "carts": [{"map_key": f"item {item}", "map_value": item} for item in range(2)],
        "sums": [{"namespace": window, "value": number}],
        "seen": [{"value": "yes", "last_used": NOW}],
        "timers": [{"time": number * 1000, "namespace": window}],
        "anything": [{"value": pickle.dumps({number}, 5)}],
    }
    return [{"key_group": key_group(key, GROUPS), "key": key, **row} for row in found[state]]


STATES = ["accounts", "amounts", "carts", "sums", "seen", "timers", "anything"]


def _subtask(folder: Path, subtask: int) -> KeyedSnapshot:
    first, last = group_range(subtask, 2, GROUPS)
    settings = BackendSettings(
        operator="customers",
        operator_id=OPERATOR,
        subtask=subtask,
        first_group=first,
        last_group=last,
        max_parallelism=GROUPS,
        clock=ManualClock(NOW),
        folder=folder.with_name("local"),
        key_type=Types.STRING(),
    )
    backend = HashMapBackend(settings)
    for key in KEYS:
        if first <= key_group(key, GROUPS) <= last:
            _put(backend, key)
    files = SavepointFiles(LocalStorage(), str(folder), folder.with_name("scratch"))
    frozen = backend.freeze(1, savepoint=True)
    snapshot = write_keyed(frozen, files)
    frozen.discard()
    backend.close()
    return snapshot


def _put(backend: HashMapBackend, key: str) -> None:
    number = int(key.rpartition("-")[2])
    states: Any = backend.state
    backend.key, backend.namespace = key, (1000, 2000)
    states(ACCOUNTS).update(account(key))
    states(AMOUNTS).add_all([number / 2, -0.5])
    states(CARTS).put_all({"item 0": 0, "item 1": 1})
    states(SUMS, namespaced=True).update(number)
    states(SEEN).update("yes")
    states(ANYTHING).update({number})
    backend.timers("timers").add(number * 1000, key, (1000, 2000))
