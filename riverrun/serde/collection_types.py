"""Types of arrays, lists and maps."""

from dataclasses import dataclass
from typing import Any, ClassVar, Final

from riverrun.serde.basic_types import BasicType, BasicTypeInfo
from riverrun.serde.type_info import TypeInformation, types_of

__all__ = [
    "BasicArrayTypeInfo",
    "ListTypeInfo",
    "MapTypeInfo",
    "ObjectArrayTypeInfo",
    "PrimitiveArrayTypeInfo",
]

_PRIMITIVES: Final = frozenset(
    {
        BasicType.BOOLEAN,
        BasicType.BYTE,
        BasicType.SHORT,
        BasicType.INT,
        BasicType.LONG,
        BasicType.FLOAT,
        BasicType.DOUBLE,
        BasicType.CHAR,
    }
)


@dataclass(frozen=True, repr=False)
class _SequenceTypeInfo(TypeInformation):
    """What the types of ``list`` values share."""

    element_type: TypeInformation

    factory: ClassVar[str]

    def __post_init__(self) -> None:
        types_of(self.factory, [self.element_type])

    def coerce(self, value: Any) -> Any:
        return list(map(self.element_type.coerce, value)) if isinstance(value, list) else value

    def __repr__(self) -> str:
        return f"{self.factory}({self.element_type!r})"


@dataclass(frozen=True, repr=False)
class PrimitiveArrayTypeInfo(_SequenceTypeInfo):
    """Arrays of a primitive type: ``bytes`` for BYTE, else lists whose elements are never None."""

    factory: ClassVar[str] = "Types.PRIMITIVE_ARRAY"

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_basic(self, _PRIMITIVES)

    @property
    def is_bytes(self) -> bool:
        """Whether the values are ``bytes`` (a ``bytearray`` is taken too, and arrives as bytes)."""
        return self.element_type == BasicTypeInfo(BasicType.BYTE)


@dataclass(frozen=True, repr=False)
class BasicArrayTypeInfo(_SequenceTypeInfo):
    """Lists of a primitive type or of strings."""

    factory: ClassVar[str] = "Types.BASIC_ARRAY"

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_basic(self, _PRIMITIVES | {BasicType.STRING})


@dataclass(frozen=True, repr=False)
class ObjectArrayTypeInfo(_SequenceTypeInfo):
    """Lists of any type, by Flink's name for arrays of objects."""

    factory: ClassVar[str] = "Types.OBJECT_ARRAY"


@dataclass(frozen=True, repr=False)
class ListTypeInfo(_SequenceTypeInfo):
    """Lists of any type."""

    factory: ClassVar[str] = "Types.LIST"


@dataclass(frozen=True, repr=False)
class MapTypeInfo(TypeInformation):
    """Dicts whose keys and values each have one type."""

    key_type_info: TypeInformation
    value_type_info: TypeInformation

    def __post_init__(self) -> None:
        types_of("Types.MAP", [self.key_type_info, self.value_type_info])

    def coerce(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        key_of, value_of = self.key_type_info.coerce, self.value_type_info.coerce
        return {key_of(key): value_of(item) for key, item in value.items()}

    def __repr__(self) -> str:
        return f"Types.MAP({self.key_type_info!r}, {self.value_type_info!r})"


def _require_basic(array: _SequenceTypeInfo, allowed: frozenset[BasicType]) -> None:
    element = array.element_type
    if not (isinstance(element, BasicTypeInfo) and element.basic_type in allowed):
        names = ", ".join(basic.name for basic in BasicType if basic in allowed)
        raise TypeError(
            f"{array.factory} holds elements of {names}, found {element!r}; "
            f"use Types.OBJECT_ARRAY or Types.LIST for other elements"
        )
