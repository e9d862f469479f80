"""What the entries of a state are made of: kind, types by role, with or without namespace and TTL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from riverrun.api.state import StateDescriptor
from riverrun.protocol.snapshots import StateKind, StateMeta
from riverrun.serde.evolution import type_from_json, type_to_json
from riverrun.serde.type_info import TypeInformation

MAPS: Final = frozenset({StateKind.MAP, StateKind.BROADCAST})
"""Kinds whose stored form is a dict."""


@dataclass(frozen=True, slots=True)
class StateSchema:
    """A state's ``StateMeta`` with the types that it names; None where values are pickled."""

    meta: StateMeta
    key: TypeInformation | None = None
    value: TypeInformation | None = None
    map_key: TypeInformation | None = None


def schema_of(
    descriptor: StateDescriptor, key_type: TypeInformation | None, *, namespaced: bool
) -> StateSchema:
    """The schema that a program asks for."""
    declared = descriptor.types()
    types = declared if key_type is None else {"key": key_type, **declared}
    ttl = descriptor.ttl_config
    meta = StateMeta(
        name=descriptor.name,
        kind=descriptor.kind,
        types={role: type_to_json(type_info) for role, type_info in types.items()},
        namespaced=namespaced,
        ttl=ttl is not None and ttl.is_enabled(),
    )
    return StateSchema(meta, key_type, declared.get("value"), declared.get("map_key"))


def schema_from(meta: StateMeta) -> StateSchema:
    """The schema of what was written with ``meta``."""
    types = {role: type_from_json(text) for role, text in meta.types.items()}
    return StateSchema(meta, types.get("key"), types.get("value"), types.get("map_key"))
