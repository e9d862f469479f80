"""Types from annotations: dataclasses, NamedTuples and annotated functions need no declaration.

An annotation that says nothing certain gives None, and the values then travel pickled; it is never
an error.
"""

import collections.abc
import dataclasses
import functools
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, Final

from riverrun.serde.instant import Instant
from riverrun.serde.types import (
    DataclassTypeInfo,
    NamedTupleTypeInfo,
    OptionalTypeInfo,
    TypeInformation,
    Types,
)

__all__ = ["return_type_of", "type_of_annotation"]

_PLAIN: Final[Mapping[Any, TypeInformation]] = {
    int: Types.LONG(),
    float: Types.DOUBLE(),
    str: Types.STRING(),
    bool: Types.BOOLEAN(),
    bytes: Types.PRIMITIVE_ARRAY(Types.BYTE()),
    Decimal: Types.BIG_DEC(),
    date: Types.SQL_DATE(),
    time: Types.SQL_TIME(),
    datetime: Types.SQL_TIMESTAMP(),
    Instant: Types.INSTANT(),
}
_ITERABLES: Final = frozenset(
    {
        list,
        set,
        frozenset,
        collections.abc.Collection,
        collections.abc.Generator,
        collections.abc.Iterable,
        collections.abc.Iterator,
        collections.abc.Sequence,
    }
)


def type_of_annotation(annotation: Any) -> TypeInformation | None:
    """The type that an annotation stands for, or None when it stands for no certain type.

    A part that is not certain, such as the Foo of ``tuple[str, Foo]``, is pickled.

    >>> type_of_annotation(tuple[str, int])
    Types.TUPLE([Types.STRING(), Types.LONG()])
    """
    return _infer(annotation, ())


def return_type_of(fn: Callable[..., Any], *, element: bool = False) -> TypeInformation | None:
    """The type of what a function returns by its annotation, or None.

    Functions, methods, partials, objects with ``__call__`` and classes, which return themselves.

    Args:
        fn: The function.
        element: The function returns or yields many values: give the type of one.
    """
    annotation = _return_annotation(fn)
    if element:
        annotation = _element_of(annotation)
    return type_of_annotation(annotation)


def _return_annotation(fn: Any) -> Any:
    while isinstance(fn, functools.partial):
        fn = fn.func
    if inspect.isclass(fn):
        return fn
    try:
        fn = inspect.unwrap(fn)
        if not inspect.isroutine(fn):
            fn = type(fn).__call__
        fn = getattr(fn, "__func__", fn)
        # The return annotation alone: a parameter's name may be imported for type checkers only.
        annotation = getattr(fn, "__annotations__", {}).get("return")
        holder = types.SimpleNamespace(__annotations__={"return": annotation})
        scope = getattr(fn, "__globals__", {})
        return typing.get_type_hints(holder, scope, include_extras=True)["return"]
    except Exception:  # noqa: BLE001 - resolving a name runs the user's code, which may raise anything
        return None


def _element_of(annotation: Any) -> Any:
    annotation = _unwrapped(annotation)
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in _UNIONS:
        present = [argument for argument in arguments if argument is not types.NoneType]
        return _element_of(present[0]) if len(present) == 1 else None
    if origin in _ITERABLES and arguments:
        return arguments[0]
    if origin is tuple:
        distinct = {argument for argument in arguments if argument is not Ellipsis}
        return distinct.pop() if len(distinct) == 1 else None
    return None


def _infer(annotation: Any, inside: tuple[type, ...]) -> TypeInformation | None:
    """The type of an annotation, in a field of the classes ``inside``."""
    annotation = _unwrapped(annotation)
    if isinstance(annotation, type) and annotation in _PLAIN:
        return _PLAIN[annotation]
    origin = typing.get_origin(annotation)
    if origin is not None:
        infer = _GENERIC.get(origin)
        return None if infer is None else infer(typing.get_args(annotation), inside)
    if inspect.isclass(annotation) and annotation not in inside:
        return _infer_class(annotation, (*inside, annotation))
    return None


def _unwrapped(annotation: Any) -> Any:
    """What is behind Annotated, NewType and type aliases."""
    while True:
        if typing.get_origin(annotation) is typing.Annotated:
            annotation = annotation.__origin__
        elif isinstance(annotation, typing.NewType):
            annotation = annotation.__supertype__
        elif type(annotation).__name__ == "TypeAliasType":
            annotation = annotation.__value__
        else:
            return annotation


def _part(annotation: Any, inside: tuple[type, ...]) -> TypeInformation:
    """The type of a field or an element, which may be None in any case."""
    found = _infer(annotation, inside)
    if isinstance(found, OptionalTypeInfo):
        return found.type_info
    return Types.PICKLED_BYTE_ARRAY() if found is None else found


def _infer_class(cls: type[Any], inside: tuple[type, ...]) -> TypeInformation | None:
    named_tuple = issubclass(cls, tuple) and hasattr(cls, "_fields")
    if not (named_tuple or dataclasses.is_dataclass(cls)):
        return None
    try:
        hints = typing.get_type_hints(cls, include_extras=True)
    except Exception:  # noqa: BLE001 - resolving a name runs the user's code, which may raise anything
        return None
    if named_tuple:
        names = list(cls._fields)
        return NamedTupleTypeInfo(cls, [_part(hints.get(name), inside) for name in names])
    names = [field.name for field in dataclasses.fields(cls)]
    return DataclassTypeInfo(cls, [_part(hints.get(name), inside) for name in names])


def _infer_tuple(arguments: tuple[Any, ...], inside: tuple[type, ...]) -> TypeInformation | None:
    if not arguments or Ellipsis in arguments:
        return None
    return Types.TUPLE([_part(argument, inside) for argument in arguments])


def _infer_list(arguments: tuple[Any, ...], inside: tuple[type, ...]) -> TypeInformation | None:
    return Types.LIST(_part(arguments[0], inside)) if arguments else None


def _infer_dict(arguments: tuple[Any, ...], inside: tuple[type, ...]) -> TypeInformation | None:
    return Types.MAP(*(_part(argument, inside) for argument in arguments)) if arguments else None


def _infer_union(arguments: tuple[Any, ...], inside: tuple[type, ...]) -> TypeInformation | None:
    present = [argument for argument in arguments if argument is not types.NoneType]
    if len(present) != 1 or len(present) == len(arguments):
        return None
    found = _infer(present[0], inside)
    if found is None or found in _PLAIN.values():
        return found
    return OptionalTypeInfo(found)


_UNIONS: Final = (typing.Union, types.UnionType)
_GENERIC: Final[
    Mapping[Any, Callable[[tuple[Any, ...], tuple[type, ...]], TypeInformation | None]]
] = {
    tuple: _infer_tuple,
    list: _infer_list,
    dict: _infer_dict,
    **dict.fromkeys(_UNIONS, _infer_union),
}
