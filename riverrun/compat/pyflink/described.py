"""PyFlink's connectors and formats that riverrun only has the names of.

A program that builds one gets an object that knows what it was told, with PyFlink's signatures, so that
it can be imported, built, printed and compared. A program that wants to run it is refused, by name and
before anything starts. ``described.json`` lists the classes: what each derives from, its methods, their
parameters and what they give.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache
from importlib import resources
from typing import Any, ClassVar, Final

from riverrun.api.serialization import DeserializationSchema, SerializationSchema
from riverrun.api.sink import Sink
from riverrun.api.source import Source
from riverrun.api.source_sink_functions import SinkFunction, SourceFunction
from riverrun.api.unusable import Unusable
from riverrun.core.errors import ProgramError

_KINDS: Final[Mapping[str, type]] = {
    "Source": Source,
    "Sink": Sink,
    "SourceFunction": SourceFunction,
    "SinkFunction": SinkFunction,
    "SerializationSchema": SerializationSchema,
    "DeserializationSchema": DeserializationSchema,
}
"""What a program may hand a described thing over as."""


class Described(Unusable):
    """An object of a class of PyFlink: the calls that were made on the way to it, and no more."""

    pyflink_name: ClassVar[str]
    _signature: ClassVar[inspect.Signature]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        bound = _bind(self.pyflink_name, self._signature, args, kwargs)
        self.settings: list[tuple[str, dict[str, Any]]] = [("", bound)] if bound else []

    def refusal(self, method: str) -> ProgramError:
        return ProgramError(
            f"{method}: {self.pyflink_name} is known here by its name only, so that programs that "
            f"mention it can be read and built; it cannot run in this version of riverrun: use a "
            f"connector of riverrun, or write a Source or Sink (docs: from PyFlink)"
        )

    def setting(self, name: str) -> Any:
        """The last value that was given for ``name``, or None."""
        for _, values in reversed(self.settings):
            if name in values:
                return values[name]
        return None

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.settings == self.settings

    def __hash__(self) -> int:
        return hash(self.pyflink_name)

    def __repr__(self) -> str:
        told = ", ".join(
            f"{name}={value!r}" for _, each in self.settings for name, value in each.items()
        )
        return f"{type(self).__name__}({told})"


def described(module: str, name: str) -> type:
    """The class that stands for ``module.name``; KeyError if it is not listed."""
    return _classes(module)[name]


@cache
def listed() -> Mapping[str, Mapping[str, Any]]:
    """Every described class by PyFlink module and name."""
    text = resources.files(__package__).joinpath("described.json").read_text()
    found: Mapping[str, Mapping[str, Any]] = json.loads(text)
    return found


@cache
def _classes(module: str) -> Mapping[str, type]:
    made: dict[str, type] = {}
    for name, entry in listed()[module].items():
        made[name] = (
            _enum(module, name, entry) if "values" in entry else _class(module, name, entry, made)
        )
    for name, cls in made.items():
        owner, dot, inner = name.rpartition(".")
        if dot:
            setattr(made[owner], inner, cls)
    return made


def _enum(module: str, name: str, entry: Mapping[str, Any]) -> type:
    values: list[str] = entry["values"]
    made: Any = Enum(name, {value: value for value in values}, module=module)  # type: ignore[misc]
    cls: type = made
    return cls


def _class(module: str, name: str, entry: Mapping[str, Any], made: dict[str, type]) -> type:
    simple = name.rpartition(".")[2]
    own = [made[base] for base in entry["bases"] if base in made]
    kinds = [_KINDS[base] for base in entry["bases"] if base in _KINDS]
    bases = (*(own or [Described]), *kinds)
    namespace: dict[str, Any] = {
        "__doc__": f"PyFlink's {module}.{name}: described here, not run.",
        "__module__": module,
        "__qualname__": name,
        "pyflink_name": f"{module}.{name}",
        "_signature": _signature(entry["init"]),
        # What a kind asks for is never called: a program is refused before.
        **{each: _never for kind in kinds for each in getattr(kind, "__abstractmethods__", ())},
    }
    for method, (parameters, static, gives) in entry["methods"].items():
        call = _method(made, name, method, _signature(parameters), gives)
        namespace[method] = staticmethod(_on_class(made, name, call)) if static else call
    return type(simple, bases, namespace)


def _method(
    made: Mapping[str, type], owner: str, method: str, signature: inspect.Signature, gives: str
) -> Callable[..., Any]:
    """A call that is noted; it gives the object itself, a value that was noted, or what it builds."""

    def call(self: Described, *args: Any, **kwargs: Any) -> Any:
        bound = _bind(f"{type(self).__name__}.{method}", signature, args, kwargs)
        target = made[gives]
        if method.startswith(("get_", "is_", "size")) and not bound:
            return self.setting(_noun(method))
        if isinstance(self, target):
            self.settings.append((method, bound))
            return self
        result: Any = object.__new__(target)
        result.settings = [*self.settings, *([(method, bound)] if bound else [])]
        return result

    call.__name__ = method
    call.__qualname__ = f"{owner}.{method}"
    call.__doc__ = f"Note {method}{signature}."
    call.__signature__ = signature  # type: ignore[attr-defined]  # what help() shows
    return call


def _on_class(made: Mapping[str, type], owner: str, call: Callable[..., Any]) -> Callable[..., Any]:
    def static(*args: Any, **kwargs: Any) -> Any:
        blank: Any = object.__new__(made[owner])
        blank.settings = []
        return call(blank, *args, **kwargs)

    static.__name__, static.__doc__ = call.__name__, call.__doc__
    return static


def _noun(method: str) -> str:
    for verb in ("get_", "is_"):
        method = method.removeprefix(verb)
    return method


def _signature(parameters: list[list[Any]]) -> inspect.Signature:
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    made = []
    for name, *default in parameters:
        if name.startswith("*"):
            made.append(inspect.Parameter(name[1:], inspect.Parameter.VAR_POSITIONAL))
        else:
            filled = default[0] if default else inspect.Parameter.empty
            made.append(inspect.Parameter(name, kind, default=filled))
    return inspect.Signature(made)


def _bind(
    what: str, signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, Any]:
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"{what}{signature}: {error}") from None
    bound.apply_defaults()
    return dict(bound.arguments)


def _never(self: Described, *args: Any, **kwargs: Any) -> Any:
    del args, kwargs
    raise self.refusal("run")
