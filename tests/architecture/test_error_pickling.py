"""Errors cross processes, so each of them must survive pickling with its fields and message."""

import dataclasses
import enum
import importlib
import inspect
import pickle
import pkgutil
import types
import typing
from collections import abc
from pathlib import Path
from typing import Any

import pytest

import riverrun
from riverrun.core.errors import RiverrunError

SAMPLES: dict[Any, Any] = {
    Any: "anything",
    object: "anything",
    BaseException: ValueError("boom"),
    Exception: ValueError("boom"),
    Path: Path("folder/file"),
    bool: True,
    bytes: b"\x00\xff",
    float: 1.5,
    int: 3,
    str: "a name",
    type: int,
}


def sample(hint: Any) -> Any:
    """A value of the annotated type."""
    if isinstance(hint, typing.NewType):
        return sample(hint.__supertype__)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in {typing.Union, types.UnionType}:
        return sample(next(kind for kind in arguments if kind is not types.NoneType))
    if origin is typing.Literal:
        return arguments[0]
    if origin is type or hint is type:
        return int
    return sample_of_class(origin or hint, arguments)


def sample_of_class(kind: Any, arguments: tuple[Any, ...]) -> Any:
    if kind in SAMPLES:
        return SAMPLES[kind]
    if issubclass(kind, enum.Enum):
        return next(iter(kind))
    if dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        values = {field.name: sample(hints[field.name]) for field in dataclasses.fields(kind)}
        return typing.cast("type[Any]", kind)(**values)
    if issubclass(kind, abc.Mapping):
        return {sample(arguments[0]): sample(arguments[1])} if arguments else {}
    if issubclass(kind, abc.Collection):
        make = kind if not inspect.isabstract(kind) else tuple
        return make(sample(hint) for hint in arguments if hint is not Ellipsis)
    message = f"add a sample of {kind!r} to SAMPLES"
    raise NotImplementedError(message)


def every_error() -> list[type[RiverrunError]]:
    for module in pkgutil.walk_packages(riverrun.__path__, "riverrun."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    found: dict[str, type[RiverrunError]] = {}
    waiting: list[type[RiverrunError]] = [RiverrunError]
    while waiting:
        error = waiting.pop()
        # Other tests may define errors of their own.
        if error.__module__.startswith("riverrun."):
            found[f"{error.__module__}.{error.__qualname__}"] = error
        waiting += error.__subclasses__()
    return [found[name] for name in sorted(found)]


def make(error: type[RiverrunError]) -> RiverrunError:
    if error.__init__ is Exception.__init__:
        return error("a message")
    hints = typing.get_type_hints(error.__init__)
    parameters = list(inspect.signature(error).parameters.values())
    positional = [parameter for parameter in parameters if parameter.kind != parameter.KEYWORD_ONLY]
    named = [parameter.name for parameter in parameters if parameter.kind == parameter.KEYWORD_ONLY]
    return error(
        *(sample(hints[parameter.name]) for parameter in positional),
        **{name: sample(hints[name]) for name in named},
    )


@pytest.fixture(scope="module")
def errors() -> list[RiverrunError]:
    return [make(error) for error in every_error()]


def test_every_error_survives_pickling(errors: list[RiverrunError]) -> None:
    for error in errors:
        copy = pickle.loads(pickle.dumps(error))

        assert type(copy) is type(error)
        assert str(copy) == str(error)
        assert repr(copy.args) == repr(error.args)
        assert repr(vars(copy)) == repr(vars(error))


def test_every_error_says_what_it_is(errors: list[RiverrunError]) -> None:
    assert [error for error in errors if not type(error).__dict__.get("__doc__")] == []
    assert [type(error) for error in errors if not str(error)] == []
