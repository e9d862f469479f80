"""What can be set on the operator at the end of a stream, or on a sink."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Self

from riverrun.core.errors import ProgramError
from riverrun.datastream.execution_config import check_positive
from riverrun.datastream.program import Program
from riverrun.datastream.slot_sharing_group import SlotSharingGroup
from riverrun.graph.transformations import (
    Chaining,
    PartitionTransformation,
    SideOutputTransformation,
    Transformation,
    UnionTransformation,
    Upstream,
)


class OperatorSettings:
    """Settings of one operator; each method changes it and gives the stream back.

    Streams that only re-route records (a union, a partitioning, a side output) have no operator, and
    refuse.
    """

    _program: Program
    _upstream: Upstream

    def get_name(self) -> str:
        """The operator's name."""
        return self._operator("get_name").name

    def name(self, name: str) -> Self:
        """Name the operator, for logs, metrics and the web page."""
        self._operator("name").name = name
        return self

    def uid(self, uid: str) -> Self:
        """Give the operator an id of its own by which savepoints find its state again.

        Without one the id comes from the place in the program, and changes when the program does.
        """
        self._operator("uid").uid = uid
        return self

    def set_uid_hash(self, uid_hash: str) -> Self:
        """Give the operator an id directly, as 32 hexadecimal characters from a log or savepoint."""
        if len(uid_hash) != 32 or not set(uid_hash.lower()) <= set("0123456789abcdef"):  # noqa: PLR2004
            raise ValueError(f"uid hash: is {uid_hash!r}; expected 32 hexadecimal characters")
        self._operator("set_uid_hash").uid_hash = uid_hash.lower()
        return self

    def set_parallelism(self, parallelism: int) -> Self:
        """Run the operator in this many subtasks."""
        check_positive("parallelism", parallelism)
        self._operator("set_parallelism").parallelism = parallelism
        return self

    def set_description(self, description: str) -> Self:
        """Describe the operator, for the plan and the web page."""
        self._operator("set_description").description = description
        return self

    def disable_chaining(self) -> Self:
        """Run the operator in a task of its own."""
        self._operator("disable_chaining").chaining = Chaining.NEVER
        return self

    def slot_sharing_group(self, slot_sharing_group: str | SlotSharingGroup) -> Self:
        """Put the operator into a group; operators of different groups do not share slots."""
        operator = self._operator("slot_sharing_group")
        if isinstance(slot_sharing_group, SlotSharingGroup):
            self._program.register_slot_sharing_group(slot_sharing_group)
            operator.slot_sharing_group = slot_sharing_group.get_name()
        else:
            operator.slot_sharing_group = slot_sharing_group
        return self

    def _operator(self, method: str) -> Transformation:
        """The operator that a call of ``method`` is about."""
        if isinstance(self._upstream, Transformation):
            return self._upstream
        raise ProgramError(
            f"{method}: this stream is a {_KINDS[type(self._upstream)]}, which is not an operator; "
            f"call {method}() on the operator before or after it"
        )


_KINDS: Final[Mapping[type, str]] = {
    PartitionTransformation: "partitioning",
    SideOutputTransformation: "side output",
    UnionTransformation: "union",
}
