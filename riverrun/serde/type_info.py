"""What a type of stream values is to the engine, and what PyFlink's programs call on it."""

from abc import ABC
from collections.abc import Iterable
from typing import Any, NoReturn

__all__ = ["TypeInformation"]


class TypeInformation(ABC):  # noqa: B024 - every method has a default; the class itself means nothing
    """The declared type of the values of a stream, a state or a field.

    Types are immutable, hashable, equal by structure and picklable. A value is checked against its
    type by `riverrun.serde.check`, and travels as `riverrun.serde.runs` decides from its type.
    """

    def coerce(self, value: Any) -> Any:
        """The value in the form that streams of this type carry.

        Takes what PyFlink's ``from_collection`` takes beside the proper values: a tuple, list, dict
        or object for a row, a list or row for a tuple. It does not check.
        """
        return value

    def need_conversion(self) -> bool:
        """Whether the internal form differs from the value (PyFlink's name)."""
        return False

    def to_internal_type(self, obj: Any) -> Any:
        """The internal form of a value: numbers for times, ``(kind, *fields)`` for rows."""
        return obj

    def from_internal_type(self, obj: Any) -> Any:
        """The value of an internal form; the inverse of `to_internal_type`."""
        return obj

    def get_java_type_info(self) -> NoReturn:
        """Refuse: PyFlink's door to the JVM, which riverrun does not have."""
        raise NotImplementedError(f"{self!r} has no JVM counterpart: riverrun has no JVM types")


def types_of(owner: str, types: Iterable[Any]) -> tuple[TypeInformation, ...]:
    """The types as a tuple, after a look at each, since ``Types.INT`` is easily left uncalled."""
    found = tuple(types)
    for position, candidate in enumerate(found):
        if not isinstance(candidate, TypeInformation):
            raise TypeError(
                f"{owner}: part {position} must be a type such as Types.STRING(), found "
                f"{candidate!r}; types of the Types class are called, as in Types.INT()"
            )
    return found
