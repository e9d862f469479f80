"""A windowed operation in words: the operator's name and its description in the plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from riverrun.api.output_tag import OutputTag
from riverrun.api.state import StateDescriptor
from riverrun.api.trigger import Trigger
from riverrun.api.window_assigner import WindowAssigner

__all__ = ["WindowOperationDescriptor"]


@dataclass(slots=True)
class WindowOperationDescriptor:
    """How a stream is cut into windows and what is done with them."""

    assigner: WindowAssigner[Any, Any]
    trigger: Trigger[Any, Any]
    allowed_lateness: int = 0
    late_data_output_tag: OutputTag | None = None
    window_state_descriptor: StateDescriptor | None = None
    window_serializer: Any = None
    internal_window_function: Any = None

    def generate_op_name(self) -> str:
        """The operator's name: the kind of windows."""
        return type(self.assigner).__name__

    def generate_op_desc(self, windowed_stream_type: str, func_desc: str) -> str:
        """The operator's description: windows, trigger and functions."""
        trigger = type(self.trigger).__name__
        return f"{windowed_stream_type}({self.assigner!r}, {trigger}, {func_desc})"
