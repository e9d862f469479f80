"""Output tags: the names of side outputs."""

from __future__ import annotations

from typing import final

from riverrun.serde.type_info import TypeInformation

__all__ = ["OutputTag"]


@final
class OutputTag:
    """Names a side output and, if wanted, the type of its records.

    A process function emits to it with ``yield tag, value``; ``stream.get_side_output(tag)`` reads it.
    Two tags with the same id are the same side output.
    """

    __slots__ = ("tag_id", "type_info")

    def __init__(self, tag_id: str, type_info: TypeInformation | None = None) -> None:
        if not isinstance(tag_id, str) or not tag_id:
            raise ValueError(
                f"output tag: its id is {tag_id!r}; expected a string that is not empty"
            )
        if type_info is not None and not isinstance(type_info, TypeInformation):
            raise TypeError(
                f"output tag {tag_id!r}: its type is {type_info!r}; expected one of Types, "
                f"such as Types.STRING(), or None"
            )
        self.tag_id = tag_id
        self.type_info = type_info

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OutputTag) and other.tag_id == self.tag_id

    def __hash__(self) -> int:
        return hash(self.tag_id)

    def __repr__(self) -> str:
        return f"OutputTag({self.tag_id!r}, {self.type_info!r})"
