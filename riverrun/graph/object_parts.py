"""What an object takes along when it is pickled: its parts, and what a person calls them."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import CodeType, FunctionType, MemberDescriptorType, MethodType
from typing import Any, Final

_NEVER_PICKLED: Final = frozenset({"__dict__", "__weakref__", "_abc_impl", "__abstractmethods__"})


@dataclass(frozen=True, slots=True)
class Part:
    """A value inside another one."""

    where: str
    """Such as "attribute 'conn' of Enricher"."""
    value: Any


def parts_of(value: Any) -> Iterator[Part]:
    """The parts of ``value`` that pickle would visit, as far as they can be told apart.

    >>> [part.where for part in parts_of({"a": [1]})]
    ['key of dict', "value 'a' of dict"]
    """
    match value:
        case FunctionType():
            yield from _of_function(value)
        case MethodType():
            yield Part(f"object of method {value.__name__!r}", value.__self__)
            yield Part(f"function of method {value.__name__!r}", value.__func__)
        case functools.partial():
            yield Part("function of partial", value.func)
            yield from _items(value.args, "partial")
            yield from _named(value.keywords, "argument", "partial")
        case staticmethod() | classmethod():
            yield Part(f"method {value.__name__!r}", value.__func__)
        case property():
            yield Part("getter of property", value.fget)
        case type():
            yield from _of_class(value)
        case dict():
            yield from (Part("key of dict", key) for key in value)
            yield from _named(value, "value", "dict")
        case list() | tuple() | set() | frozenset():
            yield from _items(value, type(value).__name__)
        case _:
            yield from _of_instance(value)


def _of_function(function: FunctionType) -> Iterator[Part]:
    owner = f"function {function.__name__!r}"
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        # An empty cell belongs to a variable that has no value yet.
        for content in _cell_contents(cell):
            yield Part(f"variable {name!r} captured by {owner}", content)
    used = {
        name: function.__globals__[name]
        for name in _global_names(function.__code__)
        if name in function.__globals__
    }
    yield from _named(used, "global", owner)
    yield from _items(function.__defaults__ or (), f"defaults of {owner}")
    yield from _named(function.__kwdefaults__ or {}, "default", owner)
    yield from _named(function.__dict__, "attribute", owner)


def _cell_contents(cell: Any) -> tuple[Any, ...]:
    try:
        return (cell.cell_contents,)
    except ValueError:
        return ()


def _global_names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _global_names(constant)


def _of_class(cls: type) -> Iterator[Part]:
    own = {
        name: value
        for name, value in vars(cls).items()
        if name not in _NEVER_PICKLED and not isinstance(value, MemberDescriptorType)
    }
    yield from _named(own, "class attribute", cls.__name__)
    yield from (Part(f"base class of {cls.__name__}", base) for base in cls.__bases__)


def _of_instance(value: Any) -> Iterator[Part]:
    owner = type(value).__name__
    if dataclasses.is_dataclass(value):
        # The state of a frozen dataclass with slots is a bare list; its fields have names.
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        yield from _named(fields, "attribute", owner)
    else:
        yield from _of_state(value, owner)
    yield Part(f"class {owner}", type(value))


def _of_state(value: Any, owner: str) -> Iterator[Part]:
    try:
        reduced = value.__reduce_ex__(4)
    except Exception:  # noqa: BLE001  (whatever the object says against pickling, it has no parts)
        return
    if not isinstance(reduced, tuple):
        return
    _, arguments, state, *_ = (*reduced, None)
    for slot in state if isinstance(state, tuple) else (state,):
        if isinstance(slot, dict):
            yield from _named(slot, "attribute", owner)
        elif slot is not None:
            yield Part(f"state of {owner}", slot)
    yield from _items(arguments, f"what makes {owner}")


def _named(values: Mapping[Any, Any], kind: str, owner: str) -> Iterator[Part]:
    for name, value in values.items():
        yield Part(f"{kind} {name!r} of {owner}", value)


def _items(values: Iterable[Any], owner: str) -> Iterator[Part]:
    for index, value in enumerate(values):
        yield Part(f"item {index} of {owner}", value)
