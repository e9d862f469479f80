"""From the form in which a state was written to the form that the program asks for now."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from riverrun.protocol.snapshots import StateKind
from riverrun.serde.check import TypeMismatch
from riverrun.serde.evolution import AfterMigration, AsIs, Incompatible, resolve
from riverrun.serde.type_info import TypeInformation
from riverrun.state.backend import StateRefused
from riverrun.state.schema import MAPS, StateSchema

Convert: TypeAlias = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Migration:
    """How to turn what was stored into what is stored now."""

    address: Convert
    """Of a key, or of a pair of key and namespace."""
    stored: Convert
    """Of a stored value of the state's kind, with or without times (``riverrun.state.interchange``)."""
    value: Convert
    """Of a single value, element or value of a map, with its time where TTL is on."""
    map_key: Convert


def plan_migration(old: StateSchema, new: StateSchema, operator: str, now: int) -> Migration | None:
    """How entries written as ``old`` become entries of ``new``; None when they are that already.

    Where TTL was switched on, entries count as used at ``now``; where it was switched off, they lose
    their times.

    Raises:
        StateRefused: they cannot.
    """
    name = new.meta.name
    if old.meta.kind is not new.meta.kind or old.meta.namespaced != new.meta.namespaced:
        raise StateRefused(
            f"operator {operator!r}: state {name!r} was restored as {_form(old)} and is asked for as "
            f"{_form(new)}; ask for it as it was, or give the new state another name"
        )
    if old.meta == new.meta:
        return None
    refused = _Refusal(operator, name)
    key = refused.unless_equal("keys", old.key, new.key)
    map_key = refused.unless_equal("keys of its maps", old.map_key, new.map_key)
    value = refused.unless_possible("values", old.value, new.value)
    single = _with_times(value, old=old.meta.ttl, new=new.meta.ttl, now=now)
    return Migration(
        address=_address(key) if new.meta.namespaced else key,
        stored=_stored(new.meta.kind, map_key, single),
        value=single,
        map_key=map_key,
    )


@dataclass(frozen=True, slots=True)
class _Refusal:
    operator: str
    state: str

    def unless_possible(
        self, role: str, old: TypeInformation | None, new: TypeInformation | None
    ) -> Convert:
        match resolve(old, new):
            case AsIs():
                return _itself
            case AfterMigration(convert=convert):
                return self._checking(role, convert)
            case Incompatible(reason=reason):
                raise self._error(role, reason)

    def unless_equal(
        self, role: str, old: TypeInformation | None, new: TypeInformation | None
    ) -> Convert:
        if old is None:
            # A key is found by what it equals, so pickled keys serve under any declared type.
            return _itself
        found = resolve(old, new)
        if isinstance(found, AfterMigration) and not found.equal:
            raise self._error(role, f"{old!r} would not stay equal as {new!r}")
        return self.unless_possible(role, old, new)

    def _checking(self, role: str, convert: Convert) -> Convert:
        def checked(value: Any) -> Any:
            try:
                return convert(value)
            except TypeMismatch as error:
                raise self._error(role, str(error)) from error

        return checked

    def _error(self, role: str, reason: str) -> StateRefused:
        return StateRefused(
            f"operator {self.operator!r}: state {self.state!r}: the {role} in the checkpoint do not fit "
            f"the declared type: {reason}; declare a type that they can become, or give the state "
            f"another name to begin it anew"
        )


def _form(schema: StateSchema) -> str:
    meta = schema.meta
    return f"{meta.kind.value} state{' with namespaces' if meta.namespaced else ''}"


def _itself(value: Any) -> Any:
    return value


def _address(key: Convert) -> Convert:
    if key is _itself:
        return _itself
    return lambda address: (key(address[0]), address[1])


def _with_times(value: Convert, *, old: bool, new: bool, now: int) -> Convert:
    if old and new:
        return value if value is _itself else lambda pair: (value(pair[0]), pair[1])
    if old:
        return lambda pair: value(pair[0])
    if new:
        return lambda plain: (value(plain), now)
    return value


def _stored(kind: StateKind, map_key: Convert, single: Convert) -> Convert:
    if kind is StateKind.LIST:
        return lambda elements: [single(element) for element in elements]
    if kind in MAPS:
        return lambda entries: {map_key(key): single(value) for key, value in entries.items()}
    return single
