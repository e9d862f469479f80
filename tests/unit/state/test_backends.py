"""Backends by name, the neutral form of snapshots, and which values can change."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from riverrun.core.clock import ManualClock
from riverrun.core.errors import ConfigError
from riverrun.protocol.snapshots import KeyedSnapshot
from riverrun.serde.composite_types import DataclassTypeInfo, NamedTupleTypeInfo
from riverrun.serde.types import Types
from riverrun.state.backend import BackendSettings
from riverrun.state.backends import create_backend
from riverrun.state.immutable import copy_of, is_immutable, is_immutable_type
from riverrun.state.interchange import UnknownBackend, iterate
from tests.contract.state.conftest import MemoryFiles


def some_settings(folder: Path) -> BackendSettings:
    return BackendSettings("counter", "id", 0, 0, 15, 16, ManualClock(), folder)


def test_a_name_that_no_backend_has_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownBackend, match=r"'forst'.*hashmap, rocksdb"):
        create_backend("forst", some_settings(tmp_path))


def test_a_snapshot_of_an_unknown_backend_is_refused() -> None:
    snapshot = KeyedSnapshot("forst", 0, 15, (), ())

    with pytest.raises(UnknownBackend, match=r"'forst'.*hashmap, rocksdb"):
        iterate(snapshot, MemoryFiles(), range(16))


def test_rocksdb_without_its_library_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith("riverrun.state.rocksdb")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [_Without("rocksdict"), *sys.meta_path])
    monkeypatch.delitem(sys.modules, "rocksdict", raising=False)

    with pytest.raises(ConfigError, match=r"'counter'.*pip install 'riverrun\[rocksdb\]'"):
        create_backend("rocksdb", some_settings(tmp_path))


class _Without:
    """An import system in which a module is not installed."""

    def __init__(self, name: str) -> None:
        self._name = name

    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> None:
        if name == self._name:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


class Point(NamedTuple):
    x: int


@dataclass(frozen=True)
class Frozen:
    x: int


@dataclass
class Open:
    x: int


@pytest.mark.parametrize(
    ("type_info", "immutable"),
    [
        (None, False),
        (Types.LONG(), True),
        (Types.STRING(), True),
        (Types.SQL_TIMESTAMP(), True),
        (Types.TUPLE([Types.LONG(), Types.STRING()]), True),
        (Types.TUPLE([Types.LIST(Types.LONG())]), False),
        (Types.LIST(Types.LONG()), False),
        (Types.ROW([Types.LONG()]), False),
        (NamedTupleTypeInfo(Point, [Types.LONG()]), True),
        (DataclassTypeInfo(Frozen, [Types.LONG()]), True),
        (DataclassTypeInfo(Open, [Types.LONG()]), False),
        (Types.PICKLED_BYTE_ARRAY(), False),
    ],
    ids=repr,
)
def test_declared_types_tell_whether_values_can_change(type_info: Any, immutable: bool) -> None:
    assert is_immutable_type(type_info) == immutable


def test_values_tell_whether_they_can_change() -> None:
    assert all(map(is_immutable, [None, 1, "a", b"", 2.5, (1, ("a",)), frozenset({1})]))
    assert not any(map(is_immutable, [[], {}, set(), (1, []), Open(1), bytearray()]))


def test_a_copy_shares_nothing_that_can_change() -> None:
    value = {"a": [1], "b": Open(1), "f": lambda: 1}

    copied = copy_of(value)
    copied["a"].append(2)
    copied["b"].x = 2

    assert value["a"] == [1]
    assert value["b"] == Open(1)
