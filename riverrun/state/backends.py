"""Backends by the names that ``state.backend.type`` takes."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Final, cast

from riverrun.core.errors import ConfigError
from riverrun.state.backend import BackendSettings, KeyedStateBackend, StateBackendFactory
from riverrun.state.interchange import UnknownBackend

_FACTORIES: Final[Mapping[str, tuple[str, str]]] = {
    "hashmap": ("riverrun.state.hashmap.backend", "HashMapBackend"),
    "rocksdb": ("riverrun.state.rocksdb.backend", "RocksDBBackend"),
}
"""Module and class, imported when a job wants them."""


def create_backend(type_name: str, settings: BackendSettings) -> KeyedStateBackend:
    """A fresh, empty backend of the type.

    Raises:
        UnknownBackend: there is no such type.
        ConfigError: its library is not installed.
    """
    if type_name not in _FACTORIES:
        raise UnknownBackend(type_name, tuple(_FACTORIES))
    module, factory = _FACTORIES[type_name]
    try:
        found = getattr(import_module(module), factory)
    except ModuleNotFoundError as error:
        if error.name != "rocksdict":
            raise
        raise ConfigError(
            f"operator {settings.operator!r}: state.backend.type is {type_name!r}, which needs the package "
            f"rocksdict, and it is not installed; pip install 'riverrun[rocksdb]', or use hashmap"
        ) from error
    return cast("StateBackendFactory", found)(settings)
