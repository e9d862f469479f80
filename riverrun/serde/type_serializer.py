"""How single values are written to and read from a stream of bytes, as PyFlink declares it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import BinaryIO, Final, Generic, TypeVar

__all__ = ["TypeSerializer", "VoidNamespaceSerializer"]

T = TypeVar("T")

VOID: Final = b""


class TypeSerializer(ABC, Generic[T]):
    """Writes and reads values of one type; two of the same class are equal."""

    @abstractmethod
    def serialize(self, element: T, stream: BinaryIO) -> None:
        """Write ``element`` to ``stream``."""

    @abstractmethod
    def deserialize(self, stream: BinaryIO) -> T:
        """Read the next value from ``stream``."""

    def __repr__(self) -> str:
        return type(self).__name__

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return hash(type(self).__name__)


class VoidNamespaceSerializer(TypeSerializer[bytes]):
    """Of the namespace of state that belongs to no window: it takes no bytes."""

    def serialize(self, element: bytes, stream: BinaryIO) -> None:
        """Write nothing."""

    def deserialize(self, stream: BinaryIO) -> bytes:
        del stream
        return VOID
