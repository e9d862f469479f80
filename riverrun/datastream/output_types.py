"""The type of an operator's records: as declared, else as its function is annotated, else unknown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from riverrun.serde.infer import return_type_of
from riverrun.serde.type_info import TypeInformation


def output_type_of(
    method: str,
    declared: TypeInformation | None,
    fn: Callable[..., Any],
    *,
    element: bool = False,
) -> TypeInformation | None:
    """The type of what ``fn`` gives, or of the elements of what it gives.

    Raises:
        TypeError: ``declared`` is not a type.
    """
    if declared is None:
        return return_type_of(fn, element=element)
    return checked_type(method, declared)


def checked_type(method: str, declared: Any) -> TypeInformation:
    """``declared`` itself, once it is known to be a type."""
    if not isinstance(declared, TypeInformation):
        raise TypeError(
            f"{method}: the type is {declared!r}; expected one of Types, called, such as Types.INT()"
        )
    return declared
